"""Activations that are made of others, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.targets import composites
from integraph.targets.graph_builder import Builder
from lazy import Lazy, needs

torch = Lazy("torch")
pytestmark = needs("torch")

CASES: dict[str, tuple[Callable[[Builder, int], int], Callable[[Any], Any]]] = {
    "elu": (lambda b, x: composites.elu(b, x, 1.3), lambda t: torch.nn.functional.elu(t, 1.3)),
    "celu": (lambda b, x: composites.celu(b, x, 0.7), lambda t: torch.nn.functional.celu(t, 0.7)),
    "selu": (composites.selu, lambda t: torch.nn.functional.selu(t)),
    "mish": (composites.mish, lambda t: torch.nn.functional.mish(t)),
    "softsign": (composites.softsign, lambda t: torch.nn.functional.softsign(t)),
    "clip": (lambda b, x: composites.clip(b, x, -1.0, 2.0), lambda t: torch.nn.functional.hardtanh(t, -1.0, 2.0)),
    "hard_sigmoid": (lambda b, x: composites.hard_sigmoid(b, x, 0.2, 0.5), lambda t: torch.clamp(0.2 * t + 0.5, 0, 1)),
    "hard_sigmoid_of_six": (composites.hard_sigmoid_of_six, lambda t: torch.nn.functional.hardsigmoid(t)),
    "hard_swish": (composites.hard_swish, lambda t: torch.nn.functional.hardswish(t)),
    "softshrink": (lambda b, x: composites.softshrink(b, x, 0.5), lambda t: torch.nn.functional.softshrink(t)),
    "tanhshrink": (composites.tanhshrink, lambda t: torch.nn.functional.tanhshrink(t)),
    "log_sigmoid": (composites.log_sigmoid, lambda t: torch.nn.functional.logsigmoid(t)),
    "squared_relu": (composites.squared_relu, lambda t: torch.relu(t) ** 2),
}


def test_all_are_here() -> None:
    public = {name for name, value in vars(composites).items() if callable(value) and name[0].islower()}
    assert set(CASES) == public


@pytest.mark.parametrize("name", CASES)
def test_the_graph_and_the_program(name: str) -> None:
    """The program within its tolerance; far from kinks and where there are none, to the last digits."""
    draw, function = CASES[name]
    b = Builder()
    graph = b.graph([draw(b, b.input("x"))])
    x = np.linspace(-5.0, 5.0, 1001)[:, None]
    want = function(torch.tensor(x)).numpy()
    assert np.abs(graph.values(x) - want).max() <= 1e-14
    program = integraph.compile(graph, eps=1e-4, box=(-5, 5))
    assert np.abs(program(x) - want).max() <= 1e-4
    far = np.abs(x[:, 0] - np.rint(x[:, 0])) > 0.1  # all kinks are whole numbers or halves
    assert np.median(np.abs(program(x) - want)[far]) <= 1e-13
