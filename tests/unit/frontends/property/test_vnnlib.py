"""VNN-LIB files: the unsafe region as it is written, negated; boxes rounded outward; mistakes with line and caret."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

from integraph.errors import FileError, SourceError
from integraph.frontends.property import vnnlib
from integraph.frontends.property.vnnlib import parse, read
from integraph.targets.property import Case, Comparison, fold

HEAD = "".join(f"(declare-const {name} Real)\n" for name in ("X_0", "X_1", "Y_0", "Y_1"))
BOX = "(assert (>= X_0 -1))(assert (<= X_0 0.1))(assert (>= X_1 0))(assert (<= X_1 2e0))\n"


def safe(cases: tuple[Case, ...], x: list[Fraction], y: list[Fraction]) -> bool:
    """Whether no case that holds the point says that it is unsafe."""

    def one(case: Case, c: Comparison) -> bool:
        quantity = case.property.quantities[c.quantity]
        value = sum((a * y[n] for n, a in quantity.outputs), Fraction(0)) + sum(a * x[n] for n, a in quantity.inputs)
        return {">=": value >= c.threshold, ">": value > c.threshold, "<=": value <= c.threshold,
                "<": value < c.threshold}[c.sense]  # fmt: skip

    def inside(case: Case) -> bool:
        return all(a <= v <= b for a, v, b in zip(case.low, x, case.high, strict=True))

    return all(
        fold(case.property.clause, lambda c, case=case: one(case, c), all, any) for case in cases if inside(case)
    )  # type: ignore[misc]


CLAUSES = {
    "(>= Y_0 Y_1)": lambda x, y: y[0] >= y[1],
    "(or (and (<= Y_0 0.5) (>= Y_1 1)) (< (+ Y_0 (* 2 Y_1)) (- 3)))": lambda x, y: (
        (y[0] <= Fraction(1, 2) and y[1] >= 1) or y[0] + 2 * y[1] < -3
    ),
    "(or (and (>= X_0 -0.5) (<= X_0 0) (>= Y_0 0)) (and (>= X_0 0) (<= X_0 0.05) (<= Y_1 (/ X_1 2))))": lambda x, y: (
        (-0.5 <= x[0] <= 0 and y[0] >= 0) or (0 <= x[0] <= Fraction(1, 20) and y[1] <= x[1] / 2)
    ),
    "(or (<= X_0 -0.5) (>= Y_0 2))": lambda x, y: x[0] <= Fraction(-1, 2) or y[0] >= 2,
    "(=> (> X_0 -0.5) (>= Y_0 2))": lambda x, y: x[0] <= Fraction(-1, 2) or y[0] >= 2,
    "(or (<= (+ X_0 X_1) 0) (>= X_1 1.5) (>= Y_0 2))": lambda x, y: (
        x[0] + x[1] <= 0 or x[1] >= Fraction(3, 2) or y[0] >= 2
    ),
    "(not (=> (> Y_0 X_0) (= Y_1 1)))": lambda x, y: y[0] > x[0] and y[1] != 1,
}


@pytest.mark.parametrize("clause", CLAUSES)
def test_the_property_is_that_nothing_is_unsafe(clause: str) -> None:
    cases = parse(f"; a comment (\n{HEAD}{BOX}(assert {clause}) (check-sat)")
    rng, seen = random.Random(1), set()
    for _ in range(400):
        x = [Fraction(rng.randint(-20, 2), 20), Fraction(rng.randint(0, 40), 20)]
        y = [Fraction(rng.randint(-8, 8), 4) for _ in range(2)]
        unsafe = CLAUSES[clause](x, y)
        seen.add(unsafe)
        assert safe(cases, x, y) == (not unsafe)
    assert seen == {True, False}


def test_boxes_are_rounded_outward_and_divided() -> None:
    (one,) = parse(f"{HEAD}{BOX}(assert (>= Y_0 1))")
    assert (one.low, one.high[1]) == ((-1.0, 0.0), 2.0)
    assert Fraction(one.high[0]) >= Fraction(1, 10)
    assert str(one.property) in ("y0 < 1 or x0 > 0.1", "x0 > 0.1 or y0 < 1")
    two = "(assert (or (and (>= X_0 0) (<= X_0 1)) (and (>= X_0 2) (<= X_0 3))))(assert (= X_1 1))(assert (>= Y_0 1))"
    assert [(case.low, case.high) for case in parse(HEAD + two)] == [((0.0, 1.0), (1.0, 1.0)), ((2.0, 1.0), (3.0, 1.0))]


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        (HEAD + "(assert (>= X_0 1)", 5, 1, "not closed"),
        (HEAD + "(assert (>= X_2 1))", 5, 13, "not declared"),
        (HEAD + "(assert (* X_0 1))", 5, 9, "no clause"),
        (HEAD + "\n\n  (assert (>= (* X_0 Y_0) 1))", 7, 15, "two variables"),
        (HEAD + "(assert (>= (sin X_0) 1))", 5, 13, "operation"),
        (HEAD + "(assert (>= X_0 1e9999))", 5, 17, "an exponent beyond 400"),
        (HEAD + f"(assert (>= X_0 0.{'1' * 500}))", 5, 17, "more than 400 digits"),
        (HEAD + "(assert (>= X_0 nan))", 5, 17, "neither a number"),
        (HEAD + "(assert (>= 1 2))", 5, 9, "numbers alone"),
        (HEAD + "(define-fun f () Real 1)", 5, 1, "not a command"),
        (HEAD + "x", 5, 1, "outside of a list"),
        (HEAD + "(declare-const X_0 Real)", 5, 1, "declared twice"),
        (HEAD + "(declare-const Z Int)", 5, 1, "names X_i or Y_j"),
        (HEAD + "(assert (/ 1 0))", 5, 9, "no clause"),
        ("(" * 5000, 1, 101, "deep"),
    ],
)
def test_mistakes_have_line_and_caret(text: str, line: int, column: int, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(text)
    shown = str(caught.value)
    assert said in shown
    assert f"line {line}, at column {column}" in shown
    assert "^" in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "(assert (>= X_0 0))", "has no upper bound"),
        (HEAD + BOX, "nothing of the outputs"),
        (HEAD, "asserts nothing"),
        (HEAD + BOX + "(assert (>= X_0 5))(assert (>= Y_0 1))", "contradict"),
        ("(declare-const X_1 Real)(declare-const Y_0 Real)(assert (>= Y_0 1))", "without a gap"),
        (HEAD + BOX.replace("2e0", "1e350") + "(assert (>= Y_0 1))", "larger than float64"),
    ],
)
def test_what_is_no_property_is_refused(text: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        parse(text)


@pytest.mark.parametrize(
    "term",
    [
        f"(* {'1.123456789e300 ' * 2000} Y_0)",
        f"(/ Y_0 {'1.123456789e300 ' * 2000})",
        f"(+ Y_0 {' '.join(f'(/ 1 {10**300 + n})' for n in range(2000))})",
    ],
)
def test_coefficients_cannot_grow_without_limit(term: str) -> None:
    """A file of some kilobytes would take minutes of arithmetic, and no certificate could hold its numbers."""
    with pytest.raises(SourceError, match="too many digits"):
        parse(f"{HEAD}{BOX}(assert (>= {term} 1))")


def test_comments_end_with_the_line() -> None:
    """Of whatever system: what follows a carriage return is not a comment."""
    (case,) = parse(f"{HEAD}{BOX}(assert (or (>= Y_0 5) ; unlikely\r(>= Y_1 0.5)\n))")
    assert {n for quantity in case.property.quantities for n, _ in quantity.outputs} == {0, 1}


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "property.vnnlib"
    with pytest.raises(FileError, match=r"cannot read property\.vnnlib"):
        read(path)
    path.write_text(HEAD + BOX + "(assert (>= Y_0 1)")
    with pytest.raises(SourceError, match=r"property\.vnnlib: a parenthesis is not closed, in line 6"):
        read(path)
    path.write_bytes(b"\xff\xfe(")
    with pytest.raises(FileError, match="UTF-8"):
        read(path)


def test_what_cases_have_in_common_is_read_once() -> None:
    """Boxes and open bounds of each case are those of the file with one part of the disjunction alone."""
    head = "".join(f"(declare-const X_{n} Real)" for n in range(3)) + "(declare-const Y_0 Real)"
    bounds = "".join(f"(assert (>= X_{n} 0.1))(assert (<= X_{n} 0.7))" for n in range(3))
    parts = ["(and (<= X_0 0.3) (>= Y_0 1))", "(and (> X_1 0.2) (<= X_0 0.9) (>= Y_0 2))", "(<= X_2 0.05)"]
    together = parse(f"{head}{bounds}(assert (>= Y_0 X_1))(assert (or {' '.join(parts)}))")
    alone = [parse(f"{head}{bounds}(assert (>= Y_0 X_1))(assert {part})")[0] for part in parts[:2]]
    assert [(case.low, case.high) for case in together] == [(case.low, case.high) for case in alone]
    assert [_told(case) for case in together] == [_told(case) for case in alone]


def _told(case: Case) -> set[str]:
    return set(str(case.property).split(" or "))


def test_many_boxes_of_many_inputs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vnnlib, "SIDES", 100)
    names = "".join(f"(declare-const X_{n} Real)" for n in range(30)) + "(declare-const Y_0 Real)"
    bounds = "".join(f"(assert (>= X_{n} 0))(assert (<= X_{n} 1))" for n in range(30))
    cuts = [f"(assert (or (<= X_{n} 0.5) (>= X_{n} 0.5)))" for n in range(2)]
    assert len(parse(f"{names}{bounds}{cuts[0]}(assert (>= Y_0 0))")) == 2
    with pytest.raises(SourceError, match="more than 3 combinations of boxes of 30 inputs"):
        parse(f"{names}{bounds}{''.join(cuts)}(assert (>= Y_0 0))")


@pytest.mark.parametrize("start", ["(vnnlib-version <2.0>)", "(declare-network f (declare-input X Real [2]))"])
def test_version_2(start: str) -> None:
    with pytest.raises(SourceError) as error:
        parse(f"; a comment\n  {start}")
    assert "is VNN-LIB 2, and version 1 is read, in line 2, at column 3" in str(error.value)
    assert f"\n    {start[:30]}" in str(error.value)
    assert str(error.value).splitlines()[2] == "    ^"
