"""What a function of one number becomes, and what is chosen between two: one small function for each."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from integraph.constructions.graph import fusion, gadget_runs
from integraph.constructions.graph.forms import GraphForm, add, scaled, shifted
from integraph.constructions.graph.translation import Rule, Translator, Value
from integraph.targets.activations import CUBIC, ROOT_2_PI
from integraph.targets.graph import Node

LN2, LN10 = math.log(2.0), math.log(10.0)
TAIL = -8.0  # below, softplus is e^x to three digits


def _exp(r: Translator, n: int, node: Node, text: str) -> Value:
    return fusion.exponential(r.form(node.args[0]))


def _turn(cosine: bool) -> Rule:
    return lambda r, n, node, text: fusion.rotation(r.form(node.args[0]), cosine)


def _tan(r: Translator, n: int, node: Node, text: str) -> Value:
    x = r.form(node.args[0])
    sine, cosine = (r.run(fusion.rotation(x, which), text) for which in (False, True))
    return r.times(sine, r.either_sign(cosine, Fraction(-1), 1.0, text, "cos"), text)


def _flow(name: str) -> Rule:
    return lambda r, n, node, text: r.flow(name, r.form(node.args[0]), text)


def _logarithm(base: float) -> Rule:
    return lambda r, n, node, text: scaled(r.logarithm(r.form(node.args[0]), r.ranges[node.args[0]], text), 1.0 / base)


def _log1p(r: Translator, n: int, node: Node, text: str) -> Value:
    r.inside(node.args[0], text, -1.0, math.inf)
    guard = not np.min(r.ranges[node.args[0]].low) > -1
    return gadget_runs.logarithm(r.tape, shifted(r.form(node.args[0]), 1.0), 1.0, text, guard)


def _softplus(r: Translator, n: int, node: Node, text: str) -> Value:
    """Its gadget starts at ln 2, and where only e^x is left of that, no digit is: there it is ln(1 + e^x)."""
    x = r.form(node.args[0])
    if np.max(r.ranges[node.args[0]].high) > TAIL:
        return r.flow("softplus", x, text)
    return gadget_runs.logarithm(r.tape, shifted(r.run(fusion.exponential(x), text), 1.0), 1.0, text, False)


def _root(a: Fraction) -> Rule:
    def rule(r: Translator, n: int, node: Node, text: str) -> Value:
        known = r.ranges[node.args[0]]
        if a.denominator == 3 and np.min(known.low) < 0:
            return r.either_sign(r.form(node.args[0]), a, float(np.max(known.size)), text, r.text(node.args[0]))
        return r.power_of(node.args[0], a, text)

    return rule


def _arc(r: Translator, number: int, text: str) -> GraphForm:
    """asin x = atan(x (1 − x²)^−½)."""
    r.inside(number, text, -1.0, 1.0)
    x, name = r.form(number), r.text(number)
    x = x if x.single else r.tape.sum(x, text)
    square = shifted(scaled(r.multiply(x, x, text), -1.0), 1.0)
    slope = r.times(x, fusion.power(square, Fraction(-1, 2), 0.0, 1.0, f"1 − ({name})²"), text)
    assert isinstance(slope, fusion.FusedProduct)
    return r.flow("atan", r.run(slope, text), text)


def _asin(r: Translator, n: int, node: Node, text: str) -> Value:
    return _arc(r, node.args[0], text)


def _acos(r: Translator, n: int, node: Node, text: str) -> Value:
    return shifted(scaled(_arc(r, node.args[0], text), -1.0), 0.5 * math.pi)


def _acosh(r: Translator, n: int, node: Node, text: str) -> Value:
    """2 asinh √((x − 1)/2)."""
    r.inside(node.args[0], text, 1.0, math.inf)
    known, name = r.ranges[node.args[0]], r.text(node.args[0])
    half = shifted(scaled(r.form(node.args[0]), 0.5), -0.5)
    low, high = 0.5 * float(np.min(known.low)) - 0.5, 0.5 * float(np.max(known.high)) - 0.5
    return scaled(
        r.flow("asinh", r.run(fusion.power(half, Fraction(1, 2), low, high, f"({name} − 1)/2"), text), text), 2.0
    )


def _atanh(r: Translator, n: int, node: Node, text: str) -> Value:
    r.inside(node.args[0], text, -1.0, 1.0)
    x, guard = r.form(node.args[0]), not np.max(r.ranges[node.args[0]].size) < 1
    above, below = (
        gadget_runs.logarithm(r.tape, shifted(scaled(x, sign), 1.0), 1.0, text, guard) for sign in (1.0, -1.0)
    )
    return add(scaled(above, 0.5), scaled(below, -0.5))


def _gaussian(r: Translator, n: int, node: Node, text: str) -> Value:
    x = r.form(node.args[0])
    return fusion.exponential(scaled(r.multiply(x, x, text, r.bound(x, x)), -1.0))


def _gelu_tanh(r: Translator, n: int, node: Node, text: str) -> Value:
    x = r.tape.sum(r.form(node.args[0]), text)
    cube = r.multiply(x, r.multiply(x, x, text), text)
    tanh = r.flow("tanh", add(scaled(x, ROOT_2_PI), scaled(cube, ROOT_2_PI * CUBIC)), text)
    return add(scaled(x, 0.5), scaled(r.multiply(x, tanh, text), 0.5))


def _abs(r: Translator, n: int, node: Node, text: str) -> Value:
    x, known = r.form(node.args[0]), r.ranges[node.args[0]]
    return add(scaled(r.rectified(x, known.low, known.high, text), 2.0), scaled(x, -1.0))


def _relu(r: Translator, n: int, node: Node, text: str) -> Value:
    x, known = r.form(node.args[0]), r.ranges[node.args[0]]
    positive = r.rectified(x, known.low, known.high, text)
    slope = float(node.data[0]) if node.data else 0.0
    return add(scaled(positive, 1.0 - slope), scaled(x, slope)) if slope else positive


def _choice(sign: float) -> Rule:
    """max(x, y) = y + max(x − y, 0), min(x, y) = y − max(y − x, 0)."""

    def rule(r: Translator, n: int, node: Node, text: str) -> Value:
        x, y = (r.form(k) for k in node.args)
        a, b = (r.ranges[k] for k in node.args)
        low, high = (a.low - b.high, a.high - b.low) if sign > 0 else (b.low - a.high, b.high - a.low)
        gap = scaled(add(x, scaled(y, -1.0)), sign)
        return add(y, scaled(r.rectified(gap, low, high, text), sign))

    return rule


RULES: dict[str, Rule] = {
    "exp": _exp,
    "sin": _turn(False),
    "cos": _turn(True),
    "tan": _tan,
    "ln": _logarithm(1.0),
    "log2": _logarithm(LN2),
    "log10": _logarithm(LN10),
    "log1p": _log1p,
    "sqrt": _root(Fraction(1, 2)),
    "cbrt": _root(Fraction(1, 3)),
    "asin": _asin,
    "acos": _acos,
    "acosh": _acosh,
    "atanh": _atanh,
    "gaussian": _gaussian,
    "gelu_tanh": _gelu_tanh,
    "abs": _abs,
    "relu": _relu,
    "leaky_relu": _relu,
    "min": _choice(-1.0),
    "max": _choice(1.0),
    **{name: _flow(name) for name in gadget_runs.FLOWS},
    "softplus": _softplus,
}
