"""`integraph plan`: what it says is what compile then builds."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import integraph
from command import call
from integraph.cli.commands.plan import WAYS
from lazy import framework
from networks import random_network

WAVE = "sin(3*x)*exp(-y)"


@cache
def planned() -> Any:
    return call("plan", WAVE, "--eps", "1e-3", "--json").data


@pytest.mark.slow
def test_theorem_1_as_it_is_built() -> None:
    program = integraph.compile(WAVE, 1e-3, method="lean")
    chosen = planned()["lean"]["chosen"]
    assert (chosen["width"], chosen["depth"]) == (program.width, program.depth)
    assert program.budget is not None
    assert program.budget.approximation <= chosen["bound"] <= 1e-3 == planned()["lean"]["eps"]
    assert program.terms <= chosen["terms"]
    assert chosen["size"] == program.width * program.depth
    assert f"order {chosen['order']}, N = {chosen['N']}" in program.source
    assert chosen in planned()["lean"]["alternatives"]


def test_exact_layouts_as_they_are_built() -> None:
    for row in planned()["exact"]["layouts"]:
        program = integraph.compile(WAVE, 1e-3, free=row["free"])
        assert (row["width"], row["depth"]) == (program.width, program.depth)
    assert [row["free"] for row in planned()["exact"]["layouts"]] == ["keep", "clean", "decay"]


@pytest.mark.slow
def test_as_text() -> None:
    said = call("plan", WAVE, "--eps", "1e-3")
    assert said.code == 0
    assert repr(integraph.plan(WAVE, 1e-3)) in said.out
    assert str(integraph.layouts(WAVE, 1e-3)) in said.out


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["--method", "exact"], ["exact"]),
        (["--method", "lean"], ["lean"]),
        (["--method", "remark", "--order", "2"], ["remark"]),
        (["--order", "5"], ["lean"]),
        (["--width", "60"], ["lean"]),
    ],
)
def test_methods_and_options(words: list[str], keys: list[str]) -> None:
    data = call("plan", "x*y", "--eps", "1e-1", *words, "--json").data
    assert list(data) == keys
    if "--order" in words:
        assert data[keys[0]]["chosen"]["order"] == int(words[-1])
    if "--width" in words:
        assert data["lean"]["chosen"]["width"] <= 60


def test_what_is_not_possible_is_said() -> None:
    """|x| has a kink: by Theorem 1 it cannot be, exactly it can with a tolerance, and else nothing is left."""
    said = call("plan", "abs(x)", "--box", "-1,1", "--eps", "1e-2", "--json")
    assert said.code == 0
    assert said.data["exact"]["layouts"]
    assert "not smooth" in said.data["lean"]["impossible"]
    assert "lean: not possible" in call("plan", "abs(x)", "--box", "-1,1", "--eps", "1e-2").out
    near = call("plan", "exp(20*x)", "--eps", "1e-14")
    assert near.code == 0
    assert "lean: not possible: --eps 1e-14: exp(20*x) is as large as" in near.out  # as at the prompt, not as in Python
    none = call("plan", "abs(x)", "--box", "-1,1")
    assert (none.code, none.out) == (2, "")
    assert "not analytic" in none.err


def test_variables_and_boxes() -> None:
    data = call("plan", "ln(y)", "--variables", "y,x", "--box", "1,2;0,1", "--method", "lean", "--eps", "0.1", "--json")
    assert data.code == 0
    assert call("plan", "ln(y)", "--variables", "y,x", "--method", "lean").code == 2


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, integraph.Network]:
    """A module of networks and functions to be imported from here."""
    monkeypatch.chdir(tmp_path)
    found = {name: random_network((2, 5, 1), name, seed=6) for name in ("tanh", "relu")}
    layers = {
        name: [(layer.A.tolist(), layer.b.tolist(), layer.activation) for layer in net.layers]
        for name, net in found.items()
    }
    lines = [*(f"{name} = {value!r}" for name, value in layers.items()), "def f(x, y):\n    return x * y\n"]
    (tmp_path / "planned_nets.py").write_text("\n".join(lines))
    return found


def test_a_network(nets: dict[str, integraph.Network]) -> None:
    ways = call("plan", "planned_nets:tanh", "--eps", "1e-9", "--box", "-1,1", "--json").data["ways"]
    assert [row["way"] for row in ways] == list(WAYS)
    for row in ways:
        program = integraph.compile(nets["tanh"], 1e-9, box=(-1, 1), **row["way"])
        assert program.budget is not None
        assert (row["width"], row["depth"], row["terms"]) == (program.width, program.depth, program.terms)
        assert (row["rate"], row["promised"]) == (program.rate, program.budget.total)
    narrow, paper = (row for row in ways if row["way"]["method"] == "narrow")
    assert narrow["width"] == 3 * 5  # Theorem 2: W = 3·max(W̃, d), D = 3·D̃
    assert narrow["depth"] == 3
    assert narrow["rate"] < paper["rate"]
    said = call("plan", "planned_nets:tanh", "--method", "wide")
    assert "wide, decay" in said.out
    assert "narrow" not in said.out
    assert list(call("plan", "planned_nets:tanh", "--method", "exact", "--json").data) == ["exact"]


def test_a_way_that_is_not_possible(nets: dict[str, integraph.Network]) -> None:
    assert nets
    said = call("plan", "planned_nets:relu")
    assert said.code == 0
    assert "impossible: layer 1 is relu" in said.out


def test_large_networks_are_not_built(nets: dict[str, integraph.Network], monkeypatch: pytest.MonkeyPatch) -> None:
    assert nets
    monkeypatch.setattr("integraph.cli.commands.plan.PARAMETERS", 20)
    said = call("plan", "planned_nets:tanh", "--json")
    assert said.code == 0
    assert all("more than 20 parameters" in row["unknown"] for row in said.data["ways"])


def test_a_python_function(nets: dict[str, integraph.Network]) -> None:
    assert nets
    said = call("plan", "planned_nets:f", "--eps", "1e-2", "--json").data
    assert list(said) == ["lean"]
    assert said["lean"]["chosen"]["bound"] == "nan"  # no bound
    assert "only sampled" in call("plan", "planned_nets:f", "--eps", "1e-2").out


def test_a_graph_of_onnx(tmp_path: Path) -> None:
    onnx = framework("onnx")
    from onnx_models import Builder

    b = Builder()
    out = b.node("Mul", b.node("Exp", "x"), "x")
    onnx.save(b.model(out, (1, 2), (1, 2)), tmp_path / "graph.onnx")
    rows = call("plan", tmp_path / "graph.onnx", "--json").data["exact"]["layouts"]
    program = integraph.compile(tmp_path / "graph.onnx")
    assert (rows[0]["width"], rows[0]["depth"]) == (program.width, program.depth)
    said = call("plan", tmp_path / "graph.onnx", "--order", "3")
    assert said.code == 2
    assert "--order 3: this is for Theorem 1" in said.err


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["sin(x", "--json"], "parenthesis"),
        (["x", "--method", "wide"], "--method 'wide': for a function it is exact or lean or remark or paper"),
        (["planned_nets:tanh", "--method", "lean"], "--method 'lean': for a network it is narrow or wide"),
        (["planned_nets:tanh", "--order", "3"], "--order 3: this is for Theorem 1, and the source is a network"),
        (
            ["x", "--method", "exact", "--width", "9"],
            "--width 9: this is for Theorem 1, and the source is compiled exactly",
        ),
        (["x", "--eps", "0"], "--eps 0"),
        (["x", "--eps", "nan"], "--eps nan"),
        (["exp(20*x)", "--method", "lean", "--width", "3"], "--width 3"),
        (["none.onnx"], "none.onnx"),
    ],
)
def test_misuse(nets: dict[str, integraph.Network], words: list[str], wanted: str) -> None:
    assert nets
    said = call("plan", *words)
    assert said.code == 2
    assert wanted in said.out + said.err
