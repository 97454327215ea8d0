"""Proofs about networks: the difference they speak of is the true one, and on a box no point exceeds the bound."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from integraph.certify.network.difference import NetworkDifference
from integraph.certify.problem import Box, Unprovable
from law import examples
from network_truth import difference
from networks import EVERY, random_network
from slow import mostly_slow

SLACK = 1e-30  # of the true difference, which is known to 34 digits
METHODS = ({}, {"method": "wide"}, {"method": "wide", "free": "decay"})
UNIT = Box((0.0, 0.0), (1.0, 1.0))


def compiled(
    activation: str, seed: int = 0, sizes: tuple[int, ...] = (2, 3, 3, 2), eps: float = 1e-5, **options: str
) -> NetworkDifference:
    network = random_network(sizes, activation, seed)
    return NetworkDifference(integraph.compile(network, 0.3 if "relu" in activation else eps, **options), network)


@mostly_slow("activation", EVERY, quick=1)
@mostly_slow("options", METHODS, quick=2)
def test_the_difference_at_a_point_is_the_true_one(activation: str, options: dict[str, str]) -> None:
    """Against the terms alone, integrated in 50 digits: 12 digits of a difference of 1e-6 or 1e-17."""
    problem = compiled(activation, **options)
    for point in ((0.3, 0.9), (0.0, 1.0)):
        true = max(abs(d) for d in difference(problem.program, problem.network, point))
        for bits in (64, 128, 512):
            ((low, high),) = problem.at(point, bits)
            assert low <= true + SLACK
            assert true <= high + SLACK
            assert math.isfinite(high)
        assert high - low <= 1e-3 * true + SLACK


@mostly_slow("activation", EVERY, quick=2)
@mostly_slow("options", METHODS, quick=2)
def test_no_point_of_a_box_exceeds_its_bound(activation: str, options: dict[str, str]) -> None:
    problem = compiled(activation, 1, (2, 5, 4, 1), **options)

    @given(st.tuples(*[st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)] * 2), st.randoms(use_true_random=False))
    @examples(8)
    def holds(sides: tuple[list[float], ...], random: object) -> None:
        box = Box(tuple(a for a, _ in sides), tuple(b for _, b in sides))
        (bound,) = problem.upper(box, 64)
        (finer,) = problem.upper(box, 128)
        assert math.isfinite(bound)
        assert 0 <= finer <= bound * (1 + 1e-6) + 1e-300
        points = [box.low, box.high, box.centre]
        points += [tuple(a + (b - a) * random.random() for a, b in sides) for _ in range(2)]  # type: ignore[attr-defined]
        for point in points:
            inside = tuple(min(max(x, a), b) for x, (a, b) in zip(point, sides, strict=True))
            ((low, high),) = problem.at(inside, 64)
            assert math.isfinite(high)
            assert low <= bound
            assert low <= finer

    holds()


@mostly_slow("activation", EVERY, quick=1)
@pytest.mark.parametrize("options", METHODS)
def test_what_is_promised_is_proved_in_one_box(activation: str, options: dict[str, str]) -> None:
    problem = compiled(activation, 2, (2, 6, 5, 1), **options)
    proof = integraph.certify(problem.program, problem.network, boxes=1)
    assert problem.program.budget is not None
    assert proof.status == "proved"
    assert proof.boxes == 1
    assert proof.lower <= proof.upper <= problem.program.budget.total


@mostly_slow("sizes", [(3, 4), (3, 1), (2, 3, 1)], quick=1)
def test_networks_without_a_linear_output_or_without_layers(sizes: tuple[int, ...]) -> None:
    for output in ("identity", "tanh", "sigmoid", "softplus"):
        network = random_network(sizes, "tanh", 3, output=output)
        for options in METHODS:
            program = integraph.compile(network, 1e-6, **options)
            proof = integraph.certify(program, network)
            assert proof.status == "proved"
            point = (0.25,) * sizes[0]
            ((low, high),) = NetworkDifference(program, network).at(point, 128)
            true = max(abs(d) for d in difference(program, network, point))
            assert low - SLACK <= true <= high + SLACK


@pytest.mark.slow
def test_saturated_units_and_mixed_layers() -> None:
    rng = np.random.default_rng(5)
    network = integraph.network(
        [
            (9 * rng.normal(size=(4, 2)), rng.normal(size=4), "tanh"),
            (rng.normal(size=(3, 4)), rng.normal(size=3), "identity"),
            (4 * rng.normal(size=(4, 3)), rng.normal(size=4), "gelu"),
            (rng.normal(size=(2, 4)), rng.normal(size=2), "softplus"),
        ]
    )
    for options in METHODS:
        program = integraph.compile(network, 1e-3, box=[(-0.5, 0.5), (0, 0.5)], **options)
        problem = NetworkDifference(program, network)
        for point in ((-0.5, 0.5),):
            true = max(abs(d) for d in difference(program, network, point))
            ((low, high),) = problem.at(point, 128)
            assert low - SLACK <= true <= high + SLACK
        assert integraph.certify(program, network).status == "proved"


def test_units_of_rectifiers_that_never_switch() -> None:
    network = integraph.network(
        [
            ([[1.0, 0.5], [-1.0, -0.5], [1.0, -1.0], [0.0, 0.0]], [0.1, -0.1, 0.0, 0.0], ("leaky_relu", 0.2)),
            ([[1.0, -2.0, 1.0, 3.0], [0.1, 0.2, 0.3, 0.4]], [0.2, -3.0], "relu"),
            ([[1.0, 1.0]], [0.5], "identity"),
        ]
    )
    for options in METHODS:
        program = integraph.compile(network, 0.2, **options)
        problem = NetworkDifference(program, network)
        for point in ((0.3, 0.9), (0.7, 0.7)):
            true = max(abs(d) for d in difference(program, network, point))
            ((low, high),) = problem.at(point, 128)
            assert low - SLACK <= true <= high + SLACK
        assert integraph.certify(program, network).status == "proved"


@pytest.mark.slow
@pytest.mark.parametrize("options", METHODS)
@pytest.mark.parametrize("seed", range(2))
def test_a_control_that_is_off_is_never_proved(options: dict[str, str], seed: int) -> None:
    """One stored number is changed; whatever is then proved is true, and the promise is not."""
    rng = np.random.default_rng(seed)
    network = random_network((2, 4, 3, 1), "tanh", seed)
    program = integraph.compile(network, 1e-6, **options)
    places = [
        (s, b, name)
        for s, segment in enumerate(program.segments)
        for b, block in enumerate(segment.blocks)
        for name, tensor in block.tensors.items()
        if tensor.size and name != "v"
    ]
    for s, b, name in [places[i] for i in rng.choice(len(places), min(3, len(places)), replace=False)]:
        for factor in (0.9, 1 + 1e-4):
            other = altered(program, s, b, name, factor, rng)
            proof = integraph.certify(other, network, 1e-6, boxes=8, workers=1)
            true = max(abs(d) for d in difference(other, network, (0.9, 0.8)))
            assert proof.upper >= true
            if true > 1e-6:
                assert proof.status != "proved"
            if proof.status == "refuted":
                assert proof.point is not None
                assert max(abs(d) for d in difference(other, network, proof.point)) > 1e-6


def altered(
    program: integraph.Program, s: int, b: int, name: str, factor: float, rng: np.random.Generator
) -> integraph.Program:
    """The program with one entry of one tensor multiplied."""
    segment = program.segments[s]
    block = segment.blocks[b]
    tensor = np.array(block.tensors[name], np.float64)
    flat = tensor.reshape(-1)
    flat[rng.integers(flat.size)] *= factor
    changed = replace(block, tensors={**block.tensors, name: tensor})
    blocks = (*segment.blocks[:b], changed, *segment.blocks[b + 1 :])
    segments = (*program.segments[:s], replace(segment, blocks=blocks), *program.segments[s + 1 :])
    return replace(program, segments=segments)


def test_a_foreign_program_is_unknown_with_a_reason() -> None:
    network = random_network((2, 3, 1), "tanh")
    program = integraph.compile(network, 1e-6)
    deeper = random_network((2, 3, 3, 1), "tanh")
    other = random_network((2, 3, 1), "sin")
    scaled = program.rescale_states(np.full(program.width, 3.0))
    for subject, against, word in (
        (program, deeper, "layers"),
        (program, other, "sin"),
        (scaled, network, "rescale"),
        (program.rescale_time(0.7), network, ""),
    ):
        proof = integraph.certify(subject, against)
        assert proof.status == "unknown"
        assert word in proof.reason
        assert proof.reason
        assert math.isinf(proof.upper)
        assert proof.certificate is None
    with pytest.raises(Unprovable):
        NetworkDifference(program, random_network((3, 3, 1), "tanh"))


def test_weights_of_another_network_are_found_out() -> None:
    network = random_network((2, 3, 3, 1), "tanh")
    program = integraph.compile(network, 1e-6)
    A = network.layers[1].A.copy()
    A[0, 0] += 1e-3
    other = integraph.network([network.layers[0], replace(network.layers[1], A=A), network.layers[2]])
    proof = integraph.certify(program, other)
    assert proof.status == "refuted"
    assert proof.lower > 1e-5


def test_time_rescaled_by_powers_of_two_is_the_same_proof() -> None:
    network = random_network((2, 4, 4, 1), "silu")
    plain = integraph.certify(integraph.compile(network, 1e-6), network)
    paced = integraph.certify(integraph.compile(network, 1e-6, horizon=1.0), network)
    assert plain.status == paced.status == "proved"
    assert paced.upper == pytest.approx(plain.upper, rel=1e-2)


@pytest.mark.slow
def test_wide_layers_need_the_norm() -> None:
    """With the sums of rows alone the promise, which was made with norms, could not be kept."""
    network = random_network((8, 64, 64, 64, 1), "tanh", 1, weight=1.5)
    program = integraph.compile(network, 1e-6)
    assert integraph.certify(program, network, boxes=1).status == "proved"


@mostly_slow("seed", range(60), quick=4)
def test_random_networks_of_all_activations(seed: int) -> None:
    """Layers of all kinds and sizes, boxes with and without width, any construction: values as they are in float64."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, rng.integers(3, 6)).tolist()
    names = rng.choice(EVERY, len(sizes) - 1)
    layers = [
        (
            rng.normal(size=(n, m)) * rng.choice([0.3, 1.0, 2.0]) * (0.3 if name == "exp" else 1.0) / np.sqrt(m),
            0.5 * rng.normal(size=n),
            (name, float(rng.choice([0.01, 0.5, -0.3, 1.5]))) if name == "leaky_relu" else str(name),
        )
        for m, n, name in zip(sizes[:-1], sizes[1:], names, strict=True)
    ]
    network = integraph.network(layers)
    low = rng.uniform(-1, 1, sizes[0])
    high = low + rng.choice([0.0, 0.01, 1.0], sizes[0])
    options = METHODS[seed % 3]
    try:
        program = integraph.compile(
            network, 10 ** rng.uniform(-7, -1), box=list(zip(low, high, strict=True)), **options
        )
    except integraph.errors.UsageError:
        return  # steeper than float64 can follow
    problem = NetworkDifference(program, network)
    (bound,) = problem.upper(Box(tuple(low.tolist()), tuple(high.tolist())), 64)
    points = low + (high - low) * rng.integers(0, 3, (6, sizes[0])) / 2
    off = np.abs(program(points) - network(points)).max(1)
    rounding = 1e-12 * (1 + np.abs(network(points)).max())
    for point, value in zip(np.clip(points, low, high).tolist(), off.tolist(), strict=True):
        ((least, most),) = problem.at(tuple(point), 128)
        assert least - rounding <= value <= most + rounding
        assert least <= bound
    assert program.budget is not None
    proof = integraph.certify(program, network, boxes=200, workers=1)
    assert proof.status != "refuted", "what is promised is true"
    assert proof.upper >= proof.lower
