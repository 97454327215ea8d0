"""Tapes of small programs: the same values, bits and failures as closed forms that run step by step."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exact_formulas import FORMULAS, error
from expression_trees import BOX, VARIABLES, trees, written
from gadget_cases import CASES, Case
from integraph import Program, Registers, build, compile, gadgets, segment
from integraph.errors import IntegraphError
from integraph.flow.exact import engine
from integraph.flow.exact.engine import EXACT
from integraph.flow.exact.plan import make
from integraph.flow.exact.rows import compiled, interpreted
from integraph.flow.exact.scalars import Scalars
from integraph.flow.exact.schedule import schedule
from integraph.flow.exact.tape import Node, NoTape, Tape
from integraph.flow.exact.trace import trace
from integraph.flow.precise import PRECISE
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.numbers.arrays import Floats
from integraph.program import Flow, Options
from law import examples
from random_programs import moderate_program
from slow import mostly_slow
from tapes import rows, traced

ULP = np.finfo(float).eps
RNG = np.random.default_rng(4)
NO_TAPE = {"softmax", "shifted_softmax", "log_softmax", "log_sum_exp"}


def by_steps(program: Program, x: Floats, monkeypatch: pytest.MonkeyPatch) -> Flow:
    """The flow without a tape."""
    with monkeypatch.context() as patch:
        patch.setattr(engine, "trace", lambda plan: None)
        return EXACT.run(replace(program), x, Options())  # another object: planned anew


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_against_mpmath(name: str) -> None:
    """Every formula has a tape; rows, compiled rows and single inputs are as accurate as the steps were."""
    program, code, x = traced(name, 8)
    many = rows(code, x)
    assert many is not None
    one = Scalars(code)
    single = np.array([one.run(point) for point in x.tolist()])
    assert max(error(name, x, many), error(name, x, single)) < 1e-14
    assert np.array_equal(program(x), many)
    assert np.array_equal([program(point) for point in x], single)


STARTS = [(case, t) for case in CASES for t in (1.0, 0.37, -0.7)]


@mostly_slow(("case", "t"), STARTS, quick=12, ids=[f"{case.name}, {t}" for case, t in STARTS])
def test_gadgets_from_random_starts_against_balls(case: Case, t: float) -> None:
    """Relative to themselves, or to the sum where one cancels."""
    program = case.program(t)
    x = case.inputs(case.draw(np.random.default_rng(12), t, 40))
    code = trace(make(program, False))
    if code is None:
        return
    truth, single = PRECISE.run(program, x, Options()).outputs, Scalars(code)
    scale = np.array([case.scale(program, start, end) for start, end in zip(x, truth, strict=True)])
    steps, _ = case.closed(program, x)
    allowed = 2.0 * np.abs(steps - truth) + 40 * ULP * scale + 1e-307
    for n, point in enumerate(x):
        for ends in (rows(code, point[None]), single.run(point.tolist())):
            if ends is not None:
                assert (np.abs(np.ravel(ends) - truth[n]) <= allowed[n]).all(), (case.name, point)


def test_which_gadgets_have_a_tape_from_their_usual_start() -> None:
    """All but those that share a sum of exponentials."""
    usual = ("exp(x)", "expm1(x)", "ln(1+x)", "sqrt(1+x)", "sin(x)", "sinh(x)", "tanh(x)", "asinh(x)", "atan(x)")
    for text in (*usual, "erf(x)", "sigmoid(x)", "softplus(x)", "x^(1+x)", "exp(-x^2)"):
        assert trace(make(compile(text, box=(0.1, 1)), False)) is not None, text


@pytest.mark.slow
def test_theorem_1_has_a_tape() -> None:
    program = compile("sin(3*x)", 1e-6, box=(0, 1), method="lean")
    code, x = trace(make(program, False)), np.linspace(0, 1, 50)[:, None]
    assert code is not None
    assert rows(code, x) == pytest.approx(PRECISE.run(program, x, Options()).outputs, rel=1e-13, abs=1e-15)


@pytest.mark.slow
@examples(60)
@given(trees, st.integers(0, 2**32 - 1))
def test_random_formulas_against_balls(tree: object, seed: int) -> None:
    try:
        program = compile(written(tree), box=[BOX] * 3, variables=VARIABLES)
    except IntegraphError:
        assume(False)
    code, x = trace(make(program, False)), np.random.default_rng(seed).uniform(*BOX, (9, 3))
    truth = PRECISE.run(program, x, Options())
    assume(code is not None and truth.ok)
    many = rows(code, x)
    assume(many is not None)
    steps = EXACT.run(program, x, Options(states=True)).outputs  # all states are wanted: no tape
    allowed = 4.0 * np.abs(steps - truth.outputs).max() + 1e-13 * np.abs(truth.outputs).max()
    assert np.abs(many - truth.outputs).max() <= allowed


@mostly_slow("seed", range(60), quick=8)
def test_random_programs_fail_and_end_as_without_a_tape(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = moderate_program(seed)
    x = np.random.default_rng(seed).normal(size=(30, program.inputs)) * 10.0 ** np.arange(30)[:, None]
    taped, stepped = program.flow(x, "exact"), by_steps(program, x, monkeypatch)
    assert [f.input for f in taped.failures] == [f.input for f in stepped.failures]
    assert [(f.status, f.register, f.segment) for f in taped.failures] == [
        (f.status, f.register, f.segment) for f in stepped.failures
    ]
    for row, flow in enumerate(taped.outputs):
        one = EXACT.run(program, x[row : row + 1], Options())
        assert one.ok == bool(np.isfinite(flow).all())


@mostly_slow("case", [case for case in CASES if case.wild], quick=2, ids=lambda case: case.name)
def test_wild_starts_fail_as_without_a_tape(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    program = case.program(1.0)
    x = case.inputs(case.wild(np.random.default_rng(8), 1.0, 60))
    taped, stepped = program.flow(x, "exact"), by_steps(program, x, monkeypatch)
    assert taped.failures
    assert str(taped.failures) == str(stepped.failures)
    assert np.array_equal(np.isnan(taped.outputs), np.isnan(stepped.outputs))


@pytest.mark.parametrize(
    ("text", "box", "x", "truth"),
    [
        ("exp(-x*x)*y", ((0, 40), (0, 1e300)), [27.0, 1e300], math.exp(-729 + 690.7755278982137)),
        ("1/(1 + exp(x))", ((-800, 800),), [-750.0], 1.0),
        ("exp(x)*exp(-x)", ((0, 900),), [0.5], 1.0),
        ("tanh(x)", ((-1e3, 1e3),), [900.0], 1.0),
        ("sinh(x)*y", ((0, 800), (0, 1e-200)), [700.0, 1e-200], 5.0711602736750220e103),
    ],
)
def test_values_beyond_a_guard_are_right(text: str, box: tuple, x: list[float], truth: float) -> None:
    program = compile(text, box=box)
    assert program(x)[0] == pytest.approx(truth, rel=1e-11, abs=0)
    assert program(np.array([x, x]))[:, 0] == pytest.approx([truth] * 2, rel=1e-11)


def with_registers(gadget: Elementwise, **tensors: float) -> Program:
    """One block; every register is an input, and the last target is put out."""
    r = Registers()
    views = [r.inputs(role, 1) for role in gadget.targets + gadget.operands]
    return build(r, [segment(gadget.name, gadget(*views, **tensors))], views[len(gadget.targets) - 1])


@pytest.mark.parametrize(
    ("program", "x"),
    [
        (with_registers(gadgets.exp), [1e300, -720.0]),  # e^−720 has lost digits
        (with_registers(gadgets.power, a=-12.0), [1e28, 1e300]),  # 1e28^−12 is 0
        (with_registers(gadgets.power, a=12.0), [1e27, 1e-250]),  # and 1e27^12 is ∞
        (with_registers(gadgets.sigmoid), [0.0, 1e-300, 705.0]),  # k = 0, and e^−705
    ],
    ids=lambda value: "" if isinstance(value, list) else value.segments[0].label,
)
def test_starts_beyond_a_guard_are_right(program: Program, x: list[float]) -> None:
    assert trace(make(program, False)) is not None
    truth = PRECISE.run(program, np.array([x]), Options()).outputs[0]
    assert program(x) == pytest.approx(truth, rel=1e-13, abs=0)
    assert program([x, x])[1] == pytest.approx(truth, rel=1e-13, abs=0)


@pytest.mark.parametrize("a", [-3.0, 2.5, 4.0, 25.0])
def test_a_large_exponent_costs_no_digits(a: float) -> None:
    program = with_registers(gadgets.power, a=a)
    x = np.column_stack([RNG.uniform(-0.9, 3.0, 300), np.ones(300)])
    truth = PRECISE.run(program, x, Options()).outputs
    for outputs in (program(x), np.array([program(point) for point in x])):
        assert np.abs(outputs / truth - 1).max() <= 5 * ULP


def test_one_bad_input_does_not_spoil_the_others() -> None:
    program = compile("1/x + ln(y)", box=((0.5, 2), (0.5, 2)))
    x = np.full((5000, 2), 1.0)
    x[[7, 4990]] = [[0.0, 1.0], [1.0, -1.0]]
    flow = program.flow(x)
    assert [f.input for f in flow.failures] == [7, 4990]
    assert np.isnan(flow.outputs[[7, 4990]]).all()
    assert np.delete(flow.outputs, [7, 4990]) == pytest.approx(1.0)


def test_constants_fold_and_equal_instructions_are_shared() -> None:
    tape = Tape(2, 100)
    x, y = Node(tape, 0), Node(tape, 1)
    assert (0.0 * x, 0.0 / x) == (0.0, 0.0)
    assert [(v.index) for v in (x + 0.0, 1.0 * x, x / 1.0, x - 0.0)] == [0] * 4
    assert (x * y).index == (y * x).index != (x * x).index
    assert tape.push("exp", 0.0) == 1.0
    assert len(tape.instructions) == 2


def test_what_nothing_needs_is_not_computed() -> None:
    tape = Tape(1, 100)
    x = Node(tape, 0)
    tape.push("sin", x)
    code = schedule(tape, [x * 2.0, 3.0])
    assert [instruction.op for instruction in code.instructions] == ["multiply"]
    assert Scalars(code).run([1.5]) == [3.0, 3.0]
    assert rows(code, np.array([[1.5]])).tolist() == [[3.0, 3.0]]


def test_a_guard_that_a_later_one_implies_is_left_out() -> None:
    tape = Tape(2, 100)
    x, y = Node(tape, 0), Node(tape, 1)
    product, inverse = x * y, 1.0 / y
    tape.guard(product)
    tape.guard(inverse)
    code = schedule(tape, [product + 1.0, tape.push("exp", -inverse)])
    assert len(code.guards) == 3  # the outputs, and 1/y, of which e^−∞ would tell nothing
    for laid in (interpreted, compiled):
        assert rows(code, np.array([[1e200, 1e200]]), laid) is None
        assert rows(code, np.array([[1.0, 0.0]]), laid) is None
        assert rows(code, np.array([[1.0, 1.0]]), laid) is not None
    assert Scalars(code).run([1e200, 1e200]) is None
    assert Scalars(code).run([1.0, 0.0]) is None


def test_a_tape_has_no_branch_and_an_end() -> None:
    tape = Tape(1, 2)
    x = Node(tape, 0)
    with pytest.raises(NoTape, match="not known"):
        bool(x)
    with pytest.raises(NoTape, match="not known"):
        np.array([x], object) == 0.0  # noqa: B015
    with pytest.raises(NoTape, match="more than 2"):
        x * x + x * 3.0 + x * 4.0
    with pytest.raises(NoTape, match="outside"):
        tape.guard(-1.0, 0.0, 1.0)
    with pytest.raises(NoTape, match="log1p"):
        tape.push("log1p", -1.0)


class Halved(Elementwise):
    """z' = −z/2, by somebody who uses numpy and compares."""

    name = "halved"
    targets = ("z",)
    operands = ()
    tensors = ()
    equations = (("z", -0.5, "z"),)

    def closed(self, f, t, start, operands, tensors) -> Closed:
        (z,) = start
        return Closed((np.where(z == 0.0, 0.0, z) * np.exp(-0.5 * t),))


