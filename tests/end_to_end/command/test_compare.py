"""`integraph compare`: the numbers are those of numpy, and a source that is another one is found out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import integraph
from command import WAVE, call, lean, process
from lazy import framework
from networks import random_network


@pytest.fixture
def wave(path: Path) -> Path:
    lean().save(path)
    return path


def largest(path: Path, x: np.ndarray, off: float = 0.0) -> float:
    """In numpy, by nobody's table."""
    wanted = np.sin(3 * x[:, :1]) * np.exp(-x[:, 1:]) + off
    return float(np.abs(integraph.load(path)(x) - wanted).max())


def test_a_formula_that_the_program_names(wave: Path) -> None:
    said = call("compare", wave)
    assert said.code == 0
    assert f"source: {WAVE}, which the program names" in said.out
    assert "1,000 inputs: the largest difference is" in said.out
    data = call("compare", wave, "--json").data
    x = np.random.default_rng(0).uniform(size=(1000, 2))  # of [0, 1]^2
    assert data["largest"] == pytest.approx(largest(wave, x), rel=1e-9)
    assert data["promised"] == integraph.load(wave).budget.total  # type: ignore[union-attr]
    assert data["broken"] is False
    (row,) = data["rows"]
    assert list(data["worst"].values()) == x[row["input"]].tolist()
    assert f"x = {data['worst']['x']!r}" in said.out


def test_another_source_is_found_out(wave: Path) -> None:
    said = call("compare", wave, f"{WAVE} + 0.01")
    assert said.code == 1
    assert "they differ by MORE" in said.out
    data = call("compare", wave, f"{WAVE} + 0.01", "--json", "--samples", "50", "--seed", "3").data
    x = np.random.default_rng(3).uniform(size=(50, 2))
    assert data["largest"] == pytest.approx(largest(wave, x, 0.01), rel=1e-9)
    assert (data["broken"], data["seed"], data["inputs"]) == (True, 3, 50)


def test_variables_say_which_input_is_which(wave: Path) -> None:
    assert call("compare", wave, WAVE).code == 0
    assert call("compare", wave, WAVE, "--variables", "x,y").code == 0
    assert call("compare", wave, WAVE, "--variables", "y,x").code == 1


