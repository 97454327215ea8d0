"""From a graph to runs: every node becomes a form, or a fused product that waits for more factors.

A node that is used twice is computed once. Forms are expanded as long as they have few terms of degree two at most and
lose nothing by it: (x − a)² is x² − 2ax + a² in the segment's controls, which costs digits where that cancels, so a
product is expanded only if its terms are at most 1000 times as large as it gets. What is not analytic (abs, min, max,
ReLU) is smoothed with the steepness k, if there is one, where its argument can have either sign.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from integraph.bounds.perturbation.activation_errors import RELU
from integraph.constructions.graph import forms, fusion, gadget_runs
from integraph.constructions.graph.constant_forms import power_of_number
from integraph.constructions.graph.forms import FEW, AtomRequired, GraphForm, constant, drop_reads, scaled, shifted
from integraph.constructions.graph.fusion import FusedProduct
from integraph.constructions.graph.magnitude import magnitude
from integraph.constructions.graph.runs import RunTape
from integraph.errors import SourceError, UsageError
from integraph.numbers.intervals import Interval, intersection, mul, power
from integraph.numbers.roundoff import U
from integraph.program.views import dense
from integraph.targets.graph import Graph, Node

Value = GraphForm | FusedProduct
EXPAND = 1e3  # how much larger than a product its terms may be
TERMS = 24  # of an expanded product
CANCELS = 16  # roundings that a smoothed root must stay above
PRODUCTS = 4  # the largest power of a positive base that products are shorter for
NEAR_ONE = 2.0**-6  # a base that small is no problem for x − 1


class Translator:
    """Values by the number of their node."""

    def __init__(self, graph: Graph, ranges: Sequence[Interval], steep: float | None) -> None:
        """`steep` is the steepness k of rectifiers; without one they are refused."""
        self.graph, self.ranges, self.steep = graph, ranges, steep
        self.tape = RunTape()
        self.values: list[Value] = []
        self.uses = Counter(n for node in graph.nodes for n in node.args) + Counter(graph.outputs)
        self.sizes: dict[int, float] = {}  # of atoms: the largest |value|
        self.smoothed: list[str] = []
        self._runs: dict[Any, tuple[GraphForm, GraphForm | None]] = {}
        self._waiting: dict[Any, tuple[FusedProduct, int]] = {}  # fused products, and the node that each is

    def keep(self, number: int, value: Value, text: str) -> None:
        """The value of the next node. What is used twice, and costs something, runs now."""
        uses = self.uses[number]
        shared = uses > 1
        if shared and isinstance(value, FusedProduct):
            value = self.run(value, text)
        elif shared and isinstance(value, GraphForm) and (value.cost > FEW or (value.cost > 1 and uses > FEW)):
            value = self.tape.sum(value, text)
        self.values.append(value)
        if isinstance(value, GraphForm):
            self.know(value, number)
        else:
            self._waiting.setdefault((value.key(), value.cosine), (value, number))
        if isinstance(value, GraphForm) and value.plain is not None:
            size = self.ranges[number].size
            self.sizes.setdefault(value.plain[0], float(np.max(size, initial=0.0)))

    def text(self, number: int) -> str:
        """What the source calls a node, or its operation."""
        return self.graph.nodes[number].text or f"{self.graph.nodes[number].op} {number}"

    def form(self, number: int) -> GraphForm:
        """Node `number` as a form; a fused product runs."""
        value = self.values[number]
        if isinstance(value, FusedProduct):
            value = self.values[number] = self.run(value, self.text(number))
        return value

    def run(self, value: FusedProduct, text: str, near: float = 0.0) -> GraphForm:
        key = value.key()
        if key not in self._runs:
            self._runs[key] = fusion.run(self.tape, value, text, near)
        one, other = self._runs[key]
        end = other if value.cosine and other is not None else one
        known, number = self._waiting.pop((key, value.cosine), (value, None))
        if number is not None:
            self.know(scaled(end, known.gain, known.ops), number)
        return forms.broadcast(scaled(end, value.gain, value.ops), value.shape)

    def know(self, form: GraphForm, number: int) -> None:
        """An atom that holds a node, or a multiple of it, has its range."""
        term, span = form.single, self.ranges[number]
        if term is None or term.w.size > 1 or term.size is not None or form.b.any() or not term.w.all():
            return
        atom, ref = term.atoms[0], drop_reads(term.refs[0])
        shape = self.tape.atoms[atom].shape
        if ref != dense(0, ref.shape) or not span.low.size == ref.size == math.prod(shape):
            return
        span = Interval(*(np.reshape(end, shape) for end in (span.low, span.high)))
        factor = power(Interval(term.w[0], term.w[0]).widened(term.ops * U * np.abs(term.w[0])), Fraction(-1))
        exact = term.ops == 0 and term.w[0] == 1
        own = span if exact else mul(span, factor)
        self.tape.known[atom] = intersection(own, self.tape.known.get(atom, own))

    def output(self, number: int) -> GraphForm:
        """What the read-out can take: linear, and a few registers for each output."""
        form = self.form(number)
        if form.degree > 1 or form.cost > FEW or (form.b.any() and form.degree == 0):
            return self.tape.sum(form, self.text(number))
        return form

    def changed(self, form: GraphForm, how: Callable[[GraphForm], GraphForm], text: str) -> GraphForm:
        """Some change of lanes, on the form or, where that needs registers, on its atom. A matrix product keeps its own
        order of lanes."""
        if form.heavy:
            form = self.tape.sum(form, text)
        try:
            return how(form)
        except AtomRequired:
            return how(self.tape.sum(form, text))

    def size(self, form: GraphForm) -> float:
        """A bound of Σ |terms|; infinite where an atom is not known."""
        return magnitude(form, self.sizes)

    def multiply(self, f: GraphForm, g: GraphForm, text: str, value: Interval | None = None) -> GraphForm:
        """f·g as a form of degree two; `value` is its range, if that is known."""
        if f.terms and g.terms and not self.expands(f, g, value):
            f, g = (self.tape.sum(h, f"part of {text}") if _compound(h) else h for h in (f, g))
        while True:
            try:
                return forms.product(f, g)
            except AtomRequired as needed:
                settled = self.tape.sum(needed.form, f"part of {text}")
                f, g = (settled if h is needed.form else h for h in (f, g))

    def expands(self, f: GraphForm, g: GraphForm, value: Interval | None) -> bool:
        """Whether the terms of a product may be written out: a few, of one lane, that do not cancel much."""
        if not (_compound(f) or _compound(g)):
            return True
        few = (len(f.terms) + 1) * (len(g.terms) + 1) <= TERMS and not f.shape and not g.shape
        if value is None or not few:
            return False
        return self.size(f) * self.size(g) <= EXPAND * float(np.max(value.size, initial=0.0))

    def times(self, f: Value, g: Value, text: str, value: Interval | None = None) -> Value:
        if isinstance(f, GraphForm) and isinstance(g, GraphForm):
            return self.multiply(f, g, text, value)
        if isinstance(f, GraphForm):
            f, g = g, f
        assert isinstance(f, FusedProduct)
        if isinstance(g, GraphForm):
            g = fusion.polynomial(g)
        if fusion.incompatible(f, g):
            g = fusion.polynomial(self.run(g, text))
        return fusion.times(f, g, self.multiply(f.start, g.start, text))

    def power_of(self, number: int, a: Fraction, text: str) -> Value:
        """A power of a node, factor by factor of what it multiplies, divides and raises."""
        if _whole(a):
            return self.power(self.values[number], a, self.ranges[number], text, self.text(number))
        product: Value = constant((), 1.0)
        waiting = [(number, a)]
        while waiting:
            n, b = waiting.pop()
            factors = self.factors(n, b)
            waiting += factors
            if not factors:
                factor = self.power(self.values[n], b, self.ranges[n], text, self.text(n))
                product = self.times(product, factor, text)
        return product

    def factors(self, number: int, a: Fraction) -> list[tuple[int, Fraction]]:
        """(xy)^a = x^a y^a and (x^b)^a = x^(ab): for whole exponents, or where the bases are positive. But 1/(1/x) has
        no value at 0."""
        node = self.graph.nodes[number]
        divides = node.op == "div" or (node.op == "power" and node.data[0] < 0)
        if divides and a < 0 and not (self.ranges[node.args[-1]].low > 0).all():
            return []
        if node.op == "power" and abs(a * node.data[0]) > fusion.LARGEST:
            return []
        positive = all(self.ranges[n].low.min() > 0 for n in node.args)
        if node.op in ("mul", "div") and (positive or a.denominator == 1):
            return [(node.args[0], a), (node.args[1], a if node.op == "mul" else -a)]
        if node.op == "power" and (positive or a.denominator == node.data[0].denominator == 1):
            return [(node.args[0], a * node.data[0])]
        return []

    def power(self, f: Value, a: Fraction, known: Interval, text: str, base: str) -> Value:
        """f^a, where `known` is the range of f, which the source calls `base`."""
        raised = fusion.raised(f, a) if isinstance(f, FusedProduct) else None
        if raised is not None:
            return raised
        x = self.run(f, text) if isinstance(f, FusedProduct) else f
        low, high = float(np.min(known.low)), float(np.max(known.high))
        if _whole(a) and (low <= 0 or a <= PRODUCTS):
            return self.whole(x, int(a), text)
        if a < 0 and ((known.low == 0) & (known.high == 0)).any():
            raise SourceError(f"{text}: its base is 0 for every input")
        if not x.terms:
            number = power_of_number(x, x.b, a, text)
            if number is not None:
                return number
            x = self.tape.sum(x, text)
        if low <= 0 < high and a > 0 and a.denominator > 1 and self.steep is not None:
            return self.lifted(x, a, low, high, text, base)
        if low >= 0 or (a.denominator > 1 and high > 0):
            return fusion.power(x, a, low, high, base)
        if a.denominator > 1:
            raise SourceError(
                f"{text}: its base is at most {high:g} on the box, and a power of exponent {a} needs a positive one: "
                "choose another box"
            )
        if high <= 0:
            inverse = fusion.power(scaled(x, -1.0), a, -high, -low, f"−({base})")
            return inverse if a % 2 == 0 else self.times(constant((), -1.0), inverse, text)
        return self.either_sign(x, a, max(-low, high), text, base)

    def lifted(self, x: GraphForm, a: Fraction, low: float, high: float, text: str, base: str) -> GraphForm:
        """x^a, a > 0, where x may be 0 but not below: (x + δ)^a, which is above by at most δ^a for a ≤ 1, else by
        a(x + δ)^(a − 1) δ. δ is such that this costs as much as a rectifier."""
        assert self.steep is not None
        near = RELU / self.steep
        delta = near ** float(1 / a) if a <= 1 else near / (float(a) * (high + 1.0) ** float(a - 1))
        if _compound(x) and not delta > CANCELS * U * self.size(x):
            raise UsageError(
                f"{text}: its argument is computed to {U * self.size(x):.1g} only, and a root near 0 would have to be "
                f"smoothed by δ = {delta:.1g}: ask for a larger eps"
            )
        if not low + delta > 0:
            raise SourceError(
                f"{text}: its base is only known to be between {low:g} and {high:g} on the box, and the root of a "
                "negative number cannot be smoothed: choose another box, or leave out eps"
            )
        self.smoothed.append(text)
        return self.run(fusion.power(shifted(x, delta), a, min(low, 0.0) + delta, high + delta, base), text, near)

    def either_sign(self, x: GraphForm, a: Fraction, size: float, text: str, base: str) -> Value:
        """x^a for odd numerators, from x and (x²)^((a − 1)/2), and (x²)^(a/2) for even ones: x² is positive."""
        odd = a.numerator % 2 == 1
        number = None if x.terms else power_of_number(x, np.abs(x.b), a, text)
        if number is not None:
            return scaled(number, np.sign(x.b)) if odd else number
        x = x if len(x.terms) == 1 and not x.b.any() else self.tape.sum(x, text)
        b = (a - 1) / 2 if odd else a / 2
        square = fusion.power(self.multiply(x, x, text), b, 0.0, size * size, f"({base})²", fusion.SQUARE)
        return self.times(x, square, text) if odd else square

    def whole(self, x: GraphForm, n: int, text: str) -> GraphForm:
        """x^n by products."""
        if n == 0:
            return constant(x.shape, 1.0)
        if n == 1:
            return x
        half = self.whole(x, n // 2, text)
        square = self.multiply(half, half, text, self.bound(half, half))
        return self.multiply(square, x, text, self.bound(square, x)) if n % 2 else square

    def bound(self, f: GraphForm, g: GraphForm) -> Interval | None:
        """A stand-in for the range of a product that is no node: as large as its factors say, if they are known."""
        size = self.size(f) * self.size(g)
        return Interval(np.array(-size), np.array(size)) if math.isfinite(size) else None

    def flow(self, name: str, x: GraphForm, text: str) -> GraphForm:
        return gadget_runs.flow(self.tape, gadget_runs.FLOWS[name], x, text, gadget_runs.LEFT.get(name, {}))

    def rectified(self, x: GraphForm, low: Any, high: Any, text: str) -> GraphForm:
        """max(x, 0), exactly where the sign of x is known."""
        if np.min(low) >= 0:
            return x
        if np.max(high) <= 0:
            return constant(x.shape, 0.0)
        if self.steep is None:
            raise SourceError(
                f"{text} is not analytic where its argument changes its sign, so no flow gives it exactly: give a "
                "tolerance eps to smooth it, or a box on which the sign is known"
            )
        self.smoothed.append(text)
        return gadget_runs.flow(self.tape, gadget_runs.rectifier(self.steep), x, text, {})

    def inside(self, number: int, text: str, low: float, high: float) -> None:
        """Refuses an argument that is nowhere between these ends."""
        known = self.ranges[number]
        if np.max(known.high) <= low or np.min(known.low) >= high:
            reach = f"[{float(np.min(known.low)):g}, {float(np.max(known.high)):g}]"
            raise SourceError(f"{text}: its argument is in {reach} on the box, and must be in ({low:g}, {high:g})")

    def logarithm(self, x: GraphForm, known: Interval, text: str) -> GraphForm:
        low, high = float(np.min(known.low)), float(np.max(known.high))
        if not high > 0:
            raise SourceError(f"{text}: its argument is at most {high:g} on the box: ln needs a positive one")
        near = low <= 1 <= high and low >= NEAR_ONE
        return gadget_runs.logarithm(self.tape, x, 1.0 if near else fusion.scale(low, high), text, not low > 0)


def _compound(form: GraphForm) -> bool:
    """More than a multiple of registers."""
    return len(form.terms) > 1 or bool(form.terms and form.b.any())


def _whole(a: Fraction) -> bool:
    return a.denominator == 1 and a >= 0


Rule = Callable[[Translator, int, Node, str], Value]  # a node by its number, and what the source calls it
