"""Fast steps of what is linear in its targets: affine maps, products, decays, relaxations and drains."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import sparse

from integraph import gadgets
from integraph.gadgets.functions import FLOAT
from integraph.program import Block, Index, Ref, View
from integraph.program.views import Floats

NORMAL = 1e-290  # factors below lose digits or are 0
SUBNORMAL = float(np.finfo(np.float64).tiny)  # numbers below have lost digits, and slow down all that is done with them
LN2 = math.log(2.0)
GATHERED = 64  # registers a lane may read before a sum over a copy is faster

Step = Callable[[], bool]


def affine(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """Matrix products where all lanes of the last axis read the same registers; else only diagonal maps."""
    z, x = block.targets[0], block.operands[0]
    if not (isinstance(z, View) and z.contiguous):
        return None
    w = _times(t, block.tensors["w"])
    bias = t * block.tensors["b"][..., None] if "b" in block.tensors else None
    target = z.of(states)
    if x.shape[-1] == 1:
        diagonal = _single(x, states)
        return _accumulate(target, lambda out: np.multiply(w, diagonal(), out=out), bias, fresh)
    if not isinstance(x, View) or x.strides[-2:-1] != (0,):
        return None
    source = View(x.offset, x.shape[:-2] + x.shape[-1:], x.strides[:-2] + x.strides[-1:]).of(states)
    matrix = np.broadcast_to(w, np.broadcast_shapes(w.shape, x.shape[-2:]))
    return _accumulate(target, _matrix_product(matrix, source), bias, fresh)


def _single(x: Ref, states: Floats) -> Callable[[], Floats]:
    """What lanes read that read one register each: in place, or gathered."""
    if isinstance(x, View):
        fixed = x.of(states)[..., 0, :]
        return lambda: fixed
    registers = x.indices()[..., 0]
    return lambda: states[registers]


def ramp(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """One sum."""
    z = block.targets[0]
    if not isinstance(z, View):
        return None
    target, gain = z.of(states), t * block.tensors["b"][..., None]

    def step() -> bool:
        np.add(target, gain, out=target)
        return math.isfinite(np.add.reduce(target, axis=None))

    return step


def compiles() -> bool:
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


def product(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """Lane by lane, or a sum over r without ever forming lanes × r."""
    z, x, v = block.targets[0], *block.operands
    if not (isinstance(z, View) and z.contiguous):
        return None
    scale = t * block.tensors["w"]
    if x.shape[-1] == 1:
        one, other = _single(x, states), _single(v, states)

        def multiply(out: Floats) -> None:
            np.multiply(one(), other(), out=out)
            np.multiply(out, scale, out=out)  # the last axis of the weights, 1, spreads over the inputs

        return _accumulate(z.of(states), multiply, None, fresh)
    if scale.size != 1 or not (isinstance(x, View) and isinstance(v, View)):
        return None
    left, right, factor = x.of(states), v.of(states), float(scale.ravel()[0])

    def contract(out: Floats) -> None:
        np.einsum("...rb,...rb->...b", left, right, out=out)
        np.multiply(out, factor, out=out)

    return _accumulate(z.of(states), contract, None, fresh)


def bilinear(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """One matrix product over x for all lanes and all of v, then a sum over v."""
    z, x, v = block.targets[0], *block.operands
    if not (isinstance(z, View) and isinstance(x, View) and isinstance(v, View) and z.contiguous):
        return None
    left, right, w = x.of(states), v.of(states), _times(t, block.tensors["w"])
    lanes, reads, others = w.shape
    matrix = np.ascontiguousarray(w.transpose(0, 2, 1)).reshape(lanes * others, reads)
    half = np.empty((lanes * others, states.shape[1]))
    multiply, halves = _matrix_product(matrix, left), half.reshape(lanes, others, states.shape[1])

    def contract(out: Floats) -> None:
        multiply(half)
        np.einsum("ksb,sb->kb", halves, right, out=out)

    return _accumulate(z.of(states), contract, None, fresh)


def monomial(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """Lanes that read a few registers each: one sparse product gives all exponents. What falls below 2.2e-308 is 0."""
    z, l = block.targets[0], block.operands[0]
    if not (isinstance(z, View) and z.contiguous) or l.shape[-1] > GATHERED:
        return None
    lanes, reads = z.size, l.indices().ravel()
    target = z.of(states).reshape(lanes, states.shape[1])
    weights = np.broadcast_to(t * block.tensors["w"], l.shape).ravel()
    used = weights != 0
    rows = np.repeat(np.arange(lanes), l.shape[-1])[used]
    matrix = sparse.csr_array((weights[used], (rows, reads[used])), (lanes, len(states)))
    bias = t * np.broadcast_to(block.tensors.get("b", np.zeros(())), z.shape).reshape(lanes, 1)

    def step() -> bool:
        exponent = matrix @ states
        np.add(exponent, bias, out=exponent)
        grown = FLOAT.grow(target, exponent)
        grown[np.abs(grown) < SUBNORMAL] = 0.0
        target[...] = grown
        return math.isfinite(np.add.reduce(target, axis=None))

    return step


def log_cosh(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """l = ln cosh(t·x) from 0, where nobody reads m: near 0 as ln(1 + 2 sinh²), further out as |x| − ln 2 + …"""
    (_, l), x = block.targets, block.operands[0]
    if live[0] or not fresh or not all(isinstance(ref, View) for ref in (l, x)):
        return None
    source, target = x.of(states), l.of(states)
    a, b = (np.asarray(t * block.tensors.get(name, one))[..., None] for name, one in _AFFINE.items())
    size, far = np.empty(target.shape), np.empty(target.shape)

    def step() -> bool:
        np.multiply(source, a, out=size)
        np.add(size, b, out=size)
        np.abs(size, out=size)
        np.multiply(size, -2.0, out=far)
        np.exp(far, out=far)
        np.add(far, 1.0, out=far)
        np.log(far, out=far)
        np.add(far, size - LN2, out=far)
        near = size < 1.0
        far[near] = np.log1p(2.0 * np.sinh(0.5 * size[near]) ** 2)
        target[...] = far
        return math.isfinite(np.add.reduce(far, axis=None))

    return step


_AFFINE = {"a": np.ones(()), "b": np.zeros(())}


def decay(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """Decays, and relaxations, which then add their part of v."""
    z, rate = block.targets[0], t * block.tensors["r"][..., None]
    if isinstance(z, Index):
        return None
    target = z.of(states)
    shrink = _shrink(target, rate)
    if shrink is None or "v" not in block.tensors:
        return shrink
    if (rate < 0).any():  # away from v; the closed form lets v itself stay
        return None
    shift = -np.expm1(-rate) * block.tensors["v"][..., None]

    def step() -> bool:
        shrink()
        np.add(target, shift, out=target)
        return math.isfinite(np.add.reduce(target, axis=None))

    return step


def _shrink(target: Floats, rate: Floats) -> Step | None:
    """target becomes e^{−rate}·target, in two halves where that factor is no normal number; None where it is ∞."""
    whole, half = np.exp(-rate), np.exp(-0.5 * rate)
    if not np.isfinite(whole).all():  # the closed form lets 0 stay
        return None
    far = whole <= NORMAL
    factors = [np.where(far, half, whole), np.where(far, half, 1.0)]
    if not half[far].any():
        del factors[1]
    factors = [factor.reshape(()) if factor.size == 1 else factor for factor in factors]
    grows = bool((rate < 0).any())

    def step() -> bool:
        for factor in factors:
            np.multiply(target, factor, out=target)
        return not grows or bool(np.isfinite(target).all())

    return step


def drain(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """One matrix product for all of z; where z has gaps, it is added bank by bank."""
    z, x = block.targets
    if not (isinstance(z, View) and isinstance(x, View) and compiles()):
        return None
    source, r = x.of(states), block.tensors["r"]
    reach, shrink = float(gadgets.drain.gained(FLOAT, t, r, 1.0)), _shrink(source, t * r[..., None])
    if shrink is None or not NORMAL < abs(reach) < np.inf:
        return None
    from integraph.flow.kernels import add_rows

    z = z.reshape(z.size) if z.contiguous else z
    target, gain = z.of(states), np.empty((z.size, states.shape[1]))
    multiply = _matrix_product(block.tensors["w"].reshape(z.size, x.size), source)
    bias = t * np.broadcast_to(block.tensors.get("b", np.zeros(())), block.targets[0].shape).reshape(z.shape)
    gains = gain.reshape(target.shape)
    banks = [(target[bank], gains[bank], bias[bank]) for bank in np.ndindex(z.shape[:-1])]

    def step() -> bool:
        multiply(gain)
        fine = True
        for into, gained, b in banks:
            fine &= add_rows(into, gained, reach, b)
        if live[1]:
            fine &= shrink()
        return fine

    return step
