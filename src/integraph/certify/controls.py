"""Whether the stored controls of eq. (1) are exactly those of the closed forms, and closed forms for rounded controls.

Lowering multiplies the tensors of a block, adds terms of the same registers, and multiplies by the segment's rate and
the state scales, all in float64. `exact_program` repeats each step together with its rounding error, and names the
first control that is rounded. Three gadgets (`FORMS`) have a closed form for the controls as stored, rounded or not. A
partition is controlled by rounded logarithms, and has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from integraph.certify.problem import Unprovable
from integraph.clock import check_deadline
from integraph.gadgets import (
    Closed,
    Elementwise,
    affine,
    bilinear,
    drain,
    leaky_relu,
    log_softmax,
    log_sum_exp,
    monomial,
    power_spiral,
    powers,
    raw,
    relax,
    shifted_softmax,
    softmax,
    spiral,
)
from integraph.gadgets import product as products
from integraph.gadgets.functions.arb import BALLS, BallFunctions
from integraph.gadgets.functions.namespace import Arrays
from integraph.gadgets.gadget import lane_values
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.roundoff import product_error, sum_error
from integraph.program import Block, Op, Program, Segment, Terms
from integraph.program.bands import bands
from integraph.program.block import operation
from integraph.program.lowering import BATCH, stream_segment
from integraph.program.terms import canonical, concatenate

Form = Callable[[Any, Block, arb, Arrays, Arrays], Closed]  # over a namespace of functions of balls
VERBATIM = (  # store their tensors, with either sign, or their gain, as it is
    affine,
    bilinear,
    drain,
    log_softmax,
    log_sum_exp,
    monomial,
    power_spiral,
    powers,
    products,
    raw,
    shifted_softmax,
    softmax,
    spiral,
)


def exact_program(program: Program) -> None:
    """Raise Unprovable if a control is rounded and no closed form takes it as stored."""
    for number in range(program.depth):
        exact_segment(program, number)


def exact_segment(program: Program, number: int, strict: bool = False) -> None:
    """The same for one segment; with `strict`, whether or not a closed form takes it. A drain stores its gain."""
    exact_part(program, program.segments[number], strict)


def exact_part(program: Program, part: Segment, strict: bool = False) -> None:
    """The same for some blocks of a segment. Its rows do not depend on each other, so that those of some blocks are
    those of a segment that has no others."""
    _exact(part, stream_segment(part, program.width, program.scales, BATCH), program.scales, strict)


def exact_gadgets(program: Program) -> None:
    """The same for the blocks that do more than add; what others add is read as it is stored."""
    for segment in program.segments:
        blocks = tuple(block for block in segment.blocks if not block.op.additive)
        if blocks:
            exact_part(program, replace(segment, blocks=blocks))


def _exact(segment: Segment, stored: Iterator[Terms], scales: Floats | None, strict: bool) -> None:
    taken = [not strict and stored_form(block) is not None for block in segment.blocks]
    for block, fine in zip(segment.blocks, taken, strict=True):
        if operation(block.op.name) is not block.op:
            raise Unprovable(f"segment {segment.label!r}: {block.op.name} is not the gadget of this name")
        if not fine:
            _check_products(segment, block)
    for band in bands(segment.blocks, BATCH):
        check_deadline()
        with np.errstate(all="ignore"):  # what overflows is not exact
            pieces = [_lowered(*part, strict) for part in band]
            terms = _scaled(segment, _paced(segment, _summed(segment, pieces)), scales)
        if len(terms):
            _same(segment, terms, next(stored, terms[:0]))


def _lowered(block: Block, role: int, lanes: Indices, strict: bool) -> Terms:
    terms = block.op.lower(block, role, lanes)
    if strict or stored_form(block) is None:
        return terms
    return canonical([terms], int(max(terms.i.max(), terms.k.max())) + 1)


def summed(a: Floats, b: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The rounded sum, and where it is exact."""
    total = a + b
    return total, sum_error(a, b, total) == 0


