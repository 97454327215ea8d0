"""`integraph trace`: what is printed and drawn is the trajectory, and what is left out is said."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import integraph
from command import call
from integraph.cli.sparkline import BLOCKS, sparks
from integraph.gadgets import affine, exp, ramp
from integraph.plot import matplotlib_renderer
from networks import random_network
from slow import mostly_slow


def growth(path: Path) -> Path:
    """y ← 1, then y' = 3xy for half a unit of time: known in closed form."""
    r = integraph.Registers()
    x, y, z = r.inputs("x", 1), r.new("y", 1), r.new("still", 1)
    first, second = integraph.segment("one", ramp(y, b=1.0)), integraph.segment("grow", exp(y, x, a=3.0), duration=0.5)
    integraph.build(r, [first, second], y).save(path)
    assert z.size == 1
    return path


def test_the_way_of_a_point(path: Path) -> None:
    said = call("trace", growth(path), "0.5")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0] == f"x = 0.5  →  {math.exp(0.75):.12g}"
    data = call("trace", path, "0.5", "--json").data
    times, states = np.array(data["times"]), np.array(data["states"])
    program = integraph.load(path)
    assert data["point"] == {"x": 0.5}
    assert data["switches"] == [0.0, 1.0, 1.5]
    assert (data["labels"], data["names"]) == (["one", "grow"], ["x", "y", "still"])
    wanted = np.where(times <= 1, times, np.exp(1.5 * (times - 1.0)))
    assert states[:, 1] == pytest.approx(wanted, rel=1e-12)
    assert (states[:, 0] == 0.5).all()
    assert data["outputs"] == program([[0.5]])[0].tolist()
    row = next(line for line in lines if line.split()[1:2] == ["grow"])
    assert row.split() == ["1", "grow", "1.5", "y", "=", f"{math.exp(0.75):.6g}"]
    assert "(2 do not)" in said.out


def test_a_third_of_the_way_unless_a_point_is_given(path: Path) -> None:
    integraph.compile("x*y", box=[(0, 1), (-4, 2)]).save(path)
    data = call("trace", path, "--json").data
    assert data["point"] == pytest.approx({"x": 1 / 3, "y": -2.0})
    assert data["outputs"] == pytest.approx([-2 / 3])


@pytest.mark.parametrize("words", [["-0.5", "-1e-1"], ["-0.5,-1e-1"], ["--", "-0.5", "-0.1"]])
def test_negative_numbers(path: Path, words: list[str]) -> None:
    integraph.compile("x - y").save(path)
    data = call("trace", path, "--json", *words).data
    assert data["outputs"] == pytest.approx([-0.4])
    assert call("trace", path, *words).code == 0


def test_wide_programs_are_shortened_and_say_so(path: Path) -> None:
    net = random_network((2, 40, 40, 1), "tanh", seed=3)
    program = integraph.compile(net)
    program.save(path)
    said = call("trace", path, "0.3", "0.8")
    assert len(said.out.splitlines()) < 40
    data = call("trace", path, "0.3", "0.8", "--json").data
    states, switches = np.array(data["states"]), np.array(data["times"])
    moved = np.flatnonzero(np.ptp(states, axis=0) > 0)
    assert len(moved) == program.width
    assert f"12 of the {len(moved)} registers that move, from t = 0" in said.out
    first = states[switches <= data["switches"][1]]
    changed = np.flatnonzero((first != first[0]).any(0))
    assert f"and {len(changed) - 4} that changed less" in said.out
    by_size = np.abs(first[-1] - first[0])
    shown = re.findall(r"(\S+) = (\S+?)(?:,| and)", next(line for line in said.out.splitlines() if "affine 1" in line))
    assert len(shown) == 4
    largest = {data["names"][n]: first[-1, n] for n in np.argsort(-by_size)[:4]}
    assert {name: float(value) for name, value in shown} == pytest.approx(largest, rel=1e-5)


def test_many_segments(path: Path) -> None:
    r = integraph.Registers()
    x, y = r.inputs("x", 1), r.new("y", 1)
    integraph.build(r, [integraph.segment(f"step {n}", affine(y, x)) for n in range(100)], y).save(path)
    said = call("trace", path, "1")
    assert "step 59" in said.out
    assert "step 60" not in said.out
    assert "40 more segments" in said.out
    assert len(call("trace", path, "1", "--json").data["labels"]) == 100
    assert "│" not in said.out.splitlines()[-1]  # too many to be told apart


