"""Parts of the checker's formulas that are left out, halved or turned around are noticed at sampled points."""

from __future__ import annotations

from importlib import import_module

import numpy as np

import integraph
from faults import fault
from integraph.certify.problem import Box
from integraph.certify.properties.replay import linear_bounds
from integraph.certify.properties.replay.rows import of_box
from integraph.certify.properties.replay.walk import outputs
from integraph.numbers.arb.conversion import above, below, precision
from networks import random_network
from slow import mostly_slow

LOW, HIGH = np.array([0.1, -0.6]), np.array([0.9, 0.5])
FORMULAS = (
    "y*(y + 0.1)",
    "exp(4*max(x - 0.5, 0))",
    "x*y*x",
    "sin(3*x)*exp(y)",
    "max(x - 0.5, y) - min(x, 2*y)",
    "x*x - y*y + x*y",
    "1/(1 + x*y)",
    "x^2*y^2",
)
ROW = "lost + at * eb + bt * ea + ea * eb + abs(a0) * b.r + abs(b0) * a.r"
APPLIED = "lost + fitted.remainder + turn * row.errors + abs(slope) * row.r"
FAULTS = {
    **{f"a product without {term}": ("rows", ROW, ROW.replace(term, "0"))
       for term in ("lost", "at * eb", "bt * ea", "abs(a0) * b.r", "abs(b0) * a.r")},
    "the tail of a product": ("rows", "a1 * b2 + a2 * b1 + a2 * b2", "a2 * b2"),
    "a square that is crossed": ("rows", "if i == j else a[1 + i] * b[1 + j] + a[1 + j] * b[1 + i]", ""),
    "crossed terms": ("rows", "(low - crossed).lower().union((high + crossed).upper())",
        "low.lower().union(high.upper())"),
    "a parabola without its vertex": ("rows", "return -slope * slope / (4 * square), high", "return low, high"),
    "a function without its remainder": ("functions", APPLIED, APPLIED.replace("fitted.remainder", "0")),
    "a function without its turn": ("functions", APPLIED, APPLIED.replace("turn * row.errors", "0")),
    "a chord without its gap": ("functions", "row.moved(chord, gap.mid(), gap.rad()",
        "row.moved(chord, gap.mid(), ZERO"),
    "a form without numbers": ("linear_bounds", "total += exact * shift -", "total += -"),
    "lines of the other side": ("linear_bounds", "if exact >= 0 else", "if exact < 0 else"),
    "a corner of half the box": ("linear_bounds", "[a - b for a, b in zip((form",
        "[a - b / 2 for a, b in zip((form"),
    "a chord that is too low": ("linear_bounds", "chord, shift.upper()", "chord, shift.lower()"),
    "a curve without its remainder": ("linear_bounds", "+ fitted.remainder", ""),
}  # fmt: skip


def excess() -> float:
    """How far values leave their bounds, forwards in both degrees and backwards."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(LOW, HIGH, (300, 2)), np.where(rng.integers(0, 2, (20, 2)), HIGH, LOW)])
    box, worst = Box(tuple(LOW.tolist()), tuple(HIGH.tolist())), -np.inf
    nets = [random_network((2, 3, 1), kind, seed=seed, weight=1.5) for kind in ("tanh", "relu") for seed in range(3)]
    nets.append(integraph.network([([[1.0, 0.0], [0.0, 1.0]], [-0.5, 0.0], "relu"), (np.eye(2), np.zeros(2))]))
    with precision(64):
        for source in [*nets, *(integraph.graph(text, variables=["x", "y"]) for text in FORMULAS)]:
            values = source.values(points) if isinstance(source, integraph.Graph) else source(points)
            balls = [[row.value() for row in outputs(source, of_box(box, degree))] for degree in (1, 2)]
            if isinstance(source, integraph.Network):
                count = source.outputs
                balls.append(linear_bounds.ranges(source, box, np.eye(count), np.zeros((count, 2))))
            for made in balls:
                low, high = (np.array([end(ball) for ball in made]) for end in (below, above))
                worst = max(worst, float(np.maximum(values - high, low - values).max()))
    return worst


def test_without_a_fault() -> None:
    assert excess() <= 1e-12


@mostly_slow("name", FAULTS, 3)
def test_a_fault_is_noticed(name: str) -> None:
    module, before, after = FAULTS[name]
    with fault(import_module(f"integraph.certify.properties.replay.{module}"), before, after):
        assert not excess() <= 1e-9
