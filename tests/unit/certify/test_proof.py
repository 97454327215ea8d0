"""What is asked for where nobody says, and which number is proved where it is not the promise."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import integraph
from integraph.certify.graph import difference

KINK = "abs(x)+exp(-x^2)"


def test_an_exact_program_is_asked_for_what_arithmetic_can_show() -> None:
    """It promises 0, which no number of boxes shows; the command asks for the same."""
    program = integraph.compile(KINK, 1e-3)
    assert program.budget is not None
    assert program.budget.total == 0.0
    proof = integraph.certify(program, KINK, progress=False, workers=1)
    assert (proof.status, proof.eps) == ("proved", 1e-12)
    assert 0 < proof.proven <= 1e-12
    status = repr(proof).splitlines()[0]
    assert "proved: the error is at most 1e-12, which was asked for; the smaller number" in status
    assert status.endswith("promised, 0, is not proved by this")


def test_numbers_that_nearly_agree_are_told_apart() -> None:
    program = integraph.compile(KINK, 1e-3)
    proof = integraph.certify(program, KINK, progress=False, workers=1)
    near = replace(proof, eps=0.005, promised=0.004766, upper=0.0047660001)
    assert "promised, 0.004766, is not proved by this" in repr(near)
    assert "≤ 0.004767\n" in repr(near)
    far = repr(replace(near, upper=0.0048))
    assert "promised, 0.00477, is" in far
    assert "≤ 0.0048\n" in far
    assert "nothing" not in repr(replace(near, upper=np.nextafter(0.004766, 1)))


def test_a_difference_that_was_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of many terms is not evaluated on balls: there is no difference of 0 that was found."""
    monkeypatch.setattr(difference, "TERMS", 0)
    net = integraph.network([(np.eye(2), np.zeros(2), "tanh"), (np.ones((1, 2)), np.zeros(1))])
    proof = integraph.certify(integraph.compile(net, method="exact"), net, box=(0, 1), progress=False, workers=1)
    assert (proof.status, proof.seen) == ("proved", None)
    assert re.search("difference found +not measured", repr(proof))


def test_a_promise_above_the_default_is_asked_for() -> None:
    program = integraph.compile("abs(x)*exp(-y)", 1e-3, box=(-1, 1))
    assert program.budget is not None
    assert program.budget.total > 1e-12
    proof = integraph.certify(program, "abs(x)*exp(-y)", progress=False, boxes=1, workers=1)
    assert proof.eps == program.budget.total


def test_a_proof_of_the_promise_has_nothing_to_explain() -> None:
    program = integraph.compile("sin(3*x)*exp(-0.1*y)")
    proof = integraph.certify(program, "sin(3*x)*exp(-0.1*y)", progress=False, workers=1)
    assert proof.promised is not None
    assert proof.proven <= proof.promised
    assert re.match("status +proved$", repr(proof).splitlines()[0])
