"""One reader: what a source is, is decided in one place, and read once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import UsageError
from integraph.frontends import ReadOptions, SourceKind, kind_of, read
from integraph.targets import Function, Network
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from lazy import framework

LAYERS = [(np.eye(2), 0.0, "tanh")]
NET = integraph.network(LAYERS)


def sine(x: Any) -> Any:
    return np.sin(x)


def a_graph() -> Graph:
    build = Builder("twice")
    x = build.input("x", (2,))
    return build.graph([build.apply("add", x, x)])


def test_kinds() -> None:
    kinds = {
        "sin(x)": SourceKind.FORMULA, "net.onnx": SourceKind.ONNX, "net.keras": SourceKind.NETWORK,
    }  # fmt: skip
    for source, kind in kinds.items():
        assert kind_of(source) is kind
    assert kind_of(Path("a/net.ONNX")) is SourceKind.ONNX
    assert kind_of(NET) is kind_of(LAYERS) is SourceKind.NETWORK
    assert kind_of(a_graph()) is SourceKind.GRAPH
    assert kind_of(sine) is SourceKind.PYTHON
    assert kind_of(["x", "x^2"]) is kind_of(np.poly1d([1.0, 2.0])) is SourceKind.FORMULA


def test_what_is_read_is_what_it_is() -> None:
    assert isinstance(read("sin(x)"), Function)
    assert isinstance(read(sine), Function)
    assert read(NET) is NET
    assert isinstance(read(LAYERS), Network)
    for target in (read("x*y"), a_graph(), NET):
        assert read(target) is target


FACES: dict[str, Callable[..., object]] = {
    "compile": integraph.compile,
    "compile exactly": lambda source, **options: integraph.compile(source, method="exact", **options),
    "graph": integraph.graph,
    "layouts": integraph.layouts,
    "sobolev_norm": lambda source, **options: integraph.sobolev_norm(source, 1, **options),
    "plan": integraph.plan,
    "report": lambda source, **options: integraph.report(
        integraph.compile(source), "/nowhere/report.html", source, **options
    ),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("option", [{"variables": "x, y"}, {"inputs": 2}])
@pytest.mark.parametrize("source", [NET, a_graph()], ids=["network", "graph"])
def test_no_face_ignores_an_option(face: str, option: dict[str, Any], source: Any) -> None:
    (name,) = option
    says = rf"^{name} = .*: this is for a function, and the source is a (network|graph): leave it"
    with pytest.raises(UsageError, match=says):
        FACES[face](source, **option)


def test_no_option_of_an_onnx_file_is_ignored(tmp_path: Path) -> None:
    onnx = framework("onnx")
    from onnx_graphs import model

    sources = {
        "net": model(lambda b: b.node("Tanh", "x"), (1, 3)),
        "residual": model(lambda b: b.node("Add", "x", b.node("Tanh", "x")), (1, 3)),
    }
    for name, made in sources.items():
        onnx.save(made, tmp_path / f"{name}.onnx")
        for option in ({"variables": "x, y, z"}, {"inputs": 3}):
            for into in (None, Graph, Network):
                with pytest.raises(
                    UsageError, match=rf"^{next(iter(option))} = .* the source is an ONNX model: leave it out"
                ):
                    read(tmp_path / f"{name}.onnx", ReadOptions(**option, into=into))


def test_variables_of_a_traced_function() -> None:
    jnp = framework("jax.numpy")
    assert integraph.graph(lambda x: jnp.sin(x), inputs=2, variables="u v").variables == ("u", "v")
    with pytest.raises(UsageError, match="different numbers of inputs"):
        integraph.graph(lambda x: jnp.sin(x), inputs=2, variables="u")


def test_an_onnx_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx = framework("onnx")
    from integraph.frontends import onnx as reader
    from onnx_graphs import model

    path = tmp_path / "residual.onnx"
    onnx.save(model(lambda b: b.node("Add", "x", b.node("Tanh", "x")), (1, 3)), path)
    opened: list[Any] = []
    monkeypatch.setattr(reader, "opened", lambda *args, real=reader.opened: opened.append(args) or real(*args))
    program = integraph.compile(path)
    assert len(opened) == 1
    integraph.compare(program, path, np.zeros((1, 3)))
    assert len(opened) == 2
