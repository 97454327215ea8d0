"""Random formulas through the whole compiler, against mpmath: every way to free registers, both engines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from mpmath import mp, mpf

import integraph
from expression_trees import BOX, VARIABLES, Tree, Undefined, trees, value, written
from integraph.errors import SourceError
from law import examples

X = np.random.default_rng(3).uniform(*BOX, (6, len(VARIABLES)))


def truth(tree: Tree) -> np.ndarray:
    """NaN where it has none."""
    found = []
    with mp.workdps(40):
        for row in X:
            try:
                found.append(float(value(tree, dict(zip(VARIABLES, map(mpf, row), strict=True)))))
            except (Undefined, OverflowError, ZeroDivisionError):
                found.append(np.nan)
    return np.array(found)


@pytest.mark.parametrize("free", ["keep", "clean", "decay"])
@examples(120)
@given(tree=trees)
def test_a_random_formula(free: str, tree: Tree) -> None:
    """Where the truth is a number, both engines agree with it to 1e-9 of the largest value, whatever is done with the
    registers."""
    wanted = truth(tree)
    assume(np.isfinite(wanted).all() and np.abs(wanted).max() > 1e-6)
    try:
        program = integraph.compile(written(tree), variables=VARIABLES, box=BOX, free=free)
    except SourceError as reason:
        assume("too large" not in str(reason))  # a constant exponent, or a tower of them
        raise
    for engine in ("exact", "taylor"):
        flow = program.flow(X, engine=engine, rtol=1e-14)
        assert flow.ok, flow
        np.testing.assert_allclose(flow.outputs[:, 0], wanted, atol=1e-9 * np.abs(wanted).max(), rtol=0)


@examples(60)
@given(tree=trees)
def test_what_is_undefined_is_no_number(tree: Tree) -> None:
    """An input without a value gets NaN and a failure, never a plausible number; unless it was only near the edge."""
    wanted = truth(tree)
    assume(np.isfinite(wanted).any())
    try:
        program = integraph.compile(written(tree), variables=VARIABLES, box=BOX)
    except SourceError:
        return
    flow = program.flow(X)
    good = np.isfinite(flow.outputs[:, 0])
    np.testing.assert_array_equal(np.flatnonzero(~good), [failure.input for failure in flow.failures])
    both = good & np.isfinite(wanted)
    largest = np.abs(wanted[both]).max(initial=1.0)
    np.testing.assert_allclose(flow.outputs[both, 0], wanted[both], atol=1e-8 * largest, rtol=0)
