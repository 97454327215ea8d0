"""Formulas of SBML against libSBML's own text of them, computed by Python."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sbml_models as m
from integraph.errors import SourceError
from integraph.frontends.dynamics import read_system
from integraph.targets.float_arithmetic import values
from lazy import Lazy, needs

pytestmark = needs("libsbml")
libsbml: Any = Lazy("libsbml")
X = 0.375
FORMULAS = {
    "x + 2 + x*3": X + 2 + X * 3,
    "-x - 1/3": -X - 1 / 3,
    "x^2 + x^(1/2) + x^-1.5": X**2 + X**0.5 + X**-1.5,
    "root(3, x) + sqrt(x)": X ** (1 / 3) + X**0.5,
    "log10(x) + log(2, x) + ln(x)": math.log10(X) + math.log2(X) + math.log(X),
    "exp(x)*sin(x)/cos(x) + tan(x)": math.exp(X) * math.tan(X) + math.tan(X),
    "sinh(x) + cosh(x) + tanh(x)": math.exp(X) + math.tanh(X),
    "asin(x) + acos(x) + atan(x)": math.pi / 2 + math.atan(X),
    "arcsinh(x) + arctanh(x)": math.asinh(X) + math.atanh(X),
    "sec(x) + csc(x) + cot(x)": 1 / math.cos(X) + 1 / math.sin(X) + 1 / math.tan(X),
    "pi + exponentiale + 1e-3*x + x^x": math.pi + math.e + 1e-3 * X + X**X,
    "avogadro/1e23": 6.02214179,
}


def system_of(formula: str, path: Path) -> Any:
    tree = libsbml.parseL3Formula(formula)
    assert tree is not None, libsbml.getLastParseL3Error()
    math_ = libsbml.writeMathMLToString(tree).partition("?>")[2]
    rule = f'<rateRule variable="x">{math_}</rateRule>'
    text = m.document(Parameters=m.parameter("x", X, "false"), Rules=rule)
    path.write_text(text.replace(m.HEAD, m.HEAD.replace("version1", "version2").replace('version="1"', 'version="2"')))
    return read_system(path)


@pytest.mark.parametrize("formula", FORMULAS)
def test_values(formula: str, tmp_path: Path) -> None:
    system = system_of(formula, tmp_path / "m.xml")
    assert values(system.expression, np.array([[X]]))[0, 0] == pytest.approx(FORMULAS[formula], rel=1e-14)


def test_time_is_a_state(tmp_path: Path) -> None:
    system = system_of("x*time", tmp_path / "m.xml")
    assert system.states == ("x", "t")
    assert system.start == (X, 0.0)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("x/0", "division by zero"),
        ("x^2000", "too large"),
        ("x > 1", "not read"),
        ("max(x, 1)", "kink"),
        ("rem(x, 2)", "jumps"),
        ("factorial(x)", "not elementary"),
        ("true", "not read"),
        ("nofunction(x)", "there is no function nofunction of 1 arguments"),
        ("NaN + x", "finite number"),
    ],
)
def test_refusals(formula: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=words):
        system_of(formula, tmp_path / "m.xml")
