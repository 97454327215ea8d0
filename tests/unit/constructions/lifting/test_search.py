"""The search: minimal numbers by an exhaustive count of all sets, and random systems whose lift is true."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import integraph
from integraph import QuadraticSystem, clock
from integraph.constructions.lifting import construction, derivation, formulas, search
from integraph.constructions.lifting.beam import beam
from integraph.constructions.lifting.polynomials import scale
from integraph.constructions.lifting.search import SearchTimeError
from integraph.constructions.lifting.variants import variants
from integraph.errors import SourceError, UsageError
from integraph.frontends.dynamics import read_system
from law import examples

Exponents = tuple[int, ...]
SMALL = {  # right-hand sides by exponents, with x and y or x alone
    "x' = x^5": [[(5,)]],
    "x' = x^4 + x^2": [[(4,), (2,)]],
    "x' = y^3; y' = x^3": [[(0, 3)], [(3, 0)]],
    "x' = x^2*y^2; y' = x^3": [[(2, 2)], [(3, 0)]],
    "x' = y^4; y' = x*y": [[(0, 4)], [(1, 1)]],
    "x' = x^2*y; y' = -y^3": [[(2, 1)], [(0, 3)]],
    "x' = x*y^3; y' = x^2 + y": [[(1, 3)], [(2, 0), (0, 1)]],
}


def fewest(sides: list[list[Exponents]], degree: int) -> int:
    """Of all sets of monomials up to a degree, the size of the smallest that makes every derivative quadratic."""
    d = len(sides)
    units = [tuple(int(i == j) for i in range(d)) for j in range(d)]
    pool = [e for e in itertools.product(range(degree + 1), repeat=d) if 2 <= sum(e) <= degree]
    for size in itertools.count():
        for new in itertools.combinations(pool, size):
            chosen = [(0,) * d, *units, *new]
            products = {tuple(np.add(a, b)) for a in chosen for b in chosen}
            if all(m in products for w in chosen[1:] for m in derivative(w, sides)):
                return size
    raise AssertionError


def derivative(w: Exponents, sides: list[list[Exponents]]) -> list[Exponents]:
    """The monomials of the derivative of a monomial."""
    return [
        tuple(int(a + b - (i == j)) for i, (a, b) in enumerate(zip(w, m, strict=True)))
        for j, side in enumerate(sides)
        if w[j]
        for m in side
    ]


@pytest.mark.parametrize("text", SMALL)
def test_the_smallest_number_is_that_of_all_sets(text: str) -> None:
    system = integraph.lift(text)
    assert system.minimal
    assert len(system.new) == fewest(SMALL[text], 5)


MONOMIALS = st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda e: 1 <= sum(e) <= 3)
RANDOM_SIDES = st.tuples(*[st.lists(MONOMIALS, min_size=1, max_size=2, unique=True)] * 2)


@examples(40)
@given(RANDOM_SIDES)
@pytest.mark.slow
def test_the_smallest_number_of_random_systems_is_that_of_all_sets(sides: tuple[list[Exponents], ...]) -> None:
    """All sets of monomials up to degree 5: a lift that takes none of higher degree has as many."""
    formulas = [" + ".join(f"x^{a}*y^{b}" for a, b in side) for side in sides]
    system = integraph.lift(dict(zip("xy", formulas, strict=True)), progress=False)
    assume(len(system.new) <= 3)  # else there are too many sets
    assert system.minimal
    powers = np.array([[2.0, 1.0], [1.0, 2.0]])
    degrees = np.log2(system.start(powers)[:, 2:]).sum(0)
    number = fewest(list(sides), 5)
    assert len(system.new) == number or (len(system.new) < number and degrees.max() > 5)


def off_manifold(system: QuadraticSystem, sides: integraph.Function, x: np.ndarray) -> float:
    """How far y' of the lifted system is from the derivative of its formulas, by central differences in 6 points."""
    assert sides.values is not None
    h = 1e-3
    flow = np.concatenate([sides.values(x), np.zeros((len(x), len(system.source.inputs)))], 1)
    weights = {-3: -1 / 60, -2: 3 / 20, -1: -3 / 4, 1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    slope = sum(w * system.start(x + n * h * flow) for n, w in weights.items()) / h
    y = system.start(x)
    products = np.einsum("bi,bj->bij", y, y).reshape(len(y), -1)
    right = system.b + (system.A @ y.T).T + (system.Q @ products.T).T
    return float(np.max(np.abs(right - slope) / (1 + np.abs(slope))))


LEAVES = st.sampled_from(["x", "y", "0.5", "2"])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("{}*{}".format, inner, inner),
        st.builds("{}/(2 + {}^2)".format, inner, LEAVES),
        st.builds("{}({})".format, st.sampled_from(["sin", "exp", "tanh", "atan"]), LEAVES),
        st.builds("sqrt(3 + {}^2)".format, LEAVES),
    ),
    max_leaves=3,
)


