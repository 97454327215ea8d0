"""The time of a proof, counted in looks at the clock: budgets are kept, and what ends a proof leaves a valid one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat

import integraph
from integraph import clock
from integraph.certify.problem import Box
from integraph.certify.search.stop import Stop
from integraph.certify.statement import problem
from integraph.numbers.arb import matrices
from integraph.numbers.arb.conversion import precision
from networks import random_network
from slow import mostly_slow

Case = tuple[integraph.Program, Any]
FORMULAS = ["asin(max(x/(1.01-y), 0.2*z)/101)", "1/(x - y + 1.0001)", "sin(30*x*y)*exp(max(x, asin(y*0.99)))"]
OVER = 1.1  # of a budget
EARLY = 0.1  # of all looks: with more, less is looked for, and a proof may end by itself
LITTLE = 20_000  # calls, some milliseconds
FEW = 40  # looks that are always there: whoever hears of the end looks up once more


@cache
def net(activation: str, output: str, method: str) -> Case:
    network = random_network((2, 6, 5, 2), activation, 1, output=output)
    return integraph.compile(network, 1e-3 if method == "narrow" else None, method=method), network


@cache
def formula(source: str, method: str) -> Case:
    return integraph.compile(source, 1e-2, method=method, box=(0.0, 1.0)), source


CASES: dict[str, Callable[[], Case]] = {
    "tanh": lambda: net("tanh", "tanh", "narrow"),
    "gelu": lambda: net("gelu", "identity", "narrow"),
    "relu, wide": lambda: net("relu", "sigmoid", "wide"),
    "lean": lambda: formula("sin(3*x)*exp(-y)", "lean"),
    "remark": lambda: formula("sin(x)", "remark"),
    **{source: lambda source=source: formula(source, "exact") for source in FORMULAS},  # type: ignore[misc]
}


class Counted:
    """A clock that goes on by one with every look."""

    def __init__(self, interrupted: float = np.inf) -> None:
        self.looks, self.interrupted = 0, interrupted

    def __call__(self) -> float:
        self.looks += 1
        if self.looks == self.interrupted:
            raise KeyboardInterrupt
        return float(self.looks)


def proved(case: Case, counted: Counted, monkeypatch: pytest.MonkeyPatch, seconds: float = 1e9) -> Any:
    monkeypatch.setattr(clock, "now", counted)
    proof = integraph.certify(*case, gap=1e-3, boxes=60, seconds=seconds, workers=1, progress=False)
    monkeypatch.undo()
    return proof


def holds(case: Case, proof: Any) -> None:
    program, source = case
    assert 0 <= proof.lower <= proof.upper
    if proof.certificate is None:
        assert proof.upper == np.inf
        assert proof.status == "unknown"
        return
    assert integraph.check(proof.certificate, program, source)
    x = np.random.default_rng(0).random((200, program.inputs))
    values = source if isinstance(source, integraph.Network) else integraph.function(source).values
    assert np.abs(program(x) - values(x)).max() <= proof.upper + 1e-12


@mostly_slow("name", CASES, quick=1)
def test_a_budget_is_kept_wherever_it_ends(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]()
    whole = Counted()
    done = proved(case, whole, monkeypatch)
    holds(case, done)
    for share in (1e-3, 0.03, 0.1, 0.3, 0.7, 0.95):
        seconds, spent = max(share * whole.looks, 1.0), Counted()
        proof = proved(case, spent, monkeypatch, seconds)
        assert spent.looks <= OVER * seconds + FEW, f"{spent.looks} looks for {seconds}"
        assert share > EARLY or "the budget of time is exhausted" in proof.reason
        holds(case, proof)


@mostly_slow("name", CASES, quick=1)
def test_an_interrupt_keeps_what_is_proved_wherever_it_comes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]()
    whole = Counted()
    proved(case, whole, monkeypatch)
    bounds = []
    for share in (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9):
        found = proved(case, Counted(2 + int(share * whole.looks)), monkeypatch)
        assert found.stopped is Stop.INTERRUPTED
        assert found.stopped.message in found.reason
        holds(case, found)
        bounds.append(found.upper)
    assert bounds == sorted(bounds, reverse=True)


@contextmanager
def work() -> Iterator[list[int]]:
    """How many calls there are since the last look, between two looks at most, and in all."""
    calls = [0, 0, 0]
    look = clock.check_deadline.__code__

    def count(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is look:
            calls[0] = 0
        elif event in ("call", "c_call"):
            calls[:] = calls[0] + 1, max(calls[0] + 1, calls[1]), calls[2] + 1

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


LARGE: dict[str, Callable[[], Case]] = {
    "a wide net": lambda: _wide("tanh"),
    "a wide net of rectifiers": lambda: _wide("relu"),
    "many cells": lambda: formula("sin(9*x)*exp(-3*y*y)", "lean"),
    "a long formula": lambda: formula("+".join(f"sin({k}*x+y)^3*cos(x*y/{k})" for k in range(1, 9)), "exact"),
}


@cache
def _wide(activation: str) -> Case:
    network = random_network((3, 64, 64, 1), activation)
    return integraph.compile(network, method="narrow"), network


def steps(case: Case) -> None:
    """What a search does with a box, each of it once."""
    program, source = case
    target = source if isinstance(source, integraph.Network) else integraph.function(source)
    box = Box((0.0,) * program.inputs, (1.0,) * program.inputs)
    made = problem(program, target, box)
    made.upper(box, 64)
    made.upper(Box(box.low, (0.1,) * program.inputs), 512)
    made.at(box.centre, 64)


@mostly_slow("name", LARGE, quick=1)
def test_there_is_little_work_between_two_looks(name: str) -> None:
    case = LARGE[name]()
    for small in ("tanh", "relu, wide", "lean", FORMULAS[1]):
        steps(CASES[small]())  # imports what is imported when it is first needed, which is no work of a proof
    with work() as calls:
        steps(case)
    assert calls[1] < LITTLE < calls[2], f"{calls[1]} of {calls[2]} calls"


def test_large_products_go_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    A, B = (arb_mat(rng.normal(size=shape).tolist()) * arb.pi() for shape in ((30, 20), (20, 10)))
    with precision(128):
        whole = matrices.product(A, B)
        monkeypatch.setattr(matrices, "PART", 20 * 10 * 4 * 2**1.5)
        counted = Counted()
        monkeypatch.setattr(clock, "now", counted)
        assert matrices.product(A, B).overlaps(whole)
        assert counted.looks >= 8
        with clock.deadline(4), pytest.raises(clock.DeadlineError):
            matrices.product(A, B)
        assert matrices.scaled_rows([arb(2)] * 30, A).overlaps(2 * A)


def test_the_shorter_of_two_budgets_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(clock, "now", lambda: now[0])
    clock.check_deadline()
    with clock.deadline(5):
        with clock.deadline(1):
            assert clock.seconds_left() == 1
            clock.check_deadline(0.5)
            with pytest.raises(clock.DeadlineError):
                clock.check_deadline(1.5)
            now[0] = 1.0
            with pytest.raises(clock.DeadlineError):
                clock.check_deadline()
        clock.check_deadline()
        with clock.deadline(100):
            assert clock.seconds_left() == 4
    now[0] = 1e9
    clock.check_deadline()
    assert clock.seconds_left() == np.inf