def way(states: Any, labels: int = 1) -> Any:
    """A trajectory by hand: (times, registers), segments of equal length."""
    values = np.array(states, float)
    times = np.linspace(0.0, 1.0, len(values))
    names = tuple(f"r{n}" for n in range(values.shape[1]))
    return SimpleNamespace(
        times=times, states=values, switches=np.linspace(0, 1, labels + 1), labels=("s",) * labels, names=names
    )


def test_sparks() -> None:
    rising = way([[n, 7.0] for n in range(61)])
    up, flat = sparks(rising, [0, 1], 200)
    blocks = up.split()[1]
    assert (len(blocks), blocks[0], blocks[-1]) == (60, BLOCKS[0], BLOCKS[-1])
    assert blocks == "".join(sorted(blocks, key=BLOCKS.index))
    assert {blocks.count(block) for block in BLOCKS} <= {7, 8}  # of equal length, as a straight line is
    assert up.endswith("0 … 60")
    assert set(flat.split()[1]) == {BLOCKS[0]}
    (jump,) = sparks(way([[0.0]] * 50 + [[1.0]] * 50, 2), [0], 200)
    left, right = jump.split()[1].split("│")
    assert (left[:-1], right[1:]) == (BLOCKS[0] * 29, BLOCKS[-1] * 28)
    assert max(map(len, sparks(rising, [0], 70))) <= 70
    (huge,) = sparks(way([[-1e308], [0.0], [1e308]]), [0], 200)
    assert huge.split()[1][0] == BLOCKS[0]
    assert huge.split()[1][-1] == BLOCKS[-1]


def test_a_picture_says_of_which_input_it_is(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    titles, draw = [], matplotlib_renderer.draw

    def seen(*given: object) -> object:
        figure = draw(*given)
        titles.append(figure.get_suptitle())
        return figure

    monkeypatch.setattr(matplotlib_renderer, "draw", seen)
    assert call("trace", growth(path), "0.25", "-o", tmp_path / "way.png").code == 0
    (title,) = titles
    assert title.endswith("x = 0.25")


@mostly_slow("suffix", [".png", ".svg", ".pdf"], quick=2)
def test_a_picture(path: Path, tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"way{suffix}"
    said = call("trace", growth(path), "0.5", "-o", picture)
    assert said.code == 0
    assert f"wrote {picture}" in said.out
    begins = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert picture.read_bytes().startswith(begins)
    assert len(picture.read_bytes()) > 5000


@pytest.mark.parametrize(
    ("words", "code", "wanted"),
    [
        (["0.5", "0.2"], 2, "2 points: trace follows one"),
        (["a"], 2, "is not a number"),
        (["nan"], 2, "is not finite"),
        (["0.5,0.5"], 2, "a point has 1"),
        (["0.5", "-o", "way.html"], 2, ".png or .svg or .pdf"),
        (["0.5", "-o", "nowhere/way.png"], 2, "there is no folder nowhere"),
        (["0.5", "--engine", "magic"], 2, "unknown engine"),
        (["1e6"], 1, "larger than float64 holds"),
    ],
)
def test_misuse(path: Path, words: list[str], code: int, wanted: str) -> None:
    growth(path)
    said = call("trace", path, *words)
    assert (said.code, said.out) == (code, "")
    assert wanted in said.err
    assert wanted in call("trace", path, *words, "--json").data["error"]["message"]


def test_too_large_to_follow(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integraph.cli.commands.trace.NUMBERS", 11)
    said = call("trace", growth(path), "0.5")
    assert said.code == 2
    assert "3 registers in 2 segments are more than 11 numbers" in said.err
    monkeypatch.setattr("integraph.cli.commands.trace.NUMBERS", 12)
    assert len(call("trace", path, "0.5", "--json").data["times"]) == 3


def test_other_units(path: Path) -> None:
    """The point is in the program's own units, as eval takes it; the third is that of the box."""
    program = integraph.compile("x*y")
    replace(program.rescale_states(4.0), budget=program.budget).save(path)
    third = call("trace", path, "--json").data
    assert third["point"] == pytest.approx({"x": 1 / 12, "y": 1 / 12})
    assert third["outputs"] == pytest.approx([1 / 9])
    assert call("trace", path, "0.25", "0.5", "--json").data["outputs"] == [2.0]
