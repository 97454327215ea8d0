"""The loops in examples/loops: all can be read, one is proved from its files, and nets are those of their script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import integraph
from command import call
from integraph.api.loop_file import read_loop, read_question
from integraph.certify.loops.certification import path
from integraph.certify.loops.replay.check import BITS, tube
from integraph.certify.problem import Box
from integraph.frontends import read
from integraph.numbers.arb.conversion import precision

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples" / "loops").glob("*.toml"))


@pytest.fixture(autouse=True)
def onnx() -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install 'integraph[onnx]'")


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_is_a_loop(file: Path) -> None:
    loop = read_question(file).loop
    assert set(read_loop(file)["start"]) == set(loop.states)
    assert np.isfinite(loop.controller(np.zeros((1, len(loop.states))))).all()


def test_a_loop_is_proved(tmp_path: Path) -> None:
    file, proof = ROOT / "examples" / "loops" / "double-integrator.toml", tmp_path / "proof.json"
    answer = call("loop", file, "-o", proof, "--json")
    assert (answer.code, answer.data["status"], answer.data["proved"]) == (0, "proved", 1)
    assert call("check", proof, file, "--workers", "1").code == 0


@pytest.mark.slow
def test_the_check_follows_cartpole() -> None:
    """Its first ten periods: what is proved is checked, and the check's tube is as narrow as that of the search."""
    arguments = read_loop(ROOT / "examples" / "loops" / "cartpole.toml") | {"steps": 10}
    arguments["spec"] = "abs(x1) <= 0.3 and abs(x3) <= 0.25 at end"
    result = integraph.loop(**arguments, cells=1, progress=False)
    assert result.answer.value == "proved", result
    assert integraph.check(result, result)
    (cell,) = result.proved
    taken = path(result.loop, cell.low, cell.high, cell.degree, 10)
    with precision(BITS):
        *_, last = tube(result.loop, Box(tuple(cell.low), tuple(cell.high)), cell.degree, taken)
        widths = [float(high - low) for low, high in (row.range() for row in last.own_rows)]
    plain = np.ptp(cell.samples[-1], axis=1)  # bisection makes it narrower than the range of the rows
    assert (np.array(widths) < 1.1 * plain).all()


@pytest.mark.parametrize("name", ["b1", "pendulum-relu"])
def test_nets_are_those_of_the_script(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from loop_nets import NETS

    network = read(ROOT / "examples" / "loops" / f"{name}.onnx")
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (50, network.inputs))
    assert network(x) == pytest.approx(NETS[name].network()(x), abs=1e-4)
