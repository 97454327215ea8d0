"""Fast steps of products: lane by lane, or sums over r without ever forming lanes × r."""

from __future__ import annotations

import numpy as np

from integraph.flow.exact.affine_steps import Compute, Step, accumulate, compiles, matrix_product, single, times
from integraph.numbers.arrays import Floats
from integraph.program import Block, View

AXES = 3  # of the lanes, that the compiled loop has


def product(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """The step of a product; None where registers are listed, or every term of a sum has its own weight."""
    z, x, v = block.targets[0], *block.operands
    if not (isinstance(z, View) and z.contiguous):
        return None
    scale = t * block.tensors["w"]
    if x.shape[-1] == 1:
        one, other, plain = single(x, states), single(v, states), bool((scale == 1).all())

        def multiply(out: Floats) -> None:
            np.multiply(one(), other(), out=out)
            if not plain:
                np.multiply(out, scale, out=out)  # the last axis of the weights, 1, spreads over the inputs

        return accumulate(z.of(states), multiply, None, fresh)
    if scale.shape[-1:] not in ((), (1,)) or not (isinstance(x, View) and isinstance(v, View)):
        return None
    if states.shape[1] == 1:
        return accumulate(z.of(states), _matrices(z, x, v, states, scale), None, fresh)
    if len(z.shape) > AXES or not compiles():
        return accumulate(z.of(states), _sums(x, v, states, scale), None, fresh)
    from integraph.flow.exact.linear_kernels import contract

    missing = AXES - len(z.shape)
    shape = (1,) * missing + x.shape
    into, left, right = ((ref.offset, *(0,) * missing, *ref.strides) for ref in (z, x, v))
    weights = scale.reshape(1) if scale.size == 1 else np.broadcast_to(scale, (*z.shape, 1)).flatten()
    return lambda: contract(states, shape, into, left, right, weights, not fresh)


def _sums(x: View, v: View, states: Floats, scale: Floats) -> Compute:
    left, right = x.of(states), v.of(states)

    def compute(out: Floats) -> None:
        np.einsum("...rb,...rb->...b", left, right, out=out)
        np.multiply(out, scale, out=out)

    return compute


def _matrices(z: View, x: View, v: View, states: Floats, scale: Floats) -> Compute:
    """One input: where one axis of the lanes belongs to x alone and one to v alone, they are rows and columns of matrix
    products, one for each place on the other axes; else all are scalar products. An axis that belongs to neither is
    computed once."""
    axes, last = range(len(z.shape)), len(z.shape)
    neither = [x.strides[axis] == v.strides[axis] == 0 for axis in axes]
    x, v = (_single(ref, neither) for ref in (x, v))
    product = np.empty(tuple(1 if idle else n for idle, n in zip(neither, z.shape, strict=True)))
    rows = [axis for axis in axes if v.strides[axis] == 0 != x.strides[axis]]
    columns = [axis for axis in axes if x.strides[axis] == 0 != v.strides[axis]]
    if len(rows) != 1 or len(columns) != 1:
        one, other = x.of(states)[..., 0], v.of(states)[..., 0]

        def dots(out: Floats) -> None:
            np.vecdot(one, other, out=product)
            np.multiply(product[..., None], scale, out=out)

        return dots
    others = [axis for axis in axes if axis not in rows + columns]
    left = _chosen(x, [*others, *rows, last]).of(states)[..., 0]
    right = _chosen(v, [*others, last, *columns]).of(states)[..., 0]
    into = product.transpose(*others, *rows, *columns)

    def multiply(out: Floats) -> None:
        np.matmul(left, right, out=into)
        np.multiply(product[..., None], scale, out=out)

    return multiply


def _single(ref: View, idle: list[bool]) -> View:
    """Idle axes, on which nothing changes, with one place."""
    lanes = tuple(1 if one else n for one, n in zip(idle, ref.shape, strict=False))
    return View(ref.offset, (*lanes, ref.shape[-1]), ref.strides)


def _chosen(ref: View, axes: list[int]) -> View:
    """Some of the axes in another order; where the others are not 0 does not matter."""
    return View(ref.offset, tuple(ref.shape[a] for a in axes), tuple(ref.strides[a] for a in axes))


def bilinear(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """One matrix product over x for all lanes and all of v, then a sum over v."""
    z, x, v = block.targets[0], *block.operands
    if not (isinstance(z, View) and isinstance(x, View) and isinstance(v, View) and z.contiguous):
        return None
    left, right, w = x.of(states), v.of(states), times(t, block.tensors["w"])
    lanes, reads, others = w.shape
    matrix = np.ascontiguousarray(w.transpose(0, 2, 1)).reshape(lanes * others, reads)
    half = np.empty((lanes * others, states.shape[1]))
    multiply, halves = matrix_product(matrix, left), half.reshape(lanes, others, states.shape[1])

    def contract(out: Floats) -> None:
        multiply(half)
        np.einsum("ksb,sb->kb", halves, right, out=out)

    return accumulate(z.of(states), contract, None, fresh)
