"""The recorded operations, run by a tiny interpreter, give what the exact engine gives."""

from __future__ import annotations

import numpy as np
import pytest

import closed_form_interpreter
import export_programs
import integraph
import torch_graphs
import transformers
from gadget_cases import CASES, Case
from integraph import Program, Registers, build, gadgets, segment
from integraph.errors import UsageError
from integraph.flow.closed_forms import trace
from integraph.flow.closed_forms.expansions import expansions
from integraph.flow.closed_forms.operations import ELEMENTWISE
from integraph.gadgets import affine, product, ramp, raw
from integraph.program import operations
from lazy import needs
from slow import mostly_slow

EVERY = frozenset(ELEMENTWISE)
FEW = EVERY - frozenset(expansions())
LANGUAGES = pytest.mark.parametrize("native", [EVERY, FEW], ids=["all functions", "few functions"])
SEARCH = ("softmax plain", -0.6)  # starts for which the exact engine searches; closed forms without a search say NaN


def largest_error(program: Program, x: np.ndarray, native: frozenset[str] = EVERY) -> float:
    outputs = closed_form_interpreter.run(trace(program, native), x)
    assert np.isfinite(outputs).all()
    return float(np.abs(outputs - program(x)).max())


@mostly_slow(("t", "native"), [(1.0, FEW), (1.0, EVERY), (-0.6, FEW), (-0.6, EVERY)], quick=1)
@mostly_slow("case", CASES, quick=24, ids=lambda case: case.name)
def test_every_gadget(case: Case, t: float, native: frozenset[str]) -> None:
    program = case.program(t)
    x = case.inputs(case.draw(np.random.default_rng(1), t, 40))
    outputs, exact = closed_form_interpreter.run(trace(program, native), x), program(x)
    fine = np.isfinite(outputs).all(1)
    assert fine.all() or ((case.name, t) == SEARCH and fine.mean() > 0.5)
    scale = case.scale(program, x.T, exact.T).T
    error = np.abs(outputs - exact) / np.where(scale == 0, 1.0, scale)
    assert error[fine].max() <= 1e-13


def test_every_gadget_is_in_the_table() -> None:
    known = {case.gadget.name for case in CASES}
    assert {op.name for op in operations()} - known == {"raw", "low_rank"}


@mostly_slow("case", [case for case in CASES if case.wild], quick=1, ids=lambda case: case.name)
def test_escape_is_never_a_number(case: Case) -> None:
    assert case.wild is not None
    for t in (1.0, -0.6):
        program = case.program(t)
        x = case.inputs(case.wild(np.random.default_rng(2), t, 60))
        failed = np.zeros(len(x), bool)
        failed[[failure.input for failure in program.flow(x).failures]] = True
        outputs = closed_form_interpreter.run(trace(program), x)
        assert failed.any() or case.name in ("arctan", "asinh")  # they end on a line only
        assert np.isnan(outputs[failed]).all()
        refused = np.isnan(outputs[~failed]).any(1)
        assert not refused.any() or "soft" in case.name or case.name.startswith("log_s")


@LANGUAGES
@pytest.mark.parametrize("name", export_programs.PROGRAMS)
def test_programs(name: str, native: frozenset[str]) -> None:
    program = export_programs.PROGRAMS[name]()
    assert largest_error(program, export_programs.inputs(program, 50), native) <= 1e-13


def test_a_formula_of_many_functions() -> None:
    text = (
        "atan(x)*asinh(y) + log(cosh(x))*erf(x*y) + x^2.5/(1 + y*y) + softplus(x) + sqrt(x + y) + tanh(x - y)*sinh(y)"
    )
    program = integraph.compile(text, box=((0.1, 2), (0.1, 2)))
    x = np.random.default_rng(5).uniform(0.1, 2, (50, 2))
    assert largest_error(program, x) <= 1e-13
    assert largest_error(program, x, FEW) <= 1e-13


def test_a_transformer() -> None:
    net = transformers.transformer(tokens=4, width=8, heads=2, hidden=16, layers=1, causal=True)
    program = integraph.compile(transformers.to_graph(net))
    assert largest_error(program, np.random.default_rng(5).normal(size=(10, 32))) <= 1e-13


@pytest.mark.slow
@needs("torch")
def test_lenet() -> None:
    program = integraph.compile(torch_graphs.lenet(), inputs=(1, 28, 28))
    forms = trace(program)
    assert largest_error(program, np.random.default_rng(5).normal(size=(4, 784))) <= 1e-13
    assert sum(operation.op == "matmul" for operation in forms.operations) < 60, "weights stay matrices"
    assert len(forms.finite) < 10, "partial sums of a window are covered by the whole"


def test_scaled_states() -> None:
    program = export_programs.formula()
    scaled = program.rescale_states(np.linspace(0.5, 2.0, program.width))
    assert largest_error(scaled, export_programs.inputs(program)) <= 1e-13


def test_a_sum_of_one_register_many_times() -> None:
    r = Registers()
    x, z = r.inputs("x", 2), r.new("z", 1)
    left, right = (x[n : n + 1, None].broadcast((1, 3)) for n in (0, 1))
    program = build(r, [segment("three times", product(z, left, right))], z)
    assert largest_error(program, np.array([[1.5, -2.0]])) == 0.0
    assert program([1.5, -2.0]) == [-9.0]


def test_what_nobody_reads_is_not_computed() -> None:
    r = Registers()
    x, y, z, unread = r.inputs("x"), r.new("y"), r.new("z"), r.new("unread")
    steps = [
        segment("double", affine(y, x[:, None], w=[[2.0]]), gadgets.exp(unread, x)),
        segment("add", ramp(z, b=1.0), product(unread, x, y)),
    ]
    forms = trace(build(r, steps, y))
    assert [operation.op for operation in forms.operations if operation.op != "reshape"] == ["input", "multiply"]
    assert not forms.positive
    assert not forms.finite


def test_constant_outputs() -> None:
    r = Registers()
    r.inputs("x")
    y = r.new("y", 2)
    program = build(r, [segment("set", ramp(y, b=[1.5, -2.0]))], y)
    assert largest_error(program, np.zeros((3, 1))) == 0.0


def test_an_intermediate_overflow_is_seen() -> None:
    """e^x leaves float64, and tanh of it would be 1."""
    program = integraph.compile("tanh(exp(x))", box=(-1, 1))
    outputs = closed_form_interpreter.run(trace(program), np.array([[0.5], [800.0], [np.inf], [np.nan]]))
    assert np.isfinite(outputs[0]).all()
    assert np.isnan(outputs[1:]).all()


def test_free_form_blocks_are_refused_by_name() -> None:
    r = Registers()
    x = r.inputs("x")
    program = build(r, [segment("free", raw(x, A=[[0.5]]))], x)
    with pytest.raises(UsageError, match=r"'raw' has no closed form: choose a format of equations"):
        trace(program)


def test_a_flow_that_always_ends_is_refused() -> None:
    r = Registers()
    r.inputs("x")
    p, z = r.new("p"), r.new("z")
    program = build(r, [segment("start", ramp(p, b=-2.0)), segment("ln", gadgets.ln(p, z))], z)
    with pytest.raises(UsageError, match="'ln' ends too early, whatever the input"):
        trace(program)
