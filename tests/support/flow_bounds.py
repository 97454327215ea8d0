"""Formulas of flows without a closed form, on models, beside Taylor series of mpmath and rational numbers; cases in
which a bound is nearly attained, so that half of it is not enough."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from bound_cases import contains
from integraph import Registers, build, segment
from integraph.certify.bounds import free_models
from integraph.certify.bounds.free_models import FreeStep, free_step
from integraph.gadgets import low_rank
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import Models, of_cells
from integraph.numbers.quadratic_field import Matrix, QuadraticField
from integraph.program import Program

BITS, LONG = 300, 60  # of mpmath, and terms of a series that is summed
OFF = 1e-3  # of a field that is not quite its factors
SHORT = 1 / 32  # a step for y' = y², whose bounds grow fast


def field(m: int, n: int, products: int, seed: int) -> QuadraticField:
    """A random field: m registers move, n are read."""
    rng = np.random.default_rng(seed)
    U, L, A = (Matrix(rng.normal(size=shape)) for shape in ((m, products), (2 * products, n), (m, n)))
    return QuadraticField(U, L, np.arange(products), np.arange(products, 2 * products), A, rng.normal(size=m))


def scalar(Q: float, A: float, b: float) -> QuadraticField:
    """y' = Q y² + A y + b."""
    one = np.zeros(1, np.int64)
    return QuadraticField(*(Matrix([[c]]) for c in (Q, 1.0)), one, one, Matrix([[A]]), np.array([b]))


def exact_step(f: QuadraticField, slack: float = 0.0) -> FreeStep:
    """For a field whose coefficients may be wrong by a slack of our own."""
    step = free_step(f, 7)
    return FreeStep(f, slack, step.U, step.forms, step.A, step.order)


_exact = np.vectorize(mpf, otypes=[object])


def series(f: QuadraticField, z: Any, order: int, off: float = 0.0, seed: int = 0) -> list[Any]:
    """Taylor coefficients of y from numbers z, of a field whose coefficients are off by this share, up or down."""
    rng = np.random.default_rng(seed)
    U, A, b = (_exact(x) * (1 + mpf(off) * _exact(rng.choice([-1.0, 1.0], x.shape)))
               for x in (f.U.toarray(), f.A.toarray(), f.b))  # fmt: skip
    L, m = _exact(f.forms.toarray()), len(f.b)
    coefficients, forms = [_exact(z)], list[Any]()
    for n in range(order):
        forms.append(L @ coefficients[n])
        products = sum(forms[i][f.left] * forms[n - i][f.right] for i in range(n + 1))
        rate = U @ products + A @ coefficients[n] + (b if n == 0 else 0)
        coefficients.append(np.concatenate([rate / (n + 1), _exact(np.zeros(len(z) - m))]))
    return [c[:m] for c in coefficients]


def rows(z: Floats, m: int) -> tuple[Models, Models | None]:
    """What moves and what stands still, at a point."""
    x = of_cells(z[None], z[None], 1)
    return x.take(np.arange(m)), x.take(np.arange(m, len(z))) if len(z) > m else None


def around(x: Interval, values: Any) -> bool:
    """Whether intervals contain exact numbers."""
    ends = zip(x.low.ravel().tolist(), np.ravel(values), x.high.ravel().tolist(), strict=True)
    return all(mpf(low) <= value <= mpf(high) for low, value, high in ends)


def tight(y: Models, values: Any) -> bool:
    """Whether rows at a point contain exact numbers, by the models alone."""
    ends = zip(y.p[:, 0, 0].tolist(), values, y.errors[:, 0].tolist(), strict=True)
    return all(abs(mpf(middle) - value) <= mpf(error) for middle, value, error in ends)


def exact_coefficients() -> bool:
    """Of a point, from exact factors: every rounding counts."""
    for seed in range(40):
        f, z = field(2, 3, 6, seed), np.random.default_rng(seed).normal(size=3)
        (y, x), right = rows(z, 2), series(f, z, 3)
        assert x is not None
        for n in range(1, 4):
            if not around(free_models._coefficients(exact_step(f), y.known, x.known, n), right[n]):
                return False
    return True


