"""`integraph bound`: sources and programs alike, boxes with powers, and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

import integraph
from command import call

WAVE = "sin(3*x)*exp(-y)"


def test_a_formula_and_its_program(tmp_path: Path) -> None:
    file = tmp_path / "wave.integraph"
    integraph.compile(WAVE).save(file)
    for source, options in ((WAVE, ()), (str(file), ("--registers",))):
        data = call("bound", source, "--box", "[0,1]^2", "--gap", "0.001", "--json", *options).data
        assert data["low"][0] <= 0 <= data["attained_low"][0] + 1e-12
        assert 1 <= data["high"][0] <= 1.002
        assert data["ending"] == "gap"
        assert ("registers" in data) == bool(options)


@pytest.mark.parametrize(
    ("box", "same"),
    [
        ("[0,1]^2;[-2,2]", "0,1;0,1;-2,2"),
        ("[0, 1]", "0,1"),
        ("[0,1];-2,2", "0,1;-2,2"),
        ("[0,1] × [-2,2]", "0,1;-2,2"),
        ("[0,1]^2x[-2, 2]", "0,1;0,1;-2,2"),
        ("0,1 x -2,2", "0,1;-2,2"),
    ],
)
def test_boxes(box: str, same: str) -> None:
    formula = "x + 2*y + 4*z" if box.count(",") == same.count(",") - 1 else "x + 2*y"
    one, other = (call("bound", formula, "--box", text, "--json").data for text in (box, same))
    assert one["box"] == other["box"]
    assert one["high"] == other["high"]


def test_exit_codes() -> None:
    pole = call("bound", "1/x", "--box=-1,1", "--json")
    assert (pole.code, pole.data["high"]) == (1, ["inf"])
    for wrong in (("x", "--registers"), ("x", "--box", "[0,1]^9999999"), ("x", "--gap", "0"), ("x", "--box", "1,0")):
        assert call("bound", *wrong).code == 2
