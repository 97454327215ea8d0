"""Budgets and probes: checked when made, checked against their program, dropped where they are no longer true."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph import Index, Origin, Program, Registers, View, build, segment
from integraph.errors import SpecError
from integraph.gadgets import affine, decay
from integraph.program import Budget, Domain, Probe, spec
from integraph.program.program import ANNOTATIONS


def program() -> Program:
    """Two inputs, three segments, W = 6."""
    r = Registers()
    x, z, y = r.inputs("x", 2), r.new("z", 2), r.new("y", 2)
    first, last = segment("first", affine(z, x, w=[[1.0, 2.0], [3.0, 4.0]])), segment("last", affine(y, z))
    return build(r, [first, segment("decay", decay(x, r=3.0)), last], y)


def annotated() -> Program:
    budget = Budget([-1.0, 0.0], [1.0, 2.0], 1e-7, 2e-7, 1e-15)
    probes = (Probe("layer 1", 0, View(2, (2,), (1,))), Probe("layer 2", 2, Index([4, 5]), 2.0, 1.0))
    return replace(program(), proven=1e-6, seen=1e-8, budget=budget, probes=probes)


Z = View(2, (2,), (1,))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Probe(3, 0, Z), "label of a probe is a text, got 3"),
        (lambda: Probe("p", 0.0, Z), "probe 'p': the segment is a number, counted from 0, got 0.0"),
        (lambda: Probe("p", True, Z), "got True"),
        (lambda: Probe("p", 0, [2, 3]), "view or Index"),
        (lambda: Probe("p", 0, Z, layer=0), "probe 'p': the layer is a number, counted from 1, or None, got 0"),
        (lambda: Probe("p", 0, Z, layer=1.0), "counted from 1, or None, got 1.0"),
        (lambda: Probe("p", 0, Z, np.nan), "probe 'p': the scale must be finite, got nan"),
        (lambda: Probe("p", 0, Z, "2"), "the scale of probe 'p' must be numbers"),
        (lambda: Probe("p", 0, Z, 1.0, -np.inf), "the shift must be finite, got -inf"),
        (lambda: Probe("p", 0, Z, 1.0, [0.0]), "the shift of probe 'p' must be one number"),
        (lambda: Budget([0.0], [1.0, 2.0], 0, 0, 0), r"low has shape \(1,\), high \(2,\)"),
        (lambda: Budget(0.0, 1.0, 0, 0, 0), r"low has shape \(\), high \(\)"),
        (lambda: Budget([[0.0]], [[1.0]], 0, 0, 0), "one number for each input"),
        (lambda: Budget(["a"], [1.0], 0, 0, 0), "budget: low must be numbers"),
        (lambda: Budget([0.0, -np.inf], [1.0, 1.0], 0, 0, 0), "low holds -inf: the box must be finite"),
        (lambda: Budget([0.0], [np.nan], 0, 0, 0), "high holds nan"),
        (lambda: Budget([0.0, 2.0], [1.0, 1.0], 0, 0, 0), "input 1 has low = 2.0 > high = 1.0"),
        (lambda: Budget([0.0], [1.0], -1e-9, 0, 0), "approximation must be finite and ≥ 0, got -1e-09"),
        (lambda: Budget([0.0], [1.0], 0, np.nan, 0), "residue must be finite and ≥ 0, got nan"),
        (lambda: Budget([0.0], [1.0], 0, 0, np.inf), "rounding must be finite and ≥ 0, got inf"),
        (lambda: Budget([0.0], [1.0], 0, 0, "0"), "budget: rounding must be numbers"),
        (lambda: Budget([0.0], [1.0], 1e308, 1e308, 0), "sum of its parts must be finite"),
        (lambda: Domain([0.0], [1.0, 2.0]), r"domain: low has shape \(1,\), high \(2,\)"),
        (lambda: Domain([0.0], [np.inf]), "domain: high holds inf"),
        (lambda: Domain([2.0], [1.0]), "domain: input 0 has low = 2.0 > high = 1.0"),
    ],
)
def test_what_is_refused(make: Callable[[], object], match: str) -> None:
    with pytest.raises(SpecError, match=match):
        make()


@pytest.mark.parametrize(
    ("known", "match"),
    [
        ({"budget": 1e-6}, "the budget is a Budget"),
        ({"budget": Budget([0.0], [1.0], 0, 0, 0)}, "has 1 side, the program 2 inputs"),
        ({"domain": (0.0, 1.0)}, "the domain is a Domain"),
        ({"domain": Domain([0.0], [1.0])}, "the domain has 1 side, the program 2 inputs"),
        ({"origin": "x*y"}, "the origin is an Origin"),
        ({"origin": Origin("x", "formula", "exact", variables=("x",))}, "has 1 variable, the program 2 inputs"),
        ({"origin": Origin("x", "graph", "exact", box=Domain([0.0], [1.0]))}, "box of the origin has 1 side"),
        ({"probes": Probe("p", 0, Z)}, "probes are a tuple"),
        ({"probes": ("p",)}, "a probe is made by Probe.*got 'p'"),
        ({"probes": (Probe("p", 3, Z),)}, "probe 'p' is read after segment 3: the segments are 0 … 2"),
        ({"probes": (Probe("p", -1, Z),)}, "is read after segment -1"),
        ({"probes": (Probe("p", 0, View(5, (2,), (1,))),)}, "probe 'p' reads registers 5 … 6, there are 6"),
        ({"probes": (Probe("p", 0, Index([-1])),)}, "reads registers -1 … -1"),
        ({"probes": (Probe("p", 0, Z[:0]),)}, "reads 0 registers"),
        ({"probes": (Probe("p", 0, View(0, (7,), (0,))),)}, "reads 7 registers: needs 1 to 6"),
    ],
)
def test_what_does_not_fit_its_program(known: dict[str, object], match: str) -> None:
    with pytest.raises(SpecError, match=match):
        replace(program(), **known)


def test_a_program_without_segments_has_no_probes() -> None:
    r = Registers()
    x = r.inputs("x", 1)
    with pytest.raises(SpecError, match="is read after segment 0"):
        replace(build(r, [], x), probes=(Probe("p", 0, x),))


def test_nobody_can_change_them() -> None:
    low, high = np.zeros(2), np.ones(2)
    given = replace(program(), budget=Budget(low, high, 0, 0, 0), probes=[Probe("p", np.int64(1), Z, np.float32(2.0))])
    low[0] = 7.0
    for found in (given, pickle.loads(pickle.dumps(given)), copy.deepcopy(given)):
        assert found.budget.low.tolist() == [0.0, 0.0]
        assert not found.budget.low.flags.writeable
        assert not found.budget.high.flags.writeable
        assert isinstance(found.probes, tuple)
        probe = found.probes[0]
        assert [type(v) for v in (probe.segment, probe.scale, probe.shift)] == [int, float, float]


@given(st.lists(st.floats(0.0, 1e300), min_size=3, max_size=3))
def test_the_total_is_rounded_up(parts: list[float]) -> None:
    total = Budget([], [], *parts).total
    exact = sum(map(Fraction, parts))
    assert Fraction(total) >= exact
    assert total == 0 or Fraction(np.nextafter(total, 0.0)) < exact


@pytest.mark.parametrize(
    ("change", "seen", "probes"),
    [
        (lambda p: p.rescale_time(1.0), 1e-8, 2),
        (lambda p: p.rescale_states(3.0), 1e-8, 0),
        (lambda p: p.reverse(), None, 0),
        (lambda p: p.then(p), None, 0),
    ],
    ids=["rescale_time", "rescale_states", "reverse", "then"],
)
def test_what_is_no_longer_true_is_dropped(change: Callable[[Program], Program], seen: float, probes: int) -> None:
    """Controls that are rounded anew have no proof, and other units or numbers of registers no probes."""
    found = change(annotated())
    assert (found.proven, found.budget, found.seen, len(found.probes)) == (None, None, seen, probes)


def sides(found: Program) -> tuple[list[float], list[float]] | None:
    return None if found.box is None else (found.box.low.tolist(), found.box.high.tolist())


def test_where_a_program_was_made_for() -> None:
    """The box of the promise, or else its domain, which a dropped promise leaves behind; in other units if exact."""
    here = ([-1.0, 0.0], [1.0, 2.0])
    assert program().box is None
    assert sides(annotated()) == here
    assert sides(annotated().rescale_time(1.0)) == here
    made = replace(program(), domain=Domain(*here))
    assert sides(made) == sides(pickle.loads(pickle.dumps(made))) == sides(made.rescale_time(0.1)) == here
    assert made.rescale_states(3.0).box is made.reverse().box is made.then(made).box is None
    assert sides(made.rescale_states(2.0)) == ([-0.5, 0.0], [0.5, 1.0])


def test_what_is_still_true_is_kept() -> None:
    more = annotated().with_errors(seen=1e-9)
    assert (more.proven, more.seen, more.budget.total, len(more.probes)) == (1e-6, 1e-9, annotated().budget.total, 2)
    x = np.array([[0.25, 0.5]])
    for found in (annotated(), annotated().rescale_time(0.1)):
        ends = np.cumsum([s.duration for s in found.segments])
        path = found.flow(x, times=ends).check().path[0]
        seen = [p.scale * path[p.segment][p.ref.indices()] + p.shift for p in found.probes]
        assert np.allclose(seen, [[1.25, 2.75], [3.5, 6.5]], rtol=1e-14)


def test_annotations_cost_no_check_of_the_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, known = program(), annotated()
    monkeypatch.setattr(spec, "check", lambda program: pytest.fail("checked again"))
    told = plain.annotate(proven=1e-6, seen=1e-8, budget=known.budget, probes=known.probes)
    assert plain.budget is None
    for field in fields(Program):
        assert (getattr(told, field.name) is getattr(plain, field.name)) != (
            field.name in ANNOTATIONS - {"domain", "origin"}
        )
    assert told.digest == plain.digest
    assert told([[0.5, 1.0]]) == pytest.approx(known([[0.5, 1.0]]))


def test_annotate_checks_annotations_and_takes_nothing_else() -> None:
    with pytest.raises(SpecError, match="the domain has 3 sides, the program 2 inputs"):
        program().annotate(domain=Domain([0.0] * 3, [1.0] * 3))
    with pytest.raises(SpecError, match="bits: annotations are budget, domain"):
        program().annotate(bits=80)


def test_units_that_are_powers_of_two_round_nothing() -> None:
    """Boxes and probes are in the new units; where a control underflows, nothing is claimed."""
    program = annotated()
    scaled = program.rescale_states(2.0)
    assert scaled.budget is not None
    assert program.budget is not None
    assert (scaled.proven, scaled.seen, scaled.budget.total) == (program.proven, program.seen, program.budget.total)
    assert np.array_equal(scaled.budget.high, program.budget.high / 2.0)
    assert [p.scale for p in scaled.probes] == [2.0 * p.scale for p in program.probes]
    lost = program.rescale_states(np.where(np.arange(program.width) < program.inputs, 2.0**-100, 2.0**1000))
    assert (lost.proven, lost.budget, lost.probes) == (None, None, ())
    uneven = program.rescale_states(2.0 ** np.arange(program.width))  # a probe has one unit
    assert uneven.proven == program.proven
    assert all(len(p.ref.indices().ravel()) == 1 for p in uneven.probes)
