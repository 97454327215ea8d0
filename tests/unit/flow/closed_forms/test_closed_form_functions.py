"""The functions of closed forms, recorded and run, against those of floats: near 0, far out, and in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import closed_form_interpreter
from integraph.flow.closed_forms.expansions import expansions
from integraph.flow.closed_forms.functions import SymbolFunctions
from integraph.flow.closed_forms.liveness import prune
from integraph.flow.closed_forms.operations import ELEMENTWISE
from integraph.flow.closed_forms.recorder import Recorder
from integraph.gadgets.functions.namespace import FLOAT

EVERY = frozenset(ELEMENTWISE)
LANGUAGES = pytest.mark.parametrize("native", [EVERY, EVERY - frozenset(expansions())], ids=["all", "few"])
SIZES = np.concatenate([[0.0], 10.0 ** np.arange(-300.0, -20.0, 40.0), 10.0 ** np.linspace(-18, 2.8, 60)])
REALS = np.concatenate([-SIZES[:0:-1], SIZES])
POSITIVE = np.concatenate([SIZES, [-0.999, -0.9, -0.5, -1e-3, -1e-12]])
WEIGHTS = np.array([0.0, 1.0, -2.5, 1e-200, 1e200])
SLOPES = np.array([0.0, 1e-12, 0.3, 2.0, 50.0])

RANGES: dict[str, tuple[Any, ...]] = {  # the values of each argument: all pairs are tried
    "expm1c": (REALS,),
    "log1pc": (POSITIVE,),
    "exp": (REALS,),
    "expm1": (REALS,),
    "log1p": (POSITIVE,),
    "hypot": (REALS, REALS[::7]),
    "atan2": (REALS, REALS[::7]),
    "grow": (WEIGHTS, REALS),
    "log_cosh": (REALS, SLOPES),
    "log_logistic": (REALS, SLOPES),
    "inverse_distance": (np.concatenate([SIZES, [-0.9, -0.3, -1e-9, -3.0]]), REALS[np.abs(REALS) > 1e-6]),
}
CONSTANTS: dict[str, tuple[Any, ...]] = {  # further arguments that are constants
    "power 2.5": (WEIGHTS, POSITIVE, 2.5),
    "power -1": (WEIGHTS, POSITIVE, -1.0),
    "power 40": (WEIGHTS, POSITIVE[POSITIVE < 1e5], 40.0),
    "fall 2": (WEIGHTS, SLOPES, REALS[np.abs(REALS) < 40], 2.0),
    "gauss 1": (WEIGHTS[:3], np.concatenate([SLOPES, [-1e-9, -0.5, -3.0, -20.0]]), REALS[np.abs(REALS) < 30], 1.0),
    "gauss 2": (WEIGHTS[:3], np.concatenate([SLOPES, [-1e-9, -0.5, -3.0, -20.0]]), REALS[np.abs(REALS) < 20], 2.0),
}


def recorded(name: str, native: frozenset[str], x: np.ndarray, *constants: float) -> np.ndarray:
    """A function of the columns of x, through the interpreter."""
    recorder = Recorder(native, expansions(), np.float64)
    f = SymbolFunctions(recorder)
    given = recorder.record("input", lanes=(x.shape[1],))
    columns = [given[n : n + 1] for n in range(x.shape[1])]
    end = getattr(f, name)(*columns, *(np.full((1, 1), one) if name == "power" else one for one in constants))
    forms = prune(recorder.operations, end.index, [], [])
    return closed_form_interpreter.run(forms, x)[:, 0]


def compare(name: str, native: frozenset[str], values: tuple[Any, ...], *constants: float) -> None:
    x = np.stack([one.reshape(-1) for one in np.meshgrid(*values)], 1)
    with np.errstate(all="ignore"):
        wanted = getattr(FLOAT, name)(*x.T, *constants)
    outputs = recorded(name, native, x, *constants)
    sure = np.isfinite(wanted) & ((np.abs(wanted) > 1e-290) | (wanted == 0))
    error = np.abs(outputs - wanted)[sure] / np.where(wanted == 0, 1.0, np.abs(wanted))[sure]
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    assert error[worst] <= 1e-13, (x[sure][worst], outputs[sure][worst], wanted[sure][worst])


@LANGUAGES
@pytest.mark.parametrize("name", RANGES)
def test_functions(name: str, native: frozenset[str]) -> None:
    compare(name, native, RANGES[name])


@LANGUAGES
@pytest.mark.parametrize("name", CONSTANTS)
def test_functions_with_a_constant(name: str, native: frozenset[str]) -> None:
    *values, constant = CONSTANTS[name]
    compare(name.partition(" ")[0], native, tuple(values), constant)


@LANGUAGES
def test_error_functions(native: frozenset[str]) -> None:
    from scipy.special import erf

    outputs = recorded("erf", native, REALS[:, None])
    assert np.abs(outputs - erf(REALS)).max() <= 1e-15
    small = REALS[(np.abs(REALS) > 0) & (np.abs(REALS) < 3)]
    assert np.abs(recorded("erf", native, small[:, None]) / erf(small) - 1.0).max() <= 1e-15
    assert np.abs(recorded("asinh", native, REALS[:, None]) - np.arcsinh(REALS)).max() <= 2e-15
