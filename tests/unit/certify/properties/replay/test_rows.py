"""Rows of the checker contain real arithmetic: random rows with symbols in common, at corners of ξ, ε and radii mostly;
and every part of their formulas that is left out or changed is noticed there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from flint import arb

from faults import fault
from integraph.certify.properties.replay import functions, rows
from integraph.certify.properties.replay.rows import Row, Space
from integraph.numbers.arb.conversion import ONE, ZERO, precision
from integraph.numbers.arrays import Floats
from slow import mostly_slow

SHAPES = ((1, 1, 2), (2, 2, 0), (2, 2, 3), (3, 1, 2), (0, 1, 2))  # d, degree, symbols
BITS, MANY = 64, 300  # of the rows, and of what is compared
DRAWS = 60


@dataclass(frozen=True, slots=True)
class Point:
    """ξ, ε by the names of the symbols, and the share of its radius that each row takes."""

    xi: Floats
    eps: dict[int, float]
    tau: Floats


def corner(rng: np.random.Generator, count: int) -> Floats:
    """Numbers in [−1, 1], two of three of them an end."""
    return np.where(rng.random(count) < 0.67, rng.choice([-1.0, 1.0], count), rng.integers(-8, 9, count) / 8)


def drawn(rng: np.random.Generator, count: int) -> tuple[list[Row], Point]:
    """Rows of any size whose parts may be 0, so that each of them is the only one at times."""
    d, degree, symbols = SHAPES[rng.integers(len(SHAPES))]
    space = Space(d, degree)
    names = [next(space.supply) for _ in range(symbols)]
    made = []
    for _ in range(count):
        scale = 10.0 ** rng.choice([-6, -2, 0, 1])

        def some(share: float = 0.6, scale: float = scale) -> arb:
            return arb(scale * rng.normal() if rng.random() < share else 0.0)

        p, g, r = [some() for _ in range(space.size)], {n: some() for n in names if rng.random() < 0.8}, abs(some(0.4))
        row = Row(space, p, g, r, arb(0, 1e9))
        row.known = row.value()
        made.append(row)
    return made, Point(corner(rng, d), dict(zip(names, corner(rng, symbols).tolist(), strict=True)), corner(rng, count))


def middle(row: Row, at: Point) -> arb:
    """p(ξ) + Σ g ε over the symbols that the point knows."""
    xi = [arb(x) for x in at.xi.tolist()]
    monomials = [ONE, *xi, *(xi[i] * xi[j] for i, j in row.space.pairs)]
    known = [ball * at.eps[n] for n, ball in row.g.items() if n in at.eps]
    return sum([a * m for a, m in zip(row.p, monomials, strict=True)] + known, ZERO)


def values(given: list[Row], at: Point) -> list[arb]:
    return [middle(row, at) + row.r * share for row, share in zip(given, at.tau.tolist(), strict=True)]


def holds(row: Row, at: Point, value: arb) -> bool:
    """Whether the row contains a value, for some ε of the symbols that are new."""
    if not value.is_finite():
        return True
    new = sum((abs(ball) for n, ball in row.g.items() if n not in at.eps), row.r)
    away = abs(value - middle(row, at))
    return bool(row.known.overlaps(value) and (not row.r.is_finite() or not away > new * (ONE + arb(2) ** -200)))


def _two(operation: Callable[[Any, Any], Any]) -> Callable[[np.random.Generator], bool]:
    def held(rng: np.random.Generator) -> bool:
        (a, b), at = drawn(rng, 2)
        with precision(BITS):
            made = operation(a, b)
        return holds(made, at, operation(*values([a, b], at)))

    return held


def _square(rng: np.random.Generator) -> bool:
    (a,), at = drawn(rng, 1)
    with precision(BITS):
        made = a * a
    (x,) = values([a], at)
    return holds(made, at, x * x)


def _moved(rng: np.random.Generator) -> bool:
    (a,), at = drawn(rng, 1)
    factor, shift, radius = arb(rng.normal()), arb(rng.normal()), arb(float(rng.choice([0.0, 0.5])))
    with precision(BITS):
        made = a.moved(factor, shift, radius, arb(0, 1e12))
    (x,) = values([a], at)
    return all(holds(made, at, factor * x + shift + sign * radius) for sign in (-1, 1))


def _affine(rng: np.random.Generator) -> bool:
    """The first row of the matrix, and its difference from the second: symbols that are new are shared."""
    given, at = drawn(rng, 3)
    A, b = rng.normal(size=(2, 3)), rng.normal(size=2)
    with precision(BITS):
        one, other = rows.affine(A, b, given)
        both = one - other
    x = values(given, at)
    y = [sum((arb(a) * v for a, v in zip(line, x, strict=True)), arb(c)) for line, c in zip(A.tolist(), b, strict=True)]
    return holds(one, at, y[0]) and holds(both, at, y[0] - y[1])


def _folded(rng: np.random.Generator) -> bool:
    given, at = drawn(rng, 2)
    x = values(given, at)
    copies = [Row(row.space, row.p, dict(row.g), row.r, row.known) for row in given]
    with pytest.MonkeyPatch.context() as patch, precision(BITS):
        patch.setattr(rows, "SYMBOLS", 1)
        made = rows.folded(copies)
    return all(holds(row, at, value) for row, value in zip(made, x, strict=True))


def _known(rng: np.random.Generator) -> bool:
    """The range of a polynomial of few variables, also between the ends, and of a row."""
    (a,), at = drawn(rng, 1)
    with precision(BITS):
        span, value = a.span(), a.value()
    bare = Row(a.space, a.p, {}, ZERO, a.known)
    more = (Point(rng.uniform(-1, 1, a.space.d), at.eps, at.tau) for _ in range(8))
    return bool(all(span.overlaps(middle(bare, one)) for one in (at, *more)) and value.overlaps(values([a], at)[0]))


TRUTH: dict[str, Callable[[arb], arb]] = {
    "exp": lambda x: x.exp(), "sin": lambda x: x.sin(), "tanh": lambda x: x.tanh(), "atan": lambda x: x.atan(),
    "sigmoid": lambda x: ONE / (ONE + (-x).exp()), "softplus": lambda x: x.exp().log1p(),
    "gaussian": lambda x: (-x * x).exp(), "ln": lambda x: x.log(), "sqrt": lambda x: x.sqrt(),
    "gelu": lambda x: x * (-x / arb(2).sqrt()).erfc() / 2, "log_cosh": lambda x: x.cosh().log(),
}  # fmt: skip


def _applied(name: str) -> Callable[[np.random.Generator], bool]:
    def held(rng: np.random.Generator) -> bool:
        (a,), at = drawn(rng, 1)
        scale = (arb(3) / (1 + abs(a.value()).upper())).mid()  # else most are flat, or overflow
        with precision(BITS):
            a = a.moved(scale, arb(4 if name in ("ln", "sqrt") else 0), ZERO, arb(0, 1e9))
        (x,) = values([a], at)
        with precision(BITS):
            made = functions.apply(functions.FUNCTIONS[name], a)
        return holds(made, at, TRUTH[name](x))

    return held


def _kink(rng: np.random.Generator) -> bool:
    (a,), at = drawn(rng, 1)
    below = arb(float(rng.choice([0.0, -1.0, 0.1, 2.0])))
    with precision(BITS):
        made = functions.kink(a, below)
    (x,) = values([a], at)
    return holds(made, at, x if x >= 0 else below * x)


OPERATIONS: dict[str, Callable[[np.random.Generator], bool]] = {
    "add": _two(lambda a, b: a + b), "subtract": _two(lambda a, b: a - b), "multiply": _two(lambda a, b: a * b),
    "square": _square, "move": _moved, "affine": _affine, "fold": _folded, "range": _known, "kink": _kink,
    **{name: _applied(name) for name in TRUTH},
}  # fmt: skip
ROW = "lost + at * eb + bt * ea + ea * eb + abs(a0) * b.r + abs(b0) * a.r"
APPLIED = "lost + fitted.remainder + turn * row.errors + abs(slope) * row.r"
FAULTS: dict[str, tuple[str, str, str, str]] = {  # module, text, what it becomes, the operation that notices it
    **{
        f"a product without {term}": ("rows", ROW, ROW.replace(term, "0"), "multiply")
        for term in ("lost", "at * eb", "bt * ea", "ea * eb", "abs(a0) * b.r", "abs(b0) * a.r")
    },
    **{
        f"a function without {term}": ("functions", APPLIED, APPLIED.replace(term, "0"), "exp")
        for term in ("lost", "fitted.remainder", "turn * row.errors", "abs(slope) * row.r")
    },
    "a sum with the symbol of one part": (
        "rows", "g[n] = g[n] + ball if n in g else ball", "g[n] = ball", "add",
    ),
    "a sum with the radius of one part": ("rows", "(self.r + other.r).upper()", "self.r", "add"),
    "a product with the symbol of one factor": (
        "rows", "g[n] = g[n] + a0 * ball if n in g else a0 * ball", "g[n] = a0 * ball", "multiply",
    ),
    "a product with symbols as they were": (
        "rows", "g = {n: b0 * ball for n, ball in a.g.items()}", "g = {n: ball for n, ball in a.g.items()}", "multiply",
    ),
    "a multiple with the radius of one": ("rows", "(abs(factor) * self.r + radius).upper()", "self.r + radius", "move"),
    "a multiple without what it misses": (
        "rows", "(abs(factor) * self.r + radius).upper()", "abs(factor) * self.r", "move",
    ),
    "a multiple with symbols as they were": (
        "rows", "g = {n: factor * ball for n, ball in self.g.items()}", "g = dict(self.g)", "move",
    ),
    "a vertex that is outside": ("rows", "if 2 * abs(square) <= slope:", "if abs(square) <= slope:", "range"),
    "a vertex that is forgotten": ("rows", "return low, -slope * slope / (4 * square)", "return low, high", "range"),
    "a range without symbols": ("rows", "symmetric(self.errors)", "symmetric(self.r)", "range"),
    "a map that forgets radii": ("rows", "fresh[place[n]] = row.r", "fresh[place[n]] = ZERO", "affine"),
    "symbols that are folded away": ("rows", "(abs(row.g[n]) for n in gone", "(ZERO for n in gone", "fold"),
    "a chord on one side": ("functions", "gap.mid(), gap.rad()", "gap.mid(), ZERO", "kink"),
}  # fmt: skip


def inside(name: str, draws: int = DRAWS) -> bool:
    rng = np.random.default_rng([*name.encode()])
    with precision(MANY):
        return all(OPERATIONS[name](rng) for _ in range(draws))


@pytest.mark.parametrize("name", OPERATIONS)
def test_values_are_inside(name: str) -> None:
    assert inside(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_many_values_are_inside(name: str) -> None:
    assert inside(name, 3000)


@mostly_slow("name", FAULTS, quick=4)
def test_a_fault_is_noticed(name: str) -> None:
    module, before, after, noticing = FAULTS[name]
    with fault(import_module(f"integraph.certify.properties.replay.{module}"), before, after):
        assert not inside(noticing, 20 * DRAWS)
