"""The names that a formula knows, and what is said about those that it does not: slips, and functions that no formula
has, with what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from integraph.targets.expression import CHOICES, CONDITION, CONSTANTS, FUNCTIONS

NO_NUMBERS = ("nan", "inf", "infinity")  # names that nobody means as an input
ALIASES = {"log": "ln", "logistic": "sigmoid"} | {
    f"{arc}{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh") for arc in ("arc", "ar")
}
ARGUMENTS = dict.fromkeys(FUNCTIONS, 1) | dict.fromkeys(CHOICES, 2) | {CONDITION: 3}
CALLED = (*ARGUMENTS, *ALIASES)
LETTERS = {"π": "pi"} | {name: name for name in CONSTANTS}
SERIES = {"sum": "+", "prod": "*"}  # over an index: what stands between the terms

JUMP = "it jumps, and the flow of an ODE is continuous"
SIGN = "write tanh(k*x) with a large k, or x/abs(x) on a box without 0"
STEP = "write sigmoid(k*x) with a large k"
STAIRS = "write the one value that it has on the box, or a sum of steps sigmoid(k*(x - n)) with a large k"
RAMP = "write x - n for the piece that the box lies in"
SPECIAL = "it is not elementary"
SPECIAL_NAMES = (
    *("gamma", "lgamma", "loggamma", "gammaln", "beta", "zeta", "digamma", "airy", "besselj", "bessely"),
    *("lambertw", "ellipk", "j0", "j1"),
)
BY_VALUES = "give a Python function instead, which is compiled from its values"
ABSENT = {  # function → why no formula has it, what to write instead
    **dict.fromkeys(("sign", "sgn", "signum"), (JUMP, SIGN)),
    **dict.fromkeys(("heaviside", "step", "theta", "unitstep"), (JUMP, STEP)),
    **dict.fromkeys(("floor", "ceil", "ceiling", "round", "trunc", "int"), (JUMP, STAIRS)),
    **dict.fromkeys(("mod", "fmod", "frac", "remainder"), (JUMP, RAMP)),
    **dict.fromkeys(SPECIAL_NAMES, (SPECIAL, BY_VALUES)),
    **dict.fromkeys(
        ("factorial", "fact", "binomial", "choose"),
        (SPECIAL, "of a whole number n write prod(k, 1, n, k); else give a Python function instead"),
    ),
    **dict.fromkeys(
        ("random", "rand", "randn", "noise", "uniform"),
        ("its value is chance, and a formula has one", "make it an input, and give its values"),
    ),
    "erfc": ("it is made of erf", "write 1 - erf(x)"),
    "relu": ("it is made of max", "write max(x, 0)"),
    "sec": ("it is made of cos", "write 1/cos(x)"),
    "csc": ("it is made of sin", "write 1/sin(x)"),
    "cot": ("it is made of tan", "write 1/tan(x)"),
    "pow": ("it is written as an operator", "write x^y"),
    "atan2": ("it jumps at negative x", "write atan(y/x) on a box of positive x"),
    "hypot": ("it is made of sqrt", "write sqrt(x^2 + y^2)"),
    **dict.fromkeys(
        ("diff", "derivative", "integral", "integrate", "limit"),
        ("a formula has no calculus", "let sympy compute it, and pass its expression"),
    ),
}


def slip(name: str) -> bool:
    """Whether it is rather a slip than an input, unless it was said that it is one: Pi, E or Sin."""
    return name.lower() in (*LETTERS, *CALLED)


def taken(name: str) -> str:
    """What a name means already in every formula: constant or function; empty if nothing."""
    return "constant" if name in LETTERS else "function" if name in (*CALLED, *SERIES) else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was perhaps meant, or nothing."""
    plain = {word.lower(): word for word in known}
    return next((plain[word] for word in difflib.get_close_matches(name.lower(), plain, 1)), "")
