"""Errors name what is wrong: an argument by its name, with its value where that tells more."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import IntegraphError, SourceError, UsageError


def test_an_argument_with_a_value() -> None:
    error = UsageError("must be > 0", argument="eps", value=np.float64(-0.5))
    assert str(error) == "eps = -0.5: must be > 0"
    assert (error.argument, error.value, error.args) == ("eps", "-0.5", ("must be > 0",))
    assert str(UsageError("needs 'keep'", argument="free", value="k\x1b")) == "free = 'k\\x1b': needs 'keep'"
    assert str(UsageError("needs a number", argument="inputs", value=None)) == "inputs = None: needs a number"
    assert len(str(UsageError("too long", argument="variables", value=["x"] * 10_000))) < 400


def test_an_argument_alone_and_none() -> None:
    assert str(UsageError("say how many", "inputs it has", argument="inputs")) == "say how many\ninputs it has"
    assert (SourceError("no", argument="inputs").argument, SourceError("no").argument) == ("inputs", "")


def test_errors_travel_between_processes() -> None:
    for error in (UsageError("must be > 0", argument="eps", value=0), SourceError("no", argument="inputs")):
        other = pickle.loads(pickle.dumps(error))
        assert (type(other), str(other), other.argument) == (type(error), str(error), error.argument)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"eps": 0}, "eps"),
        ({"eps": 1e-300, "method": "lean"}, "eps"),
        ({"box": [(0, 1)] * 3}, "box"),
        ({"box": (1, 0)}, "box"),
        ({"box": (1, 1), "method": "lean"}, "box"),
        ({"method": "best"}, "method"),
        ({"free": "burn"}, "free"),
        ({"bound": "tight"}, "bound"),
        ({"order": 99}, "order"),
        ({"width": 1, "eps": 0.1}, "width"),
        ({"gamma": 2.0, "method": "paper"}, "gamma"),
        ({"horizon": -1}, "horizon"),
        ({"variables": "x x"}, "variables"),
        ({"inputs": 5}, "inputs"),
    ],
)
def test_compile_names_the_argument(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(IntegraphError) as caught:
        integraph.compile("sin(x)*y", **options)
    assert caught.value.argument == argument
