"""Proofs of Theorem 1: the bound holds, is tight, and speaks of the stored controls."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

import integraph
from integraph.certify.enclosure.closed_forms import closed
from integraph.certify.problem import Box, Unprovable
from integraph.certify.search.branch_and_bound import SearchResult, search
from integraph.certify.taylor import taylor
from integraph.certify.theorem1.difference import Theorem1Difference
from integraph.errors import SpecError
from integraph.frontends import function
from integraph.numbers.arb.conversion import precision
from integraph.program import Block, Program
from law import examples
from random_programs import random_program
from slow import mostly_slow

F, RUNGE = "sin(3*x)*exp(-y)/(1+x*y)", "1/(1+25*(2*x-1)^2)"
CASES: dict[str, tuple[Any, float, dict[str, Any]]] = {
    "2-d": (F, 1e-3, {}),
    "horizon": (F, 1e-3, {"horizon": 1.0}),
    "batches": (F, 1e-3, {"width": 40, "order": 4}),
    "cells": (RUNGE, 1e-4, {}),
    "refilled": (RUNGE, 1e-4, {"width": 26}),
    "box": (RUNGE, 1e-4, {"box": (-0.5, 2.5)}),
    "steps": ("exp(x)", 1e-1, {"order": 1}),
    "outputs": (["x*y", "sin(x-y)"], 1e-6, {"box": [(0, 2), (-1, 1)]}),
    "polynomial": ("x^2 + 0.1*y", 1e-3, {}),
    "remark": ("exp(x)", 1e-3, {"method": "remark"}),
    "remarks": (["x", "sin(x)"], 1e-2, {"method": "remark", "box": (0, 2)}),
    "remark in time": ("exp(x)", 1e-3, {"method": "remark", "horizon": 4.0}),
    "paper": ("sin(3*x)", 1e-2, {"method": "paper"}),
    "papers": (["x", "sin(x)"], 1e-2, {"method": "paper", "box": (0, 2), "horizon": 8.0}),
}
LEAN = [name for name, (_, _, options) in CASES.items() if "method" not in options]


@cache
def compiled(name: str) -> Program:
    source, eps, options = CASES[name]
    return integraph.compile(source, eps, **{"method": "lean"} | options)


def proof(name: str, program: Program | None = None) -> Theorem1Difference:
    program = compiled(name) if program is None else program
    budget = compiled(name).budget
    box = Box(tuple(budget.low.tolist()), tuple(budget.high.tolist()))
    expression = function(CASES[name][0]).expression
    assert expression is not None
    return Theorem1Difference(program, expression, box)


@cache
def found(name: str) -> SearchResult:
    problem = proof(name)
    return search(problem, problem.box, gap=0.2, boxes=400, workers=1, progress=False)


def points(name: str, many: int, seed: int = 0) -> np.ndarray:
    budget, rng = compiled(name).budget, np.random.default_rng(seed)
    x = rng.uniform(size=(many, len(budget.low)))
    faces = rng.integers(0, 6, x.shape)
    x = np.where(faces == 0, 0.0, np.where(faces == 1, 1.0, x))
    return np.clip(budget.low + x * (budget.high - budget.low), budget.low, budget.high)


def errors(name: str, x: np.ndarray, program: Program | None = None, engine: str = "precise") -> np.ndarray:
    """max over outputs of |f − program|, f in many digits."""
    program = compiled(name) if program is None else program
    values = program.flow(x, engine=engine).check().outputs
    sources = CASES[name][0] if isinstance(CASES[name][0], list) else [CASES[name][0]]
    namespace = {n: getattr(mpmath, n) for n in ("sin", "exp")}
    variables = function(CASES[name][0]).variables
    off = np.zeros(len(x))
    with mpmath.workdps(40):
        for row, (point, value) in enumerate(zip(x.tolist(), values, strict=True)):
            known = namespace | {n: mpmath.mpf(v) for n, v in zip(variables, point, strict=True)}
            for source, got in zip(sources, value.tolist(), strict=True):
                exact = eval(source.replace("^", "**").replace("0.1", "mpf(1)/10"), {"mpf": mpmath.mpf} | known)
                off[row] = max(off[row], float(abs(exact - got)))
    return off


@mostly_slow("name", CASES, quick=2)
def test_the_bound_holds_and_is_tight(name: str) -> None:
    upper, lower = found(name).upper[0], found(name).lower[0]
    assert lower <= upper <= 1.2 * max(lower, 1e-15)
    assert upper <= 1.2 * compiled(name).budget.total
    x = points(name, 3000 if compiled(name).bits == 53 else 20)
    off = np.abs(function(CASES[name][0]).values(x) - compiled(name)(x)).max()
    assert off <= upper + 1e-10  # of the evaluation in float64
    assert off >= 0.5 * lower - 1e-10


@mostly_slow("name", CASES, quick=2)
def test_values_at_points(name: str) -> None:
    x = points(name, 30, 1)
    problem = proof(name)
    sizes = np.array([problem.at(tuple(point), 64)[0] for point in x.tolist()])
    off = errors(name, x)
    assert np.isfinite(sizes).all()
    assert (sizes[:, 0] <= sizes[:, 1]).all()
    assert (sizes[:, 0] <= off + 2e-15).all()
    assert (off <= sizes[:, 1] + 2e-15).all()
    if name in LEAN:
        assert (sizes[:, 1] - sizes[:, 0] <= 1e-15 * sizes[:, 1] + 1e-300).all()


@mostly_slow("name", CASES, quick=3)
def test_every_box_has_its_points(name: str) -> None:
    """Boxes of all sizes, off the grid."""
    problem, rng = proof(name), np.random.default_rng(2)
    low, high = np.array(problem.box.low), np.array(problem.box.high)
    for size in (1.0, 0.3, 0.1, 0.01, 1e-6, 0.0):
        a = low + (1 - size) * rng.uniform(size=len(low)) * (high - low)
        b = np.minimum(a + size * (high - low), high)
        upper = problem.upper(Box(tuple(a.tolist()), tuple(b.tolist())), 64)[0]
        inside = np.vstack([a, b, np.clip(a + rng.uniform(size=(30, len(a))) * (b - a), a, b)])
        at = [problem.at(tuple(point), 64)[0][0] for point in inside.tolist()]
        assert max(at) <= upper < np.inf
    assert upper <= 1.001 * max(at) + 1e-6 * compiled(name).budget.total


@mostly_slow("name", LEAN, quick=3)
def test_a_second_opinion(name: str) -> None:
    """The closed forms, register by register, on thin balls."""
    problem = proof(name)
    for point in points(name, 6, 3).tolist():
        with precision(300):
            x = [arb(v) for v in point]
            pairs = zip(closed(problem.program, x), taylor(problem.expression, x, 0), strict=True)
            exact = [abs(got - row[0]) for got, row in pairs]
            low, high = problem.at(tuple(point), 256)[0]
            assert max(float(e.lower()) for e in exact) <= high * (1 + 1e-15)
            assert max(float(e.upper()) for e in exact) >= low * (1 - 1e-15)


def test_outside_of_its_box_nothing_is_known() -> None:
    problem = proof("2-d")
    assert problem.upper(Box((0.0, 0.5), (1.0, 1.5)), 64) == (np.inf,)
    assert problem.at((-0.1, 0.5), 64) == ((0.0, np.inf),)
    assert problem.at((np.nan, 0.5), 64) == ((0.0, np.inf),)


def test_a_box_of_many_cells_is_bounded_by_the_worst() -> None:
    problem = proof("steps")
    largest = float(np.max(problem.form(64).sizes))
    assert problem.upper(problem.box, 64)[0] == pytest.approx(np.e + largest, rel=1e-6)


def test_it_can_be_sent() -> None:
    problem = proof("2-d")
    assert pickle.loads(pickle.dumps(problem)).upper(problem.box, 64) == problem.upper(problem.box, 64)


def test_precisions_agree() -> None:
    for name in ("2-d", "refilled", "remark", "paper"):
        problem = proof(name)
        box = Box(problem.box.low, problem.box.split(0, problem.box.centre[0])[0].high)
        few, many = (problem.upper(box, bits)[0] for bits in (64, 512))
        assert few == pytest.approx(many, rel=1e-9)
        a, b = (problem.at(problem.box.centre, bits)[0] for bits in (64, 512))
        assert a[0] <= b[1]
        assert b[0] <= a[1]


def test_a_pole_is_unknown() -> None:
    program = compiled("steps")
    pole = function("exp(x) + 1e-30/(x - 0.3)").expression
    assert pole is not None
    problem = Theorem1Difference(program, pole, Box((0.0,), (1.0,)))
    assert problem.upper(Box((0.25,), (0.35,)), 64) == (np.inf,)
    assert problem.upper(Box((0.5,), (0.55,)), 64)[0] < 1
    assert problem.at((0.3,), 64)[0][1] == np.inf or problem.at((0.3,), 64)[0][0] > 1e-20


def altered(program: Program, op: str, tensor: str, change: float, nth: int = 0, seed: int = 0) -> Program:
    """One entry of a tensor of the nth block of that kind, changed by so much."""
    seen = 0
    for number, segment in enumerate(program.segments):
        for place, block in enumerate(segment.blocks):
            if block.op.name != op:
                continue
            if seen == nth:
                values = np.array(block.tensors[tensor], np.float64, copy=True)
                entry = np.random.default_rng(seed).integers(values.size)
                values.reshape(-1)[entry] += change
                new = Block(block.op, block.targets, block.operands, dict(block.tensors) | {tensor: values})
                blocks = (*segment.blocks[:place], new, *segment.blocks[place + 1 :])
                segments = list(program.segments)
                segments[number] = replace(segment, blocks=blocks)
                return replace(program, segments=tuple(segments))
            seen += 1
    raise AssertionError(op)


PLANTED = [
    ("2-d", "bilinear", "w", 0), ("2-d", "affine", "w", 0), ("2-d", "affine", "w", 4), ("2-d", "monomial", "b", 0),
    ("2-d", "monomial", "w", 0), ("2-d", "log_cosh", "b", 0), ("2-d", "log_cosh", "a", 0), ("2-d", "ramp", "b", 0),
    ("refilled", "monomial", "b", 2), ("refilled", "monomial", "w", 1), ("refilled", "bilinear", "w", 1),
    ("box", "affine", "w", 0), ("box", "affine", "b", 0), ("box", "product", "w", 0), ("outputs", "ramp", "b", 0),
    ("polynomial", "affine", "w", 1), ("remark", "monomial", "b", 1), ("remark", "affine", "w", 2),
    ("remark", "ramp", "b", 1), ("remarks", "affine", "w", 3), ("paper", "monomial", "b", 0),
    ("paper", "monomial", "w", 1), ("paper", "tanh", "b", 0), ("papers", "affine", "b", 0),
    ("paper", "partition", "b", 0), ("paper", "partition", "a", 0),
]  # fmt: skip


@mostly_slow(("name", "op", "tensor", "nth"), PLANTED, quick=1)
@pytest.mark.parametrize("change", [0.25, 1e-6, 2.0**-40])
def test_a_control_that_is_off(name: str, op: str, tensor: str, nth: int, change: float) -> None:
    """What is proved is still true, and the values are those of the altered program; or nothing is proved."""
    program = altered(compiled(name), op, tensor, change, nth)
    try:
        problem = proof(name, program)
    except Unprovable:
        return
    x = points(name, 12, 4)
    off = errors(name, x, program)
    sizes = np.array([problem.at(tuple(point), 64)[0] for point in x.tolist()])
    assert (sizes[:, 0] <= off * (1 + 1e-12) + 4e-15).all()
    assert (off <= sizes[:, 1] * (1 + 1e-12) + 4e-15).all()
    assert off.max() <= problem.upper(problem.box, 64)[0] + 4e-15


@pytest.mark.slow
def test_alterations_are_seen_at_all() -> None:
    """Most of them are still proved, and then with another error."""
    moved = 0
    for name, op, tensor, nth in PLANTED:
        try:
            problem = proof(name, altered(compiled(name), op, tensor, 1e-6, nth))
        except Unprovable:
            continue
        x = tuple(points(name, 3, 5)[1].tolist())
        moved += problem.at(x, 64)[0] != proof(name).at(x, 64)[0]
    assert moved >= 10


@pytest.mark.parametrize("rows", [("A", "B"), ("b",), ("kappa",)])
def test_rounded_controls_of_step_2_count(monkeypatch: pytest.MonkeyPatch, rows: tuple[str, ...]) -> None:
    """With the first controls of step 2 1e-5 off the flow is another one, and so is the proof. With b_0 it is ψ_0 that
    is wrong, with κ the lanes do not start at 1."""
    module = sys.modules["integraph.gadgets.partition"]
    exact = module.rounded

    def coarse(N: int) -> Any:
        fixed, first = exact(N), np.arange(N + 1) == (rows == ("kappa",))
        return replace(fixed, **{row: getattr(fixed, row) + 1e-5 * first for row in rows})

    program, x = compiled("remark"), points("remark", 25, 6)
    before, usual = errors("remark", x, engine="taylor"), found("remark").upper[0]
    monkeypatch.setattr(module, "rounded", coarse)
    problem = proof("remark")
    off = errors("remark", x, replace(program), engine="taylor")
    sizes = np.array([problem.at(tuple(point), 64)[0] for point in x.tolist()])
    assert np.abs(off - before).max() > 1e-7
    assert (off <= sizes[:, 1] + 1e-11).all()
    assert (sizes[:, 0] <= off + 1e-11).all()
    assert problem.upper(problem.box, 64)[0] > 3 * usual


def test_what_is_none_of_these_programs() -> None:
    with pytest.raises(Unprovable, match="rescaled"):
        proof("2-d", compiled("2-d").rescale_states(2.0))
    with pytest.raises(Unprovable, match="not exactly"):
        proof("2-d", compiled("2-d").rescale_time(0.7))
    with pytest.raises(Unprovable, match="numbers of inputs"):
        proof("2-d", compiled("cells"))
    twice = compiled("steps").then(compiled("steps"))
    with pytest.raises(Unprovable):
        proof("steps", twice)


@examples(60)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_of_any_other_program_nothing_is_proved_or_something_true(seed: int, depth: int) -> None:
    """Programs of random gadgets are refused, or are sums and products that the rules know."""
    try:
        program = random_program(seed, ["a", "b", "c"][:depth], [1.0] * depth)
    except SpecError:
        return
    names = [f"x{n}" for n in range(program.inputs)]
    expression = function(["x0"] * program.outputs, variables=names).expression
    assert expression is not None
    box = Box((0.25,) * program.inputs, (0.5,) * program.inputs)
    try:
        problem = Theorem1Difference(program, expression, box)
    except Unprovable:
        return
    low, high = problem.at(box.centre, 64)[0]
    value = program(np.array(box.centre), engine="precise")
    off = np.abs(value - box.centre[0]).max()
    assert low - 1e-12 * (1 + off) <= off <= high + 1e-12 * (1 + off)
    assert problem.upper(box, 64)[0] >= low
