"""Rows that come back from models: symbols that rows do not share stay in their radii."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from integraph.api.loops import closed_loop
from integraph.certify.loops.rows import of_box
from integraph.targets.network import from_layers

RNG = np.random.default_rng(3)
LAYERS = [(RNG.normal(size=(6, 2)) * 3, RNG.normal(size=6), "silu"), (RNG.normal(size=(1, 6)), np.zeros(1))]
KINKS = "max(abs(x - v), 0.3) - min(2*v, abs(x + v))"
CONTROLLERS = {
    "a net whose activations have no kernel": lambda: from_layers(LAYERS),
    "a graph": lambda: KINKS,
    "a program": lambda: integraph.compile(from_layers([(*LAYERS[0][:2], "tanh"), LAYERS[1]])),
}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_inputs_of_the_plant_are_in_their_rows(name: str) -> None:
    loop = closed_loop({"x": "v", "v": "u"}, CONTROLLERS[name](), period=1, steps=1, discrete=True)
    rows = of_box(np.array([-1.0, -1.0]), np.array([1.0, 1.0])).fresh()
    u = loop.controller.models(rows)
    assert u is not None
    xi = np.random.default_rng(0).uniform(-1.0, 1.0, (4000, 2))
    powers = np.prod(xi[:, None, :] ** rows.monomials.exponents, axis=2)
    count = rows.monomials.count
    off = np.abs(loop.controller(xi)[:, 0] - powers @ u.values[0, :count])
    radius = np.abs(u.values[0, count:]).sum()
    assert off.max() <= radius + 1e-12
    assert off.max() > 0.2 * radius