def images_of_roundings() -> bool:
    rng = np.random.default_rng(0)
    for n in range(100):
        A, x = rng.normal(size=(2, 12)), rng.normal(size=(12, 1))
        least = Interval(x, x + (n % 2) * 1e-3 * np.abs(x))
        for end in (least.low, least.high if n % 2 else x):
            if not around(free_models._image(A, least), _exact(A) @ _exact(end)):
                return False
    return True


def other_coefficients() -> bool:
    """Of a field that is not its factors, as intervals, and as models, which contain much less."""
    for seed in range(12):
        f, z = field(2, 3, 2, seed), np.random.default_rng(seed).normal(size=3)
        step, (y, x) = exact_step(f, OFF), rows(z, 2)
        assert x is not None
        models, right = free_models._series(step, y, x), series(f, z, 3, 0.99 * OFF, seed)
        for n in range(1, 4):
            if not around(free_models._coefficients(step, y.known, x.known, n), right[n]):
                return False
            if not tight(models[n], right[n]):
                return False
    return True


def one_step(f: QuadraticField, z: Floats, h: float) -> bool:
    """From a point, where the remainder is nearly attained."""
    (y, x), step = rows(z, len(f.b)), exact_step(f)
    still = None if x is None else x.known
    box, good = free_models._enclosure(step, y.known, still, h)
    after = free_models._after(step, y, x, free_models._remainder(step, box, still, h), h)
    right = sum(c * mpf(h) ** n for n, c in enumerate(series(f, z, LONG)))
    return bool(good.all()) and around(box, right) and tight(after, right)


def one_step_of_cells() -> bool:
    """From boxes, one of which has a side of width 0."""
    f, h, rng = field(2, 3, 2, 1), 1 / 32, np.random.default_rng(0)
    low = rng.normal(size=(3, 3))
    high = low + [[0.1, 0.1, 0.0], [0.02, 0.05, 0.0], [1e-3, 0.0, 0.0]]
    z, step = of_cells(low, high, 2), exact_step(f)
    y, x = z.take(np.arange(2)), z.take(np.arange(2, 3))
    box, good = free_models._enclosure(step, y.known, x.known, h)
    after = free_models._after(step, y, x, free_models._remainder(step, box, x.known, h), h)
    for cell, xi in itertools.product(range(3), itertools.product([-1.0, 0.3, 1.0], repeat=2)):
        at = 0.5 * (low + high)[cell] + np.array([*xi, 0.0]) * 0.5 * (high - low)[cell]
        right = sum(c * mpf(h) ** n for n, c in enumerate(series(f, at, LONG))).astype(float)
        if not contains(after, cell, np.array(xi), right, right):
            return False
    return bool(good.all())


def too_long() -> bool:
    """One step for y' = y² over 1: from 1 it has a pole, from 0.01 it has none."""
    cells = of_cells(np.array([[0.9], [0.01]]), np.array([[1.1], [0.0101]]), 2)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("UNITS", 1), ("FIRST", 1), ("REMAINDER", math.inf)):
            patch.setattr(free_models, name, value)
        alive = free_models.free_models(scalar(1.0, 0.0, 0.0), cells, None, 1.0)[1]
    return bool(alive.tolist() == [False, True])


def numbers_of_steps() -> bool:
    """1/n, hⁿ, and the powers that a step sums by, as what they are."""
    for n in range(1, 60):
        h = 0.7 / n
        A, off = free_models._powers(n, 1, h)
        error = off.A if isinstance(off.A, np.ndarray) else off.A.toarray()
        powers = [Fraction(h) ** k for k in range(n + 1)]
        known = zip(A[0].tolist(), powers, error[0].tolist(), strict=True)
        ends = [(free_models._share(n), Fraction(1, n)), (free_models._power(h, n), powers[n])]
        if not all(Fraction(x.low.item()) <= value <= Fraction(x.high.item()) for x, value in ends):
            return False
        if not all(abs(Fraction(a) - value) <= Fraction(lost) for a, value, lost in known):
            return False
    return True


