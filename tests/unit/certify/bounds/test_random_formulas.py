"""Random formulas: values that mpmath computes, at random points and after a climb, are inside the bounds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mpf

import integraph
from expression_trees import BOX, VARIABLES, Tree, Undefined, trees, value, written
from integraph.errors import IntegraphError
from law import examples

SLACK = 1e-12  # of what is printed: mpmath's 15 digits


def reached(f: Callable[[list[float]], float], rng: np.random.Generator) -> list[float]:
    """Values at random points, and near those where f is least and largest."""
    known: list[tuple[float, list[float]]] = []
    points = rng.uniform(*BOX, (12, len(VARIABLES))).tolist()
    for shrink in (0.3, 0.1):
        for point in points:
            with suppress(Undefined, ValueError, ArithmeticError):
                known.append((f(point), point))
        if not known:
            return []
        ends = [min(known)[1], max(known)[1]]
        points = [np.clip(end + shrink * rng.normal(size=(4, len(VARIABLES))), *BOX).tolist() for end in ends]
        points = [point for part in points for point in part]
    return [each for each, _ in known]


@given(trees, st.integers(0, 1000))
@examples(40, deadline=None)
def test_values_are_inside(tree: Tree, seed: int) -> None:
    def f(point: list[float]) -> float:
        return float(value(tree, dict(zip(VARIABLES, map(mpf, point), strict=True))))

    assume(any(name in written(tree) for name in VARIABLES))
    values = reached(f, np.random.default_rng(seed))
    assume(values)
    try:
        bounds = integraph.bound(written(tree), [BOX] * len(VARIABLES), variables=VARIABLES, progress=False)
    except IntegraphError:
        assume(False)
    size = SLACK * (1 + max(map(abs, values)))
    assert bounds.low[0] - size <= min(values)
    assert max(values) <= bounds.high[0] + size
    assert not np.isnan([bounds.low[0], bounds.high[0]]).any()
