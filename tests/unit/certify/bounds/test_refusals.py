"""Arguments and sources that `bound` refuses, with a sentence."""

from __future__ import annotations

import re
from typing import Any

import pytest

import integraph
from integraph.errors import UsageError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gap": 0.0}, "gap = 0.0"),
        ({"gap": float("nan")}, "gap = nan"),
        ({"seconds": -1}, "seconds = -1"),
        ({"seconds": True}, "seconds = True"),
        ({"box": (1, 0)}, "finite low ≤ high"),
        ({"box": (0, float("inf"))}, "finite low ≤ high"),
        ({"box": [(0, 1)] * 3}, "3 pairs for 1 input"),
        ({"box": "[0,1]"}, "numbers, (low, high)"),
        ({"workers": 0}, "workers = 0"),
        ({"scheduler": 3}, "scheduler = 3: give its address"),
        ({"scheduler": ""}, "scheduler = '': give its address"),
    ],
)
def test_refusals_of_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        integraph.bound("x^2", **{"box": (0, 1), **options})


@pytest.mark.parametrize("options", [{"variables": "x, y"}, {"inputs": 2}, {"parameters": {"a": 1}}])
def test_a_program_needs_no_options_of_a_source(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="leave this out"):
        integraph.bound(integraph.compile("x^2"), (0, 1), **options)


def test_refusals_of_sources() -> None:
    with pytest.raises(UsageError, match="can only be called"):
        integraph.bound(lambda x: x + 1.0, (0, 1))
    with pytest.raises(UsageError, match="bits"):
        integraph.bound(integraph.compile("x^2", 0.1, method="paper"))
    with pytest.raises(UsageError, match="scheduler"):
        integraph.bound("x^2", workers=2, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match="no registers"):
        _ = integraph.bound("x^2").registers
    with pytest.raises(UsageError, match="not decided"):
        integraph.bound("if(x < 0.5, x, 1 - x)", (0, 1))