def rows_of_roundings() -> bool:
    """Rows plus numbers, rounded and not, and rows with a factor that was rounded."""
    rng = np.random.default_rng(0)
    for v, low, width in zip(rng.normal(size=60), rng.normal(size=60), [0.0, 0.5] * 30, strict=True):
        rest = Interval(np.array([[low]]), np.array([[low + width]]))
        sums = free_models._plus(rows(np.array([v]), 1)[0], rest)
        if not all(tight(sums, [mpf(v) + mpf(end.item())]) for end in (rest.low, rest.high)):
            return False
        third = np.array([v / 3])
        if not tight(free_models._plus_relative(rows(third, 1)[0]), [mpf(v) / 3]):
            return False
    return True


def stored_controls() -> bool:
    """The slack of a field covers what its stored controls lose, in other units too."""
    for seed, scales in itertools.product(range(8), (None, [1.0, 1.7, 0.3])):
        rng, r = np.random.default_rng(seed), Registers()
        x, y = r.inputs("x", 1), r.new("y", 2)
        U, V1, V2 = (rng.normal(size=shape) for shape in ((2, 9), (9, 3), (9, 3)))
        program = build(r, [segment("s", low_rank(y, x, U=U, V1=V1, V2=V2, A=rng.normal(size=(2, 3))))], y)
        program = program if scales is None else program.rescale_states(np.array(scales)).rescale_time(0.3)
        part = program.segments[0]
        place = np.array([1, 2, 0])  # of z = (y, x) among the registers
        f = part.blocks[0].op.field(part.blocks[0])
        f = f.scaled(part.rate, None if program.scales is None else program.scales[place])
        if _lost(program, f, place) > free_step(f, 7).slack:
            return False
    return True


def _lost(program: Program, f: QuadraticField, place: Any) -> float:
    """The largest error of a stored product, of the sum of the sizes of what it sums."""
    stored = np.full((program.width,) * 3, mpf(0), object)
    for part in program.segment_terms(0):
        for i, j, k, value in zip(part.i, part.j, part.k, part.value, strict=True):
            if min(j, k) >= 0:
                stored[i, min(j, k), max(j, k)] += mpf(float(value))
    U, one, other = _exact(f.U.toarray()), *(_exact(f.forms.toarray()[side]) for side in (f.left, f.right))
    worst = mpf(0)
    for i, j, k in itertools.product(range(len(f.b)), *[range(len(place))] * 2):
        if j <= k:
            pairs = U[i] * (one[:, j] * other[:, k]), U[i] * (one[:, k] * other[:, j])
            summed = pairs[:1] if j == k else pairs
            a, b = sorted((place[j], place[k]))
            off = abs(stored[place[i], a, b] - sum(map(np.sum, summed)))
            worst = max(worst, off / sum(np.sum(np.abs(pair)) for pair in summed))
    return float(worst)


def precisely(holds: Callable[[], bool]) -> Callable[[], bool]:
    def held() -> bool:
        with mp.workprec(BITS):
            return holds()

    return held


FLOWS: dict[str, Callable[[], bool]] = {
    "coefficients": precisely(exact_coefficients),
    "images": precisely(images_of_roundings),
    "coefficients of another field": precisely(other_coefficients),
    "a step of y' = y": precisely(lambda: one_step(scalar(0.0, 1.0, 0.0), np.ones(1), 0.25)),
    "a step of y' = y²": precisely(lambda: one_step(scalar(1.0, 0.0, 0.0), np.ones(1), SHORT)),
    "a step of y' = 1": precisely(lambda: one_step(scalar(0.0, 0.0, 1.0), np.zeros(1), 0.25)),
    "steps of cells": precisely(one_step_of_cells),
    "a step that is too long": too_long,
    "numbers of steps": numbers_of_steps,
    "rows of roundings": precisely(rows_of_roundings),
    "stored controls": precisely(stored_controls),
}