class Numpy(Halved):
    name = "numpy"

    def closed(self, f, t, start, operands, tensors) -> Closed:
        return Closed((np.sign(start[0]) * np.exp(np.log(np.abs(start[0])) - 0.5 * t),))


@pytest.mark.parametrize("gadget", [Halved(), Numpy()])
def test_gadgets_that_do_without_the_namespace_keep_their_steps(gadget: Elementwise) -> None:
    r = Registers()
    z = r.inputs("z", 2)
    program = build(r, [segment("half", gadget(z))], z)
    assert trace(make(program, False)) is None
    assert program([1.0, -2.0]) == pytest.approx(np.array([1.0, -2.0]) * np.exp(-0.5), rel=1e-15)


def test_long_programs_and_softmax_keep_their_steps() -> None:
    r = Registers()
    x, z = r.inputs("x", 40), r.new("z", 40)
    wide = build(r, [segment("wide", gadgets.affine(z, x, w=np.ones((40, 40))))], z)
    assert trace(make(wide, False)) is None
    r = Registers()
    x, z = r.inputs("x", 20), r.new("z", 20)
    weights = build(r, [segment("weights", gadgets.bilinear(z, x, x, w=np.zeros((20, 20, 20))))], z)
    assert trace(make(weights, False)) is None
    for case in CASES:
        if case.gadget.name in NO_TAPE:
            assert trace(make(case.program(1.0), False)) is None


def test_constants_that_have_no_result_are_left_to_the_steps() -> None:
    """1 + p = 0 for a constant p: the flow fails as ever, and nothing is raised."""
    r = Registers()
    x, p, z = r.inputs("x", 1), r.new("p", 1), r.new("z", 1)
    start = segment("start", gadgets.ramp(p, b=-1.0), gadgets.affine(z, x[..., None], w=1.0))
    program = build(r, [start, segment("power", gadgets.powers(p, z, a=-1.0))], z)
    assert EXACT.prepare(program, False).code is None
    assert [failure.input for failure in program.flow(np.ones((2, 1)), "exact").failures] == [0, 1]
