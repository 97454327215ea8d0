"""Sources and flows whose bounds are compared with what they compute: at corners, in Arb, and in rational numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import integraph
from gadget_cases import CASES, Case
from gadget_draws import Values
from integraph import Graph, Network, Registers, Segment, build
from integraph.certify.bounds import forms
from integraph.certify.bounds.backward import Backward, backward
from integraph.certify.bounds.graph_models import graph_models
from integraph.certify.bounds.network_models import network_models
from integraph.certify.bounds.point_values import point_values
from integraph.certify.bounds.program_models import program_models
from integraph.gadgets import Gadget, log_softmax, log_sum_exp, raw, shifted_softmax, softmax
from integraph.numbers.arrays import Floats
from integraph.numbers.models.models import Models, of_cells
from integraph.numbers.roundoff import U
from integraph.program import Program
from integraph.targets.graph import ROUNDED
from integraph.targets.graph_builder import Builder
from integraph.targets.windows import Axis, convolve, max_pool
from networks import random_network

TIMES = (1.0, 0.375, -0.5)
SIZES = ((0.0, 2), (1e-3, 3), (0.05, 2), (0.05, 1), (0.2, 0))
LONG = 400  # factors that are rounded


def announced(source: Network | Graph, low: Floats, high: Floats) -> Backward:
    """Backward bounds after all values of a source on one cell, with linear models."""
    watch, x = backward(source), of_cells(low[None], high[None], 1)
    if isinstance(source, Network):
        network_models(source, x, watch)
    else:
        graph_models(source, x, watch)
    return watch


def backwards(make: Callable[[], Network | Graph], radius: float, least: float = 0.0) -> Callable[[], bool]:
    """Whether linear bounds of the outputs contain values at corners, and inside; at a point those of Arb."""

    def holds() -> bool:
        source, rng = make(), np.random.default_rng(0)
        for _ in range(6):
            x = rng.uniform(least, 1.0, source.inputs)
            watch = announced(source, x - radius, x + radius)
            own = [watch.bounds(rows.part) for rows in watch.outputs]
            low, high = (np.concatenate([getattr(one, end)[:, 0] for one in own]) for end in ("low", "high"))
            if radius == 0:
                values = np.stack(point_values(source, x))
            else:
                points = x + radius * rng.choice([-1.0, 1.0, 0.2], (300, source.inputs))
                values = source(points) if isinstance(source, Network) else source.values(points)
            slack = 0.0 if radius == 0 else 1e-12
            if not ((values.min(0) >= low - slack) & (values.max(0) <= high + slack)).all():
                return False
        return True

    return holds


def sparse(holds: Callable[[], bool]) -> Callable[[], bool]:
    """With forms that stay sparse."""

    def sparsely() -> bool:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(forms, "DENSE", 1.0)
            return holds()

    return sparsely


def image_net() -> Graph:
    """A convolution with zeros around, rectified, the largest of windows, another convolution, of a 6 × 6 image."""
    rng, b = np.random.default_rng(0), Builder("images")
    y = convolve(b, b.input("x", (1, 1, 6, 6)), rng.normal(size=(2, 1, 3, 3)), [Axis(3, 1, 1, 1, 1)] * 2)
    y = max_pool(b, b.apply("relu", b.apply("sub", y, b.constant(1.0))), [Axis(2, 2)] * 2)
    y = b.apply("tanh", convolve(b, y, rng.normal(size=(3, 2, 2, 2)), [Axis(2)] * 2))
    return b.graph([b.apply("sum", y, data=((2, 3),))])


def one_rectifier() -> Network:
    return integraph.network([([[1.0]], [-0.5], "relu"), ([[1.0], [-1.0]], [0.0, 0.0])])


def moved_rectifiers() -> Graph:
    """max(x, 0.5) of an input whose entries change places, and the larger of neighbours."""
    b = Builder("moved")
    x = b.input("x", (4,))
    one, other = (b.apply("take", x, data=(0, places)) for places in ((3, 0, 1, 2), (1, 2, 3, 0)))
    kept = b.apply("relu", b.apply("sub", one, b.constant(0.5)))
    return b.graph(
        [kept, b.apply("neg", kept), b.apply("add", kept, one), b.apply("max", x, other), b.apply("min", one, other)]
    )


def formula(text: str) -> Callable[[], Graph]:
    return lambda: integraph.graph(text)


def network(kind: str, sizes: tuple[int, ...] = (3, 6, 5, 2)) -> Callable[[], Network]:
    return lambda: random_network(sizes, kind, seed=2, weight=1.5)


def rounded_chain(sign: float) -> Callable[[], bool]:
    """x w ⋯ w − y, and x w ⋯ w − x v ⋯ v, for numbers that may be above and below the float64 they are rounded to."""

    def holds() -> bool:
        b, w = Builder("chain"), 1.0 + 2.0**-20
        x, factor = b.input("x", (2,)), b.constant(np.full(2, w), data=ROUNDED)
        one, other = x, b.apply("take", x, data=(0, (0, 0)))
        for _ in range(LONG):
            one, other = b.apply("mul", one, factor), b.apply("mul", other, factor)
        apart = b.apply("sub", one, other)
        graph = b.graph([b.apply("sub", x, one), b.apply("sub", one, x), apart, b.apply("sum", one, data=((0,),))])
        at = np.array([0.75, 0.75])
        y = graph_models(graph, of_cells(at[None], at[None], 1)).known
        grown, less = (Fraction(0.75) * (Fraction(w) * (1 + s * Fraction(0.9 * U))) ** LONG for s in (sign, -sign))
        right = [Fraction(0.75) - grown] * 2 + [grown - Fraction(0.75)] * 2 + [grown - less] * 2 + [2 * grown]
        ends = zip(y.low[:, 0].tolist(), right, y.high[:, 0].tolist(), strict=True)
        return all(Fraction(low) <= value <= Fraction(high) for low, value, high in ends)

    return holds


def contains(y: Models, cell: int, xi: Floats, low: Floats, high: Floats) -> bool:
    """Whether values between low and high can be those of the rows at ξ."""
    table = y.space.monomials
    middle = y.p[:, cell] @ np.prod(xi**table.exponents, 1)
    errors = y.errors[:, cell] * (1 + 1e-12) + 1e-15 * np.abs(y.p[:, cell]).sum(1)
    near = (high >= middle - errors) & (low <= middle + errors)
    known = (high >= y.known.low[:, cell]) & (low <= y.known.high[:, cell])
    return bool((near & known).all())


def flow(case: Case, t: float, radius: float, degree: int, seed: int) -> bool:
    """Whether the models of a gadget's flow contain what Arb computes at points, from random starts."""
    rng = np.random.default_rng([seed, len(case.name)])
    program, starts = case.program(t), case.inputs(case.draw(rng, t, 3))
    return inside(program, starts, radius * np.abs(starts), degree, rng)


