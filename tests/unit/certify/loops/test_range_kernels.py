"""Ranges of polynomials by bisection: they contain every value, and are close to those that are taken."""

from __future__ import annotations

import numpy as np
import pytest

from integraph.certify.loops import range_kernels
from integraph.certify.loops.rows import ModelRows, lowered
from integraph.numbers.models.monomials import monomials
from slow import mostly_slow


def random_rows(d: int, k: int) -> ModelRows:
    rng, table = np.random.default_rng(10 * d + k), monomials(d, k)
    values = np.zeros((6, table.count + 2))
    values[:, : table.count] = rng.normal(size=(6, table.count)) / (1.0 + table.degrees)
    values[:, table.count :] = 1e-3
    return ModelRows(table, values)


def taken(rows: ModelRows) -> np.ndarray:
    """Values of the rows at points, and at their nearest corners, with errors at their ends."""
    xi = np.random.default_rng(0).uniform(-1.0, 1.0, (4000, rows.monomials.d))
    xi = np.concatenate([xi, np.sign(xi)])
    y = np.prod(xi[:, None, :] ** rows.monomials.exponents, axis=2) @ rows.values[:, : rows.monomials.count].T
    return np.stack([y.min(0) - 2e-3, y.max(0) + 2e-3], 1)


CASES = [(2, 4, 1.02), (1, 6, 1.01), (3, 3, 1.1), (6, 4, 1.6), (2, 1, 1.01), (0, 1, 1.01)]


@mostly_slow(("d", "k", "near"), CASES, quick=1)
def test_ranges(d: int, k: int, near: float) -> None:
    rows = random_rows(d, k)
    ends, known = rows.tight_ranges(), taken(rows)
    assert (ends[:, 0] <= known[:, 0] + 1e-12).all()
    assert (known[:, 1] <= ends[:, 1] + 1e-12).all()
    assert (np.ptp(ends, axis=1) <= near * np.ptp(known, axis=1) + 1e-9).all()


@pytest.mark.parametrize(("name", "wrong"), [("_half", 0.9), ("span_kernel", 0.5)])
def test_faults_are_seen(name: str, wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A half in the wrong place, or a bound that is too tight."""
    right = getattr(range_kernels, name)
    right = getattr(right, "py_func", right)

    def half(p, axis, side, *rest):
        right(p, axis, wrong * side, *rest)

    def span(*args):
        return tuple(wrong * ends for ends in right(*args))

    plain = {one: getattr(kernel, "py_func", kernel) for one, kernel in vars(range_kernels).items() if callable(kernel)}
    names = plain["least_value"].__globals__
    for one in ("_half", "_corner", "span_kernel"):
        monkeypatch.setitem(names, one, plain[one])
    monkeypatch.setitem(names, name, half if name == "_half" else span)
    rows = random_rows(2, 4)
    table, known = rows.monomials, taken(rows)
    lows = [
        plain["least_value"](row[: table.count], table.exponents, lowered(2, 4), table.squares, table.kinds)
        for row in rows.values
    ]
    assert (np.array(lows) > known[:, 0] + 2e-3 + 1e-9).any()
