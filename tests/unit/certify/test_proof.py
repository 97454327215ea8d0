"""What is asked for where nobody says, and which number is proved where it is not the promise."""

from __future__ import annotations

import re

import integraph

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
