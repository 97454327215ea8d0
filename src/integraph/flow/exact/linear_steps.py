"""Fast steps of monomials, logarithms of cosh, decays, relaxations and drains."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from integraph import gadgets
from integraph.flow.exact.affine_steps import Step, all_finite, compiles, matrix_product
from integraph.gadgets.functions.namespace import FLOAT
from integraph.numbers.arrays import Floats
from integraph.program import Block, Index, View

NORMAL = 1e-290  # factors below lose digits or are 0
SUBNORMAL = float(np.finfo(np.float64).tiny)  # numbers below have lost digits, and slow down all that is done with them
LN2 = math.log(2.0)
GATHERED = 64  # registers a lane may read before a sum over a copy is faster


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
    shift, fine = -np.expm1(-rate) * block.tensors["v"][..., None], all_finite(target)

    def step() -> bool:
        shrink()
        np.add(target, shift, out=target)
        return fine()

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
    from integraph.flow.exact.linear_kernels import add_rows

    z = z.reshape(z.size) if z.contiguous else z
    target, gain = z.of(states), np.empty((z.size, states.shape[1]))
    multiply = matrix_product(block.tensors["w"].reshape(z.size, x.size), source)
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
