"""What each operation of a graph becomes, a small function for each; those of one number are in `elementary_rules`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from integraph.constructions.graph import elementary_rules, forms, fusion, gadget_runs
from integraph.constructions.graph.forms import GraphForm, add, constant, scaled, shifted
from integraph.constructions.graph.fusion import FusedProduct
from integraph.constructions.graph.invariants import check_runs, check_value
from integraph.constructions.graph.rounding import powers_of_two
from integraph.constructions.graph.runs import RunTape
from integraph.constructions.graph.translation import Rule, Translator, Value
from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.program import View
from integraph.program.views import dense
from integraph.targets.graph import Graph, Node

NEGLIGIBLE = 1e4  # a score that is lower by this than another of its row has no weight: e^(−1e4) is 1e-4343
STEADY = (2.0**-6, 1e6)  # bases of x^y for which x − 1 is good enough


@dataclass(frozen=True, slots=True, eq=False)
class LoweredGraph:
    """Runs, the form of each output, and what was smoothed."""

    tape: RunTape
    outputs: tuple[GraphForm, ...]
    smoothed: tuple[str, ...]


def lower(graph: Graph, ranges: Sequence[Interval], steep: float | None) -> LoweredGraph:
    """`steep` is the steepness k of rectifiers; without one they are refused."""
    translator = Translator(graph, ranges, steep)
    for number, node in enumerate(graph.nodes):
        text, before = translator.text(number), len(translator.tape.runs)
        translator.keep(number, RULES[node.op](translator, number, node, text), text)
        check_runs(translator.tape, before)
        check_value(translator.values[number], node.shape, translator.tape.atoms, text)
    outputs = tuple(translator.output(n) for n in graph.outputs)
    return LoweredGraph(translator.tape, outputs, tuple(translator.smoothed))


def _input(r: Translator, n: int, node: Node, text: str) -> Value:
    return r.tape.input(text, node.shape)


def _constant(r: Translator, n: int, node: Node, text: str) -> Value:
    assert node.value is not None
    if not np.isfinite(node.value).all():
        raise SourceError(f"{text} contains −∞, which is allowed only among the scores of a softmax")
    return constant(node.shape, node.value, len(node.data))


def _linear(how: Callable[..., GraphForm]) -> Rule:
    return lambda r, n, node, text: how(*(r.form(k) for k in node.args))


def _lanes(how: Callable[[GraphForm, tuple[Any, ...]], GraphForm]) -> Rule:
    return lambda r, n, node, text: r.changed(r.form(node.args[0]), lambda form: how(form, node.data), text)


def _reshape(r: Translator, n: int, node: Node, text: str) -> Value:
    """A product that waits goes on waiting."""
    value = r.values[node.args[0]]
    moved = (
        fusion.moved(value, node.shape, lambda form: forms.reshaped(form, node.shape))
        if isinstance(value, FusedProduct)
        else None
    )
    if moved is not None:
        return moved
    return r.changed(r.form(node.args[0]), lambda form: forms.reshaped(form, node.shape), text)


def _broadcast(r: Translator, n: int, node: Node, text: str) -> Value:
    value = r.values[node.args[0]]
    if isinstance(value, FusedProduct):
        return replace(value, shape=node.shape)
    return r.changed(value, lambda form: forms.broadcast(form, node.shape), text)


def _slice(form: GraphForm, data: tuple[Any, ...]) -> GraphForm:
    ends = (start + step * count for start, step, count in data)
    keys = (slice(s, end if end >= 0 else None, step) for (s, step, _), end in zip(data, ends, strict=True))
    return forms.sliced(form, tuple(keys))


def _concat(r: Translator, n: int, node: Node, text: str) -> Value:
    return forms.atom_form(r.tape.pieces(_parts(r, node, dense(0, node.shape)), node.shape, text), node.shape)


def _parts(r: Translator, node: Node, whole: View) -> Iterator[tuple[View, GraphForm]]:
    """What is put side by side, and where. A concatenation that nobody else reads is no step of its own."""
    axis, start = node.data[0] % len(node.shape), 0
    for k in node.args:
        part = r.graph.nodes[k]
        place = whole[(slice(None),) * axis + (slice(start, start + part.shape[axis]),)]
        start += part.shape[axis]
        if part.op == "concat" and r.uses[k] == 1:
            yield from _parts(r, part, place)
        else:
            yield place, r.form(k)


def _mul(r: Translator, n: int, node: Node, text: str) -> Value:
    return r.times(r.values[node.args[0]], r.values[node.args[1]], text, r.ranges[n])


def _div(r: Translator, n: int, node: Node, text: str) -> Value:
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


def _power(r: Translator, n: int, node: Node, text: str) -> Value:
    return r.power_of(node.args[0], node.data[0], text)


def _variable_power(r: Translator, n: int, node: Node, text: str) -> Value:
    base, exponent = node.args
    known, y = r.ranges[base], r.form(exponent)
    number = r.graph.nodes[base].value if r.graph.nodes[base].op == "constant" else None  # else a mask of scores
    if number is not None:
        if not (number > 0).all():
            raise SourceError(
                f"{text}: a power with an exponent that varies needs a positive base, it is {number.min():g}"
            )
        return fusion.exponential(scaled(y, np.log(number), 2 if (number != np.e).any() else 0))
    if np.min(known.low) >= STEADY[0] and np.max(known.high) <= STEADY[1]:
        x = r.form(base)
        return gadget_runs.variable_power(r.tape, x, r.multiply(y, shifted(x, -1.0), text), text)
    return fusion.exponential(r.multiply(y, r.logarithm(r.form(base), known, text), text))


def _matmul(r: Translator, n: int, node: Node, text: str) -> Value:
    """Σ_k f[…, i, k] g[…, k, j]: a product of lanes (…, i, j, k), summed over the last."""
    f, g = (r.form(k) for k in node.args)
    f, g = (form if not form.terms or form.single else r.tape.sum(form, text) for form in (f, g))
    left = forms.inserted(f, len(f.shape) - 1)
    right = forms.inserted(forms.transposed(g, (*range(len(g.shape) - 2), -1, -2)), len(g.shape) - 2)
    return forms.summed(r.multiply(left, right, text))


def _sum(r: Translator, n: int, node: Node, text: str) -> Value:
    form = r.form(node.args[0])
    gone = sorted(range(len(form.shape))[axis] for axis in node.data[0])
    kept = [axis for axis in range(len(form.shape)) if axis not in gone]
    form = r.changed(form, lambda form: forms.transposed(form, (*kept, *gone)), text)
    for _ in gone:
        form = r.changed(form, forms.summed, text)
    return form


def _softmax(r: Translator, n: int, node: Node, text: str) -> Value:
    """Where one entry of each row takes part it is 1, whatever its score is."""
    s, mask = r.form(node.args[0]), _taking_part(r.ranges[node.args[0]], node.value)
    if (mask.sum(-1) == 1).all():
        return constant(node.shape, mask * 1.0)
    return gadget_runs.softmax(r.tape, _replaced(r, s, mask, ~mask, text), _shares(mask), text)


def _log_softmax(r: Translator, n: int, node: Node, text: str) -> Value:
    """Where one entry of each row takes part it is subtracted, and cancels where it is itself."""
    s, mask = r.form(node.args[0]), _taking_part(r.ranges[node.args[0]], node.value)
    if (mask.sum(-1) > 1).any():
        out = np.zeros(mask.shape, np.bool_) if node.value is None else ~np.broadcast_to(node.value, mask.shape)
        return gadget_runs.log_softmax(r.tape, _replaced(r, s, mask, out, text), _shares(mask), text)
    return add(s, scaled(forms.broadcast(_first(r, s, mask, text), s.shape), -1.0))


def _log_sum_exp(r: Translator, n: int, node: Node, text: str) -> Value:
    """Where one entry of each row takes part it is that entry."""
    s, mask = r.form(node.args[0]), _taking_part(r.ranges[node.args[0]], node.value)
    if (mask.sum(-1) > 1).any():
        return gadget_runs.log_sum_exp(r.tape, _replaced(r, s, mask, ~mask, text), _shares(mask), text)
    return r.changed(_first(r, s, mask, text), lambda form: forms.reshaped(form, node.shape), text)


def _replaced(r: Translator, s: GraphForm, mask: Any, out: Any, text: str) -> GraphForm:
    """Scores, with that of an entry that takes part in place of those that are out: what is left in their registers may
    not grow."""
    if not out.any():
        return s
    first = forms.broadcast(_first(r, s, mask, text), s.shape)
    return add(scaled(s, ~out), scaled(first, out))


def _shares(mask: Any) -> Floats:
    """The share of each entry: 1/n for the n of a row that take part, else 0."""
    return np.full(1, 1.0 / mask.shape[-1]) if mask.all() else mask / mask.sum(-1, keepdims=True)


def _first(r: Translator, s: GraphForm, mask: Any, text: str) -> GraphForm:
    """One entry of each row that takes part, the same of all rows if there is such a one."""
    column = int(np.argmax(mask.reshape(-1, s.shape[-1]).all(0)))
    if not mask[..., column].all():
        return forms.picked(s, np.argmax(mask, -1))
    rows = (slice(None),) * (len(s.shape) - 1)
    return r.changed(s, lambda form: forms.sliced(form, (*rows, slice(column, column + 1))), text)


def _taking_part(scores: Interval, mask: Any) -> Any:
    """Which entries have a weight somewhere on the box: not those that the mask, if there is one, leaves out, nor those
    that another of their row always exceeds by far."""
    given = np.broadcast_to(True if mask is None else mask, scores.low.shape)
    highest = np.max(np.where(given, scores.low, -np.inf), -1, keepdims=True)
    return given & ~(scores.high < highest - NEGLIGIBLE)


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
    "log_softmax": _log_softmax,
    "logsumexp": _log_sum_exp,
    "reshape": _reshape,
    "broadcast": _broadcast,
    "transpose": _lanes(lambda form, data: forms.transposed(form, data)),
    "slice": _lanes(_slice),
    "take": _lanes(lambda form, data: forms.taken(form, data[0], tuple(data[1]))),
    "concat": _concat,
    **elementary_rules.RULES,
}
