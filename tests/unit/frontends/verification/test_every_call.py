"""A controller in a file of a verification tool through every command and call; the box of a .nnet file is its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import integraph
from command import call
from integraph.errors import SourceError
from integraph.frontends.options import domain
from verification_files import HIGH, LOW, nnet, polar, verisig, verisig_blocks

SMALL = "3,2,1,2,\n2,2,2,1,\n0,\n-1,0,\n1,2,\n0,1,0,\n1,0.5,4,\n{}"
ROWS = "0.5,-0.25,\n0.125,1,\n0.5,\n0,\n1,1,\n-1,0.5,\n0,\n0.25,\n1,-1,\n0.5,\n"
BOX = (np.array([-1.0, 0.0]), np.array([1.0, 2.0]))


@pytest.fixture
def controller(tmp_path: Path) -> Path:
    path = tmp_path / "controller.nnet"
    path.write_text(SMALL.format(ROWS))
    return path


def small(x: np.ndarray) -> np.ndarray:
    z = (x - [0, 1]) * [1, 2]
    z = np.maximum(z @ np.array([[0.5, -0.25], [0.125, 1]]).T + [0.5, 0], 0)
    z = np.maximum(z @ np.array([[1, 1], [-1, 0.5]]).T + [0, 0.25], 0)
    return np.asarray(4 * (z @ np.array([[1.0], [-1.0]]) + 0.5))


def test_the_box_of_the_file_is_the_default(controller: Path) -> None:
    for method in ("narrow", "wide", "exact"):
        program = integraph.compile(controller, 1e-3, method=method)
        assert program.box is not None
        np.testing.assert_array_equal([program.box.low, program.box.high], BOX)
        x = np.random.default_rng(0).uniform(*BOX, (200, 2))
        assert np.abs(program(x) - small(x)).max() <= 1e-3
    given = integraph.compile(controller, 1e-3, box=(0, 1)).box
    assert given is not None
    np.testing.assert_array_equal([given.low, given.high], [[0, 0], [1, 1]])


def test_planning_takes_the_box_too(controller: Path) -> None:
    net = integraph.network(controller)
    assert domain(net, (0, 1)) == (0, 1)
    assert domain(integraph.function("x"), None) is None
    controller.with_name("kink.nnet").write_text("2,1,1,1,\n1,1,1,\n0,\n-1,\n1,\n0,0,\n1,1,\n1,\n0.5,\n1,\n0,\n")
    kinks = [integraph.layouts(controller.with_name("kink.nnet"), 1e-3, box=box) for box in (None, (-1, 1), (0, 1))]
    assert repr(kinks[0]) == repr(kinks[1]) != repr(kinks[2])
    plans = [integraph.plan(net, 0.5, box=box, order=1, norm=30.0) for box in (None, BOX)]
    assert repr(plans[0]) == repr(plans[1]) != repr(integraph.plan(net, 0.5, order=1, norm=30.0, box=(0, 1)))


def test_a_box_of_another_size_is_refused(controller: Path) -> None:
    net = integraph.network(controller)
    with pytest.raises(SourceError, match="the box has 2 sides, the network 3 inputs"):
        replace(integraph.network([(np.eye(3), 0.0)]), box=net.box)


def test_every_command(controller: Path, tmp_path: Path) -> None:
    program = tmp_path / "controller.integraph"
    said = call("compile", controller, "--eps", "1e-2", "-o", program, "--json")
    assert said.code == 0, said.err
    for words in (
        ("plan", controller, "--eps", "1e-2"),
        ("compare", program, controller),
        ("certify", program, controller, "--eps", "0.05"),
        ("report", program, controller, "-o", tmp_path / "page.html"),
    ):
        said = call(*words)
        assert said.code == 0, (words, said)
    assert (tmp_path / "page.html").stat().st_size > 1000


@pytest.mark.parametrize(
    ("name", "text"), [("net.yml", verisig_blocks(verisig())), ("net.txt", polar()), ("net.nnet", nnet())]
)
def test_the_command_compiles_each_kind(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    said = call("compile", tmp_path / name, "--method", "wide", "--eps", "1e-2", "--json")
    assert said.code == 0, said.err


def test_the_command_takes_a_path_without_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("controller").write_text(polar())
    for path in ("./controller", tmp_path / "controller"):
        assert call("compile", path, "--method", "wide").code == 0


def test_a_damaged_file_is_one_line_on_the_command(tmp_path: Path) -> None:
    (tmp_path / "net.nnet").write_text(nnet()[:300])
    said = call("compile", tmp_path / "net.nnet")
    assert said.code
    assert "net.nnet: it ends after line" in said.err
    assert "Traceback" not in said.err
    assert (LOW < HIGH).all()
