"""Formulas of bounds one at a time, against rational numbers and mpmath: steps backwards, maps, rows, functions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import scipy
from flint import arb
from mpmath import mp

from bound_cases import announced, contains
from integraph.certify.bounds.backward import Backward
from integraph.certify.bounds.forms import dense
from integraph.certify.bounds.gadget_models import _rectified, products
from integraph.certify.bounds.graph_models import graph_models
from integraph.certify.bounds.graph_parts import Rows
from integraph.certify.bounds.linear_segments import _matrix
from integraph.certify.bounds.model_arrays import ModelArray, narrower
from integraph.certify.bounds.model_functions import MEAN_GAUSSIAN
from integraph.certify.bounds.sparse_maps import of_value
from integraph.certify.bounds.steps import Operand, Read, affine, entrywise, known
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.models.functions import apply
from integraph.numbers.models.models import Models, of_cells
from integraph.numbers.roundoff import U
from integraph.targets.graph import ROUNDED
from integraph.targets.graph_builder import Builder

LONG = 600  # roundings


def exact(x: Floats) -> list[Fraction]:
    return [Fraction(v) for v in np.ravel(x).tolist()]


def dot(a: Floats, b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(exact(a), b, strict=True)), Fraction(0))


def maps_of_roundings() -> bool:
    """L·(A u + b) is at least what a map says of it."""
    rng = np.random.default_rng(0)
    for n in range(60):
        A, b, u, form = (rng.normal(size=shape) for shape in ((4, 5), 4, 5, (1, 1, 4)))
        A, b = (0.0 * A, b) if n % 3 == 1 else (A, 0.0 * b if n % 3 else b)
        value = [dot(row, exact(u)) + Fraction(c) for row, c in zip(A, b.tolist(), strict=True)]
        for given in (form, scipy.sparse.csr_array(form[0])):
            ((_, pulled),), number = affine([(0, A)], b, [np.abs(u)[:, None]]).pull(given)
            if dot(form, value) < dot(dense(pulled), exact(u)) + Fraction(float(number[0, 0])):
                return False
    return True


def lines_of_roundings() -> bool:
    """The same of lines, of operands that are read twice, too."""
    rng = np.random.default_rng(0)
    for n in range(60):
        low, high, below, above, form = (rng.normal(size=(1, 4)) for _ in range(5))
        below, above = (0.0 * below, 0.0 * above) if n % 2 else (below, above)
        low, high = (low, high) if n % 2 else (0.0 * low, 0.0 * high)
        index = np.array([0, 1, 0, 2]) if n % 4 == 1 else None
        u = rng.normal(size=4)
        seen = u if index is None else u[index]
        step = entrywise([Operand(Read(0, index, 4), low, high)], [np.abs(seen)[None]], below, above)
        ((_, pulled),), number = step.pull(form[None])
        lines = [np.where(form >= 0, *pair)[0] for pair in ((low, high), (below, above))]
        value = [a * x + b for a, x, b in zip(exact(lines[0]), exact(seen), exact(lines[1]), strict=True)]
        if dot(form, value) < dot(pulled, exact(u)) + Fraction(float(number[0, 0])):
            return False
    return True


def _chained(sums_of_forms: bool) -> bool:
    """A number that is large, and many that are small beside it: added to bounds, or as multiples of the input."""
    steps, one = [*[-0.4] * LONG, 1e16], np.ones((1, 1))
    watch = Backward([lambda ranges: (known(ranges[-1]),)] * (LONG + 3), [], (Rows(0),))
    watch.announce(Interval(one, one))
    size = np.abs(one)
    for n, number in enumerate(steps):
        A, b, read = (number * one, np.zeros(1), 0) if sums_of_forms else (one, np.array([number]), n)
        watch.ranges.append(Interval(one, one))
        watch.steps.append((affine([(read, A)], b, [size]),))
    right = sum(map(Fraction, steps), Fraction(0))
    if sums_of_forms:
        watch.ranges.append(Interval(one, one))
        watch.steps.append((affine([(n, one) for n in range(1, len(steps) + 1)], np.zeros(1), [size] * len(steps)),))
    else:
        right += 1
    least = watch.least(len(watch.steps) - 1, np.ones((1, 1, 1)), 0).bound[0, 0]
    return Fraction(float(least)) <= right


def rounded_maps() -> bool:
    """Of weights that are known to a thousandth alone, and of a number that is rounded."""
    x = of_cells(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]]), 1)
    grown = of_value(0, 2).times(scipy.sparse.csr_array(np.eye(2)), 1e-3)
    assert grown is not None
    rows = grown.models([x], x.space).known
    b = Builder()
    b.input("x", (1,))
    number = graph_models(b.graph([b.constant(np.array([0.3]), data=ROUNDED)]), of_cells(*np.ones((2, 1, 1)), 1)).known
    ends = Fraction(float(number.low[0, 0])), Fraction(float(number.high[0, 0]))
    inside = all(ends[0] <= Fraction(0.3) * (1 + s * Fraction(0.9 * U)) <= ends[1] for s in (1, -1))
    return inside and bool((rows.high[:, 0] >= [1.001, 2.002]).all() and (rows.low[:, 0] <= [0.999, 1.998]).all())


def rounded_maps_backwards() -> bool:
    """A chain of many rounded factors, at a point, by linear bounds alone."""
    b, w = Builder("chain"), 1.0 + 2.0**-20
    x, factor = b.input("x", (1,)), b.constant(np.array([w]), data=ROUNDED)
    for _ in range(LONG):
        x = b.apply("mul", x, factor)
    watch = announced(b.graph([b.apply("sub", x, b.constant(np.zeros(1)))]), np.ones(1), np.ones(1))
    own = watch.bounds(watch.outputs[0].part)
    grown = (Fraction(w) * (1 + Fraction(0.9 * U))) ** LONG
    return grown <= Fraction(float(own.high[0, 0]))


def on_cells(low: float, high: float, f: Callable[[Models], Models], right: Callable[[float], float]) -> bool:
    """Whether f of x on cells between, of degree 2, contains its values."""
    edges = np.linspace(low, high, 4)
    x = of_cells(edges[:-1, None], edges[1:, None], 2)
    y = f(x)
    for cell, (a, b) in enumerate(pairwise(edges)):
        for xi in np.linspace(-1, 1, 41):
            value = np.array([right(0.5 * a + 0.5 * b + xi * (0.5 * b - 0.5 * a))])
            if not contains(y, cell, np.array([xi]), value - 1e-13, value + 1e-13):
                return False
    return True


def short_rectifiers() -> bool:
    """x σ(kx) from rectifiers, away from their kink."""
    return all(
        on_cells(low, low + 0.4, lambda x, k=k: _rectified(np.array([k]), ModelArray(x, (1, 1))).rows,
                 lambda v, k=k: float(v / (1 + mp.exp(-k * v))))
        for k in (3.0, -3.0) for low in (0.2, -0.6)
    )  # fmt: skip


def means_of_gaussians() -> bool:
    def right(v: float) -> float:
        return float(mp.sqrt(mp.pi) / 2 * mp.erf(v) / v) if v else 1.0

    return on_cells(-2.0, 2.0, lambda x: apply(MEAN_GAUSSIAN, x), right)


def squares_and_products() -> bool:
    low, high = np.array([[0.5, -1.0]]), np.array([[0.75, -0.5]])
    first, second = np.array([0, 1, 0]), np.array([1, 1, 0])
    y = products(of_cells(low, high, 2), first, second)
    for xi in np.random.default_rng(0).uniform(-1, 1, (20, 2)):
        x = (0.5 * (low + high) + xi * 0.5 * (high - low))[0]
        if not contains(y, 0, xi, x[first] * x[second] - 1e-13, x[first] * x[second] + 1e-13):
            return False
    return True


def the_narrower() -> bool:
    """½ as 0 ± ½, and as 0.3 ± 1 ± 0.1."""
    space = of_cells(np.zeros((1, 1)), np.ones((1, 1)), 1).space
    wide, names = Interval(np.full((1, 1), -2.0), np.full((1, 1), 2.0)), np.array([7])

    def row(p: float, g: float, r: float) -> ModelArray:
        polynomial = np.array([[[p, 0.0]]])
        return ModelArray(Models(space, polynomial, np.full((1, 1, 1), g), names, np.full((1, 1), r), wide), (1, 1))

    return contains(narrower(row(0.0, 0.0, 0.5), row(0.3, 1.0, 0.1)).rows, 0, np.zeros(1), *np.full((2, 1), 0.5))


def balls_of_matrices() -> bool:
    one = of_cells(np.ones((1, 1)), np.ones((1, 1)), 1)
    rows = _matrix(np.array([[arb(1, 0.25)]], object))(one).known
    return bool(rows.low[0, 0] <= 0.75 and rows.high[0, 0] >= 1.25)


FORMULAS: dict[str, Callable[[], bool]] = {
    "maps of roundings": maps_of_roundings,
    "lines of roundings": lines_of_roundings,
    "long totals": lambda: _chained(False),
    "sums of forms": lambda: _chained(True),
    "rounded maps": rounded_maps,
    "rounded maps backwards": rounded_maps_backwards,
    "short rectifiers": short_rectifiers,
    "means of Gaussians": means_of_gaussians,
    "squares and products": squares_and_products,
    "the narrower": the_narrower,
    "balls of matrices": balls_of_matrices,
}
