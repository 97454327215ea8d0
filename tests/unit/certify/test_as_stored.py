"""Whether controls are rounded is told exactly: compared with fractions, gadget by gadget, sum by sum."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph import Index, Program, Registers, Segment, build, gadgets
from integraph.certify.controls import exact_product, exact_program, exact_segment, stored_form
from integraph.certify.problem import Unprovable
from integraph.gadgets import Elementwise
from integraph.program import Terms
from law import examples
from random_programs import programs
from slow import mostly_slow

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ROUND = 0.1  # 0.1 · 0.3 and 0.1 + 0.3 are rounded


@examples(600)
@given(FLOATS, FLOATS | st.sampled_from([2.0**-1074, 2.0**-1000, 2.0**1000, 0.5, -4.0, 3.0]))
def test_products(a: float, b: float) -> None:
    found, fine = exact_product(a, b)
    truth = Fraction(a) * Fraction(b)
    representable = np.isfinite(found) and Fraction(float(found)) == truth
    assert bool(fine) == bool(representable)


def _one(op: gadgets.Gadget, rate: float = 1.0, **tensors: object) -> tuple[Segment, Program]:
    r = Registers()
    roles = [r.inputs(role, 1) for role in (*op.targets, *op.operands)]
    segment = Segment("s", (op(*roles, **tensors),), 1.0, rate)
    return segment, build(r, [segment], roles[0])


def _refused(op: gadgets.Gadget, rate: float = 1.0, **tensors: object) -> bool:
    _, program = _one(op, rate, **tensors)
    try:
        exact_segment(program, 0, strict=True)
    except Unprovable as reason:
        return "'s'" in str(reason) and "rounded" in str(reason)
    return False


def _terms(segment: Segment, width: int) -> dict[tuple[int, int, int], Fraction]:
    """The controls of an elementwise segment in exact arithmetic."""
    found: dict[tuple[int, int, int], Fraction] = {}
    (block,) = segment.blocks
    op = block.op
    assert isinstance(op, Elementwise)
    value = {name: Fraction(float(t)) for name, t in block.tensors.items()}
    roles = zip((*op.targets, *op.operands), block.refs(), strict=True)
    register = {role: int(ref.indices()[0]) for role, ref in roles}
    for target, number, *factors in op.equations:
        parts = [(Fraction(number), ())]
        for factor in factors:
            if factor not in register:
                parts = [(c * value[factor], regs) for c, regs in parts]
            elif factor in op.operands:
                form = [(value.get("a", Fraction(1)), (register[factor],)), (value.get("b", Fraction(0)), ())]
                parts = [(c * d, (*regs, *more)) for c, regs in parts for d, more in form]
            else:
                parts = [(c, (*regs, register[factor])) for c, regs in parts]
        for c, regs in parts:
            j, k = sorted((*regs, -1, -1)[:2]) if len(regs) < 2 else sorted(regs)
            key = register[target], j, k
            found[key] = found.get(key, Fraction(0)) + c * Fraction(segment.rate)
    return {key: c for key, c in found.items() if c}


ELEMENTWISE = [getattr(gadgets, name) for name in gadgets.__all__ if isinstance(getattr(gadgets, name), Elementwise)]
NUMBERS = st.sampled_from([0.0, 1.0, -2.0, 0.5, 3.0, 0.1, 0.3, 1e-310, 1e-200, 2.0**60, 1 / 3])


@mostly_slow("op", ELEMENTWISE, quick=17, ids=lambda op: op.name)
@examples(40)
@given(data=st.data())
def test_what_passes_is_what_is_stored(op: Elementwise, data: st.DataObject) -> None:
    needed = {f for _, _, *factors in op.equations for f in factors} - {*op.targets, *op.operands}
    names = [n for n in op.tensors if n in needed or (op.operands and data.draw(st.booleans()))]
    rate = data.draw(st.sampled_from([1.0, -1.0, 0.25, 3.0, 0.1]))
    segment, program = _one(op, rate, **{name: data.draw(NUMBERS) for name in names})
    truth = _terms(segment, program.width)
    c = program.controls()
    listed = zip(c.i.tolist(), c.j.tolist(), c.k.tolist(), strict=True)
    stored = {key: Fraction(v) for key, v in zip(listed, c.value.tolist(), strict=True)}
    try:
        exact_segment(program, 0, strict=True)
    except Unprovable:
        return
    assert stored == truth


@pytest.mark.slow
@examples(150)
@given(programs())
def test_random_programs_pass_only_if_their_sums_are_exact(program: Program) -> None:
    try:
        exact_program(program)
    except Unprovable:
        return
    for number, segment in enumerate(program.segments):
        if any(stored_form(block) for block in segment.blocks):
            continue
        roles = [(b, role, ref.size) for b in segment.blocks for role, ref in enumerate(b.targets)]
        flat = sorted(t for b, role, size in roles for t in _listed(b.op.lower(b, role, np.arange(size))))
        scale = [Fraction(1)] * (program.width + 1) if program.scales is None else [*map(Fraction, program.scales), 1]
        truth = {}
        for key, group in groupby(flat, key=lambda t: t[:3]):
            i, j, k = key
            total = sum(Fraction(t[3]) for t in group) * Fraction(segment.rate) * scale[j] * scale[k] / scale[i]
            if total:
                truth[key] = total
        stored = {t[:3]: Fraction(t[3]) for batch in program.segment_terms(number) for t in _listed(batch)}
        assert stored == truth


def _listed(t: Terms) -> list[tuple[int, int, int, float]]:
    return list(zip(t.i.tolist(), t.j.tolist(), t.k.tolist(), t.value.tolist(), strict=True))


def test_each_kind_of_rounding_is_seen() -> None:
    assert not _refused(gadgets.relu, k=ROUND)
    assert _refused(gadgets.relu, k=ROUND, a=0.3)
    assert _refused(gadgets.relax, r=ROUND, v=0.3)
    assert not _refused(gadgets.relax, r=0.5, v=0.3)
    assert _refused(gadgets.leaky_relu, k=3.0, c=ROUND)  # k·c
    assert _refused(gadgets.leaky_relu, k=1.0, c=2.0**-60)  # 1 + c
    assert _refused(gadgets.decay, 3.0, r=ROUND)  # rate
    assert not _refused(gadgets.decay, 0.25, r=ROUND)
    assert _refused(gadgets.decay, 2.0**-1070, r=ROUND)  # subnormal
    assert _refused(gadgets.tanh, a=ROUND, b=0.3)
    assert not _refused(gadgets.tanh, a=0.5, b=0.75)


def test_sums_over_the_same_register() -> None:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    twice = Index(np.zeros((1, 2), np.int64))
    for weights, refused in (([0.1, 0.2], True), ([0.5, 0.25], False), ([1.0, 2.0**-53, 2.0**-53], True)):
        read = Index(np.zeros((1, len(weights)), np.int64)) if len(weights) > 2 else twice
        segment = Segment("s", (gadgets.affine(z, read, w=[weights]),))
        program = build(r, [segment], z)
        for strict in (True, False):
            if refused:
                with pytest.raises(Unprovable, match="rounded"):
                    exact_segment(program, 0, strict)
            else:
                exact_segment(program, 0, strict)
    shared = Segment("s", (gadgets.affine(z, x, w=0.1), gadgets.affine(z, x, w=0.2)))
    for block in shared.blocks:
        exact_program(build(r, [Segment("s", (block,))], z))  # each for itself is
    with pytest.raises(Unprovable, match="rounded"):
        exact_program(build(r, [shared], z))


def test_scales_partition_and_drain() -> None:
    _, program = _one(gadgets.exp)
    exact_program(program.rescale_states([2.0, 0.25]))
    with pytest.raises(Unprovable, match="scale"):
        exact_program(program.rescale_states([3.0, 1.0]))
    r = Registers()
    lam, mu, x = r.inputs("lam", 3), r.inputs("mu", 2), r.inputs("x", 1)
    segment = Segment("s", (gadgets.partition(lam, mu, x[0]),))
    with pytest.raises(Unprovable, match="partition"):
        exact_program(build(r, [segment], lam))
    drain = gadgets.drain(lam, mu, w=np.full((3, 2), 0.1), r=1.5)
    exact_segment(build(r, [Segment("s", (drain,))], lam), 0, strict=True)
