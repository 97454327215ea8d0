"""Closed forms with controls as they are stored, for gadgets whose lowering rounds a product or a sum of tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from flint import arb

from integraph.gadgets import Closed, drain, leaky_relu, relax
from integraph.gadgets.functions.arb import BALLS
from integraph.gadgets.functions.namespace import Arrays
from integraph.gadgets.gadget import lane_values
from integraph.numbers.arrays import Floats
from integraph.program import Block, Op

Form = Callable[[Block, arb, Arrays, Arrays], Closed]


def _drain(block: Block, t: arb, start: Arrays, operands: Arrays) -> Closed:
    """z' = G x + b, x' = −r x with the gain G in place of r/(1 − e^{−r}) w."""
    (z, x), r = start, BALLS.exactly(block.tensors["r"])
    gain = BALLS.exactly(drain.gain(block)).reshape(block.tensors["w"].shape)
    drift = BALLS.exactly(block.tensors.get("b", np.zeros(()))[..., None])
    reach = t * BALLS.expm1c(-t * r)
    return Closed((z + reach * np.matmul(gain, x) + t * drift, BALLS.grow(x, -t * r)))


def _relax(block: Block, t: arb, start: Arrays, operands: Arrays) -> Closed:
    """z' = −r z + c with c = r v as rounded: z + (c − r z) t (e^{−rt} − 1)/(−rt)."""
    (z,), rates, values = start, _lanes(block, "r"), _lanes(block, "v")
    r, c = BALLS.exactly(rates), BALLS.exactly(rates * values)
    return Closed((BALLS.grow(z, -t * r) + t * c * BALLS.expm1c(-t * r),))


def _leaky_relu(block: Block, t: arb, start: Arrays, operands: Arrays) -> Closed:
    """s' = p x s − k s² − l x² = k (s − c x)(c' x − s): c and c' are the roots of k c² − p c + l."""
    (s,), (x,), rates, slopes = start, operands, _lanes(block, "k"), _lanes(block, "c")
    k, p, l = (BALLS.exactly(part) for part in (rates, rates + rates * slopes, rates * slopes))
    apart = _root(p * p - 4 * k * l)
    low = (p - apart) / (2 * k)
    excess = s - low * x
    alive, excess = BALLS.logistic(t * (apart * x), t * k * excess, excess)
    still = np.broadcast_to(rates == 0, excess.shape)
    return Closed((np.where(still, s, low * x + excess),), {"s": np.where(still, 1.0, alive)})


_root = np.frompyfunc(arb.sqrt, 1, 1)


def _lanes(block: Block, name: str) -> Floats:
    """A tensor's value in every lane, with a last axis of inputs."""
    shape = block.targets[0].shape
    return lane_values(block, name, np.arange(block.targets[0].size)).reshape(*shape, 1)


FORMS: dict[Op, Form] = {drain: _drain, relax: _relax, leaky_relu: _leaky_relu}


def form(block: Block) -> Form | None:
    """For a block that has one: an affine operand is not among the things that these forms know."""
    affine = block.op is leaky_relu and ("a" in block.tensors or "b" in block.tensors)
    return None if affine else FORMS.get(block.op)
