"""A tanh net as a quadratic neural ODE, by hand: the construction of Theorem 2, three segments a layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from integraph import Program, Registers, View, build, segment
from integraph.gadgets import decay, drain, tanh

Floats = NDArray[np.float64]
Layer = tuple[Floats, Floats]  # weights A, biases b

RATE = 40.0  # e^−40 = 4e−18: what decay leaves of a register is below rounding


def random_net(sizes: tuple[int, ...], seed: int) -> tuple[list[Layer], Floats]:
    """Hidden layers and the linear read-out c, of sizes such as (2, 32, 32, 1)."""
    rng = np.random.default_rng(seed)
    scales = [(6.0, 3.0)] + [(1.5, 1.0)] * (len(sizes) - 3)  # of weights and biases: some neurons saturate, some do not
    layers = []
    for (weight, bias), n, m in zip(scales, sizes[:-2], sizes[1:-1], strict=True):
        layers.append((weight * rng.normal(size=(m, n)) / np.sqrt(n), bias * rng.normal(size=m)))
    return layers, rng.normal(size=(sizes[-1], sizes[-2])) / np.sqrt(sizes[-2])


def evaluate(layers: list[Layer], readout: Floats, x: Floats) -> Floats:
    """The net itself, in numpy."""
    for A, b in layers:
        x = np.tanh(x @ A.T + b)
    return x @ readout.T


def compile_net(layers: list[Layer], readout: Floats) -> Program:
    """W = 3·width registers α, λ, μ; the inputs are the first of α. All layers have one width, at least the inputs'."""
    width, inputs = layers[0][0].shape
    r = Registers()
    x = r.inputs("x", inputs)
    r.new("alpha", width - inputs)
    lam, mu = r.new("lam", width), r.new("mu", width)
    alpha = View(0, (width,), (1,))  # x and the registers after it
    segments = []
    source = x
    for number, (A, b) in enumerate(layers, 1):
        segments += [
            segment(f"affine {number}", drain(mu, source, w=A, b=b, r=RATE)),  # μ = A·source + b, source decays
            segment(f"tanh {number}", tanh(alpha, lam, mu)),  # α = tanh μ
            segment(f"decay {number}", decay(lam, r=RATE), decay(mu, r=RATE)),
        ]
        source = alpha
    sizes = "-".join(str(n) for n in (inputs, *[len(b) for _, b in layers], len(readout)))
    return build(r, segments, alpha, readout, source=f"tanh net {sizes}")