def inside(program: Program, starts: Floats, radius: Floats, degree: int, rng: np.random.Generator) -> bool:
    low, high = starts - radius, starts + radius
    y = program_models(program, of_cells(low, high, degree))
    wide = np.flatnonzero((high > low).any(0))
    for cell, start in enumerate(starts):
        for _ in range(2):
            step = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], len(start)) * radius[cell]
            x = np.clip(start + step, low[cell], high[cell])
            middle, half = 0.5 * low[cell] + 0.5 * high[cell], 0.5 * high[cell] - 0.5 * low[cell]
            xi = np.divide(x - middle, half, out=np.zeros(len(x)), where=half > 0)[wide]
            if not contains(y, cell, np.clip(xi, -1, 1), *point_values(program, x)):
                return False
    return True


def scores(gadget: Gadget, left: float, spread: float, kept: str = "sc") -> Case:
    """Rows of five scores from the usual start, but for what is `left` of an earlier content, except in those kept."""

    def draw(rng: np.random.Generator, t: float, n: int) -> Values:
        s = rng.normal(0, spread, (2, 5, n)) + (40.0 * rng.normal(size=(2, 1, n)) if "c" in gadget.operands else 0.0)
        c = -s.mean(1) if "c" in gadget.operands else np.full((2, 1), 0.5)
        u = (s + c[:, None]) / 5
        values = {"a": np.full(s.shape, 0.2), "y": np.full(s.shape, -np.log(5)), "l": np.log(5) - c, "u": u, "s": s}
        values |= {"m": u.sum(1), "c": c}
        changed = {role: x + left * rng.uniform(-1, 1, np.shape(x)) for role, x in values.items() if role not in kept}
        return {role: (values | changed)[role] for role in gadget.targets + gadget.operands}

    rows = {"a": (2, 5), "y": (2, 5), "u": (2, 5), "s": (2, 5), "m": (2,), "l": (2,), "c": (2,)}
    tensors = {} if "c" in gadget.operands else {"c": 0.5}
    return Case(f"{gadget.name} from {left}", gadget, draw, None, tensors, rows)


