"""The product phase of Theorem 1: against direct sums, on every engine, with its width, its depth and its rounding."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph import Program, Registers, build
from integraph.bounds.paper.theorem1 import depth, width
from integraph.constructions.theorem1.lemma4 import bootstrap, layout, required_bits, slopes
from integraph.constructions.theorem1.products import NONE, Products, collect, expand, products
from integraph.numbers.multi_index import below, count
from law import examples
from slow import mostly_slow

DELTA = 1.25


def compiled(terms: Products, d: int, N: int, c: float, *, plus_one: bool) -> tuple[Program, float]:
    r = Registers()
    at = layout(r, r.inputs("alpha", d), N)
    acc = r.new("sum", terms.coefficients.shape[1])
    phase, relative = products(at, acc, terms)
    program = build(r, [*bootstrap(at, c, DELTA, plus_one=plus_one), *phase], acc)
    return (program if plus_one else replace(program, bits=required_bits(c))), relative


def psi(x: np.ndarray, N: int, c: float) -> np.ndarray:
    """(N + 1, …)"""
    a, b = slopes(N, c)
    edges = np.tanh(a * x + b.reshape(-1, *(1,) * x.ndim))
    edges = np.concatenate([np.ones((1, *x.shape)), edges, -np.ones((1, *x.shape))])
    return (edges[:-1] - edges[1:]) / 2


def direct(terms: Products, x: np.ndarray, N: int, c: float, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Term after term: Σ a Π (x + Δ)^n (ψ + shift), and the sum of the terms' sizes."""
    bumps = psi(x, N, c) + shift
    found, large = 0.0, 0.0
    for n, k, a in zip(terms.exponents, terms.cells, terms.coefficients, strict=True):
        value = np.prod((x + DELTA) ** n, 1)
        for j, cell in enumerate(k):
            if cell != NONE:
                value = value * bumps[cell, :, j]
        found, large = found + a * value[:, None], large + np.abs(a) * value[:, None]
    return found, large


def coefficients(rng: np.random.Generator, d: int, N: int, n: int, m: int) -> np.ndarray:
    shape = (N + 1,) * d + (count(d, n), m)
    return rng.normal(size=shape) * np.exp(3 * rng.normal(size=shape))


SIZES = [(1, 1, 1, 1), (1, 5, 3, 1), (2, 3, 3, 1), (3, 2, 2, 1), (2, 2, 2, 2), (3, 1, 3, 2)]


@pytest.mark.parametrize(("d", "N", "n", "m"), SIZES)
def test_as_printed(d: int, N: int, n: int, m: int) -> None:
    rng = np.random.default_rng(1)
    a = coefficients(rng, d, N, n, m)
    terms = collect(a)
    assert len(terms) == count(d, n) * (N + 1) ** d
    program, relative = compiled(terms, d, N, 9.0, plus_one=False)
    lanes = (N + 2) * d
    assert (program.width, program.depth) == (width(d, N, m), depth(d, N, len(terms)))
    assert (program.width, program.depth) == (2 * lanes + m, 7 + 2 * math.ceil(len(terms) / lanes))
    x = rng.uniform(size=(3, d))
    wanted, large = direct(terms, x, N, 9.0, 0.0)
    assert (np.abs(program(x) - wanted) <= (relative + 1e-13) * large).all()


@mostly_slow(("d", "N", "n", "m"), SIZES, quick=4)
def test_as_remarked(d: int, N: int, n: int, m: int) -> None:
    """float64 on two engines; the expansion is the same function as what it expands."""
    rng = np.random.default_rng(2)
    a = coefficients(rng, d, N, n, m)
    terms, lost = expand(a)
    assert len(terms) == count(d, n) * (N + 2) ** d
    program, _ = compiled(terms, d, N, 9.0, plus_one=True)
    assert (program.width, program.depth) == (width(d, N, m), depth(d, N, len(terms)))
    x = rng.uniform(size=(20, d))
    wanted, _ = direct(collect(a), x, N, 9.0, 0.0)
    _, large = direct(terms, x, N, 9.0, 1.0)
    for engine, accuracy in (("exact", 1e-13), ("taylor", 1e-12), ("precise", 3e-14)):
        points = slice(2 if engine == "precise" else 20)
        error = np.abs(program(x[points], engine=engine, rtol=1e-14) - wanted[points])
        assert (error <= accuracy * large[points]).all()
    assert (lost <= 1e-12 * np.abs(a).sum()).all()


@given(st.integers(1, 2), st.integers(1, 4), st.integers(0, 2**32 - 1))
@examples(40)
def test_the_sums_of_an_expansion(d: int, N: int, seed: int) -> None:
    """Each collected coefficient is Σ ± a over the cells that agree with it; the bound of their rounding holds."""
    rng = np.random.default_rng(seed)
    a = coefficients(rng, d, N, 1, 1) * 10.0 ** rng.integers(-8, 9, (N + 1,) * d + (1, 1))
    total, lost = expansion(a)
    assert total <= Fraction(lost)
    assert lost <= 1e-15 * 4**d * np.abs(a).sum()


