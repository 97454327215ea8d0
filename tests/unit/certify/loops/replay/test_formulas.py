"""Every term of the checker's formulas is needed: without it a value, or a trajectory, is not where it should be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from flint import arb

from integraph.api.loops import closed_loop
from integraph.certify.certificate.replay import CertificateFault
from integraph.certify.loops import steps as search_steps
from integraph.certify.loops.certificate import CertifiedStep
from integraph.certify.loops.certification import path
from integraph.certify.loops.replay import (
    check,
    controller,
    functions,
    graphs,
    intervals,
    layers,
    networks,
    polynomials,
    products,
    rows,
    sets,
    steps,
)
from integraph.certify.loops.replay.polynomials import exponents, variable
from integraph.certify.problem import Box
from integraph.numbers.arb.conversion import above, below, precision
from integraph.numbers.arrays import Floats
from integraph.targets.graph_conversion import network_graph
from integraph.targets.network import from_layers
from loop_truth import excess, trajectory
from planted_faults import plant

POINTS = list(itertools.product((-1.0, -0.4, 0.0, 0.7, 1.0), repeat=2))
SIGNS = list(itertools.product((-1.0, 1.0), repeat=2))


def random_row(rng: np.random.Generator, width: float, error: float, radius: float, middle: float) -> rows.Row:
    one, other = variable(0), variable(1)
    p = {m: arb(float(width * rng.normal() / (m & 255))) for m in (one, other, 2 * one, one + other, 2 * other)}
    return rows.Row(2, {0: arb(middle), **p}, [arb(float(error * rng.normal())) for _ in range(2)], arb(radius))


def middle_of(row: rows.Row, xi: tuple[float, ...], eps: tuple[float, ...]) -> float:
    p = sum(float(ball) * math.prod(xi[n] ** power for n, power in exponents(m)) for m, ball in row.p.items())
    return p + sum(float(g) * e for g, e in zip(row.g, eps, strict=True))


def outside(row: rows.Row, xi: tuple[float, ...], eps: tuple[float, ...], value: float) -> float:
    return abs(value - middle_of(row, xi, eps)) - float(row.r) - 1e-12 * (1 + abs(value))


SIZES = [(0.1, 0.01, 0.0), (0.05, 0.2, 0.1), (0.3, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1), (0.2, 0.0, 0.1)]


def arithmetic() -> Iterator[float]:
    """Products, sums, functions and kinks of rows, at corners of all that they depend on."""
    for seed, sizes in itertools.product(range(2), SIZES):
        rng = np.random.default_rng(seed)
        a, b = random_row(rng, *sizes, 0.5), random_row(rng, *sizes[1:], sizes[0], -0.4)
        wide = random_row(rng, *sizes, -0.4)
        product, total = rows.dot([(2, a, b)], 4), (a + b).scaled(arb(-2), arb(1), arb(0.1))
        other = rows.dot([(1, a, wide)], 1)
        kinked = functions.kink(a.scaled(arb(1), arb(-0.5)), arb(0.25))
        grown, inverse = functions.apply("exp", a), functions.apply(Fraction(-1), a.scaled(arb(1), arb(2)))
        long = functions.apply("tanh", a.scaled(arb(6)))
        least, most = (below(a.range()[0]), above(a.range()[1]))
        for xi, eps, (s, t) in itertools.product(POINTS, SIGNS, SIGNS):
            x, y = middle_of(a, xi, eps) + s * float(a.r), middle_of(b, xi, eps) + t * float(b.r)
            yield max(least - x, x - most)
            yield outside(product, xi, eps, x * y / 2)
            yield outside(other, xi, eps, x * (middle_of(wide, xi, eps) + t * float(wide.r)))
            yield outside(total, xi, eps, -2 * (x + y) + 1 + 0.1 * s)
            yield outside(kinked, xi, eps, max(x - 0.5, 0.25 * (x - 0.5)))
            yield outside(grown, xi, eps, math.exp(x))
            yield outside(inverse, xi, eps, 1 / (x + 2))
            yield outside(long, xi, eps, math.tanh(6 * x))


def lines() -> Iterator[float]:
    """Rows that have nothing but one remainder."""
    x, y = variable(0), variable(1)
    small = rows.trimmed(rows.Row(2, {0: arb(1), x: arb(0.3), y: arb(1e-10)}, [], arb(0)))
    floats = rows.of_values(np.array([1.0, 0.3, 1e-10, 0.0, 0.0, 0.0]), 2, 2, [], arb(0))
    grown = functions.apply("exp", rows.Row(2, {0: arb(1.5), x: arb(0.3)}, [], arb(0)))
    long = functions.apply("tanh", rows.Row(2, {0: arb(0.2), x: arb(4.5)}, [], arb(0)))
    cube = functions.apply(Fraction(3), rows.Row(3, {3 * x: arb(0.5)}, [], arb(0)))
    for xi in np.linspace(-1.0, 1.0, 101):
        yield outside(small, (xi, 1.0), (), 1 + 0.3 * xi + 1e-10)
        yield outside(floats, (xi, 1.0), (), 1 + 0.3 * xi + 1e-10)
        yield outside(grown, (xi, 0.0), (), math.exp(1.5 + 0.3 * xi))
        yield outside(long, (xi, 0.0), (), math.tanh(0.2 + 4.5 * xi))
        yield outside(cube, (xi, 0.0), (), (0.5 * xi**3) ** 3)


def pieces() -> Iterator[float]:
    """x(τ) = Σ x_j τ^j + τ·rest over pieces of a step."""
    rng, rest = np.random.default_rng(0), intervals.Ends(arb(-0.1), arb(0.3))
    series = [random_row(rng, 0.3, 0.1, 0.05, 0.5 + j) for j in range(4)]
    step = steps.ReplayedStep(sets.StateSet(2, [], []), [series], [rest], [arb(0.2)])
    for n, (row,) in enumerate(step.between()):
        for xi, eps, s, end in itertools.product(POINTS, SIGNS, (-1.0, 1.0), (-0.1, 0.3)):
            values = [middle_of(one, xi, eps) + s * float(one.r) for one in series]
            for theta in (-1.0, -0.5, 0.0, 0.5, 1.0):
                tau = (n + 0.5 + 0.5 * theta) / steps.PIECES
                x = sum(c * tau**j for j, c in enumerate(values)) + tau * end + 0.2 * s
                yield outside(row, xi, (*eps, theta), x)


def maps() -> Iterator[float]:
    """A layer, and the same as a graph."""
    net = from_layers([([[2.0, 1.0], [0.5, -1.0]], [0.1, 0.0], "tanh"), ([[1.0, -0.5]], [0.3], None)])
    graph = network_graph(net)
    for seed, sizes in itertools.product(range(2), SIZES):
        rng = np.random.default_rng(seed)
        a, b = random_row(rng, *sizes, 0.5), random_row(rng, *sizes, -0.4)
        made = networks.network_rows(net, [a, b]) + graphs.graph_rows(graph, [a, b])
        for xi, eps, (s, t) in itertools.product(POINTS, SIGNS, SIGNS):
            x, y = middle_of(a, xi, eps) + s * float(a.r), middle_of(b, xi, eps) + t * float(b.r)
            for row in made:
                yield outside(row, xi, eps, float(net([[x, y]])[0, 0]))


def ranges() -> Iterator[float]:
    """Polynomials on a grid, and intervals at their ends."""
    rng, grid = np.random.default_rng(1), list(itertools.product(np.linspace(-1, 1, 21), repeat=2))
    for width in (1.0, 0.1):
        row = random_row(rng, width, 0.0, 0.0, 0.2)
        values = [middle_of(row, xi, (0.0, 0.0)) for xi in grid]
        low, high = polynomials.span(row.p)
        yield max(below(low) - min(values), max(values) - above(high)) - 1e-12
        low, high = polynomials.lower_bound(row.p, 30), polynomials.upper_bound(row.p, 30)
        yield max(low - min(values), max(values) - high) - 1e-12
    for a, b, c, d in [(-1.0, 2.0, -3.0, 1.0), (0.5, 2.0, 1.0, 3.0), (-2.0, -1.0, -1.0, 0.5), (-2.0, -1.0, 1.0, 2.0)]:
        left, right = intervals.Ends(arb(a), arb(b)), intervals.Ends(arb(c), arb(d))
        sums = [(left + right, [a + c, b + d]), (left - right, [a - d, b - c])]
        squares = [a * a, b * b] + [0.0] * (a < 0 < b)
        products = [(left * right, [a * c, a * d, b * c, b * d]), (left.square(), squares)]
        moved = left.scaled(arb(-2), arb(1), arb(0.5))
        for ends, values in [*sums, *products, (moved, [-2 * a + 1.5, -2 * b + 0.5])]:
            yield max(below(ends.low) - min(values), max(values) - above(ends.high))
        twice = intervals.dot([(1, left, left), (2, left, right)], 3)
        values = [(x * x + 2 * x * y) / 3 for x in np.linspace(a, b, 9) for y in (c, d)]
        yield max(below(twice.low) - min(values), max(values) - above(twice.high)) - 1e-12


LOW, HIGH = np.array([0.5, 0.1]), np.array([0.6, 0.2])


def field(y: Floats, u: Floats) -> list[float]:
    return [y[1], -math.sin(y[0]) - 0.2 * y[1] + u[0] / (1.5 + math.cos(y[0]))]


def tubes() -> Iterator[float]:
    """Long steps of low order, where remainders matter, and a kink among the starts; at samples and between them."""
    net = from_layers([([[1.0, 0.0]], [-0.55], "relu"), ([[-5.0]], [0.0])])
    formulas = {"x": "v", "v": "-sin(x) - 0.2*v + u/(1.5 + cos(x))"}
    loop = closed_loop(formulas, net, period=0.4, steps=3, limits=(-0.4, 1.0), scale=3, offset=-0.1)
    seen: list[tuple[int, Floats]] = []

    class Watch:
        between = True

        def see(self, found: list[rows.Row], number: int, sample: bool = True) -> None:
            if not sample:
                seen.append((number, np.array([[below(a), above(b)] for a, b in (row.range() for row in found)])))

    try:
        taken = path(loop, LOW, HIGH, 3, 3)
        with precision(check.BITS):
            sets_ = check.tube(loop, Box(tuple(LOW), tuple(HIGH)), 3, taken, Watch())  # type: ignore[arg-type]
            boxes = np.array([[(below(a), above(b)) for a, b in (row.range() for row in one.rows)] for one in sets_])
    except CertificateFault:
        return  # no tube is not a wrong one
    for share in itertools.product((0.0, 0.5, 1.0), repeat=2):
        samples, inside = trajectory(loop, field, LOW + (HIGH - LOW) * np.array(share), 30)
        yield excess(boxes, samples)
        for number in range(3):
            spans = np.array([box for period, box in seen if period == number])
            hull = np.stack([spans[..., 0].min(0), spans[..., 1].max(0)], -1)
            yield excess(hull, inside[number])


def points() -> Iterator[float]:
    """A step from a point, with an input at its limit: of order 1, when it is little but its remainder, and of 12."""
    loop = closed_loop({"x": "v", "v": "-sin(x) - 0.2*v + u"}, "0.3", period=0.4, steps=1, limits=(0.4, 1.0))
    start, box = Box((0.5, 0.1), (0.5, 0.1)), Box((0.3, -0.4), (0.8, 0.5))
    samples, _ = trajectory(loop, lambda y, u: [y[1], -math.sin(y[0]) - 0.2 * y[1] + u[0]], np.array(start.low))
    for order in (1, 12):
        try:
            with precision(check.BITS):
                *_, last = check.tube(loop, start, 1, ((CertifiedStep(0, order, box),),))
        except CertificateFault:
            return
        yield excess(np.array([[(below(a), above(b)) for a, b in (row.range() for row in last.rows)]]), samples[-1:])


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_steps.flow_step, "__defaults__", (search_steps.Tolerance(12, 0.3, 0.3, 1e-13),))


def worst() -> float:
    with precision(64):
        return max(itertools.chain(arithmetic(), lines(), pieces(), maps(), ranges(), tubes(), points()))


@pytest.mark.slow
@pytest.mark.usefixtures("coarse")
def test_without_a_fault() -> None:
    assert worst() <= 0


FAULTS: list[tuple[ModuleType, str, str]] = [
    (products, "tail(a.norms, b.norms) + ", ""),
    (products, "reduceat(np.abs(values)", "reduceat((values)"),
    (products, "float(np.abs(values[small]).sum())", "0.0"),
    (rows, "at * b.errors + bt", "bt"),
    (rows, "+ bt * a.errors", ""),
    (rows, "+ a.errors * b.errors", ""),
    (rows, "lost + a.sizes[0] * b.r", "lost"),
    (rows, "+ b.sizes[0] * a.r", ""),
    (rows, "c + b0 * x + a0 * y", "c + b0 * x"),
    (rows, "weight * (lost", "(lost"),
    (rows, "(abs(factor) * self.r + radius)", "(radius)"),
    (rows, "self.r + radius", "self.r"),
    (rows, "(self.r + other.r)", "(self.r)"),
    (rows, "low - self.errors", "low"),
    (rows, "row.p[monomial].abs_upper() for", "ZERO for"),
    (functions, "own = lost + remainder + turn", "own = remainder + turn"),
    (functions, "lost + remainder + turn * row.errors", "lost + turn * row.errors"),
    (functions, "remainder + turn * row.errors", "remainder"),
    (functions, "+ abs(slope) * row.r", ""),
    (functions, "[slope * ball for ball in row.g]", "[0 * ball for ball in row.g]"),
    (functions, "+ symmetric((off * h).upper())", ""),
    (functions, "row.scaled(chord, gap.mid(), gap.rad())", "row.scaled(chord, gap.mid())"),
    (functions, "row.scaled(chord, gap.mid(), gap.rad())", "row.scaled(chord, ZERO, gap.rad())"),
    (polynomials, "for j in range(k + 1 - i, k + 1):", "for j in range(k + 2 - i, k + 1):"),
    (polynomials, "low - ball.abs_upper(), high + ball.abs_upper()", "low, high + ball.abs_upper()"),
    (polynomials, "return low, -slope * slope / (4 * square)", "return low, high"),
    (polynomials, "scaled * (math.comb(power, kept) * side**lost)", "scaled * side**lost"),
    (intervals, "Ends(-self.high, -self.low)", "Ends(-self.low, -self.high)"),
    (intervals, "corners = (a * c, a * d, b * c, b * d)", "corners = (a * c, b * d)"),
    (intervals, "off = shift - radius, shift + radius", "off = shift, shift"),
    (intervals, "low + weight * product.low", "low + product.low"),
    (rows, "+ sum((abs(x) for x in row.g[symbols:]), ZERO)", ""),
    (layers, "A * x.r]", "0 * A]"),
    (networks, "up(np.abs(own).sum(1) + x.r", "up(x.r"),
    (networks, "np.diag(totals)", "0 * np.diag(totals)"),
    (networks, "up(both + rest", "up(rest"),
    (networks, "both + rest, x", "both, x"),
    (networks, "above(row.r + p.missed)", "above(p.missed)"),
    (networks, "(arb_mat(len(r), n, x.g[:, :n].ravel().tolist()) * shares)", "(arb_mat(len(r), n) * shares)"),
    (graphs, "Row(row.k, row.p, g, ZERO)", "Row(row.k, row.p, g[:-1] + [ZERO], ZERO)"),
    (sets, "sum((abs(ball) for ball in line), ZERO).upper()", "ZERO"),
    (sets, "total = radius\n", "total = ZERO\n"),
    (steps, "+ _enclosing(rest.ball(), rows[0])", ""),
    (steps, "r = value.r + moved.rad()", "r = value.r"),
    (steps, "+ moved.rad() + bent", "+ moved.rad()"),
    (steps, "[*value.g, moved.mid()]", "[*value.g, ZERO]"),
    (steps, "_over(rows, rest, n).scaled(ONE, ZERO, off)", "_over(rows, rest, n)"),
    (steps, "before.scaled(h / j)", "before.scaled(h)"),
    (controller, "-arb(float(controller.offset[n]))", "arb(0)"),
    (controller, ".scaled(arb(float(controller.scale[n])))", ""),
    (controller, "above = kink(u.scaled(arb(1), -low), ZERO).scaled(arb(1), low)", "above = u"),
]


@pytest.mark.slow
@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize(("module", "text", "wrong"), FAULTS)
def test_faults_are_seen(module: ModuleType, text: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, module, text, wrong)
    assert worst() > 0
