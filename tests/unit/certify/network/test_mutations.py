"""Deliberate faults in the proofs about networks: each breaks a bound that is compared with the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from flint import arb

import integraph
from integraph.certify.network import activation_rules, linear_maps, rectifiers, slopes
from integraph.certify.network import difference as network_difference
from integraph.certify.network.difference import NetworkDifference, NetworkState
from integraph.certify.problem import Box
from integraph.numbers.arb import conversion, matrices
from integraph.numbers.arb.conversion import ZERO
from network_truth import difference
from networks import random_network

SLACK = 1e-30
POINTS = ((1.0, 1.0), (0.2, 0.7), (0.9, 0.0))


@dataclass(frozen=True)
class Case:
    program: integraph.Program
    network: integraph.Network
    true: tuple[float, ...]  # at POINTS


@cache
def case(activation: str, method: str) -> Case:
    options = {"narrow": {}, "wide": {"method": "wide"}, "decay": {"method": "wide", "free": "decay"}}[method]
    if activation == "mixed":
        network = random_network((2, 3, 4, 1, 1), ("tanh", "gelu_tanh", "gelu"), 0, output="silu")
    else:
        network = random_network((2, 3, 3, 1), activation, 4)
    eps = 1e-5 if activation != "leaky_relu" else 0.05 if method == "narrow" else 0.6
    program = integraph.compile(network, eps, **options)
    return Case(program, network, tuple(max(abs(d) for d in difference(program, network, x)) for x in POINTS))


CASES = [
    ("tanh", "narrow"), ("softplus", "narrow"), ("sigmoid", "wide"), ("tanh", "decay"), ("leaky_relu", "narrow"),
    ("leaky_relu", "wide"), ("mixed", "narrow"),
]  # fmt: skip


def faults() -> list[str]:
    """What is not true of the proofs, of points and of the boxes around them."""
    found = []
    for name in CASES:
        known = case(*name)
        problem = NetworkDifference(known.program, known.network)
        for x, true in zip(POINTS, known.true, strict=True):
            ((low, high),) = problem.at(x, 128)
            if not low - SLACK <= true <= high + SLACK:
                found.append(f"{name} at {x}: {low} … {high}, not {true}")
            for width in (1e-3, 0.02, 0.1, 0.4):
                low_corner = tuple(max(v - width, 0.0) for v in x)
                box = Box(low_corner, tuple(min(v + 0.2 * width, 1.0) for v in x))
                if not true - SLACK <= problem.upper(box, 64)[0] < math.inf:  # ∞ where enclosures contradict each other
                    found.append(f"{name} around {x}")
    return found


@pytest.mark.slow
def test_without_a_fault_there_is_none() -> None:
    assert faults() == []


Patch = Callable[[pytest.MonkeyPatch], None]


def _rule(name: str, change: Callable[[arb, dict[str, arb]], tuple[arb, dict[str, arb]]]) -> Patch:
    """An activation's bracket from another argument or start."""

    def patch(mp: pytest.MonkeyPatch) -> None:
        rule = activation_rules.RULES[name]
        mp.setitem(activation_rules.RULES, name, replace(rule, wrong=lambda M, eta: rule.wrong(*change(M, dict(eta)))))

    return patch


def _slope(name: str, change: Callable[[arb], arb]) -> Patch:
    def patch(mp: pytest.MonkeyPatch) -> None:
        rule = activation_rules.RULES[name]
        mp.setitem(activation_rules.RULES, name, replace(rule, slope=lambda x: rule.slope(change(x))))

    return patch


def _linear(**changes: Callable[[Any], Any]) -> Patch:
    """Other affine maps than those that are stored."""

    def patch(mp: pytest.MonkeyPatch) -> None:
        build = linear_maps._linear

        def built(*args: Any) -> Any:
            found = build(*args)
            return replace(found, **{name: change(getattr(found, name)) for name, change in changes.items()})

        mp.setattr(linear_maps, "_linear", built)

    return patch


def _method(name: str, body: Callable[..., Any]) -> Patch:
    return lambda mp: mp.setattr(NetworkState, name, body)


def _in(module: Any, name: str, change: Callable[[Any], Any]) -> Patch:
    return lambda mp: mp.setattr(module, name, change(getattr(module, name)))


