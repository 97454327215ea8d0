"""What people have in hand besides nets and formulas: polynomials of numpy, polynomials and lambdas of sympy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Chebyshev, Polynomial

import integraph
from integraph.errors import SourceError, UsageError
from lazy import framework

COEFFICIENTS = st.lists(st.floats(-9, 9, allow_subnormal=False), min_size=1, max_size=8)


def exactly(polynomial: Polynomial, x: float) -> Fraction:
    """By Horner's rule in rational numbers."""
    offset, scale = (Fraction(float(part)) for part in polynomial.mapparms())
    u, total = offset + scale * Fraction(x), Fraction(0)
    for c in reversed(polynomial.coef.tolist()):
        total = total * u + Fraction(c)
    return total


@given(COEFFICIENTS, st.sampled_from([None, (0.0, 3.0), (-0.1, 0.7)]), st.floats(-1, 1))
def test_a_polynomial_of_numpy_is_a_formula(c: list[float], domain: tuple[float, float] | None, x: float) -> None:
    polynomial = Polynomial(c) if domain is None else Polynomial(c, domain=domain)
    program = integraph.compile(polynomial, box=(-1, 1))
    assert "exact" in program.source
    wanted = exactly(polynomial, x)
    assert abs(Fraction(float(program([x])[0])) - wanted) <= 1e-13 * (1 + sum(map(abs, c)) * 15.0 ** (len(c) - 1))


def test_poly1d_counts_from_the_highest_power() -> None:
    program = integraph.compile(np.poly1d([2.0, 0.0, -1.0]))
    assert program([0.5]) == pytest.approx([2 * 0.25 - 1], abs=1e-15)
    assert program.budget.total == 0.0


def test_other_bases_are_functions() -> None:
    program = integraph.compile(Chebyshev([0.0, 0.0, 1.0]), eps=1e-6)
    assert program.budget is None
    assert program([0.5]) == pytest.approx([-0.5], abs=1e-6)


@pytest.mark.parametrize(
    ("polynomial", "why"),
    [
        (Polynomial([1.0, np.nan]), "finite"),
        (Polynomial([1.0, 1j]), "coefficients of the polynomial"),
        (Polynomial(np.ones(1002)), "degree 1001"),
    ],
)
def test_polynomials_that_are_refused(polynomial: Polynomial, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        integraph.compile(polynomial)


def test_a_polynomial_has_one_input() -> None:
    assert integraph.function(Polynomial([1.0, 2.0]), variables="t").variables == ("t",)
    with pytest.raises(SourceError, match="one input"):
        integraph.function(Polynomial([1.0, 2.0]), variables="x y")


def test_sympy_polynomials_and_lambdas_keep_their_order() -> None:
    sympy = framework("sympy")
    x, y = sympy.symbols("x y")
    for source in (sympy.Poly(x - 2 * y, y, x), sympy.Lambda((y, x), x - 2 * y)):
        assert integraph.compile(source)([1.0, 5.0]) == pytest.approx([3.0], abs=1e-14), "y first"
        assert integraph.compile(source, variables="x y")([1.0, 5.0]) == pytest.approx([-9.0], abs=1e-14)


def test_a_program_is_compiled_already() -> None:
    with pytest.raises(UsageError, match="already"):
        integraph.compile(integraph.compile("x"))


@pytest.mark.parametrize("text", ["x*inf", "nan", "NaN + x", "-Infinity"])
def test_what_is_no_number_is_no_input(text: str) -> None:
    with pytest.raises(SourceError, match="is not a number"):
        integraph.compile(text)
    assert integraph.compile("x*inf", variables="x inf")([2.0, 3.0]) == pytest.approx([6.0]), "unless it is said"


def test_the_name_of_a_module_in_a_formula() -> None:
    with pytest.raises(SourceError, match=r"write sin\(x\), not np\.sin"):
        integraph.compile("np.sin(x)")
