"""Programs in the units of a machine: same values, nothing rounded, everything that is known travels along."""

from __future__ import annotations

import numpy as np
import pytest

import export_programs
import integraph
from integraph import Program, Registers, build, segment
from integraph.certify.controls import exact_program
from integraph.errors import UsageError
from integraph.gadgets import affine


def small() -> Program:
    return integraph.compile("5*exp(-x)*y + x")


def test_every_register_fits() -> None:
    program = small()
    scaling = program.scaled(cells=8, progress=False)
    x = export_programs.inputs(program, 200)
    assert np.array_equal(scaling.program(scaling.inputs(x)), program(x))
    assert (scaling.program.ranges(cells=8, progress=False).largest <= 1.0 + 1e-7).all()
    assert np.array_equal(np.frexp(scaling.scales)[0], np.full(program.width, 0.5))
    exact_program(scaling.program)  # raises where a control is rounded


@pytest.mark.parametrize("unit", [1.0, 10.0, 0.3])
def test_unit_and_headroom(unit: float) -> None:
    program = small()
    scaling = program.scaled(unit=unit, headroom=1.5, cells=8, progress=False)
    largest = scaling.ranges.largest / scaling.scales
    assert (largest <= unit / 1.5 * (1 + 1e-7)).all()
    assert (largest > unit / 1.5 / 2.001).all()  # the smallest power of two that does


def test_what_is_known_travels_along() -> None:
    program = export_programs.narrow().with_errors(proven=2e-6, seen=1e-7)
    scaling = program.scaled(cells=2, horizon=100.0, progress=False)
    there = scaling.program
    assert (there.proven, there.seen, len(there.probes)) == (2e-6, 1e-7, len(program.probes))
    assert there.budget is not None
    assert program.budget is not None
    assert there.budget.total == program.budget.total
    assert np.array_equal(there.budget.high * scaling.scales[:2], program.budget.high)
    assert (scaling.slower, there.horizon) == (16.0, 96.0)
    x = export_programs.inputs(program)
    states = there.flow(scaling.inputs(x), times=[there.horizon]).path
    before = program.flow(x, times=[program.horizon]).path
    assert states is not None
    assert before is not None
    for old, new in zip(program.probes, there.probes, strict=True):
        registers = old.ref.indices()
        assert np.allclose(new.scale * states[..., registers], old.scale * before[..., registers], rtol=1e-12)


def test_coefficients_beyond_the_machine() -> None:
    scaling = export_programs.lean().scaled(cells=4, progress=False)
    values = np.concatenate([terms.value for _, terms in scaling.program.stream()])
    assert scaling.count == int((np.abs(values) > 10).sum()) > 0
    assert scaling.coefficient == np.abs(values).max()
    assert "times slower mends it" in repr(scaling)
    assert "too large" in scaling.table()
    slow = export_programs.lean().scaled(cells=4, horizon=4 * scaling.mend, progress=False)
    assert slow.count == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": 0.0}, "> 0"),
        ({"unit": float("nan")}, "> 0"),
        ({"headroom": 0.5}, "≥ 1"),
        ({"largest": -1.0}, "> 0"),
        ({"horizon": float("inf")}, "finite number > 0"),
        ({"horizon": 0.0}, "finite number > 0"),
    ],
)
def test_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        small().scaled(cells=1, progress=False, **options)


def test_inputs_outside_the_box_are_refused() -> None:
    scaling = small().scaled(cells=2, progress=False)
    for x in ([0.5, 1.5], [0.5, np.nan], [0.5]):
        with pytest.raises(UsageError, match="inputs must be in"):
            scaling.inputs(x)


def test_an_unbounded_register_has_no_unit() -> None:
    with pytest.raises(UsageError, match="no bound is known"):
        integraph.compile("1/x", box=(0.5, 1)).scaled((-1, 1), cells=2, progress=False)


def test_units_in_which_a_control_vanishes_are_refused() -> None:
    """u' = 1e-200 x after u was 1e200: in units of 1e200 the coefficient is 1e-400."""
    registers = Registers()
    x = registers.inputs("x")
    u = registers.new("u")
    parts = [segment(f"times {w:g}", affine(u, x[:, None], w=[[w]])) for w in (1e200, -1e200, 1e-200)]
    with pytest.raises(UsageError, match=r"a coefficient would be rounded.*split the program"):
        build(registers, parts, u).scaled([(0, 1)], progress=False)
