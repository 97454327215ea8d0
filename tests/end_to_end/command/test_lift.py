"""`integraph lift --enclose`: starts with radii, boxes, and exit codes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from command import call
from integraph.cli.solution_starts import starts_of
from integraph.errors import UsageError

PENDULUM = "x' = v; v' = -sin(x)"


def test_radii_are_rounded_outward() -> None:
    starts = starts_of("x = 0.1±1e-6; v=-2, w = 1 +/- .5")
    low, high = starts["x"]  # type: ignore[misc]
    assert Fraction(low) <= Fraction("0.099999") < Fraction("0.100001") <= Fraction(high)
    assert high - low < 2.0000001e-6
    assert (starts["v"], starts["w"]) == (-2.0, (0.5, 1.5))


@pytest.mark.parametrize("text", ["x", "x=", "x=1±", "x=1;x=2", "x=nan", "x=1e9999", "x=__import__('os')"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="give every state and input once"):
        starts_of(text)


def test_starts_beyond_float64_are_refused() -> None:
    refused = call("lift", "x' = -x", "--enclose", "x=1±1e999", "--time", "1")
    assert refused.code == 2
    assert "finite ends" in refused.err


def test_a_time_is_asked_for() -> None:
    refused = call("lift", PENDULUM, "--enclose", "x=1; v=0")
    assert refused.code == 2
    assert "--time 10" in refused.err


@pytest.mark.slow
def test_solutions_and_their_end() -> None:
    swing = call("lift", PENDULUM, "--enclose", "x=1±1e-6; v=0", "--time", "10", "--json")
    box = swing.data["enclosure"]
    assert swing.code == 0
    assert box["low"]["x"] < -0.998949814624 < box["high"]["x"] < box["low"]["x"] + 4e-6
    gone = call("lift", "x' = x^2", "--enclose", "x=1", "--time", "2", "--json")
    assert gone.code == 1
    assert gone.data["enclosure"]["high"] == {"x": "inf"}
    assert gone.data["enclosure"]["time"] < 1 < gone.data["enclosure"]["blow_up"]
    assert "all solutions exist up to t = 0.99" in call("lift", "x' = x^2", "--enclose", "x=1", "--time", "2").out
