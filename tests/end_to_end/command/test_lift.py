"""`integraph lift --enclose`: starts with radii, boxes, and exit codes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import integraph
from command import call
from integraph.cli.solution_starts import starts_of
from integraph.errors import UsageError
from sbml_models import two_compartments

PENDULUM = "x' = v; v' = -sin(x)"


def test_radii_are_rounded_outward() -> None:
    starts = starts_of("x = 0.1±1e-6; v=-2, w = 1 +/- .5")
    low, high = starts["x"]  # type: ignore[misc]
    assert Fraction(low) <= Fraction("0.099999") < Fraction("0.100001") <= Fraction(high)
    assert high - low < 2.0000001e-6
    assert (starts["v"], starts["w"]) == (-2.0, (0.5, 1.5))
    between = starts_of("x=[0.1, 0.3]; v=1, w=[-1;1e-2]")
    assert (between["v"], between["w"]) == (1.0, (-1.0, 0.01))
    low, high = between["x"]  # type: ignore[misc]
    assert Fraction(low) <= Fraction("0.1") < Fraction("0.3") <= Fraction(high)
    assert high - low < 0.2 + 1e-15


@pytest.mark.parametrize(
    "text", ["x", "x=", "x=1±", "x=1;x=2", "x=nan", "x=[1]", "x=[1,2", "x=[1,2];x=3", "x=1e9999", "x=__import__('os')"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="give every state and input once"):
        starts_of(text)


@pytest.mark.slow
def test_a_program_is_written_without_a_time_and_a_box(tmp_path: Path) -> None:
    (tmp_path / "model.ode").write_text("x' = v\nv' = -sin(x)\n")
    to = tmp_path / "model.integraph"
    made = call("lift", str(tmp_path / "model.ode"), "-o", str(to))
    assert made.code == 0
    assert "T = 1, because no --time was given" in made.out
    assert "starts in 0,1; 0,1, because no --box was given" in made.out
    end = solve_ivp(lambda _t, y: [y[1], -np.sin(y[0])], (0, 1), [0.5, 0.2], "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    assert np.abs(integraph.load(to)([0.5, 0.2]) - end).max() < 1e-11
    (tmp_path / "decay.xml").write_text(two_compartments())
    near = call("lift", str(tmp_path / "decay.xml"), "-o", str(tmp_path / "decay.integraph"))
    starts = integraph.lift(tmp_path / "decay.xml", progress=False).starts
    box = integraph.load(tmp_path / "decay.integraph").box
    assert near.code == 0
    assert box is not None
    assert np.allclose((box.low + box.high) / 2, list(starts.values()))


def test_starts_beyond_float64_are_refused() -> None:
    refused = call("lift", "x' = -x", "--enclose", "x=1±1e999", "--time", "1")
    assert refused.code == 2
    assert "finite ends" in refused.err


def test_a_time_is_asked_for() -> None:
    refused = call("lift", PENDULUM, "--enclose", "x=1; v=0")
    assert refused.code == 2
    assert "--time 10" in refused.err


@pytest.mark.slow
def test_options_are_those_of_the_library(tmp_path: Path) -> None:
    """Inputs, states that stay positive, and a time between projections."""
    to = tmp_path / "m.integraph"
    box, options = "--box=0.5,1;0.5,1;0,0.2", ("--set", "k=2", "--inputs", "u", "--positive", "x,y")
    made = call("lift", "x' = -k*sqrt(x*y); y' = u - y", *options, "-o", str(to), "--time", "0.5", box,
                "--project", "0.1", "--seconds", "20", "--json")  # fmt: skip
    assert made.code == 0
    assert made.data["inputs"] == ["u"]
    assert set(made.data["new"].values()) == {"x^(1/2)/y^(1/2)", "u/y"}
    program = integraph.load(to)
    assert program.origin is not None
    assert program.origin.options["projections"] == 4
    side = lambda _t, y: [-2 * np.sqrt(y[0] * y[1]), 0.1 - y[1]]  # noqa: E731
    end = solve_ivp(side, (0, 0.5), [0.9, 0.6], "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    assert np.abs(program([0.9, 0.6, 0.1]) - end).max() < 1e-11


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("x' = v; v' = -g*x",), "give it a value as a parameter, or an equation, or name it among the inputs (--set)"),
        (
            ("x' = -x + u*v", "--inputs", "u v", "--positive", "y"),
            "no state and no input: these are x, u, v (--positive)",
        ),
        (("  ",), "SOURCE is empty"),
        (("hello",), "hello has no equation"),
        ((PENDULUM, "--time", "1"), "add -o NAME.integraph or --enclose"),
        ((PENDULUM, "--box", "0,1"), "--box is for the program"),
        ((PENDULUM, "--project", "1"), "--project is for the program"),
        ((PENDULUM, "-o", "p", "--time", "-1", "--box", "0,1"), "--time -1.0: needs a positive time"),
        (("x' = 1/x", "-o", "p", "--time", "1", "--box=-1,1"), "is inf at x = 0: start elsewhere (--box)"),
        (("x' = x^2", "-o", "p", "--time", "2", "--box", "0.5,1"), "from x = 1, "),
        ((PENDULUM, "--enclose", "x=1", "--time", "1"), "v is missing: give x, v (--enclose)"),
    ],
)
def test_mistakes_are_told_in_words_of_the_command(
    arguments: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = call("lift", *arguments)
    assert refused.code == 2
    assert words in refused.err
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_program_is_proved_checked_bounded_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, options = "x' = v; v' = -g*sin(x)", ("--set", "g=9.81")
    made = call("lift", text, *options, "-o", "p", "--time", "1", "--box=0.9,1.1;-0.1,0.1")
    assert made.code == 0
    (tmp_path / "p.ode").write_text(text.replace("; ", "\n"))
    proved = call("certify", "p.integraph", "p.ode", *options, "-o", "p.json")
    assert (proved.code, "status            proved" in proved.out) == (0, True)
    assert call("certify", "p.integraph", text, "--set", "g=9.82").code == 1
    checked = call("check", "p.json", "p.integraph", text, *options)
    assert (checked.code, "|x(1) − program| ≤" in checked.out) == (0, True)
    assert call("check", "p.json", "p.integraph", text, "--set", "g=9.8").code == 1
    unnamed = call("certify", "p.integraph")
    assert (unnamed.code, "give its equations after the program" in unnamed.err) == (2, True)
    refused = call("prove", "p.integraph", "y0 > 0", text, *options)
    assert (refused.code, "bound proves between which numbers" in refused.err) == (2, True)
    assert call("bound", "p.integraph").code == 0
    assert call("compare", "p.integraph", text, *options, "--samples", "5").code == 0
    assert call("report", "p.integraph", text, *options, "-o", "p.html").code == 0