def flows(*cases: Case) -> Callable[[], bool]:
    def holds() -> bool:
        runs = itertools.product(cases, TIMES, SIZES, range(2))
        return all(flow(case, t, *size, seed) for case, t, size, seed in runs)

    return holds


REST, SYSTEM, OUTER = 2, 3, 2  # registers of a linear segment that rest, of λ, and that only gain
WIDTH = REST + SYSTEM + OUTER


def linear_segment(seed: int, duration: float, read_outer: bool = False, scale: float = 1.0) -> Program:
    """λ' = Aλ + products of what rests; others gain λ, too, and λ times what rests."""
    rng = np.random.default_rng(seed)
    rest, system, outer = (slice(a, a + n) for a, n in ((0, REST), (REST, SYSTEM), (REST + SYSTEM, OUTER)))
    A, Q, b = np.zeros((WIDTH, WIDTH)), np.zeros((WIDTH, WIDTH, WIDTH)), np.zeros(WIDTH)
    moved = slice(REST, WIDTH)
    A[moved, : REST + SYSTEM] = scale * rng.normal(size=(SYSTEM + OUTER, REST + SYSTEM))
    Q[moved, rest, rest] = rng.normal(size=(SYSTEM + OUTER, REST, REST))
    Q[outer, rest, system] = rng.normal(size=(OUTER, REST, SYSTEM))
    b[moved] = rng.normal(size=SYSTEM + OUTER)
    if read_outer:
        A[REST, REST + SYSTEM] = 1.0
    r = Registers()
    y = r.inputs("y", WIDTH)
    return build(r, [Segment("linear", (raw(y, A=A, Q=Q, b=b),), duration, 1.0)], y)


def linear_segments(duration: float, scale: float, radii: tuple[float, ...]) -> Callable[[], bool]:
    def holds() -> bool:
        rng = np.random.default_rng(0)
        starts = rng.normal(size=(3, WIDTH))
        sides = [np.full(starts.shape, radius) for radius in radii]
        programs = [linear_segment(seed, duration, scale=scale) for seed in range(2)]
        return all(inside(program, starts, side, 2, rng) for program in programs for side in sides)

    return holds


LEFT = ((1e-3, 1.0), (0.05, 1.0), (0.05, 1.0, "scuayl"))  # in all, and in m alone
SCORES = {gadget.name: gadget for gadget in (softmax, shifted_softmax, log_softmax, log_sum_exp)}
BOUNDS: dict[str, Callable[[], bool]] = {
    **{f"{kind} backwards": backwards(network(kind), 0.7) for kind in ("tanh", "relu", "gaussian")},
    "an image backwards": sparse(backwards(image_net, 0.5)),
    "one rectifier": backwards(
        lambda: integraph.network([([[1.0]], [-0.5], "relu"), ([[1.0], [-1.0]], [0.0, 0.0])]), 0.7
    ),
    "rectifiers, sparse": sparse(backwards(moved_rectifiers, 0.2)),
    **{
        text: backwards(formula(text), 0.2, 0.3)
        for text in ("x*y + tanh(x)*y", "x/(1 + y) - y/(x - 3) + (x - 4)/(1 + y)", "max(x, y) - min(x, y)", "x*x - y")
    },
    **{f"a chain, {sign:+g}": rounded_chain(sign) for sign in (1.0, -1.0)},
    "linear segments": linear_segments(0.3, 1.0, (0.0, 1e-3, 0.2)),
    **{case.name: flows(case) for case in CASES},
    **{
        f"{name} from rest": flows(
            scores(gadget, 1e-3, 1.0), scores(gadget, 0.05, 1.0), scores(gadget, 0.05, 1.0, "scuayl")
        )
        for name, gadget in SCORES.items()
    },
}
