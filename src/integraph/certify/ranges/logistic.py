"""Sigmoid, SiLU, softplus and ReLU on balls: s' = k(x s − s²) around the start s = x/2 that they all have.

With v = kxt and what is left of the start, d = s − x/2, the factor of s is 2σ(v)/N, N = 1 + ktd·tanh(v/2)/(v/2) > 0.
The sum d has a gradient, so it is small although s and x are wide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from integraph.certify.ranges.gradients import lifted
from integraph.certify.ranges.riccati import tanhc
from integraph.gadgets import Closed, relu, sigmoid, silu, softplus
from integraph.gadgets.functions.arb import BallFunctions
from integraph.gadgets.functions.namespace import Arrays, Tensors
from integraph.numbers.arb import ranges
from integraph.numbers.arb.ranges import HALF
from integraph.program import Op

_sigma: Callable[..., Any] = np.frompyfunc(
    lifted(ranges.sigmoid, (lambda v: ranges.sech2(v * HALF) * HALF * HALF,)), 1, 1
)
_softplus: Callable[..., Any] = np.frompyfunc(lifted(ranges.softplus, (ranges.sigmoid,)), 1, 1)
_tanhc: Callable[..., Any] = np.frompyfunc(tanhc, 1, 1)


def _factor(gain: Any, s: Any, x: Any) -> tuple[Any, Any, Any]:
    """v, N, and the factor of s."""
    v = gain * x
    n = 1.0 + gain * (s - 0.5 * x) * _tanhc(0.5 * v)
    return v, n, 2.0 * _sigma(v) / n


def _relu_form(f: BallFunctions, t: arb, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
    (s,), (x,) = start, operands
    _, n, factor = _factor(t * tensors.get("k", 1.0), s, x)
    return Closed((s * factor,), {"s": n})


def _sigmoid_form(f: BallFunctions, t: arb, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
    (s, g), (x,) = start, operands
    _, n, factor = _factor(t, s, x)
    return Closed((s * factor, g * factor), {"s": n})


def _softplus_form(f: BallFunctions, t: arb, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
    """y gains ∫ s = ln(N (1 + e^v)/2)."""
    (s, y), (x,) = start, operands
    v, n, factor = _factor(t, s, x)
    return Closed((s * factor, y + _softplus(v) - arb.const_log2() + f.log(n)), {"s": n})


FORMS: dict[Op, Any] = {relu: _relu_form, silu: _relu_form, sigmoid: _sigmoid_form, softplus: _softplus_form}