def expansion(a: np.ndarray) -> tuple[Fraction, float]:
    """Σ |error of a coefficient| 2^(factors ψ + 1), exactly, and the bound."""
    terms, lost = expand(a)
    total = Fraction(0)
    for k, value in zip(terms.cells, terms.coefficients[:, 0], strict=True):
        agree = tuple(slice(None) if cell == NONE else slice(cell, cell + 1) for cell in k)
        exact = sum(map(Fraction, a[agree].ravel().tolist())) * (-1) ** int((k == NONE).sum())
        total += abs(Fraction(value) - exact) * 2 ** int((k != NONE).sum())
    return total, float(lost[0, 0])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_bound_of_these_sums_is_attained(d: int) -> None:
    """1 + 2^−53 is rounded to 1, in every direction."""
    a = np.ones((2,) * d)
    for axis in range(d):
        a = a * np.array([1.0, 2.0**-53]).reshape(-1, *(1,) * axis)
    total, lost = expansion(a[..., None, None])
    assert total <= Fraction(lost) <= total * Fraction(1.00001)


def test_terms_that_are_zero_are_left_out() -> None:
    a = np.zeros((3, 3, 3, 2))
    a[0, 1, 2] = [0.0, 2.0]
    a[2, 2, 0] = [-1.0, 0.0]
    terms = collect(a)
    assert terms.cells.tolist() == [[0, 1], [2, 2]]
    assert terms.exponents.tolist() == [below(2, 2)[2].tolist(), [0, 0]]
    assert terms.coefficients.tolist() == [[0.0, 2.0], [-1.0, 0.0]]
    assert len(collect(np.zeros((3, 3, 1)))) == 0
    program, relative = compiled(terms, 2, 2, 5.0, plus_one=True)
    x = np.random.default_rng(3).uniform(size=(4, 2))
    assert relative == 0.0
    assert program(x) == pytest.approx(direct(terms, x, 2, 5.0, 1.0)[0], rel=1e-13)
    monomials = program.segments[7].blocks[0]
    assert monomials.targets[0].size == 2, "idle lanes are not written"


@pytest.mark.parametrize("value", [1.0, -3.5, 1e-300, -1e300])
def test_one_term(value: float) -> None:
    terms = Products(np.array([[2]]), np.array([[1]]), np.array([[value]]))
    program, relative = compiled(terms, 1, 2, 6.0, plus_one=True)
    assert program.depth == 9
    x = np.linspace(0, 1, 5)
    wanted = value * (x + DELTA) ** 2 * (psi(x, 2, 6.0)[1] + 1)
    assert program(x)[:, 0] == pytest.approx(wanted, rel=relative + 1e-14 + 2e-16 * abs(math.log(abs(value))))


@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
@examples(30)
def test_nothing_accumulates(seed: int, T: int) -> None:
    """What a lane was multiplied with adds up, exactly, to the exponents of its last term and to ln|a| on the grid."""
    rng = np.random.default_rng(seed)
    d, N = 2, 1
    terms = Products(
        rng.integers(0, 4, (T, d)),
        rng.integers(NONE, N + 1, (T, d)),
        (rng.choice([-1.0, 1.0], T) * 10 ** rng.uniform(-200, 200, T))[:, None],
    )
    program, relative = compiled(terms, d, N, 4.0, plus_one=True)
    lanes = (N + 2) * d
    first_log = lanes
    held: list[dict[int, Fraction]] = [{} for _ in range(lanes)]
    seen = []
    for products_, sums in zip(program.segments[7::2], program.segments[8::2], strict=True):
        (block,) = products_.blocks
        for lane in range(block.targets[0].size):
            total = held[lane]
            reads, weights = block.operands[0].indices()[lane].tolist(), block.tensors["w"][lane].tolist()
            for register, w in [*zip(reads, weights, strict=True), (-1, block.tensors["b"][lane])]:
                total[register] = total.get(register, Fraction(0)) + Fraction(w)
            sign = float(np.atleast_2d(sums.blocks[0].tensors["w"])[0, lane])
            key = tuple(sorted((r, int(w)) for r, w in total.items() if w and r >= 0))
            seen.append((key, sign, float(total.get(-1, Fraction(0)))))
    assert len(seen) == T
    wanted = []
    for n, k, a in zip(terms.exponents, terms.cells, terms.coefficients[:, 0], strict=True):
        powers = [(first_log + j, int(e)) for j, e in enumerate(n) if e]
        cells = [(first_log + d + int(cell) * d + j, 1) for j, cell in enumerate(k) if cell != NONE]
        wanted.append((tuple(sorted(powers + cells)), math.copysign(1.0, a), math.log(abs(a))))
    for got, want in zip(sorted(seen), sorted(wanted), strict=True):
        assert got[:2] == want[:2]
        assert abs(math.expm1(got[2] - want[2])) <= relative + 1e-15 * abs(want[2])
    assert relative < 1e-12
