"""Program minus network at a point, to 30 digits: the terms integrated in mpmath, the network evaluated in mpmath."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mpmath import mp, mpf

import integraph
from integraph.targets import Layer
from mp_taylor import integrate

DIGITS = 50


def difference(program: integraph.Program, network: integraph.Network, x: Sequence[float]) -> list[mpf]:
    with mp.workdps(DIGITS):
        states = [mpf(v) for v in x] + [mpf(0)] * (program.width - program.inputs)
        for number, segment in enumerate(program.segments):
            rows = [
                row
                for t in program.segment_terms(number)
                for row in zip(t.i.tolist(), t.j.tolist(), t.k.tolist(), t.value.tolist(), strict=True)
            ]
            if rows:
                states = integrate(rows, states, segment.duration, digits=DIGITS, shortest=1e-12)
        readout = program.readout.toarray().tolist()
        outputs = [sum((mpf(c) * y for c, y in zip(row, states, strict=True)), mpf(0)) for row in readout]
        return [a - b for a, b in zip(outputs, values(network, x), strict=True)]


def values(network: integraph.Network, x: Sequence[float]) -> list[mpf]:
    z = [mpf(v) for v in x]
    for layer in network.layers:
        rows = zip(layer.A.tolist(), layer.b.tolist(), strict=True)
        arguments = [sum((mpf(a) * v for a, v in zip(row, z, strict=True)), mpf(b)) for row, b in rows]
        z = [meaning(layer, unit)(argument) for unit, argument in enumerate(arguments)]
    return z


def meaning(layer: Layer, unit: int) -> Callable[[mpf], mpf]:
    half, root = mpf(1) / 2, mp.sqrt(2 / mp.pi)
    slope = layer.slope if isinstance(layer.slope, float) else float(layer.slope[unit])
    return {
        "identity": lambda x: x,
        "tanh": mp.tanh,
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "arctan": mp.atan,
        "softplus": lambda x: mp.log1p(mp.exp(x)),
        "silu": lambda x: x / (1 + mp.exp(-x)),
        "gelu": lambda x: x * mp.erfc(-x / mp.sqrt(2)) * half,
        "gelu_tanh": lambda x: half * x * (1 + mp.tanh(root * (x + mpf("0.044715") * x**3))),
        "sin": mp.sin,
        "exp": mp.exp,
        "gaussian": lambda x: mp.exp(-x * x),
        "erf": mp.erf,
        "log_cosh": lambda x: mp.log(mp.cosh(x)),
        "relu": lambda x: max(x, mpf(0)),
        "leaky_relu": lambda x: x if x >= 0 else mpf(slope) * x,
    }[layer.activation]
