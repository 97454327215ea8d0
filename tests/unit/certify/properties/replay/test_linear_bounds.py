"""Linear bounds in Arb contain what the network attains, and prove what forward polynomials of degree 1 cannot."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, arb_mat

import integraph
from integraph import Network
from integraph.certify.problem import Box
from integraph.certify.properties.replay import linear_bounds
from integraph.certify.properties.replay.linear_bounds import Lines, Units, ranges
from integraph.certify.properties.replay.rows import of_box
from integraph.certify.properties.replay.walk import outputs
from integraph.numbers.arb.conversion import precision
from integraph.numbers.arrays import Floats
from networks import random_network

KINDS = ("tanh", "sigmoid", "sin", "relu", "gelu", "softplus", "gaussian")


def excess(network: Network, low: Floats, high: Floats, seed: int = 0) -> float:
    """How far sampled values of outputs and of outputs + inputs leave their bounds; ≤ 0 if they do not."""
    rng = np.random.default_rng(seed)
    x = np.concatenate(
        [rng.uniform(low, high, (4000, len(low))), rng.choice([0, 1], (200, len(low))) * (high - low) + low]
    )
    of_outputs = rng.integers(-2, 3, (3, network.outputs)).astype(float)
    of_inputs = rng.integers(-1, 2, (3, network.inputs)).astype(float)
    with precision(64):
        made = ranges(network, Box(tuple(low), tuple(high)), of_outputs, of_inputs)
        ends = np.array([[float(ball.lower()), float(ball.upper())] for ball in made])
    values = network(x) @ of_outputs.T + x @ of_inputs.T
    return float(np.maximum(values.max(0) - ends[:, 1], ends[:, 0] - values.min(0)).max())


@pytest.mark.parametrize("kind", KINDS)
def test_containment(kind: str) -> None:
    for seed in range(3):
        network = random_network((3, 6, 5, 2), kind, seed=seed, weight=1.5)
        for radius in (1e-3, 0.3, 2.0):
            centre = np.random.default_rng(seed).uniform(-1, 1, 3)
            assert excess(network, centre - radius, centre + radius, seed) <= 1e-12


def test_rounding_is_counted() -> None:
    """A form with a ball as coefficient, and a product that eight bits cannot hold, for x at both ends."""
    with precision(8):
        third = arb(1 / 3)
        unit = Units(arb_mat([[1]]), arb_mat([[0]]), [Lines(third, arb(0), third, arb(0))], [arb(3)], [arb(1)])
        form, least = unit.pull([arb(1.2001, 0.25)], 1)
        carried, constant = float(form[0, 0].mid()), float(least[0].lower())
    for coefficient in (1.2001 - 0.25, 1.2001 + 0.25):
        for x in (-3.0, 3.0):
            assert carried * x + constant <= coefficient * x / 3
    assert constant <= -0.25 - 3 * abs(carried - 1.2001 / 3)


@pytest.mark.parametrize("slope", [-0.5, 0.1, 1.7])
def test_leaky_units(slope: float) -> None:
    rng = np.random.default_rng(1)
    network = integraph.network(
        [(rng.normal(size=(6, 2)), rng.normal(size=6), ("leaky_relu", slope)), (rng.normal(size=(2, 6)), np.zeros(2))]
    )
    assert excess(network, np.full(2, -1.0), np.full(2, 1.0)) <= 1e-12


def test_ranges_are_those_of_the_lines_of_a_single_unit() -> None:
    """relu on [−1, 1]: below by 0 or x, above by (x + 1)/2."""
    network = integraph.network([([[1.0]], [0.0], "relu"), ([[1.0]], [0.0])])
    with precision(64):
        made = ranges(network, Box((-1.0,), (1.0,)), np.array([[1.0], [2.0]]), np.array([[0.0], [-1.0]]))
        assert float(made[0].upper()) == pytest.approx(1)
        assert float(made[1].upper()) == pytest.approx(1)  # x + 1 − x, where plain intervals say 3


def test_tighter_than_forward_polynomials_of_degree_1() -> None:
    network = random_network((30, 24, 24, 3), "relu", seed=1)
    box = Box((-0.1,) * 30, (0.1,) * 30)
    with precision(64):
        back = ranges(network, box, np.eye(3), np.zeros((3, 30)))
        forward = [row.value() for row in outputs(network, of_box(box, 1))]
    assert all(a.rad() < b.rad() for a, b in zip(back, forward, strict=True))


@pytest.mark.parametrize("kind", ["tanh", "relu"])
def test_seeded_faults_are_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that are moved inwards, as if a remainder were forgotten."""
    name = "_curved" if kind == "tanh" else "_kinked"
    right = getattr(linear_bounds, name)

    def wrong(*args: object) -> object:
        lines, value = right(*args)
        return Lines(lines.low_slope, lines.low + 0.05, lines.high_slope, lines.high - 0.05), value

    network = random_network((2, 3, 1), kind, seed=2, weight=1.5)
    monkeypatch.setattr(linear_bounds, name, wrong)
    assert max(excess(network, np.full(2, -r), np.full(2, r), seed) for r in (0.02, 1.0) for seed in range(3)) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tanh", "relu"])
def test_784_inputs_are_proved_and_checked(kind: str) -> None:
    network = random_network((784, 128, 10), kind, seed=2)
    x = np.random.default_rng(5).uniform(0, 1, 784)
    best = int(network(x[None])[0].argmax())
    text = " and ".join(f"y{best} > y{n}" for n in range(10) if n != best)
    proof = integraph.prove(text, network, np.stack([x - 0.003, x + 0.003], 1))
    assert proof.status == "proved"
    assert integraph.check(proof, network).holds
