"""Blocks bound to a workspace: closures that advance one block in place, all inputs of a chunk at once.

A step returns True if every lane lives on. The generic step runs the gadget's closed form; affine maps, drains, decays
and tanh have faster ones. `fresh` says that the targets are still 0, `live` which targets anyone will read.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from integraph.gadgets.functions import FLOAT
from integraph.gadgets.gadget import Gadget, arguments
from integraph.program import Block, Index, View
from integraph.program.views import Floats

NORMAL = 1e-290  # factors below lose digits, or are 0

Step = Callable[[], bool]
Binder = Callable[[Block, Floats, float, bool, tuple[bool, ...]], Step | None]


def bind(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step:
    """The fastest step there is for a block."""
    binder = _FAST.get(block.op.name)
    step = binder(block, states, t, fresh, live) if binder is not None else None
    return step if step is not None else _generic(block, states, t)


def advance(block: Block, states: Floats, t: float) -> dict[str, Floats]:
    """Run the closed form in place; returns what must be > 0, by target."""
    assert isinstance(block.op, Gadget)
    closed = block.op.closed(FLOAT, t, *arguments(block, states))
    for ref, end in zip(block.targets, closed.ends, strict=True):
        if isinstance(ref, Index):
            states[ref.registers] = end
        else:
            ref.of(states)[...] = end
    return dict(closed.alive)


def _generic(block: Block, states: Floats, t: float) -> Step:
    def step() -> bool:
        alive = advance(block, states, t)
        if not all((quantity > 0).all() for quantity in alive.values()):
            return False
        return all(bool(np.isfinite(ref.of(states)).all()) for ref in block.targets)

    return step


def _affine(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """Matrix products where all lanes of the last axis read the same registers; else only diagonal maps."""
    z, x = block.targets[0], block.operands[0]
    if not (isinstance(z, View) and isinstance(x, View) and z.contiguous):
        return None
    w = _times(t, block.tensors["w"])
    bias = t * block.tensors["b"][..., None] if "b" in block.tensors else None
    target = z.of(states)
    if x.shape[-1] == 1:
        diagonal = x.of(states)[..., 0, :]
        return _accumulate(target, lambda out: np.multiply(w, diagonal, out=out), bias, fresh)
    if x.strides[-2:-1] != (0,):
        return None
    source = View(x.offset, x.shape[:-2] + x.shape[-1:], x.strides[:-2] + x.strides[-1:]).of(states)
    matrix = np.broadcast_to(w, np.broadcast_shapes(w.shape, x.shape[-2:]))
    return _accumulate(target, _matrix_product(matrix, source), bias, fresh)


def _compiles() -> bool:
    """Whether numba is switched on; without it the closed forms in numpy do."""
    from numba import config

    return not config.DISABLE_JIT  # type: ignore[attr-defined]


def _times(t: float, tensor: Floats) -> Floats:
    return tensor if t == 1.0 else t * tensor


def _matrix_product(matrix: Floats, source: Floats) -> Callable[[Floats], object]:
    """matrix (…, m, n) times source (…, n, B). One matrix for many rows is one product, not one for each row; a single
    input is a vector, which BLAS multiplies three times faster than a column."""
    if source.ndim == 2 and source.shape[1] == 1:
        vector = source[:, 0]
        return lambda out: np.dot(matrix, vector, out=out[:, 0])
    if source.ndim == 2:
        return lambda out: np.dot(matrix, source, out=out)
    if any(n != 1 for n in matrix.shape[:-2]):
        return lambda out: np.matmul(matrix, source, out=out)
    matrix = matrix.reshape(matrix.shape[-2:])
    if source.shape[-1] == 1:
        rows, across = source[..., 0], matrix.T
        return lambda out: np.matmul(rows, across, out=out[..., 0])

    def many(out: Floats) -> None:
        columns = np.moveaxis(source, -2, 0)
        found = matrix @ columns.reshape(len(columns), math.prod(columns.shape[1:]))
        out[...] = np.moveaxis(found.reshape(len(found), *columns.shape[1:]), 0, -2)

    return many


def _accumulate(target: Floats, compute: Callable[[Floats], object], bias: Floats | None, fresh: bool) -> Step:
    """target += compute() + bias, straight into the target where it is still 0."""
    gain = target if fresh else np.empty_like(target)

    def step() -> bool:
        compute(gain)
        if not fresh:
            np.add(target, gain, out=target)
        if bias is not None:
            np.add(target, bias, out=target)
        return math.isfinite(np.add.reduce(target, axis=None))  # False may also be a sum too large: worth a look

    return step


def _product(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """Lane by lane, or a sum over r without ever forming lanes × r."""
    z, x, v = block.targets[0], *block.operands
    if not (isinstance(z, View) and isinstance(x, View) and isinstance(v, View) and z.contiguous):
        return None
    left, right, scale = x.of(states), v.of(states), t * block.tensors["w"]
    if x.shape[-1] == 1:
        left, right = left[..., 0, :], right[..., 0, :]  # the last axis of the weights, 1, now spreads over the inputs

        def multiply(out: Floats) -> None:
            np.multiply(left, right, out=out)
            np.multiply(out, scale, out=out)

        return _accumulate(z.of(states), multiply, None, fresh)
    if scale.size != 1:
        return None
    factor = float(scale.ravel()[0])

    def contract(out: Floats) -> None:
        np.einsum("...rb,...rb->...b", left, right, out=out)
        np.multiply(out, factor, out=out)

    return _accumulate(z.of(states), contract, None, fresh)


def _decay(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    z = block.targets[0]
    if isinstance(z, Index):
        return None
    target, factor = z.of(states), np.exp(-t * block.tensors["r"][..., None])
    if not ((factor > NORMAL) & (factor < np.inf)).all():  # e^{−rt} beyond float64: the closed form takes care
        return None
    if factor.size == 1:
        factor = factor.reshape(())

    def step() -> bool:
        np.multiply(target, factor, out=target)
        return True

    return step


def _drain(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    z, x = block.targets
    if not (isinstance(z, View) and isinstance(x, View) and z.contiguous):
        return None
    r = float(block.tensors["r"].ravel()[0])
    matrix = _times(t * float(FLOAT.expm1c(-t * r) / FLOAT.expm1c(-r)), block.tensors["w"])
    bias = t * np.broadcast_to(block.tensors.get("b", np.zeros(())), z.shape)
    fall = np.exp(-t * r)
    if not NORMAL < fall < np.inf or not _compiles():
        return None
    from integraph.flow.kernels import add_rows

    target, source = z.of(states), x.of(states)
    gain = np.empty_like(target)
    decays, multiply = live[1], _matrix_product(matrix, source)

    def step() -> bool:
        multiply(gain)
        fine: bool = add_rows(target, gain, bias)
        if decays:
            np.multiply(source, fall, out=source)
        return fine

    return step


def _tanh(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    refs = block.refs()
    if t <= 0 or not all(isinstance(ref, View) and ref.contiguous for ref in refs):
        return None
    alpha, lam, source = (ref.of(states) for ref in refs)
    scaled = bool(block.tensors)
    if fresh and t == 1.0 and not scaled:

        def start_from_zero() -> bool:
            np.tanh(source, out=alpha)
            if live[1]:
                np.multiply(source, alpha, out=lam)
            return True

        return start_from_zero
    if not _compiles():
        return None
    from integraph.flow.kernels import tanh_flow

    alpha, lam, source = alpha.reshape(-1), lam.reshape(-1), source.reshape(-1)
    if not scaled:
        return lambda: tanh_flow(alpha, lam, source, t)
    return lambda: tanh_flow(alpha, lam, arguments(block, states)[1][0].reshape(-1), t)


_FAST: dict[str, Binder] = {
    "affine": _affine,
    "product": _product,
    "decay": _decay,
    "drain": _drain,
    "tanh": _tanh,
}
