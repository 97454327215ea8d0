"""What a report says of proofs: which programs have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.targets.graph_builder import Builder
from report_pages import read

NET = [(np.eye(2), np.zeros(2), "tanh"), (np.ones((1, 2)), np.zeros(1), "identity")]


def said_of_proofs(program: integraph.Program, folder: Path, source: Any = None) -> bool:
    """Whether a report says that there can be a proof; it says one of both."""
    words = read(integraph.report(program, folder / "report.html", source)).words
    can, cannot = ("integraph.certify can." in words, "integraph.certify cannot: it proves formulas" in words)
    assert can != cannot
    return can


@pytest.mark.slow
def test_graphs(tmp_path: Path) -> None:
    b = Builder()
    graph = b.graph([b.softmax(b.input("x", (3,)))])
    assert said_of_proofs(integraph.compile(graph), tmp_path, graph)
    assert said_of_proofs(integraph.compile(NET, method="exact", free="clean"), tmp_path, NET)


@pytest.mark.slow
def test_functions_that_are_known_at_points(tmp_path: Path) -> None:
    assert not said_of_proofs(integraph.compile(np.sin, 1e-2), tmp_path, np.sin)


@pytest.mark.slow
def test_what_can_be_proved(tmp_path: Path) -> None:
    assert said_of_proofs(integraph.compile(NET, 1e-3), tmp_path, NET)
    assert said_of_proofs(integraph.compile("x*exp(x)"), tmp_path)
