"""What each operation of a graph becomes: one small function for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from integraph.bounds.intervals import Interval
from integraph.constructions.graph import forms, functions, fused
from integraph.constructions.graph.forms import Form, add, constant, scaled, shifted
from integraph.constructions.graph.fused import Fused
from integraph.constructions.graph.reader import Reader, Value
from integraph.constructions.graph.rounding import powers_of_two
from integraph.constructions.graph.runs import Tape
from integraph.constructions.graph.spec import check_runs, check_value
from integraph.errors import SourceError
from integraph.program.views import dense
from integraph.targets.activations import CUBIC, ROOT_2_PI
from integraph.targets.graph import MASKED, Graph, Node

LN2, LN10 = math.log(2.0), math.log(10.0)
TAIL = -8.0  # below, softplus is e^x to three digits
STEADY = (2.0**-6, 1e6)  # bases of x^y for which x − 1 is good enough


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """Runs, the form of each output, and what was smoothed."""

    tape: Tape
    outputs: tuple[Form, ...]
    smoothed: tuple[str, ...]


def lower(graph: Graph, ranges: Sequence[Interval], steep: float | None) -> Lowered:
    """`steep` is the steepness k of rectifiers; without one they are refused."""
    reader = Reader(graph, ranges, steep)
    for number, node in enumerate(graph.nodes):
        text, before = reader.text(number), len(reader.tape.runs)
        reader.keep(number, RULES[node.op](reader, number, node, text), text)
        check_runs(reader.tape, before)
        check_value(reader.values[number], node.shape, reader.tape.atoms, text)
    outputs = tuple(reader.output(n) for n in graph.outputs)
    return Lowered(reader.tape, outputs, tuple(reader.smoothed))


Rule = Callable[[Reader, int, Node, str], Value]


def _input(r: Reader, n: int, node: Node, text: str) -> Value:
    return r.tape.input(text, node.shape)


def _constant(r: Reader, n: int, node: Node, text: str) -> Value:
    assert node.value is not None
    if not np.isfinite(node.value).all():
        raise SourceError(f"{text} holds −∞, which only the scores of a softmax may be: it is no number")
    return constant(node.shape, node.value, len(node.data))


def _linear(how: Callable[..., Form]) -> Rule:
    return lambda r, n, node, text: how(*(r.form(k) for k in node.args))


def _lanes(how: Callable[[Form, tuple[Any, ...]], Form]) -> Rule:
    return lambda r, n, node, text: r.changed(r.form(node.args[0]), lambda form: how(form, node.data), text)


def _reshape(r: Reader, n: int, node: Node, text: str) -> Value:
    """A product that waits goes on waiting."""
    value = r.values[node.args[0]]
    found = (
        fused.moved(value, node.shape, lambda form: forms.reshaped(form, node.shape))
        if isinstance(value, Fused)
        else None
    )
    if found is not None:
        return found
    return r.changed(r.form(node.args[0]), lambda form: forms.reshaped(form, node.shape), text)


def _broadcast(r: Reader, n: int, node: Node, text: str) -> Value:
    value = r.values[node.args[0]]
    if isinstance(value, Fused):
        return replace(value, shape=node.shape)
    return r.changed(value, lambda form: forms.broadcast(form, node.shape), text)


def _slice(form: Form, data: tuple[Any, ...]) -> Form:
    ends = (start + step * count for start, step, count in data)
    keys = (slice(s, end if end >= 0 else None, step) for (s, step, _), end in zip(data, ends, strict=True))
    return forms.sliced(form, tuple(keys))


def _concat(r: Reader, n: int, node: Node, text: str) -> Value:
    axis, whole, parts, start = node.data[0], dense(0, node.shape), [], 0
    for k in node.args:
        form = r.form(k)
        key = (slice(None),) * (axis % len(node.shape)) + (slice(start, start + form.shape[axis]),)
        parts.append((whole[key], form))
        start += form.shape[axis]
    return forms.atom_form(r.tape.pieces(parts, node.shape, text, text), node.shape)


def _mul(r: Reader, n: int, node: Node, text: str) -> Value:
    return r.times(r.values[node.args[0]], r.values[node.args[1]], text, r.ranges[n])


def _div(r: Reader, n: int, node: Node, text: str) -> Value:
    over, under = node.args
    divisor = r.graph.nodes[under]
    if divisor.op == "constant":
        assert divisor.value is not None
        if not divisor.value.all():
            raise SourceError(f"{text}: a division by the constant 0")
        inverse = 1.0 / divisor.value
        ops = len(divisor.data) + (not powers_of_two(divisor.value))
        return r.times(r.values[over], constant(divisor.shape, inverse, ops), text)
    return r.times(r.values[over], r.power_of(under, Fraction(-1), text), text)


def _power(r: Reader, n: int, node: Node, text: str) -> Value:
    return r.power_of(node.args[0], node.data[0], text)


def _variable_power(r: Reader, n: int, node: Node, text: str) -> Value:
    base, exponent = node.args
    known, y = r.ranges[base], r.form(exponent)
    number = r.graph.nodes[base].value
    if number is not None:
        if not (number > 0).all():
            raise SourceError(
                f"{text}: a power with an exponent that varies needs a positive base, it is {number.min():g}"
            )
        return fused.exponential(scaled(y, np.log(number), 2 if (number != np.e).any() else 0))
    if np.min(known.low) >= STEADY[0] and np.max(known.high) <= STEADY[1]:
        x = r.form(base)
        return functions.variable_power(r.tape, x, r.multiply(y, shifted(x, -1.0), text), text)
    return fused.exponential(r.multiply(y, r.logarithm(r.form(base), known, text), text))


def _matmul(r: Reader, n: int, node: Node, text: str) -> Value:
    """Σ_k f[…, i, k] g[…, k, j]: a product of lanes (…, i, j, k), summed over the last."""
    f, g = (r.form(k) for k in node.args)
    f, g = (form if not form.terms or form.single else r.tape.sum(form, text) for form in (f, g))
    left = forms.inserted(f, len(f.shape) - 1)
    right = forms.inserted(forms.transposed(g, (*range(len(g.shape) - 2), -1, -2)), len(g.shape) - 2)
    return forms.summed(r.multiply(left, right, text))


def _sum(r: Reader, n: int, node: Node, text: str) -> Value:
    form = r.form(node.args[0])
    gone = sorted(range(len(form.shape))[axis] for axis in node.data[0])
    kept = [axis for axis in range(len(form.shape)) if axis not in gone]
    form = r.changed(form, lambda form: forms.transposed(form, (*kept, *gone)), text)
    for _ in gone:
        form = r.changed(form, forms.summed, text)
    return form


def _softmax(r: Reader, n: int, node: Node, text: str) -> Value:
    """An entry that takes no part gets the score of one that does: what is left in its registers may not grow."""
    s = r.form(node.args[0])
    if node.value is None:
        return functions.softmax(r.tape, s, np.full(1, 1.0 / node.shape[-1]), text)
    reach = float(np.max(r.ranges[node.args[0]].size))
    if not reach <= -0.4 * MASKED:
        raise SourceError(
            f"{text}: its scores can reach {reach:.1g} on the box, and then a mask of {MASKED:g} is no mask: use a "
            "smaller box or smaller weights"
        )
    mask = np.broadcast_to(node.value, node.shape)
    column = int(np.argmax(mask.reshape(-1, node.shape[-1]).all(0)))
    if mask[..., column].all():
        rows = (slice(None),) * (len(node.shape) - 1)
        first = r.changed(s, lambda form: forms.sliced(form, (*rows, slice(column, column + 1))), text)
    else:
        first = forms.picked(s, np.argmax(mask, -1))
    s = add(scaled(s, mask), scaled(forms.broadcast(first, s.shape), ~mask))
    return functions.softmax(r.tape, s, mask / mask.sum(-1, keepdims=True), text)


def _exp(r: Reader, n: int, node: Node, text: str) -> Value:
    return fused.exponential(r.form(node.args[0]))


def _turn(cosine: bool) -> Rule:
    return lambda r, n, node, text: fused.turn(r.form(node.args[0]), cosine)


def _tan(r: Reader, n: int, node: Node, text: str) -> Value:
    x = r.form(node.args[0])
    sine, cosine = (r.run(fused.turn(x, which), text) for which in (False, True))
    return r.times(sine, r.either_sign(cosine, Fraction(-1), 1.0, text, "cos"), text)


def _flow(name: str) -> Rule:
    return lambda r, n, node, text: r.flow(name, r.form(node.args[0]), text)


def _logarithm(base: float) -> Rule:
    return lambda r, n, node, text: scaled(r.logarithm(r.form(node.args[0]), r.ranges[node.args[0]], text), 1.0 / base)


def _log1p(r: Reader, n: int, node: Node, text: str) -> Value:
    r.inside(node.args[0], text, -1.0, math.inf)
    guard = not np.min(r.ranges[node.args[0]].low) > -1
    return functions.logarithm(r.tape, shifted(r.form(node.args[0]), 1.0), 1.0, text, guard)


def _softplus(r: Reader, n: int, node: Node, text: str) -> Value:
    """Its gadget starts at ln 2, and where only e^x is left of that, no digit is: there it is ln(1 + e^x)."""
    x = r.form(node.args[0])
    if np.max(r.ranges[node.args[0]].high) > TAIL:
        return r.flow("softplus", x, text)
    return functions.logarithm(r.tape, shifted(r.run(fused.exponential(x), text), 1.0), 1.0, text, False)


def _root(a: Fraction) -> Rule:
    def rule(r: Reader, n: int, node: Node, text: str) -> Value:
        known = r.ranges[node.args[0]]
        if a.denominator == 3 and np.min(known.low) < 0:
            return r.either_sign(r.form(node.args[0]), a, float(np.max(known.size)), text, r.text(node.args[0]))
        return r.power_of(node.args[0], a, text)

    return rule


def _arc(r: Reader, number: int, text: str) -> Form:
    """asin x = atan(x (1 − x²)^−½)."""
    r.inside(number, text, -1.0, 1.0)
    x, name = r.form(number), r.text(number)
    x = x if x.single else r.tape.sum(x, text)
    square = shifted(scaled(r.multiply(x, x, text), -1.0), 1.0)
    slope = r.times(x, fused.power(square, Fraction(-1, 2), 0.0, 1.0, f"1 − ({name})²"), text)
    assert isinstance(slope, fused.Fused)
    return r.flow("atan", r.run(slope, text), text)


def _asin(r: Reader, n: int, node: Node, text: str) -> Value:
    return _arc(r, node.args[0], text)


def _acos(r: Reader, n: int, node: Node, text: str) -> Value:
    return shifted(scaled(_arc(r, node.args[0], text), -1.0), 0.5 * math.pi)


def _acosh(r: Reader, n: int, node: Node, text: str) -> Value:
    """2 asinh √((x − 1)/2)."""
    r.inside(node.args[0], text, 1.0, math.inf)
    known, name = r.ranges[node.args[0]], r.text(node.args[0])
    half = shifted(scaled(r.form(node.args[0]), 0.5), -0.5)
    low, high = 0.5 * float(np.min(known.low)) - 0.5, 0.5 * float(np.max(known.high)) - 0.5
    return scaled(
        r.flow("asinh", r.run(fused.power(half, Fraction(1, 2), low, high, f"({name} − 1)/2"), text), text), 2.0
    )


def _atanh(r: Reader, n: int, node: Node, text: str) -> Value:
    r.inside(node.args[0], text, -1.0, 1.0)
    x, guard = r.form(node.args[0]), not np.max(r.ranges[node.args[0]].size) < 1
    above, below = (
        functions.logarithm(r.tape, shifted(scaled(x, sign), 1.0), 1.0, text, guard) for sign in (1.0, -1.0)
    )
    return add(scaled(above, 0.5), scaled(below, -0.5))


def _gaussian(r: Reader, n: int, node: Node, text: str) -> Value:
    x = r.form(node.args[0])
    return fused.exponential(scaled(r.multiply(x, x, text, r.bound(x, x)), -1.0))


def _gelu_tanh(r: Reader, n: int, node: Node, text: str) -> Value:
    x = r.tape.sum(r.form(node.args[0]), text)
    cube = r.multiply(x, r.multiply(x, x, text), text)
    tanh = r.flow("tanh", add(scaled(x, ROOT_2_PI), scaled(cube, ROOT_2_PI * CUBIC)), text)
    return add(scaled(x, 0.5), scaled(r.multiply(x, tanh, text), 0.5))


def _abs(r: Reader, n: int, node: Node, text: str) -> Value:
    x, known = r.form(node.args[0]), r.ranges[node.args[0]]
    return add(scaled(r.rectified(x, known.low, known.high, text), 2.0), scaled(x, -1.0))


def _relu(r: Reader, n: int, node: Node, text: str) -> Value:
    x, known = r.form(node.args[0]), r.ranges[node.args[0]]
    positive = r.rectified(x, known.low, known.high, text)
    slope = float(node.data[0]) if node.data else 0.0
    return add(scaled(positive, 1.0 - slope), scaled(x, slope)) if slope else positive


def _choice(sign: float) -> Rule:
    """max(x, y) = y + max(x − y, 0), min(x, y) = y − max(y − x, 0)."""

    def rule(r: Reader, n: int, node: Node, text: str) -> Value:
        x, y = (r.form(k) for k in node.args)
        a, b = (r.ranges[k] for k in node.args)
        low, high = (a.low - b.high, a.high - b.low) if sign > 0 else (b.low - a.high, b.high - a.low)
        gap = scaled(add(x, scaled(y, -1.0)), sign)
        return add(y, scaled(r.rectified(gap, low, high, text), sign))

    return rule


RULES: dict[str, Rule] = {
    "input": _input,
    "constant": _constant,
    "add": _linear(add),
    "sub": _linear(lambda f, g: add(f, scaled(g, -1.0))),
    "neg": _linear(lambda f: scaled(f, -1.0)),
    "mul": _mul,
    "div": _div,
    "power": _power,
    "variable_power": _variable_power,
    "matmul": _matmul,
    "sum": _sum,
    "softmax": _softmax,
    "reshape": _reshape,
    "broadcast": _broadcast,
    "transpose": _lanes(lambda form, data: forms.transposed(form, data)),
    "slice": _lanes(_slice),
    "take": _lanes(lambda form, data: forms.taken(form, data[0], tuple(data[1]))),
    "concat": _concat,
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
    **{name: _flow(name) for name in functions.FLOWS},
    "softplus": _softplus,
}
