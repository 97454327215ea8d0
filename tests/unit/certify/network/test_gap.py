"""Networks whose last activated layer is the output: a difference is found, and the bound comes near to it."""

from __future__ import annotations

import pytest
from flint import arb

import integraph
from integraph.certify.network.difference import limited
from integraph.numbers.arb.conversion import intersection, largest, smallest
from network_truth import difference
from networks import EVERY, random_network
from slow import mostly_slow

GAP = 0.3


@mostly_slow("activation", EVERY, quick=2)
@pytest.mark.parametrize("outputs", [1, 3])
def test_an_activated_output_has_a_difference_and_a_bound_near_it(activation: str, outputs: int) -> None:
    network = random_network((2, 3, outputs), "tanh", outputs, output=activation)
    program = integraph.compile(network, 1e-4)
    proof = integraph.certify(program, network, gap=GAP, workers=1)
    assert 0 < proof.lower <= proof.upper <= (1 + GAP) * proof.lower, proof.reason
    assert proof.point is not None
    true = max(abs(d) for d in difference(program, network, proof.point))
    assert 0.999 * true <= proof.lower <= true <= proof.upper


@mostly_slow("activation", EVERY, quick=3)
def test_what_is_left_by_decay_is_told_from_zero(activation: str) -> None:
    network = random_network((2, 4, 3, 1), "tanh", 5, output=activation)
    program = integraph.compile(network, method="wide", free="decay")
    proof = integraph.certify(program, network, gap=GAP, workers=1)
    assert proof.upper <= (1 + GAP) * proof.lower, proof.reason


def test_a_bound_of_the_size_keeps_the_sign() -> None:
    thin = arb(0.3, 1e-12)
    for bound in (0.3, 0.3 + 1e-13, 1.0):
        assert smallest(limited(thin, arb(bound))) > 0.29
    wide = limited(arb(2, 3), arb(2))  # [−1, 5]
    assert wide.contains(arb(0.5, 1.5))
    assert wide.lower() > -1.01
    assert largest(wide) < 2.01
    assert largest(limited(arb.nan(), arb(2))) == pytest.approx(2)
    assert limited(thin, arb.pos_inf()) is thin


def test_two_enclosures_have_in_common_what_both_hold() -> None:
    assert largest(intersection(arb(-1, 3), arb(1, 3))) == pytest.approx(2)
    assert intersection(arb.nan(), arb(1)) == intersection(arb(1), arb.nan()) == 1
    assert not intersection(arb(0, 1), arb(5, 1)).is_finite(), "one of them is wrong: nothing is known"


@pytest.mark.slow
def test_wide_layers_are_read_out_by_one_register() -> None:
    network = random_network((3, 40, 40, 1), "tanh", 2, output="tanh")
    program = integraph.compile(network, 1e-5)
    proof = integraph.certify(program, network, gap=1.0, boxes=200, workers=1)
    assert proof.lower > 0