@examples(100)
@given(st.tuples(TREES, TREES))
@pytest.mark.slow
def test_random_systems_are_lifted_truly(sides: tuple[str, str]) -> None:
    try:
        system = integraph.lift(dict(zip("xy", sides, strict=True)), seconds=2.0, progress=False)
    except SourceError:  # that time was too short
        assume(False)
    points = np.random.default_rng(3).uniform(0.3, 0.9, (4, 2))
    assert off_manifold(system, integraph.function(list(sides), variables="x, y"), points) < 1e-7


def test_a_wrong_coefficient_is_noticed() -> None:
    system = integraph.lift({"x": "y", "y": "-sin(x)"})
    sides = integraph.function(["y", "-1.001*sin(x)"], variables="x, y")
    assert off_manifold(system, sides, np.array([[0.5, 0.7]])) > 1e-5


def test_beams_come_near_the_smallest() -> None:
    variant = next(variants(read_system("x' = y^5; y' = x^5")))
    new = beam(variant.problem, np.inf, 20, 24)
    assert new is not None
    assert 4 <= len(new) <= 6


def test_the_time_is_kept() -> None:
    variant = next(variants(read_system("x' = y^5; y' = x^5")))
    with pytest.raises(SearchTimeError):
        beam(variant.problem, 0.0, 20, 24)
    with pytest.raises(UsageError, match="seconds"):
        integraph.lift("x' = x^3", seconds=0)


