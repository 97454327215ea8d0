"""Random polynomial plants under random nets: trajectories by DOP853 stay in the tube, and in that of the checker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integraph.api.loops import closed_loop
from integraph.certify.certificate.replay import CertificateFault
from integraph.certify.loops.certification import path
from integraph.certify.loops.replay import check as replay
from integraph.certify.loops.tube import tube
from integraph.certify.problem import Box
from integraph.numbers.arb.conversion import above, below, precision
from integraph.numbers.arrays import Floats
from integraph.targets.network import from_layers
from loop_truth import excess, trajectories

Terms = list[tuple[float, tuple[int, ...]]]


def polynomial(rng: np.random.Generator, d: int) -> Terms:
    """Terms c·x^α, the variables being d states and one input."""
    powers = rng.multinomial(rng.integers(0, 4, 4), [1 / (d + 1)] * (d + 1))
    return [(round(float(rng.normal()), 3), tuple(alpha)) for alpha in powers]


def text(terms: Terms, d: int) -> str:
    names = [*(f"x{n}" for n in range(d)), "u"]
    return " + ".join(
        f"({c})" + "".join(f"*{name}^{power}" for name, power in zip(names, alpha, strict=True) if power)
        for c, alpha in terms
    )


def field(plant: list[Terms]) -> Callable[[Floats, Floats], Floats]:
    def f(y: Floats, u: Floats) -> Floats:
        z = np.concatenate([y, u])
        return np.stack([sum(c * np.prod(z.T**alpha, axis=1) for c, alpha in terms) + 0.0 * z[0] for terms in plant])

    return f


def check(seed: int, starts: int) -> None:
    rng = np.random.default_rng(seed)
    d, width = int(rng.integers(1, 4)), int(rng.integers(2, 9))
    plant = [polynomial(rng, d) for _ in range(d)]
    kind = ("tanh", "sigmoid", "relu")[int(rng.integers(3))]
    net = from_layers(
        [
            (rng.normal(size=(width, d)), rng.normal(size=width), kind),
            (rng.normal(size=(1, width)), rng.normal(size=1)),
        ]
    )
    formulas = {f"x{n}": text(terms, d) for n, terms in enumerate(plant)}
    loop = closed_loop(formulas, net, period=0.1, steps=5)
    low = rng.uniform(-0.7, 0.5, d)
    high = low + rng.uniform(0.0, 0.2, d)
    result = tube(loop, low, high, spans=True)
    if not result.reached:
        return
    short = closed_loop(formulas, net, period=0.1, steps=result.reached)
    share = rng.uniform(size=(starts, d)).round(int(rng.integers(0, 3)))
    samples, inside = trajectories(short, field(plant), low + (high - low) * share)
    assert excess(result.samples[:, None], samples) <= 0
    assert excess(result.spans[:, None, None], inside) <= 0
    with (
        precision(replay.BITS),
        suppress(CertificateFault),
    ):  # near a blow-up boxes may be too small
        taken = path(short, low, high, result.degree, result.reached)
        sets = replay.tube(short, Box(tuple(low), tuple(high)), result.degree, taken)
        boxes = [[(below(a), above(b)) for a, b in (row.range() for row in states.rows)] for states in sets]
        assert excess(np.array(boxes)[:, None], samples) <= 0


@pytest.mark.slow
@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_trajectories_stay_inside(seed: int) -> None:
    check(seed, 200)
