"""Bounds of programs: as tight as those of their sources, around what the engines compute, exact at points."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import integraph
from integraph import Registers, build, segment
from integraph.certify.bounds import program_models
from integraph.certify.bounds.bounds import Ending
from integraph.gadgets import raw
from integraph.targets.activations import NAMES
from integraph.targets.graph_builder import Builder
from slow import mostly_slow

FORMULAS = ("sin(3*x)*exp(-y)/(1 + x*y)", "tanh(x)*sqrt(1 + x^2)", "x*y*x", "exp(-x^2)*cos(y)", "erf(x) + atan(x*y)",
            "ln(1 + x)*asinh(y)", "sinh(x) - cosh(y)", "expm1(x)*y^2.5", "x^y + 1")  # fmt: skip


def controller(name: str) -> integraph.Network:
    rng = np.random.default_rng([7, len(name)])
    return integraph.network(
        [
            (rng.normal(size=(16, 2)) / 2, rng.normal(size=16) / 2, name),
            (rng.normal(size=(16, 16)) / 4, rng.normal(size=16) / 2, name),
            (rng.normal(size=(1, 16)) / 4, np.zeros(1)),
        ]
    )


def around(program: integraph.Program, bounds: Any, low: float, high: float, seed: int = 1) -> None:
    """The bounds contain what is sampled, and what is attained is attained."""
    x = np.random.default_rng(seed).uniform(low, high, (2000, program.inputs))
    values = program(x)
    slack = 1e-12 * (1 + np.abs(values).max(0))
    assert (values.min(0) >= bounds.low - slack).all()
    assert (values.max(0) <= bounds.high + slack).all()
    assert (bounds.low <= bounds.attained_low).all()
    assert (bounds.attained_high <= bounds.high).all()
    tops = np.array([program(point)[n] for n, point in enumerate(bounds.highest)])
    assert (np.abs(tops - bounds.attained_high) <= 1e3 * slack).all()


@mostly_slow(("name", "method"), itertools.product(NAMES, ("narrow", "wide")), quick=5)
def test_networks(name: str, method: str) -> None:
    network = controller(name)
    program = integraph.compile(network, 1e-3 if "relu" in name else 1e-5, method=method, box=(-1, 1))
    bounds = integraph.bound(program, (-1, 1))
    around(program, bounds, -1, 1)
    assert bounds.width[0] <= 1.2 * integraph.bound(network, (-1, 1)).width[0]


@mostly_slow(("formula", "free"), itertools.product(FORMULAS, ("keep", "clean")), quick=3)
def test_formulas(formula: str, free: str) -> None:
    program = integraph.compile(formula, box=(0.1, 1), free=free)
    bounds = integraph.bound(program, (0.1, 1))
    around(program, bounds, 0.1, 1)
    assert bounds.width[0] <= 1.2 * integraph.bound(formula, (0.1, 1)).width[0]


@mostly_slow("formula", ["sin(3*x)", "sin(3*x)*cos(y)", "exp(-x^2 - y^2)"], quick=1)
def test_theorem_1(formula: str) -> None:
    program = integraph.compile(formula, 1e-3, method="lean")
    bounds = integraph.bound(program)
    around(program, bounds, 0, 1)
    assert bounds.width[0] <= 1.2 * integraph.bound(formula).width[0] + 2e-3


def attention(rows: str) -> integraph.Graph:
    """A head over four tokens of width 8, or another function of its scores."""
    rng, b = np.random.default_rng(3), Builder(rows)
    x = b.input("x", (4, 8))
    q, k, v = (b.apply("matmul", x, b.constant(rng.normal(size=(8, 8)) / np.sqrt(8))) for _ in range(3))
    y = getattr(b, rows)(b.apply("matmul", q, b.apply("transpose", k, data=(1, 0))))
    return b.graph([b.apply("matmul", y, v) if rows == "softmax" else y])


@mostly_slow(("rows", "radius"), itertools.product(("softmax", "log_softmax", "logsumexp"), (1e-3, 0.1)), quick=2)
def test_attention(rows: str, radius: float) -> None:
    """As tight as the graph, whose softmax keeps what scores have in common."""
    graph = attention(rows)
    centre, wide = np.random.default_rng(0).uniform(-0.5, 0.5, 32), np.arange(32) < 3
    low, high = centre - radius * wide, centre + radius * wide
    program = integraph.compile(graph, box=(-1, 1))
    box = np.stack([low, high], 1)
    bounds = integraph.bound(program, box)
    values = program(np.random.default_rng(1).uniform(low, high, (500, 32)))
    assert (values.min(0) >= bounds.low - 1e-12).all()
    assert (values.max(0) <= bounds.high + 1e-12).all()
    assert (bounds.width <= 1.01 * integraph.bound(graph, box).width + 1e-12).all()


def test_a_gap_is_reached() -> None:
    program = integraph.compile(controller("tanh"), method="narrow", box=(-1, 1))
    bounds = integraph.bound(program, gap=1e-3)
    assert bounds.ending is Ending.GAP
    assert bounds.gap[0] <= 1e-3
    around(program, bounds, -1, 1)


@pytest.mark.parametrize("method", ["narrow", "wide"])
def test_a_point_is_exact(method: str) -> None:
    """The value of the engine `precise` is inside, and nothing else."""
    program = integraph.compile(controller("tanh"), method=method, box=(-1, 1))
    x = np.array([0.3, -0.7])
    bounds = integraph.bound(program, (x, x))
    assert (bounds.low <= program(x, engine="precise")).all()
    assert (program(x, engine="precise") <= bounds.high).all()
    assert bounds.high[0] <= np.nextafter(np.nextafter(bounds.low[0], np.inf), np.inf)


def test_a_tiny_box() -> None:
    program = integraph.compile(controller("tanh"), method="narrow", box=(-1, 1))
    bounds = integraph.bound(program, (0.25, 0.25 + 1e-8))
    around(program, bounds, 0.25, 0.25 + 1e-8)
    assert bounds.gap[0] < 0.1


def test_scaled_states_and_time() -> None:
    program = integraph.compile(controller("tanh"), method="wide", box=(-1, 1))
    scales = 2.0 ** np.random.default_rng(3).integers(-2, 3, program.width)
    scales[:2] = 0.5
    plain = integraph.bound(program, (-1, 1))
    scaled = integraph.bound(program.rescale_states(scales).rescale_time(program.horizon / 2), (-2, 2))
    assert np.allclose(scaled.width, plain.width, rtol=1e-6)


@pytest.mark.slow
def test_raw_blocks_go_by_taylor_steps() -> None:
    """y' = −y² from y₀ is y₀/(1 + y₀t)."""
    r = Registers()
    y = r.inputs("y", 1)
    program = build(r, [segment("falls", raw(y, Q=np.full((1, 1, 1), -1.0)), duration=1.0)], y)
    assert program_models.segment_forms(program) == ("free",)
    bounds = integraph.bound(program, (0.5, 1.0), gap=0.05)
    assert 1 / 3 - 0.02 <= bounds.low[0] <= 1 / 3
    assert 0.5 <= bounds.high[0] <= 0.52
    assert np.isinf(integraph.bound(program, (-2.0, -1.5)).width[0])  # it escapes


def test_an_escape_is_infinite() -> None:
    program = integraph.compile("ln(x)", box=(0.5, 1))
    assert np.isinf(integraph.bound(program, (-0.5, 1)).width[0])
    assert np.isfinite(integraph.bound(program, (0.5, 1)).width[0])


def test_registers() -> None:
    program = integraph.compile("sin(3*x)*exp(-y)")
    bounds = integraph.bound(program, (0, 0.5))
    assert bounds.registers is bounds.registers
    assert (bounds.registers.high == program.ranges((0, 0.5)).high).all()
