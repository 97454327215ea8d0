"""Random elementary systems: 200 solutions by DOP853 are inside the boxes at all times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf

from integraph.numbers.arrays import Floats
from solution_truth import outside, paths, starts, unlifted

ATOMS: list[tuple[str, Callable[[Floats, Floats], Floats]]] = [  # of two variables, in text and in numpy
    ("{a}", lambda a, b: a),
    ("{a}*{b}", lambda a, b: a * b),
    ("{a}^3", lambda a, b: a**3),
    ("{a}^2*{b}", lambda a, b: a * a * b),
    ("sin({a})", lambda a, b: np.sin(a)),
    ("cos({a} - {b})", lambda a, b: np.cos(a - b)),
    ("exp(-{a}*{a})", lambda a, b: np.exp(-a * a)),
    ("{b}/(2 + {a}^2)", lambda a, b: b / (2 + a * a)),
    ("tanh({a}*{b})", lambda a, b: np.tanh(a * b)),
    ("sqrt(1 + {a}^2)", lambda a, b: np.sqrt(1 + a * a)),
    ("ln(2 + {a}^2)", lambda a, b: np.log(2 + a * a)),
    ("atan({a} + {b})", lambda a, b: np.arctan(a + b)),
    ("sigmoid({a})", lambda a, b: 1 / (1 + np.exp(-a))),
    ("asin({a}/(1 + {a}^2))", lambda a, b: np.arcsin(a / (1 + a * a))),
    ("erf({a} - {b})", lambda a, b: erf(a - b)),
    ("(3 + {a}^2)^(-3/2)", lambda a, b: (3 + a * a) ** -1.5),
]
TERM = st.tuples(
    st.sampled_from(ATOMS), st.integers(-12, 12).filter(bool), st.integers(0, 2), st.integers(0, 2)
)  # an atom, its coefficient in eighths, its variables


@pytest.mark.slow
@given(
    st.lists(st.lists(TERM, min_size=1, max_size=3), min_size=1, max_size=3),
    st.sampled_from([0.0, 1e-6, 1e-3, 0.05]),
    st.integers(0, 1000),
)
@settings(max_examples=60)
def test_solutions_are_inside(
    equations: list[list[tuple[tuple[str, Callable[..., Floats]], int, int, int]]], radius: float, seed: int
) -> None:
    n = len(equations)
    text = {
        f"x{i}": " + ".join(f"({c}/8)*{atom[0].format(a=f'x{j % n}', b=f'x{k % n}')}" for atom, c, j, k in terms)
        for i, terms in enumerate(equations)
    }

    def field(*x: Floats) -> list[Floats]:
        return [sum(c / 8 * atom[1](x[j % n], x[k % n]) for atom, c, j, k in terms) for terms in equations]  # type: ignore[misc]

    middle = np.random.default_rng(seed).uniform(-1, 1, n)
    box = np.stack([middle - radius, middle + radius], 1)
    times = np.linspace(0.0, 2.0, 9)
    result = unlifted(text).enclose(box, times, seconds=2.0)
    reached = times[times <= (1.0 if result.complete else 0.9) * result.time]  # DOP853 fails where solutions end
    if len(reached) < 2:
        return
    points = starts(box, 200 if radius else 1)
    truth = paths(field, points, n, reached)
    slack = 1e-9 * max(1.0, float(np.abs(truth).max())) + 1e-3 * float(np.ptp(truth, axis=1).max()) * (
        not result.complete
    )
    boxes = slice(0, len(reached))
    assert outside(result.low[boxes, None], result.high[boxes, None], truth, slack) <= 0
    for k in range(len(result.over)):
        inside = (reached >= result.steps[k]) & (reached <= result.steps[k + 1])
        if inside.any():
            assert outside(result.over[k, None, :, 0], result.over[k, None, :, 1], truth[inside], slack) <= 0
