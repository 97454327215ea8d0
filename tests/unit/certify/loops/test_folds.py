"""Symbols that are folded: a row still contains what it did, in the search and in the check."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from integraph.certify.loops import rows
from integraph.certify.loops.replay import sets
from integraph.certify.loops.rows import ModelRows
from integraph.numbers.arb.conversion import ZERO, precision
from integraph.numbers.models.monomials import monomials
from planted_faults import plant

MOST, SYMBOLS, ROWS = 6, 11, 3  # symbols that are kept, and drawn


def drawn() -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of symbols, and radii."""
    rng = np.random.default_rng(4)
    return rng.normal(size=(ROWS, SYMBOLS)), rng.uniform(size=ROWS)


def excess(g: np.ndarray, r: np.ndarray, kept: np.ndarray, radii: list[Fraction]) -> Fraction:
    """How much more a row may be than it was: its old radius, and all symbols that are not kept any more."""
    worst = Fraction(-1)
    for before, radius, after, now in zip(g, r, kept, radii, strict=True):
        gone = [x for x in before.tolist() if x not in after.tolist()]
        worst = max(worst, Fraction(radius) + sum(map(abs, map(Fraction, gone)), Fraction(0)) - now)
    return worst


def of_search() -> Fraction:
    g, r = drawn()
    values = np.concatenate([np.ones((ROWS, 2)), g, r[:, None]], 1)
    made = rows.ModelRows(monomials(1, 1), values).folded()
    assert made.symbols == MOST // 2
    return excess(g, r, made.values[:, 2:-1], [Fraction(x) for x in made.values[:, -1].tolist()])


def of_check() -> Fraction:
    g, r = drawn()
    with precision(64):
        p = [{0: arb(1)}] * ROWS
        made = sets.swept(1, p, [[arb(x) for x in line] for line in g.tolist()], [arb(x) for x in r.tolist()])
    kept = np.array([[float(x) for x in line] for line in made.g])
    radii = [Fraction(x) for x in np.abs(kept[:, MOST // 2 :]).sum(1).tolist()]
    assert kept.shape == (ROWS, MOST // 2 + ROWS)
    return excess(g, r, kept[:, : MOST // 2], radii)


def few_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (rows.ModelRows.folded, sets.swept):
        monkeypatch.setitem(function.__globals__, "SYMBOLS", MOST)


def test_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    few_symbols(monkeypatch)
    assert of_search() <= 0
    assert of_check() <= Fraction(1, 1 << 48)  # radii, as floats


def test_fewer_symbols_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    few_symbols(monkeypatch)
    values = np.ones((ROWS, 2 + MOST + 1))
    assert ModelRows(monomials(1, 1), values).folded().values is values
    with precision(64):
        assert sets.swept(1, [{}], [[arb(1)] * MOST], [ZERO]).g == [[arb(1)] * MOST]


@pytest.mark.parametrize("wrong", ["np.abs(g[:, gone]).sum(1) * UP", "self.values[:, -1] + "])
def test_faults_of_the_search_are_seen(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, rows, wrong, "0.0" if wrong.endswith("UP") else "")
    few_symbols(monkeypatch)
    assert of_search() > 0


@pytest.mark.parametrize("wrong", ["sum((abs(line[n]) for n in gone), ZERO)", "radius + sum"])
def test_faults_of_the_check_are_seen(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, sets, wrong, "ZERO" if wrong.startswith("sum") else "sum")
    few_symbols(monkeypatch)
    assert of_check() > Fraction(1, 1 << 46)