@pytest.mark.parametrize("states", [1, 40])
def test_the_time_is_kept_before_anything_is_searched(states: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that ticks when it is read. To differentiate such functions, for one search, takes minutes."""
    ticks = itertools.count()
    monkeypatch.setattr(clock, "now", lambda: float(next(ticks)))
    functions = "; ".join(f"a{n + 1} = tanh(a{n}) + a{n}" for n in range(6))
    others = "".join(f"; x{n}' = -x{n}" for n in range(1, states))
    with pytest.raises(SourceError, match="20 seconds"):
        integraph.lift(f"a0 = x; {functions}; x' = a6{others}", seconds=20, progress=False)
    assert 20 < next(ticks) < 40


def test_a_bar_says_what_is_known_and_what_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[float, str]] = []

    @contextmanager
    def bar(wanted: bool, label: str) -> Iterator[Callable[[float, str], None]]:
        assert wanted
        yield lambda done, text: said.append((done, text))

    monkeypatch.setattr(construction, "late_bar", bar)
    monkeypatch.setattr(search, "EVERY", 1)
    integraph.lift("x' = 1/(1 + x^3)^2 - x^2")
    texts = [text for _, text in said]
    assert texts[0] == "lifting: no result yet trying 0"
    assert any(text.endswith("new variables, fewer? trying 2") for text in texts)
    parts = [done for done, _ in said]
    assert parts == sorted(parts)


def test_endless_formulas_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fraction in a fraction: each doubles the formula."""
    monkeypatch.setattr(formulas, "LONGEST", 500)
    with pytest.raises(SourceError, match="more than 500 characters: define parts"):
        integraph.lift("x' = " + 12 * "1/(1 + " + "x" + 12 * ")", progress=False)


def test_interruption_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = construction._decide

    def interrupted(*args: Any) -> None:
        decide(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(construction, "_decide", interrupted)
    system = integraph.lift("x' = 1/(1 + x^2)^2")
    assert len(system.new) > 0
    assert not system.minimal  # other variants were never tried
    monkeypatch.setattr(construction, "_decide", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        integraph.lift("x' = x^3")


def test_fractions_stay_exact() -> None:
    system = integraph.lift("x' = -x/3 + 0.1*x^3")
    assert {term.value for term in system.terms if term.i == 0} == {Fraction(-1, 3), Fraction(1, 10)}


@pytest.mark.parametrize(
    ("side", "value"),
    [("erf(x - x)", 0.0), ("tanh(y - y + 1/2)", np.tanh(0.5)), ("abs(x - x - 2)", 2.0)],
)
def test_a_function_of_what_cancels_is_a_number(side: str, value: float) -> None:
    system = integraph.lift({"x": f"{side} - x", "y": "-y"})
    assert system.new == ()
    assert system.b[0] == pytest.approx(value, rel=1e-15)
    with pytest.raises(SourceError, match="is not finite"):
        integraph.lift("x' = ln(x - x)")


def test_a_function_is_a_variable_only_where_that_is_less() -> None:
    """As a factor of products it needs none of its own, and no power of a sum is multiplied out."""
    for text, expected in (
        ("x' = -ln(x)", {"ln(x)/x", "1/x"}),
        ("x' = exp(-1/x)", {"exp(-1/x)/x", "exp(-1/x)/x^2"}),
        ("x' = (1 + x)^12", {"(1 + x)^11"}),
    ):
        system = integraph.lift(text, progress=False)
        assert set(system.formulas) == expected
        assert system.minimal


@pytest.mark.parametrize("side", ["x^0.123", "x^-0.3", "x^0.123456789", "x^0.99 - x^-0.01", "1/x^0.001"])
def test_powers_far_from_whole_numbers_are_lifted(side: str) -> None:
    """One new variable for each, x^(p − 1): its exponent is larger than those of the equation."""
    system = integraph.lift(f"x' = {side}", progress=False)
    assert len(system.new) == len(side.split(" ")) // 2 + 1
    assert off_manifold(system, integraph.function([side], variables="x"), np.array([[0.7], [1.9]])) < 1e-7


def test_a_search_that_ended_without_a_result_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(construction, "MOST", 1)
    with pytest.raises(SourceError, match="among monomials in x, y, with 1 new variable at most: define parts"):
        integraph.lift("x' = y^3; y' = x^3", progress=False)


def test_sums_beyond_those_that_are_kept_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four bodies have more than eight; two have more than one. A sum without a derivative ended in a traceback."""
    monkeypatch.setattr("integraph.constructions.lifting.variants.SUMS", 1)
    x, y = "(x - u)/((x - u)^2 + (y - v)^2)^(3/2)", "(y - v)/((x - u)^2 + (y - v)^2)^(3/2)"
    bodies = read_system(f"x'' = -{x}; y'' = -{y}; u'' = {x}; v'' = {y}")
    for variant in variants(bodies):
        assert len(variant.ring.derivatives) == len(variant.ring.generators)


@pytest.mark.slow
def test_rules_that_go_in_circles_end_a_variant_not_the_lift() -> None:
    assert integraph.lift("x' = y - x; y' = cosh(1/x)", seconds=3, progress=False).new


def test_rules_that_make_numbers_grow_end_a_variant_too(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 0

    def recorded(p: Any, by: Fraction, shift: Any) -> Any:
        nonlocal longest
        longest = max(longest, by.denominator.bit_length())
        return scale(p, by, shift)

    monkeypatch.setattr(derivation, "scale", recorded)
    assert integraph.lift("x' = 1.0035 - y^2 - erf(x^2) - x; y' = 1.7*x - y", seconds=30, progress=False).minimal
    assert 1000 < longest <= derivation.LONG
