"""Fast steps of affine maps: diagonals, sums and matrix products, straight into targets that are still empty."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.program import Block, Ref, View

Step = Callable[[], bool]
Compute = Callable[[Floats], object]  # writes all of its argument

WIDE = 256  # registers from which a compiled loop is worth half a second of loading numba
SHORT = 64  # numbers in a row below which a loop over rows is slow
FEW = 1 << 12  # numbers that take less time than a call
SMALL = 1 << 16  # weights of a matrix that is faster, and cheap, to keep the other way round


def compiles() -> bool:
    """Whether numba is available and enabled; without it the closed forms run in numpy."""
    from numba import config

    return not config.DISABLE_JIT  # type: ignore[attr-defined]


def loaded() -> bool:
    """Whether numba is there anyway, so that a compiled loop costs no wait."""
    return "numba" in sys.modules and compiles()


def worthwhile(target: Floats) -> bool:
    """Whether a compiled loop over the target pays."""
    return target.size >= WIDE * target.shape[-1] and compiles()


def affine(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """None where the target has gaps."""
    z, x = block.targets[0], block.operands[0]
    if not (isinstance(z, View) and z.contiguous):
        return None
    w = times(t, block.tensors["w"])
    bias = t * block.tensors["b"][..., None] if "b" in block.tensors else None
    target = z.of(states)
    if x.shape[-1] == 1:
        return _diagonal(target, x, states, w, bias, fresh)
    if isinstance(x, View) and all(n == 1 for n in w.shape[:-1]):
        return accumulate(target, _row_sums(w, x, states), bias, fresh)
    if not isinstance(x, View) or x.strides[-2:-1] != (0,):
        return accumulate(target, _lane_sums(w, x, states), bias, fresh)
    source = View(x.offset, x.shape[:-2] + x.shape[-1:], x.strides[:-2] + x.strides[-1:]).of(states)
    matrix = np.broadcast_to(w, np.broadcast_shapes(w.shape, x.shape[-2:]))
    return accumulate(target, matrix_product(matrix, source), bias, fresh)


def ramp(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """One sum."""
    z = block.targets[0]
    if not isinstance(z, View):
        return None
    target, gain = z.of(states), t * block.tensors["b"][..., None]
    if fresh:
        finite = bool(np.isfinite(gain).all())

        def fill() -> bool:
            np.copyto(target, gain)
            return finite

        return fill

    fine = all_finite(target)

    def step() -> bool:
        np.add(target, gain, out=target)
        return fine()

    return step


def single(x: Ref, states: Floats) -> Callable[[], Floats]:
    """What lanes read that read one register each: in place, or gathered."""
    if isinstance(x, View):
        fixed = x.of(states)[..., 0, :]
        return lambda: fixed
    registers = x.indices()[..., 0]
    return lambda: states[registers]


def _diagonal(target: Floats, x: Ref, states: Floats, w: Floats, bias: Floats | None, fresh: bool) -> Step:
    source = single(x, states)
    if not (worthwhile(target) and isinstance(x, View) and source().flags.c_contiguous):
        return accumulate(target, lambda out: np.multiply(w, source(), out=out), bias, fresh)
    from integraph.flow.exact import linear_kernels

    weights, shifts, rows = spread(target, w, np.zeros(1) if bias is None else bias)
    given, run = source().reshape(rows.shape), linear_kernels.fill if fresh else linear_kernels.add
    return lambda: run(rows, given, weights, shifts)


def spread(target: Floats, *tensors: Floats) -> list[Floats]:
    """Tensors that broadcast to the target as flat arrays of n numbers, and the target as (rows, n): rows are the
    leading axes that no tensor depends on."""
    padded = [(1,) * (target.ndim - x.ndim) + x.shape for x in tensors]
    lead = 0
    while math.prod(target.shape[lead + 1 :]) >= SHORT and all(shape[lead] == 1 for shape in padded):
        lead += 1
    tail = target.shape[lead:]
    flat = [np.broadcast_to(x.reshape(s[lead:]), tail).flatten() for x, s in zip(tensors, padded, strict=True)]
    return [*flat, target.reshape(-1, math.prod(tail))]


def _row_sums(w: Floats, x: View, states: Floats) -> Compute:
    """Weights that are the same for all lanes: one sum for all lanes that read the same registers."""
    weights = np.broadcast_to(w.reshape(w.shape[-1:]), x.shape[-1:]).copy()
    lanes = [(1 if s == 0 else n, s) for n, s in zip(x.shape[:-1], x.strides[:-1], strict=True)]
    source = View(x.offset, (*(n for n, _ in lanes), x.shape[-1]), x.strides).of(states)
    sums = np.empty(source.shape[:-2] + source.shape[-1:])
    if states.shape[1] == 1:
        rows, vector = source[..., 0], sums[..., 0]

        def total() -> None:
            np.matmul(rows, weights, out=vector)
    else:

        def total() -> None:
            np.matmul(weights, source, out=sums)

    def compute(out: Floats) -> None:
        total()
        np.copyto(out, sums)

    return compute


def _lane_sums(w: Floats, x: Ref, states: Floats) -> Compute:
    """Lanes that read registers of their own."""
    fixed = x.of(states) if isinstance(x, View) else None
    weights = np.broadcast_to(w, (*w.shape[:-1], x.shape[-1]))
    if fixed is not None and states.shape[1] == 1:
        rows = fixed[..., 0]
        return lambda out: np.vecdot(weights, rows, out=out[..., 0])
    across = weights[..., None, :]
    return lambda out: np.matmul(across, x.of(states) if fixed is None else fixed, out=out[..., None, :])


def times(t: float, tensor: Floats) -> Floats:
    return tensor if t == 1.0 else t * tensor


def matrix_product(matrix: Floats, source: Floats) -> Compute:
    """matrix (…, m, n) times source (…, n, B). A single input is a vector, or rows, which BLAS multiplies several times
    faster than columns."""
    if any(n != 1 for n in matrix.shape[:-2]):
        return lambda out: np.matmul(matrix, source, out=out)
    matrix = matrix.reshape(matrix.shape[-2:])
    if source.ndim == 2 and source.shape[1] == 1:
        vector, product = source[:, 0], matrix.dot  # the method takes half a microsecond less than the function
        return lambda out: product(vector, out[:, 0])
    if source.ndim == 2:
        return lambda out: np.dot(matrix, source, out=out)
    if source.shape[-1] > 1:
        return lambda out: np.matmul(matrix, source, out=out)
    rows, across = source[..., 0], matrix.T.copy() if matrix.size <= SMALL else matrix.T
    if rows.ndim == 2:
        return lambda out: np.dot(rows, across, out=out[..., 0])
    return lambda out: np.matmul(rows, across, out=out[..., 0])


def accumulate(target: Floats, compute: Compute, bias: Floats | None, fresh: bool) -> Step:
    """target += compute() + bias, straight into the target where it is fresh; False unless all is finite."""
    if fresh:
        settle = _settle(target, bias)

        def overwrite() -> bool:
            compute(target)
            return settle()

        return overwrite
    gain = np.empty_like(target)
    settle = _settle(target, bias, gain)

    def step() -> bool:
        compute(gain)
        return settle()

    return step


def _settle(target: Floats, bias: Floats | None, gain: Floats | None = None) -> Step:
    """Add the gain and the bias, and say whether all is finite: in one pass, where that is worth a compiled loop."""
    if worthwhile(target) or (gain is None and loaded()):  # whose bits are numpy's
        from integraph.flow.exact import linear_kernels

        if gain is None and bias is None:
            flat = target.reshape(-1)
            return lambda: linear_kernels.all_finite(flat)
        ones, shifts, rows = spread(target, np.ones(1), np.zeros(1) if bias is None else bias)
        if gain is None:
            return lambda: linear_kernels.shift(rows, shifts)
        gains = gain.reshape(rows.shape)
        return lambda: linear_kernels.add(rows, gains, ones, shifts)

    change, fine = target if gain is None else gain, all_finite(target)

    def settle() -> bool:
        if bias is not None:
            np.add(change, bias, out=change)  # before it is added: the same block with −w and −b then takes it back
        if gain is not None:
            np.add(target, gain, out=target)
        return fine()

    return settle


def all_finite(target: Floats) -> Step:
    """Whether all numbers are finite: a product with 0 is quicker for a few, a sum for many; False may then also mean a
    sum that is too large, and is worth a look."""
    if target.size > FEW or not target.flags.c_contiguous:
        return lambda: math.isfinite(np.add.reduce(target, axis=None))
    zeros, product = np.zeros(target.size), target.reshape(-1).dot
    return lambda: bool(product(zeros) == 0.0)
