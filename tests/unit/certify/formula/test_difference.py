"""Proofs of exact programs: no bound is below a difference that is there."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from mpmath import mp

import integraph
from exact_formulas import DIGITS, FORMULAS
from expression_trees import BOX, VARIABLES, Undefined, trees, value
from expression_trees import written as text_of
from integraph.certify.formula import algebra, normal_distance, normal_form
from integraph.certify.formula.difference import FormulaDifference
from integraph.certify.problem import Box, Unprovable
from integraph.certify.search.bisection import uppers
from integraph.errors import IntegraphError
from law import examples
from slow import mostly_slow
from written_truth import boxes_around, changed, difference, flow, target

LEAST = 1e-12
SLACK = 1e-40
HUGE = 1e30


def apart(program: integraph.Program, problem: FormulaDifference, x: np.ndarray) -> tuple[float, float] | None:
    """The difference at a point by mpmath, and what that can be off; None where one of both does not exist."""
    found, wanted = flow(program, problem.expression.variables, x), target(problem.expression, x)
    with mp.workdps(DIGITS):
        if found is None or any(mp.isnan(v) for v in (*found, *wanted)):
            return None
        size = float(max(map(abs, wanted)))
        return float(max(abs(a - b) for a, b in zip(found, wanted, strict=True))), SLACK * (1 + size)


def faults(program: integraph.Program, problem: FormulaDifference, points: np.ndarray, box: object) -> list[str]:
    """Bounds that are not true."""
    wrong = []
    for x in points:
        true, slack = apart(program, problem, x) or (None, 0.0)
        if slack > SLACK * HUGE:
            continue  # mpmath itself is off by too much
        ((low, high),) = problem.at(tuple(x.tolist()), 128)
        if true is None:
            wrong += [f"a value {low} … {high} at {x}"] * (high < np.inf)
        elif not low - slack <= true <= high + slack:
            wrong.append(f"{low} … {high} at {x}, not {true}")
        for part in boxes_around(x, box):  # type: ignore[arg-type]
            (bound,), *_ = uppers(problem, part, 64)
            if not (bound == np.inf if true is None else bound >= true - slack):
                wrong.append(f"{bound} on {part}, but {true} at {x}")
    return wrong


@mostly_slow("name", FORMULAS, quick=6)
def test_all_formulas_are_proved(name: str) -> None:
    formula = FORMULAS[name]
    program = integraph.compile(formula.text, box=formula.box, variables=formula.variables)
    problem = difference(program, formula.text, formula.box, formula.variables)
    assert faults(program, problem, formula.points(2)[:4], formula.box) == []
    source = integraph.frontends.function(formula.text, variables=formula.variables)
    eps = max(LEAST, program.budget.total if program.budget else 0.0)
    proof = integraph.certify(program, source, eps, box=formula.box, workers=1, progress=False)
    assert proof.status == "proved"
    assert proof.lower <= proof.proven <= eps
    assert integraph.check(proof, program, source).status == "proved"


@mostly_slow(
    "name",
    ["sine, decay and a quotient", "Franke", "Planck", "softplus", "GELU", "interest", "Doppler", "rapidity"],
    quick=1,
)
def test_one_changed_number_is_never_overlooked(name: str) -> None:
    formula = FORMULAS[name]
    program = integraph.compile(formula.text, box=formula.box, variables=formula.variables)
    point, rest = formula.points(2)[1], formula.points(2)[:1]
    seen = 0
    for number, (what, other) in enumerate(changed(program)):
        try:
            problem = difference(other, formula.text, formula.box, formula.variables)
        except Unprovable:
            continue  # a start that is no longer what its gadget needs
        seen += 1
        assert faults(other, problem, np.array([point]), formula.box) == [], what
        if number % 4:
            continue
        proof = integraph.certify(
            other, integraph.frontends.function(formula.text, variables=formula.variables), LEAST, box=formula.box,
            workers=1, boxes=4, progress=False,
        )  # fmt: skip
        true = [apart(other, problem, x) for x in (point, *rest)]
        assert proof.status != "proved" or all(v is not None and v[0] <= LEAST for v in true), what
    assert seen >= 2


@pytest.mark.parametrize(
    ("source", "other"),
    [
        ("sin(3*x)*exp(-y)", "sin(3*x)*exp(-y)+1e-9*x*y"),
        ("sin(3*x)*exp(-y)", "sin(3.0000001*x)*exp(-y)"),
        ("sin(3*x)*exp(-y)", "cos(3*x)*exp(-y)"),
        ("x*y", "y*x*1.00000001"),
        ("1/(1+x*y)", "1/(1+x*x+0*y)"),
        ("sqrt(1+x)*y", "sqrt(1+y)*x"),
        ("tanh(x-y)", "tanh(y-x)"),
        ("x^y", "y^x"),
    ],
)
def test_another_formula_is_refuted(source: str, other: str) -> None:
    box = [(0.5, 1.0), (0.25, 2.0)]
    program = integraph.compile(source, box=box)
    proof = integraph.certify(program, other, 1e-12, box=box, progress=False, seconds=10)
    assert proof.status == "refuted"
    assert integraph.check(proof, program, other).status == "refuted"
    assert integraph.certify(program, source, 1e-12, box=box, progress=False).status == "proved"


EQUAL = [  # formulas that are written in another way
    ("(x+y)^2", "x^2+2*x*y+y*y"),
    ("exp(x)*exp(y)", "exp(x+y)"),
    ("sqrt(x)*sqrt(y)", "(x*y)^(1/2)"),
    ("ln(x*y^2)", "ln(x)+2*ln(y)"),
    ("tan(x)", "sin(x)/cos(x)"),
    ("asin(x/4)", "atan(x/4/sqrt(1-(x/4)^2))"),
    ("(x^2)^(3/2)", "x^3"),
    ("1/(2*x+2*y)", "0.5*(x+y)^(-1)"),
    ("expm1(x)", "exp(x)-1"),
    ("log2(x)", "ln(x)/ln(2)"),
    ("-sin(-x)", "sin(x)"),
    ("cosh(x-y)", "cosh(y-x)"),
    ("abs(x-5)", "5-x"),
    ("cbrt(x*y)", "cbrt(x)*cbrt(y)"),
]


@pytest.mark.parametrize(("source", "other"), EQUAL)
def test_equal_formulas_are_equal(source: str, other: str) -> None:
    box = [(0.5, 1.5), (0.25, 1.0)]
    for one, two in ((source, other), (other, source)):
        program = integraph.compile(one, box=box, variables=("x", "y"))
        problem = difference(program, two, box, ("x", "y"))
        assert problem.upper(problem.box, 64)[0] <= 1e-14
        assert faults(program, problem, np.random.default_rng(0).uniform([0.5, 0.25], [1.5, 1.0], (2, 2)), box) == []


DOMAINS = [  # source, the box of the program, where the proof is asked for, whether it can be
    ("1/x", (-1, 1), (-1, 1), False),
    ("1/x", (-1, 1), (-1, -0.5), True),
    ("1/x", (1, 2), (-1, -0.5), False),  # the flow of 1/x for x > 0 escapes for x < 0
    ("1/x", (1, 2), (-1, 2), False),
    ("x*ln(x)", (-1, 1), (-1, 1), False),
    ("x*ln(x)", (-1, 1), (0.5, 1), True),
    ("sqrt(x)", (0.5, 1), (-1, 1), False),
    ("sqrt(x^2)", (-2, -1), (-2, -1), True),
    ("ln(x^2)", (-2, -1), (-2, -1), True),
    ("asin(x)", (-1, 1), (-1, 1), False),
    ("asin(x)", (-0.5, 0.5), (-0.5, 0.5), True),
    ("(x^-1)^3", (-1.5, -0.25), (-1.5, -0.25), True),
    ("x/x", (-1, 1), (-1, 1), False),
    ("x/x", (1, 2), (1, 2), True),
    ("0*ln(x)", (1, 2), (-1, 2), False),
    ("0*ln(x)", (1, 2), (1, 2), True),
    ("sqrt(x)*sqrt(x)", (0.5, 1), (-1, 1), False),
    ("tan(x)", (1, 1.5), (1, 2), False),
    ("cbrt(x)", (-2, -1), (-2, -1), True),
    ("abs(x)", (1, 2), (-1, 2), False),
]


@mostly_slow(("source", "compiled", "asked", "proved"), DOMAINS, quick=1)
def test_domains(source: str, compiled: tuple[float, float], asked: tuple[float, float], proved: bool) -> None:
    program = integraph.compile(source, box=compiled, variables="x")
    proof = integraph.certify(program, source, 1e-12, box=[asked], boxes=400, progress=False, workers=1)
    assert (proof.status == "proved") == proved
    problem = difference(program, source, [asked], "x")
    points = np.linspace(*asked, 7)[:, None]
    assert faults(program, problem, points, [asked]) == []


@mostly_slow(
    ("source", "eps"),
    [("abs(x-0.3)", 1e-2), ("max(x, 1-x)", 1e-2), ("min(x^2, 0.3)", 1e-2), ("abs(x - y)*y", 0.05)],
    quick=1,
)
def test_smoothed_programs_have_their_error(source: str, eps: float) -> None:
    program = integraph.compile(source, eps)
    assert program.budget is not None
    box = [(0.0, 1.0)] * program.inputs
    problem = difference(program, source, box)
    points = np.random.default_rng(0).uniform(size=(10, program.inputs))
    assert faults(program, problem, np.concatenate([points, points[:, ::-1] * 0 + 0.3]), box) == []
    if program.inputs == 1:
        proof = integraph.certify(program, source, progress=False, workers=1)
        assert proof.status == "proved"
        assert 0.5 * program.budget.total < proof.seen <= proof.proven <= program.budget.total


@mostly_slow(
    ("source", "box", "reason"),
    [
        ("x*ln(x)", (0, 1), "ln(x) is not finite at x = 0"),
        ("1/x", (-1, 1), "1/x is not finite at x = 0"),
        ("sqrt(x)", (0, 1), "sqrt(x) is not smooth at x = 0"),
        ("x^y", (0, 1), "x^y is not finite at x = 0, y = 0"),
        ("1/(x^2 - x^3 + 0.001)", (-1, 1), "1/(x^2 - x^3 + 0.001) may not be finite for -1 ≤ x ≤ 1"),
    ],
    quick=3,
)
def test_without_a_bound_there_is_a_reason(source: str, box: tuple[float, float], reason: str) -> None:
    program = integraph.compile(source, box=box)
    proof = integraph.certify(program, source, 1e-9, boxes=8, progress=False)
    assert proof.status == "unknown"
    assert proof.reason == f"the budget of boxes is exhausted; {reason}"
    assert proof.certificate is None or integraph.check(proof, program, source)  # what it claims, it does


@pytest.mark.parametrize("free", ["keep", "clean", "decay"])
def test_policies(free: str) -> None:
    source = "exp(-sin(3*x)*exp(-y*cos(x)))/(1.1+cos(x*exp(y)))"
    program = integraph.compile(source, free=free)
    problem = difference(program, source, [(0, 1)] * 2)
    assert faults(program, problem, np.random.default_rng(1).uniform(size=(3, 2)), [(0, 1)] * 2) == []
    proof = integraph.certify(program, source, 1e-12, progress=False)
    assert proof.status == "proved"
    if free == "decay":
        assert proof.proven > 0


def test_what_decay_leaves_behind_can_be_too_much_for_a_start() -> None:
    source = "tanh(2*tanh(3*tanh(x+y)+y)+x)"
    proof = integraph.certify(integraph.compile(source, free="decay"), source, 1e-12)
    assert proof.status == "unknown"
    assert "tanh does not start at 0" in proof.reason
    assert integraph.certify(integraph.compile(source, free="clean"), source).proven == 0.0


def test_several_outputs_other_times_and_units(tmp_path: Path) -> None:
    source = ["x*y+0.1", "exp(-x)/(1+y)", "ln(1+x)"]
    program = integraph.compile(source)
    for other in (
        program,
        program.rescale_time(program.horizon * 4),
        program.rescale_states(np.full(program.width, 1.0)),
    ):
        proof = integraph.certify(other, source, 1e-12, box=(0, 1))
        assert (proof.status, proof.boxes) == ("proved", 1)
        assert 0 < proof.seen <= proof.proven < 1e-15
    program.save(tmp_path / "p.integraph")
    proof.certificate.save(tmp_path / "p.json")
    loaded = integraph.load(tmp_path / "p.integraph")
    assert integraph.check(tmp_path / "p.json", loaded, source).status == "proved"
    assert not integraph.check(tmp_path / "p.json", loaded, [*source[:2], "ln(1+y)"])
    worse = replace(program, readout=program.readout * 2.0, budget=None)
    assert not integraph.check(tmp_path / "p.json", worse, source)
    forged = replace(proof.certificate, upper=0.0).sealed()
    assert not integraph.check(forged, loaded, source)


def test_the_promise_is_proved() -> None:
    for source in ("sin(3*x)*exp(-y)", "0.1*x+exp(0.3*y)", "x*y+1"):
        program = integraph.compile(source)
        assert program.budget is not None
        assert integraph.certify(program, source, program.budget.total).status == "proved"


def test_one_program_after_another() -> None:
    first, second = integraph.compile("sin(3*x)"), integraph.compile("exp(y)/2", box=(-1, 1))
    program = first.then(second)
    assert integraph.certify(program, "exp(sin(3*x))/2", box=(0, 1)).proven == 0.0
    assert integraph.certify(program, "exp(sin(3*x))/3", 0.1, box=(0, 1)).status == "refuted"


def test_processes_share_the_work() -> None:
    source = "exp(sin(7*x)*cos(5*y))/(0.1+abs(x-0.3)+y)"
    program = integraph.compile(source, 0.05)
    problem = difference(program, source, [(0, 1)] * 2)
    again = pickle.loads(pickle.dumps(problem))
    part = Box((0.5, 0.25), (0.5625, 0.375))
    assert again.upper(part, 64) == problem.upper(part, 64)
    assert again.at((0.3, 0.7), 64) == problem.at((0.3, 0.7), 64)


@given(trees)
@examples(40, suppress_health_check=list(HealthCheck))
def test_random_formulas(tree: object) -> None:
    names = [name for name in VARIABLES if name in text_of(tree)]  # type: ignore[arg-type]
    assume(names)
    points = np.random.default_rng(0).uniform(*BOX, (3, len(names)))
    box = [BOX] * len(names)
    try:
        with mp.workdps(DIGITS):
            for x in points:
                value(tree, dict(zip(names, map(mp.mpf, x), strict=True)))  # type: ignore[arg-type]
        program = integraph.compile(text_of(tree), box=box, variables=names)  # type: ignore[arg-type]
        problem = difference(program, text_of(tree), box, names)  # type: ignore[arg-type]
    except (Undefined, IntegraphError, Unprovable):
        assume(False)
    assert faults(program, problem, points, box) == []


BREAKS = {
    "a coefficient that is lost": (
        normal_distance.Constants, "_group", lambda self, same: (self.algebra.constant({}), next(iter(same)), [])
    ),
    "a difference of functions that is lost": (
        normal_distance.BoxEvaluation, "_arguments", lambda self, x, y: normal_distance.ZERO
    ),
    "a difference of exponents that is lost": (
        normal_distance.BoxEvaluation, "_factors", lambda self, a, b: normal_distance.ZERO
    ),
    "e^a·e^b = e^a": (algebra.Algebra, "exp", lambda self, f: self.function("sin", f)),
    "|x| = x": (normal_form.CONDITIONAL, "abs", lambda n, f, sign: f),
    "an escape that is not seen": (normal_distance.NormalBound, "_bound", lambda *args: normal_distance.ZERO),
}  # fmt: skip


@mostly_slow("what", BREAKS, quick=5)
def test_deliberate_faults_are_noticed(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, how = BREAKS[what]
    if isinstance(where, dict):
        monkeypatch.setitem(where, name, how)
    else:
        monkeypatch.setattr(where, name, how)
    found = []
    for source, other, box in [
        ("exp(0.3*x)*sin(0.1*y)", "exp(0.3*x)*sin(0.1*y)", (0.5, 1.0)),
        ("x^0.3*y^0.7", "x^0.3*y^0.7", (0.5, 1.0)),
        ("exp(x)*y", "sin(x)*y", (0.5, 1.0)),
        ("x*y", "abs(x)*y", (-1.0, -0.5)),
        ("0.1*x*y", "0.1*x*y", (0.5, 1.0)),
    ]:
        program = integraph.compile(source, box=box)
        problem = difference(program, other, [box] * 2)
        found += faults(program, problem, np.random.default_rng(0).uniform(*box, (3, 2)), [box] * 2)
    assert found
