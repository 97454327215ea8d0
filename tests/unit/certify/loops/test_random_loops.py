"""Random polynomial plants under random nets: trajectories by DOP853 stay in the tube."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integraph.api.loops import closed_loop
from integraph.certify.loops.tube import tube
from integraph.numbers.arrays import Floats
from integraph.targets.network import from_layers
from loop_truth import excess, trajectory

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


def field(plant: list[Terms]) -> Callable[[Floats, Floats], list[float]]:
    def f(y: Floats, u: Floats) -> list[float]:
        z = np.append(y, u)
        return [sum(c * np.prod(z ** np.array(alpha)) for c, alpha in terms) for terms in plant]

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
    for share in rng.uniform(size=(starts, d)).round(int(rng.integers(0, 3))):
        samples, inside = trajectory(short, field(plant), low + (high - low) * share)
        assert excess(result.samples, samples) <= 0
        assert excess(result.spans[:, None], inside) <= 0


@pytest.mark.slow
@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_trajectories_stay_inside(seed: int) -> None:
    check(seed, 20)
