"""Graphs are not proved yet: whoever asks is told so, and that `bound` bounds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import UsageError
from integraph.targets.graph_builder import Builder
from lazy import framework
from report_pages import read

WORDS = r"graphs are not proved yet.*integraph\.bound\(program, box\) proves.*integraph\.compare samples"
NET = [(np.eye(2), np.zeros(2), "tanh"), (np.ones((1, 2)), np.zeros(1), "identity")]


def said_of_proofs(program: integraph.Program, folder: Path, source: Any = None) -> bool:
    """Whether a report says that there can be a proof; it says one of both."""
    words = read(integraph.report(program, folder / "report.html", source)).words
    can, cannot = ("integraph.certify can." in words, "integraph.certify cannot: it proves formulas" in words)
    assert can != cannot
    return can


@pytest.mark.slow
def test_a_graph(tmp_path: Path) -> None:
    b = Builder()
    graph = b.graph([b.softmax(b.input("x", (3,)))])
    program = integraph.compile(graph)
    with pytest.raises(UsageError, match=WORDS):
        integraph.certify(program, graph)
    assert not said_of_proofs(program, tmp_path, graph)
    assert not said_of_proofs(program, tmp_path)


def test_an_onnx_graph() -> None:
    framework("onnx")
    from onnx_graphs import model

    source = model(lambda b: b.node("LogSoftmax", "x", axis=-1), (1, 3))
    with pytest.raises(UsageError, match=WORDS):
        integraph.certify(integraph.compile(source, box=(-1, 1)), source)


def test_a_traced_function() -> None:
    nn = framework("jax").nn
    program = integraph.compile(nn.softmax, method="exact", inputs=3)
    with pytest.raises(UsageError, match=WORDS):
        integraph.certify(program, nn.softmax)


def test_an_exact_program_of_a_network(tmp_path: Path) -> None:
    program = integraph.compile(NET, method="exact", free="clean")
    proof = integraph.certify(program, NET, progress=False)
    assert proof.status == "unknown"
    assert "method='exact' is a graph, and graphs are not proved yet: compile it with method='wide'" in proof.reason
    assert integraph.certify(integraph.compile(NET, method="wide"), NET, progress=False).status == "proved"
    assert not said_of_proofs(program, tmp_path, NET)


@pytest.mark.slow
def test_what_can_be_proved(tmp_path: Path) -> None:
    assert said_of_proofs(integraph.compile(NET, 1e-3), tmp_path, NET)
    assert said_of_proofs(integraph.compile("x*exp(x)"), tmp_path)