def _forgetful(self: NetworkState, step: Any) -> None:
    for register in step.registers.tolist():
        self.y[register] = ZERO


def _without(which: int) -> Patch:
    """A derivative that is taken for 0."""

    def patch(mp: pytest.MonkeyPatch) -> None:
        partials = slopes._partials

        def changed(*args: arb) -> tuple[list[arb], list[arb]]:
            found = partials(*args)
            found[0][which] = ZERO
            return found

        mp.setattr(slopes, "_partials", changed)

    return patch


MUTATIONS: dict[str, Patch] = {
    "e does not depend on δ": _without(1),
    "e does not depend on α": _without(2),
    "the mean is taken without its slopes": _in(network_difference, "dot", lambda _: lambda a, b: ZERO),
    "the λ term is dropped": _rule("tanh", lambda M, eta: (M, {**eta, "lam": ZERO})),
    "what is left in α is dropped": _rule("tanh", lambda M, eta: (M, {**eta, "alpha": ZERO})),
    "sech is taken at the midpoint": _rule("tanh", lambda M, eta: (M.mid(), eta)),
    "a wrong start of softplus is dropped": _rule("softplus", lambda M, eta: (M, {**eta, "s": ZERO})),
    "the slope is taken at the midpoint": _slope("tanh", lambda x: x.mid()),
    "control rounding is ignored": _linear(lost=lambda m: m * 0, shift=lambda m: m * 0),
    "the error of the layer before is not passed on": _method("_through", lambda self, map: [ZERO] * len(map.rows)),
    "decay leaves nothing": _method("relax", _forgetful),
    "the source is gone after a load": _linear(fall=lambda _: ZERO),
    "registers beside the arguments are not loaded": _linear(spare=lambda _: None),
    "the constant of the outputs is exact": _method("ramp", lambda self, step: None),
    "units that do not run are exact": _in(network_difference, "bend", lambda _: lambda *args: ZERO),
    "rectifiers have no gap": _in(rectifiers, "_g", lambda _: lambda u: ZERO),
    "norms are too small": _in(network_difference, "euclidean", lambda f: lambda v: f(v) / 64),
    "norms outlive what they are of": _method("_forget_norms", lambda self, registers: None),
    "bounds are rounded down": _in(network_difference, "largest", lambda f: lambda ball: float(abs(ball).lower())),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTATIONS[name](monkeypatch)
    assert faults() != []


@pytest.mark.slow
def test_what_overflows_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = case("softplus", "narrow")
    box = Box((0.0, 0.0), (1e308, 1e308))
    problem = NetworkDifference(known.program, known.network)
    assert problem.upper(box, 64)[0] > 1e10
    known = case("tanh", "narrow")
    for bad in (arb.nan(), arb.pos_inf(), arb(0, math.inf)):
        assert conversion.largest(bad) == math.inf
        assert conversion.above(bad) == math.inf
        assert conversion.smallest(bad) == 0.0
        monkeypatch.setattr(linear_maps, "elapsed", lambda time, bad=bad: bad)
        spoiled = NetworkDifference(known.program, known.network)
        assert spoiled.upper(Box((0.0, 0.0), (1.0, 1.0)), 64) == (math.inf,)
        assert spoiled.at((0.5, 0.5), 64) == ((0.0, math.inf),)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_singular_value_is_not_exceeded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 40, 2))
    A = rng.normal(size=shape) * np.exp(rng.normal(size=shape) * rng.integers(0, 6)) * 10.0 ** rng.integers(-200, 200)
    largest = float(np.linalg.norm(A / np.abs(A).max(), 2)) * np.abs(A).max()
    with conversion.precision(64):
        found = float(matrices.spectral_norm(conversion.matrix(A), A))
        blind = float(matrices.spectral_norm(conversion.matrix(A), rng.normal(size=shape)))
        sums = float(matrices.spectral_norm(conversion.matrix(A), A * np.nan))
    assert largest * (1 - 1e-12) <= found <= largest * (1 + 1e-9)
    assert blind >= largest * (1 - 1e-12), "bad eigenvectors only cost"
    assert sums >= largest * (1 - 1e-12)
