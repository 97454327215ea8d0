"""What a program says about itself: the rate of its decays, its errors, its table."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph import Program, Registers, build, segment
from integraph.errors import UsageError
from integraph.gadgets import affine, decay, ln, raw
from integraph.program import ONE, Budget, summary
from integraph.program.summary import above, below
from law import examples
from random_programs import programs
from tanh_net import compile_net, random_net


def net() -> Program:
    return compile_net(*random_net((2, 5, 5, 1), seed=1))


def budgeted() -> Program:
    return replace(net(), budget=Budget([-1.0, 0.0], [1.0, 2.0], 1e-7, 9e-7, 1e-15), proven=2e-6, seen=3e-8)


def lines(text: str) -> dict[str, str]:
    return {line[:18].strip(): line[18:] for line in text.splitlines()}


@given(programs())
@examples(50)
def test_rate_is_the_largest_of_a_registers_own_terms(program: Program) -> None:
    """From all controls at once, where `rate` looks at some blocks only."""
    c = program.controls()
    own = np.abs(c.value[(c.j == ONE) & (c.k == c.i)])
    assert program.rate == own.max(initial=0.0)
    assert type(program.rate) is float


def test_rate_of_decays() -> None:
    r = Registers()
    x, z = r.inputs("x", 2), r.new("z", 2)
    assert build(r, [segment("copy", affine(z, x, w=9.0))], z).rate == 0.0
    both = build(r, [segment("slow", decay(x, r=3.0)), segment("raw", raw(z, A=[[1.0, 50.0], [0.0, -7.0]]))], z)
    assert both.rate == 7.0  # 50 couples two registers, it is no decay
    assert both.rescale_time(1.0).rate == pytest.approx(14.0)
    assert both.reverse().rate == both.rescale_states(4.0).rate == 7.0
    assert net().rate == 40.0


def test_repr_shows_what_is_promised() -> None:
    assert "no error bound is promised" in repr(net())
    assert re.search(
        r"promised error ≤ 1.01e-06 for x in \[.*, proven error ≤ 2e-06, largest difference found 3e-08$",
        repr(budgeted()),
    )
    assert "promised" not in repr(budgeted().rescale_time(1.0))


def test_the_table() -> None:
    program = budgeted()
    found = lines(program.summary())
    assert found["source"] == "tanh net 2-5-5-1"
    assert found["inputs → outputs"] == "2 → 1"
    assert [found[f"{n}"].split()[0] for n in ("width W", "depth D", "horizon T")] == ["15", "6", "6"]
    assert found["terms"] == f"{program.terms}"
    assert found["largest rate"] == "40"
    corners = [[0.0, 1.0], [-1.0, 0.0], [-1.0, 2.0], [1.0, 0.0], [1.0, 2.0]]
    assert found["stiffness"].startswith(f"{program.stiffness(corners):.4g} (of 5 inputs")
    assert "the budget's box" in found["stiffness"]
    assert found["error budget"] == "1e-07 approximation + 9e-07 residue + 1e-15 control rounding"
    assert found["promised error"] == "≤ 1.01e-06 for x in [-1, 1] × [0, 2]"
    assert (found["proven error"], found["difference found"]) == ("≤ 2e-06", "3e-08")
    bare = lines(net().summary(points=3))
    assert bare["promised error"] == "no bound is promised"
    assert (bare["proven error"], bare["difference found"]) == ("none is stored", "not measured")
    assert "[0, 1]^d" in bare["stiffness"]
    assert program.summary() == program.summary()


def test_the_inputs_of_the_table() -> None:
    """The centre and all corners in the plane, some of them beyond."""
    plane = summary._inputs(budgeted())
    assert plane.tolist() == [[0.0, 1.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 2.0], [1.0, 2.0]]
    r = Registers()
    ends = np.arange(5.0), np.arange(5.0) + 1.0
    some = summary._inputs(replace(build(r, [], r.inputs("x", 5)), budget=Budget(*ends, 0.0, 0.0, 0.0)))
    assert some[0].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert len({tuple(x) for x in some}) == 5
    assert ((some[1:] == ends[0]) | (some[1:] == ends[1])).all()


@pytest.mark.parametrize(
    ("low", "high", "box"),
    [
        ([0.0], [1.0], "[0, 1]"),
        ([-1.0] * 9, [1.5] * 9, "[-1, 1.5]^9"),
        ([0.0, 1.0], [1.0, 1.0], "[0, 1] × [1, 1]"),
        ([0.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0], "[0, 1] × [0, 2] × [0, 3] × … (5 intervals)"),
    ],
)
def test_boxes_in_words(low: list[float], high: list[float], box: str) -> None:
    r = Registers()
    program = replace(build(r, [], r.inputs("x", len(low))), budget=Budget(low, high, 0.0, 0.0, 0.0))
    found = lines(program.summary())
    assert found["promised error"] == f"≤ 0 for x in {box}"
    assert found["stiffness"].startswith("0 (of ")


def test_stiffness_is_skipped_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    found = lines(build(r, [segment("ln", ln(x, z))], z).rescale_time(2.0).summary())  # ln(x + 1) at p = x is fine
    assert "not computed" not in found["stiffness"]
    escaping = replace(build(r, [segment("ln", ln(x, z))], z), budget=Budget([-2.0], [0.0], 0.0, 0.0, 0.0))
    assert "not computed: input 0: the solution blows up" in lines(escaping.summary())["stiffness"]
    y = Registers()
    coupled = y.inputs("y", 2100)
    ring = raw(coupled, A=np.roll(np.eye(2100), 1, axis=1))
    large = build(y, [segment("ring", ring, duration=1e-3)], coupled[:1])
    assert "not computed: 2100 registers are strongly coupled" in lines(large.summary(points=2))["stiffness"]
    monkeypatch.setattr(summary, "MANY_TERMS", 10)
    assert "not computed: more than 10 terms" in lines(net().summary())["stiffness"]
    monkeypatch.setattr(summary, "MANY_TERMS", 10**6)
    monkeypatch.setattr(summary, "MAX_PATH", 10)
    assert "too many" in lines(net().summary())["stiffness"]


@pytest.mark.parametrize("points", [1, 0, -3, 2.5, "9", None])
def test_points_of_a_summary(points: object) -> None:
    with pytest.raises(UsageError, match="integer ≥ 2"):
        net().summary(points=points)


@pytest.mark.parametrize(
    "bound", [1e-6, 1e-9, 9.87654e-10, 0.00047619, 0.0, 1.0, 123456.0, 0.0432098, 9.999e-7, 5e-324]
)
def test_a_printed_bound_holds(bound: float) -> None:
    """Three digits, never below the bound, and not more than one unit of the third above."""
    shown = float(above(bound))
    assert bound <= shown <= bound * 1.0101 + 1e-323


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([3, 9, 12]))
def test_printed_bounds_hold(x: float, digits: int) -> None:
    assert float(below(x, digits)) <= x <= float(above(x, digits))
