"""Properties as text: what they say at random values, compared with Python's comparisons; mistakes have carets."""

from __future__ import annotations

import operator
import random
from fractions import Fraction

import numpy as np
import pytest

from integraph.errors import SourceError, UsageError
from integraph.frontends.property.names import Names, names_of
from integraph.frontends.property.sentence import parse
from integraph.targets import float_arithmetic
from integraph.targets.property import Comparison, Property, fold, negated

NAMES = Names(2, 3)
SENSES = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
TEXTS = (
    "y0 <= 2 and y1 - y0 > 0.1",
    "-1 <= y0 <= 1",
    "y0 in [0.5*x0, 1/3]",
    "not (y0 > 1 or y1 < 2) implies y2 > max(y0, y1)",
    "(y0) > (1 + 2)*y1 and (y0 > 1 or (y1 > 2 and y2 < 3))",
    "abs(y0*y1) <= 1 or not y2 >= x1",
    "0.1*y0 + 0.3*x1 <= 1e-3",
    "y0 > 1 implies y1 > 0 implies y2 > 0",
    "not not y0/4 < -(y1 - x0)*2 + 3",
    "y0^2 < y1 and exp(y2) > 1",
)


def truth(stated: Property, x: list[float], y: list[float]) -> bool:
    """In exact arithmetic where a quantity is linear."""

    def one(c: Comparison) -> bool:
        quantity = stated.quantities[c.quantity]
        if quantity.expression is not None:
            given = [(y if name[0] == "y" else x)[int(name[1:])] for name in quantity.expression.variables]
            value = Fraction(float(float_arithmetic.values(quantity.expression, np.array([given]))[0, 0]))
        else:
            terms = [*((y[n], a) for n, a in quantity.outputs), *((x[n], a) for n, a in quantity.inputs)]
            value = sum((Fraction(v) * a for v, a in terms), Fraction(0))
        return bool(SENSES[c.sense](value, c.threshold))

    return fold(stated.clause, one, all, any)


def by_python(text: str, x: list[float], y: list[float]) -> bool:
    """The same text in Python, which has no `implies` and reads `in` otherwise: both are rewritten here by hand."""
    import math

    rewritten = {
        TEXTS[2]: "0.5*x0 <= y0 <= 1/3",
        TEXTS[3]: "(y0 > 1 or y1 < 2) or y2 > max(y0, y1)",
        TEXTS[7]: "not y0 > 1 or not y1 > 0 or y2 > 0",
        TEXTS[9]: "y0**2 < y1 and exp(y2) > 1",
    }
    values = {f"y{n}": v for n, v in enumerate(y)} | {f"x{n}": v for n, v in enumerate(x)}
    return bool(eval(rewritten.get(text, text), {"exp": math.exp}, values))


@pytest.mark.parametrize("text", TEXTS)
def test_a_property_says_what_its_text_says(text: str) -> None:
    stated, rng = parse(text, NAMES), random.Random(text)
    again = parse(str(stated), NAMES)
    seen = set()
    for _ in range(300):
        x, y = ([round(rng.uniform(-3, 3), 2) for _ in range(n)] for n in (2, 3))
        expected = by_python(text, x, y)
        seen.add(expected)
        assert truth(stated, x, y) == expected
        assert truth(again, x, y) == expected
        other = Property(2, 3, stated.quantities, negated(stated.clause))
        assert truth(other, x, y) != expected
    assert seen == {True, False}


def test_decimals_are_exact_and_rows_are_shared() -> None:
    stated = parse("0.1*y0 <= 0.3 and y0 >= -3 and -2*y0 < 1", NAMES)
    assert len(stated.quantities) == 1
    assert str(stated) == "y0 <= 3 and y0 >= -3 and y0 > -0.5"
    assert parse("y0 <= 0.1", NAMES).clause == Comparison(0, "<=", Fraction(1, 10))


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("y0 = 1", 4, "equality"), ("y0 <= ", 6, "value is missing"), ("y0 and y1 > 2", 4, "comparison is missing"),
        ("(y0 > 1", 1, "not closed"), ("y0 > 1)", 7, "closes nothing"), ("y3 > 1", 1, "outputs are y0, y1, y2"),
        ("1 > 2", 1, "depends on"), ("max(y0>1, y1) > 2", 7, "inside of a value"), ("y0 in [1, 2", 7, "not closed"),
        ("y0 in 3", 7, "is missing before"), ("y0 > nan", 6, "unknown name"), ("y0 > 1,2", 7, "nothing is expected"),
        ("y0 ≤ 3", 4, "write <="), ("y0 > 1 or or y1 > 2", 11, "value is missing"), ("not", 4, "value is missing"),
        ("if(y0 < 1, 2, 3) > 1", 7, "inside of a value"), ("y0 > 1/0", 6, "division by zero"),
        ("y0 && y1", 4, "write and"), ("y0 => 1", 4, "write >="), ("y0 =< 1", 4, "write <="),
        ("y0 > 1 AND y1 > 2", 8, "write and"),
        ("__import__('os') > 1", 12, "strings"), ("y0.x > 1", 3, "attributes"), ("y0 > z(1)", 6, "unknown function"),
    ],
)  # fmt: skip
def test_mistakes_are_shown_where_they_are(text: str, column: int, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(text, NAMES)
    shown = str(caught.value)
    assert said in shown
    assert f"at column {column}" in shown
    assert "^" in shown.split("\n")[2]
    assert shown.split("\n")[2].index("^") == column + 1


@pytest.mark.parametrize(
    "text", ["(" * 3000 + "y0>1" + ")" * 3000, "not " * 2000 + "y0>1", "y0>1 implies " * 500 + "y0>1"]
)
def test_depth_is_limited(text: str) -> None:
    with pytest.raises(SourceError, match="deep"):
        parse(text, NAMES)


@pytest.mark.parametrize("text", ["y0/0 > 1", "y0/(1 - 1) > 1 or y1 > 2", "1/(y0 - y0) < 1", "(y0 - y0)^(-1) < 1"])
def test_a_division_by_zero_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="divides by 0"):
        parse(text, NAMES)


def test_long_numbers_stay_in_the_formula() -> None:
    """A threshold of thousands of digits would fit into no certificate."""
    (quantity,) = parse(f"y0{'*1e300' * 40} < 1", NAMES).quantities
    assert quantity.expression is not None


def test_length_and_kind_are_checked() -> None:
    for text in ("", "  ", None, 3):
        with pytest.raises(UsageError, match="property"):
            parse(text, NAMES)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="at most"):
        parse("y0 > 1 and " * 2000 + "y0 > 1", NAMES)


def test_names_of_inputs() -> None:
    own = names_of(2, 1, ("T", "y"))
    assert str(parse("y0 > T", own)) == "y0 - x0 > 0"
    with pytest.raises(SourceError, match="an input and an output"):
        parse("y > T", own)
    assert names_of(2, 1, ("in[0]", "in[1]")).own == ()
    assert str(parse("y > x1", names_of(2, 1, ("in[0]", "in[1]")))) == "y0 - x1 > 0"
    assert str(parse("y <= x", names_of(1, 1, ()))) == "y0 - x0 <= 0"