def exact_product(a: Any, b: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """The rounded product, and where it is exact."""
    (x, left), (y, right) = np.frexp(np.asarray(a, np.float64)), np.frexp(np.asarray(b, np.float64))
    with np.errstate(invalid="ignore"):
        head = x * y
        fine = product_error(x, y, head) == 0
    return _ldexp(head, left + right, fine)


def _ldexp(head: Floats, power: Any, fine: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    """head · 2^power, and where that neither leaves float64 nor loses digits."""
    with np.errstate(all="ignore"):
        scaled = np.ldexp(head, power)
        mantissa, exponent = np.frexp(scaled)
        back = np.frexp(head)
        return scaled, fine & ((head == 0) | ((mantissa == back[0]) & (exponent == back[1] + power)))


def _check_products(segment: Segment, block: Block) -> None:
    """Those of an elementwise block: number, tensors, then the two factors' coefficients, as it lowers them."""
    op = block.op
    if op in VERBATIM:
        return
    if not isinstance(op, Elementwise):
        raise Unprovable(
            f"segment {segment.label!r}: the controls of {op.name} are rounded numbers, for which no closed form is "
            "known"
        )
    for _, number, *factors in op.equations:
        value: Floats = np.asarray(number, np.float64)
        for name in factors:
            if name not in op.targets and name not in op.operands:
                value = _times(segment, block, value, block.tensors[name])
        forms = [_form(block, name) for name in factors if name in op.operands]
        same = len(forms) == 2 and factors[-1] == factors[-2]
        for chosen in combinations_with_replacement(forms[0], 2) if same else product(*forms):
            result = value
            for coefficient in chosen:
                result = _times(segment, block, result, coefficient)


def _form(block: Block, name: str) -> list[Any]:
    """The coefficients of a·x + b, if this is the first operand."""
    given = [block.tensors[n] for n in ("a", "b") if n in block.tensors]
    if name != block.op.operands[0] or not given:
        return [1.0]
    return given if "a" in block.tensors else [1.0, *given]


def _times(segment: Segment, block: Block, a: Floats, b: Any) -> Floats:
    result, fine = exact_product(a, b)
    if not fine.all():
        at = np.unravel_index(int(np.argmin(fine)), fine.shape)
        x, y = (float(np.broadcast_to(z, fine.shape)[at]) for z in (a, b))
        raise Unprovable(
            f"segment {segment.label!r}: the control {x!r} · {y!r} of {block.op.name} is rounded, but the proof is "
            "about the stored controls"
        )
    return result


def _summed(segment: Segment, pieces: Iterable[Terms]) -> Terms:
    """Sorted, terms of the same registers added, without zeros; in the order of lowering."""
    all_terms = concatenate([p for p in pieces if len(p)])
    t = all_terms[np.lexsort((all_terms.k, all_terms.j, all_terms.i))]
    if not len(t):
        return t
    key = np.stack([t.i, t.j, t.k])
    starts = np.flatnonzero(np.concatenate([[True], (key[:, 1:] != key[:, :-1]).any(0)]))
    counts = np.diff(starts, append=len(t))
    value = t.value[starts]
    for position in range(1, int(counts.max())):
        check_deadline()
        more = np.flatnonzero(counts > position)
        value[more], fine = summed(value[more], t.value[starts[more] + position])
        _none_lost(segment, t[starts[more]], fine)
    totals = t[starts]
    return Terms(totals.i, totals.j, totals.k, value)[value != 0]


def _paced(segment: Segment, t: Terms) -> Terms:
    value, fine = exact_product(t.value, segment.rate)
    _none_lost(segment, t, fine)
    return Terms(t.i, t.j, t.k, value)


def _scaled(segment: Segment, t: Terms, scales: Floats | None) -> Terms:
    """ŷ = y/s turns q y_j y_k into (q s_j s_k / s_i) ŷ_j ŷ_k: exact for powers of 2."""
    if scales is None:
        return t
    mantissa, exponent = np.frexp(np.append(scales, 1.0))  # index −1 is the constant 1
    if (mantissa != 0.5).any():
        raise Unprovable(
            f"the state scale {scales[np.argmax(mantissa != 0.5)]!r} rounds the controls: take powers of 2"
        )
    shift = exponent[t.j] + exponent[t.k] - exponent[t.i] - 1  # each exponent is one more than the power
    value, fine = _ldexp(t.value, shift, np.ones(len(t), np.bool_))
    _none_lost(segment, t, fine)
    return Terms(t.i, t.j, t.k, value)


def _none_lost(segment: Segment, t: Terms, fine: NDArray[np.bool_]) -> None:
    if not fine.all():
        bad = int(np.argmin(fine))
        raise Unprovable(
            f"segment {segment.label!r}: the control of registers ({t.i[bad]}, {t.j[bad]}, {t.k[bad]}) is rounded, but "
            "the proof is about the stored controls: rescale time only by powers of 2"
        )


def _same(segment: Segment, terms: Terms, stored: Terms) -> None:
    parts = ("i", "j", "k", "value")
    if not all(np.array_equal(getattr(terms, part), getattr(stored, part)) for part in parts):
        raise Unprovable(f"segment {segment.label!r}: its stored controls are not those of its blocks")


def _drain(f: BallFunctions, block: Block, t: arb, start: Arrays, operands: Arrays) -> Closed:
    """z' = G x + b, x' = −r x with the gain G in place of r/(1 − e^{−r}) w."""
    (z, x), r = start, f.exactly(block.tensors["r"])
    gain = f.exactly(drain.gain(block)).reshape(block.tensors["w"].shape)
    drift = f.exactly(block.tensors.get("b", np.zeros(()))[..., None])
    reach = _reach(f, t, r)
    return Closed((z + reach * np.matmul(gain, x) + t * drift, f.grow(x, -t * r)))


def _reach(f: BallFunctions, t: arb, r: Any) -> Any:
    """∫ e^{−rs} ds over [0, t], which is (1 − e^{−rt})/r: t enters once, because it may be a ball."""
    still = r == 0
    time: Any = t
    return np.where(still, time, -f.expm1(-t * r) / np.where(still, 1, r))


def _relax(f: BallFunctions, block: Block, t: arb, start: Arrays, operands: Arrays) -> Closed:
    """z' = −r z + c with c = r v as rounded: c/r + (z − c/r) e^{−rt}, where t enters once."""
    (z,), rates, goals = start, _lanes(block, "r"), _lanes(block, "v")
    r, c = f.exactly(rates), f.exactly(rates * goals)
    rest = c / np.where(rates == 0, 1, r)
    return Closed((rest + f.grow(z - rest, -t * r),))


def _leaky_relu(f: BallFunctions, block: Block, t: arb, start: Arrays, operands: Arrays) -> Closed:
    """s' = p x s − k s² − l x² = k (s − c x)(c' x − s): c and c' are the roots of k c² − p c + l."""
    (s,), (x,), rates = start, operands, _lanes(block, "k")
    k, low, apart = leaky_roots(block)
    excess = s - low * x
    alive, excess = f.logistic(t * (apart * x), t * k * excess, excess)
    still = np.broadcast_to(rates == 0, excess.shape)
    return Closed((np.where(still, s, low * x + excess),), {"s": np.where(still, 1.0, alive)})


def leaky_roots(block: Block) -> tuple[Any, Any, Any]:
    """k, c and k(c' − c) in every lane of a leaky ReLU, as balls."""
    rates, slopes = _lanes(block, "k"), _lanes(block, "c")
    k, p, l = (BALLS.exactly(part) for part in (rates, rates + rates * slopes, rates * slopes))
    apart = _root(p * p - 4 * k * l)
    return k, (p - apart) / (2 * k), apart


_root = np.frompyfunc(arb.sqrt, 1, 1)


def _lanes(block: Block, name: str) -> Floats:
    """A tensor's value in every lane, with a last axis of inputs."""
    shape = block.targets[0].shape
    return lane_values(block, name, np.arange(block.targets[0].size)).reshape(*shape, 1)


FORMS: dict[Op, Form] = {drain: _drain, relax: _relax, leaky_relu: _leaky_relu}


def stored_form(block: Block) -> Form | None:
    """The closed form of the controls as stored, if there is one; none of them allows an affine operand."""
    affine = block.op is leaky_relu and ("a" in block.tensors or "b" in block.tensors)
    return None if affine else FORMS.get(block.op)