def test_points_of_a_file(wave: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(1).uniform(size=(7, 2))
    np.save(tmp_path / "x.npy", x)
    np.savetxt(tmp_path / "x.csv", x, delimiter=",", header="x,y", comments="")
    for name in ("x.npy", "x.csv"):
        data = call("compare", wave, "--points", tmp_path / name, "--json").data
        assert data["largest"] == pytest.approx(largest(wave, x), rel=1e-9)
        assert (data["inputs"], data["seed"]) == (7, None)
    outside = call("compare", wave, "--points", "-", stdin=b"0.5,0.5\n3,3\n")
    assert "1 of the inputs is outside its box" in outside.out


def test_a_box(wave: Path) -> None:
    data = call("compare", wave, "--box", "0.2,0.3;0.4,0.5", "--json").data
    assert 0.2 <= data["worst"]["x"] <= 0.3
    assert 0.4 <= data["worst"]["y"] <= 0.5


@pytest.mark.parametrize("engine", ["exact", "taylor"])
def test_engines(wave: Path, engine: str) -> None:
    assert call("compare", wave, "--engine", engine, "--samples", "20").code == 0


def test_a_network_layer_by_layer(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python module holds the layers; with a changed bias in the second it is another network."""
    monkeypatch.chdir(tmp_path)
    net = random_network((3, 6, 5, 2), "tanh", seed=1)
    np.savez(
        tmp_path / "w.npz",
        **{f"{k}{n}": v for n, layer in enumerate(net.layers) for k, v in (("A", layer.A), ("b", layer.b))},
    )
    (tmp_path / "compared_nets.py").write_text(
        "import numpy as np\n"
        "w = np.load('w.npz')\n"
        "def made(off):\n"
        "    return [(w['A0'], w['b0'], 'tanh'), (w['A1'], w['b1'] + off, 'tanh'), (w['A2'], w['b2'])]\n"
        "good, bad = made(0.0), made(1e-3)\n"
    )
    integraph.compile(net, 1e-8).save(path)
    good = call("compare", path, "compared_nets:good", "--json")
    assert good.code == 0
    assert [row["label"] for row in good.data["rows"]] == ["layer 1", "layer 2", "output"]
    assert good.data["largest"] <= 1e-8
    bad = call("compare", path, "compared_nets:bad", "--json")
    assert (bad.code, bad.data["origin"], bad.data["broken"]) == (1, "layer 2", True)
    x = np.random.default_rng(0).uniform(size=(1000, 3))
    z = np.tanh(x @ net.layers[0].A.T + net.layers[0].b)
    h = [np.tanh(z @ net.layers[1].A.T + net.layers[1].b + off) for off in (0.0, 1e-3)]
    assert bad.data["rows"][1]["difference"] == pytest.approx(np.abs(h[0] - h[1]).max(), rel=1e-4)
    assert "it grows most at layer 2" in call("compare", path, "compared_nets:bad").out


def test_an_onnx_file(path: Path, tmp_path: Path) -> None:
    onnx = framework("onnx")
    from onnx_models import Builder

    net = random_network((2, 4, 1), "tanh", seed=2)
    b = Builder()
    hidden = b.node("Tanh", b.node("Gemm", "x", b.number(net.layers[0].A.T), b.number(net.layers[0].b)))
    out = b.node("Gemm", hidden, b.number(net.layers[1].A.T), b.number(net.layers[1].b))
    onnx.save(b.model(out, ("n", 2), ("n", 1)), tmp_path / "net.onnx")
    integraph.compile(net).save(path)
    said = call("compare", path, tmp_path / "net.onnx", "--json")
    assert (said.code, [row["label"] for row in said.data["rows"]]) == (0, ["layer 1", "output"])
    runtime = framework("onnxruntime")
    x = np.random.default_rng(0).uniform(size=(1000, 2))
    (wanted,) = runtime.InferenceSession(tmp_path / "net.onnx").run(None, {"x": x})
    assert said.data["rows"][-1]["difference"] == pytest.approx(
        np.abs(integraph.compile(net)(x) - wanted).max(), abs=1e-14
    )


def test_nothing_to_compare_with(path: Path) -> None:
    integraph.compile(random_network((1, 2, 1), "tanh")).save(path)
    said = call("compare", path)
    assert said.code == 2
    assert "stores only the name of its source" in said.err
    assert "give the source" in said.err
    assert said.out == ""


def test_no_number_is_a_failure(path: Path) -> None:
    """Where there is no promise to break, too."""
    r = integraph.Registers()
    x = r.inputs("x", 1)
    integraph.build(r, [], x).save(path)
    said = call("compare", path, "1e308*x*10", "--box", "1,2", "--json")
    assert said.code == 2  # a formula says that it has no value there
    assert "must be finite" in said.data["error"]["message"]


@pytest.mark.parametrize(
    ("words", "code", "wanted"),
    [
        (["--samples", "5", "--points", "x.csv"], 2, "give one of them"),
        (["--samples", "0"], 2, "--samples"),
        (["--points", "missing.csv"], 2, "missing.csv"),
        (["--box", "1"], 2, "is not a pair of numbers"),
        (["--box", "0,1;0,1;0,1"], 2, "the box has 3 pairs"),
        (["sin(3*x"], 2, "a parenthesis is not closed"),
        (["x"], 2, "the program is 2 → 1, the source 1 → 1"),
        (["no_such_module:f"], 2, "there is no module"),
        (["missing.onnx"], 2, "missing.onnx"),
        (["--engine", "magic"], 2, "unknown engine 'magic'"),
    ],
)
def test_misuse(wave: Path, words: list[str], code: int, wanted: str) -> None:
    said = call("compare", wave, *words)
    assert (said.code, said.out) == (code, "")
    assert wanted in said.err
    data = call("compare", wave, *words, "--json")
    assert data.code == code
    assert wanted.split("\n")[0] in data.data["error"]["message"]


def test_no_file(tmp_path: Path) -> None:
    said = call("compare", tmp_path / "none.integraph")
    assert said.code == 2
    assert "none.integraph" in said.err


@pytest.mark.slow
def test_in_a_process(wave: Path) -> None:
    assert process("compare", wave, "--samples", "10").code == 0
    assert process("compare", wave, "x*y", "--samples", "10").code == 1
