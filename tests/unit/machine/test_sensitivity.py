"""Derivatives of outputs with respect to coefficients, against programs that are run with another coefficient."""

from __future__ import annotations

import numpy as np
import pytest

import export_programs
import integraph
from integraph import Program
from integraph.machine.sensitivity import sensitivities
from integraph.machine.tolerance import perturbed
from integraph.program.terms import Terms, concatenate

STEP = 1e-5


@pytest.mark.parametrize("name", ["formula", "narrow", "wide"])
def test_one_coefficient_at_a_time(name: str) -> None:
    program = export_programs.PROGRAMS[name]()
    x = export_programs.inputs(program, 3)
    parts = list(sensitivities(program, x))[::-1]
    rng = np.random.default_rng(0)
    for part in parts:
        size = np.abs(part.coefficients).max()
        for n in rng.choice(len(part.terms), min(4, len(part.terms)), replace=False).tolist():
            ahead, behind = (changed(program, part.number, n, side * STEP)(x, "taylor") for side in (1, -1))
            slope = (ahead - behind) / (2 * STEP)
            assert np.allclose(part.coefficients[n], slope, rtol=2e-3, atol=2e-3 * size)


def test_constants() -> None:
    """A drift of one register during one segment."""
    program = integraph.compile("exp(-x)*y + tanh(x)")
    x = np.array([[0.3, 0.8]])
    for part in sensitivities(program, x):
        for register in range(program.width):
            ahead, behind = (drifting(program, part.number, register, side * STEP)(x, "taylor") for side in (1, -1))
            assert np.allclose(part.constants[register], (ahead - behind) / (2 * STEP), rtol=1e-5, atol=1e-8)


def all_terms(program: Program) -> list[Terms]:
    return [concatenate(list(program.segment_terms(n))) for n in range(program.depth)]


def changed(program: Program, number: int, n: int, by: float) -> Program:
    terms = all_terms(program)
    value = terms[number].value.copy()
    value[n] += by
    terms[number] = Terms(terms[number].i, terms[number].j, terms[number].k, value)
    return perturbed(program, terms)


def drifting(program: Program, number: int, register: int, by: float) -> Program:
    terms, one = all_terms(program), np.array([-1], np.int32)
    both = concatenate([terms[number], Terms(np.array([register], np.int32), one, one, np.array([by]))])
    terms[number] = both[np.argsort(both.i, kind="stable")]
    return perturbed(program, terms)
