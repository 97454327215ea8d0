"""Activations that are made of operations that graphs have: ELU and its kin, Mish, and what is clipped.

Where one has a kink, so has what it is made of: a rectifier or a maximum, which is smoothed within the tolerance. ELU
is r + α(e^(x − r) − 1) with the rectifier r of x, so that the exponential never sees a positive argument.
"""

from __future__ import annotations

from integraph.targets.graph_builder import Builder

SELU = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946  # α and the factor, as published


def elu(b: Builder, x: int, alpha: float = 1.0, text: str = "") -> int:
    """x above 0, α(eˣ − 1) below."""
    return _above_and_below(b, x, alpha, 1.0, text)


def celu(b: Builder, x: int, alpha: float = 1.0, text: str = "") -> int:
    """x above 0, α(e^(x/α) − 1) below."""
    return _above_and_below(b, x, alpha, alpha, text)


def selu(b: Builder, x: int, alpha: float = SELU[0], factor: float = SELU[1], text: str = "") -> int:
    """factor·elu(x)."""
    return _times(b, elu(b, x, alpha, text), factor, text)


def mish(b: Builder, x: int, text: str = "") -> int:
    """x·tanh(ln(1 + eˣ))."""
    return b.apply("mul", x, b.apply("tanh", b.apply("softplus", x, text=text), text=text), text=text)


def softsign(b: Builder, x: int, text: str = "") -> int:
    """x/(1 + |x|)."""
    size = b.apply("add", b.constant(1.0), b.apply("abs", x, text=text), text=text)
    return b.apply("div", x, size, text=text)


def clip(b: Builder, x: int, low: float, high: float, text: str = "") -> int:
    """max(low, min(high, x))."""
    return b.apply("min", b.apply("max", x, b.constant(low), text=text), b.constant(high), text=text)


def hard_sigmoid(b: Builder, x: int, slope: float, shift: float, text: str = "") -> int:
    """slope·x + shift, between 0 and 1."""
    return clip(b, b.apply("add", _times(b, x, slope, text), b.constant(shift), text=text), 0.0, 1.0, text)


def hard_sigmoid_of_six(b: Builder, x: int, text: str = "") -> int:
    """(x + 3)/6, between 0 and 1, from x + 3 between 0 and 6."""
    inner = clip(b, b.apply("add", x, b.constant(3.0), text=text), 0.0, 6.0, text)
    return b.apply("div", inner, b.constant(6.0), text=text)


def hard_swish(b: Builder, x: int, text: str = "") -> int:
    """x·(x + 3)/6, the second factor between 0 and 1."""
    return b.apply("mul", x, hard_sigmoid_of_six(b, x, text), text=text)


def softshrink(b: Builder, x: int, width: float, text: str = "") -> int:
    """x moved towards 0 by `width`, and 0 nearer than that."""
    return b.apply("sub", x, clip(b, x, -width, width, text), text=text)


def tanhshrink(b: Builder, x: int, text: str = "") -> int:
    """x − tanh x."""
    return b.apply("sub", x, b.apply("tanh", x, text=text), text=text)


def log_sigmoid(b: Builder, x: int, text: str = "") -> int:
    """−ln(1 + e^(−x))."""
    return b.apply("neg", b.apply("softplus", b.apply("neg", x, text=text), text=text), text=text)


def squared_relu(b: Builder, x: int, text: str = "") -> int:
    """max(x, 0)²."""
    above = b.apply("relu", x, text=text)
    return b.apply("mul", above, above, text=text)


def _above_and_below(b: Builder, x: int, gain: float, width: float, text: str) -> int:
    """x above 0, gain·(e^(x/width) − 1) below."""
    above = b.apply("relu", x, text=text)
    below = b.apply("sub", x, above, text=text)
    inner = below if width == 1.0 else b.apply("div", below, b.constant(width), text=text)
    return b.apply("add", above, _times(b, b.apply("expm1", inner, text=text), gain, text), text=text)


def _times(b: Builder, x: int, factor: float, text: str) -> int:
    return x if factor == 1.0 else b.apply("mul", x, b.constant(factor), text=text)
