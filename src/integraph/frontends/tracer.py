"""From a graph of small operations to a network: what graphs of ONNX files and of torch.export have in common.

A reader walks its graph and hands every node over. A value that depends on the input is `Traced`: an elementwise
function (`ElementwiseValue`) of an anchor, and an anchor is the input or an affine map of an earlier value. So a layer
is found where its weights are, its activation is what was done to it until the next weights, and a graph that is no
chain of such layers is refused at the node where it stops being one. `where` is how a reader names a node in an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends import activation_patterns
from integraph.frontends.activation_patterns import ActivationForm, ElementwiseValue
from integraph.frontends.chain import ActivationLayer, layers, times
from integraph.numbers.arrays import Floats, Indices, numbers
from integraph.targets import Network
from integraph.targets.affine_maps import Map

BUDGET = 1 << 28  # numbers that may be held while a graph is read
MOST = 1 << 20  # inputs of a network
LARGEST = 50_000_000  # entries of a matrix of zeros and ones that puts features into another order


@dataclass(frozen=True, slots=True, eq=False)
class Anchor:
    """The input, or A·source + b; A is a matrix, or a vector for one factor for each unit."""

    source: TracedValue | None
    form: ActivationForm | None  # what activation the source is
    A: Floats
    b: Floats


@dataclass(frozen=True, slots=True, eq=False)
class TracedValue:
    """A tensor that depends on the input, for a batch of one: its features are all its entries in order."""

    anchor: Anchor
    value: ElementwiseValue
    shape: tuple[int, ...]
    where: str

    @property
    def features(self) -> int:
        return math.prod(self.shape)


Operand = TracedValue | np.ndarray[Any, Any]


class TraceBudget:
    """How many numbers may still be made."""

    def __init__(self, numbers: int) -> None:
        self._left = numbers

    def spend(self, entries: int, where: str) -> None:
        """Numbers that a node makes: small files that unfold into more than the machine holds are refused."""
        self._left -= entries
        if self._left < 0:
            raise SourceError(
                f"{where} makes {entries} numbers, more than a model of this size may: it unfolds too far"
            )


class Tracer(TraceBudget):
    """Builds a network from nodes in order. Notes say what was rounded."""

    def __init__(self, source: str, budget: int = BUDGET) -> None:
        super().__init__(budget)
        self.source = source
        self._linked: dict[
            int, tuple[ElementwiseValue, Anchor]
        ] = {}  # values that became anchors; the value keeps its id alive

    def input(self, shape: tuple[int, ...]) -> TracedValue:
        """What the network takes; the batch axis, if there is one, is first and 1."""
        units = math.prod(shape)
        if not 1 <= units <= MOST:
            raise SourceError(f"the input has shape {tuple(shape)}: a network takes 1 to {MOST} numbers")
        return TracedValue(
            Anchor(None, None, np.ones(units), np.zeros(units)),
            activation_patterns.argument(units),
            tuple(shape),
            "the input",
        )

    def dense(self, x: TracedValue, W: Any, b: Any, where: str) -> TracedValue:
        """W x + b, W of shape (units, features). If the features were the last axis of x, so are the units."""
        A = _finite(W, "weights", where)
        if A.ndim != 2 or A.shape[1] != x.features or not len(A):
            raise SourceError(f"{where} has weights of shape {A.shape} for {x.features} features (shape {x.shape})")
        bias = np.zeros(len(A)) if b is None else _finite(b, "biases", where)
        if bias.size not in (1, len(A)):
            raise SourceError(f"{where} has {bias.size} biases (shape {bias.shape}) for {len(A)} units")
        self.spend(A.size, where)
        lead = x.shape[:-1] if x.shape and x.shape[-1] == x.features else (1,)
        anchor = _anchor(x, A, np.broadcast_to(bias.ravel(), (len(A),)))
        return TracedValue(anchor, activation_patterns.argument(len(A)), (*lead, len(A)), where)

    def scale(self, x: TracedValue, factor: Any, shift: Any, where: str) -> TracedValue:
        """factor·x + shift, each feature alone, as one map: it joins its neighbours where that is exact."""
        A, b = (self._with_constant(x, _finite(c, "constants", where), where)[1] for c in (factor, shift))
        self.spend(2 * x.features, where)
        return replace(x, anchor=_anchor(x, A, b), value=activation_patterns.argument(x.features), where=where)

    def add(self, a: Operand, b: Operand, where: str) -> TracedValue:
        if isinstance(a, TracedValue) and isinstance(b, TracedValue):
            a, b = self._together(a, b, where)
            return self._elementwise(a, activation_patterns.add(a.value, b.value, where), where)
        x, c = self._with_constant(a, b, where)
        return self._shift(x, c, where)

    def sub(self, a: Operand, b: Operand, where: str) -> TracedValue:
        return self.add(a, self.neg(b, where) if isinstance(b, TracedValue) else -_finite(b, "constants", where), where)

    def mul(self, a: Operand, b: Operand, where: str) -> TracedValue:
        if isinstance(a, TracedValue) and isinstance(b, TracedValue):
            a, b = self._together(a, b, where)
            return self._elementwise(a, activation_patterns.mul(a.value, b.value, where), where)
        x, c = self._with_constant(a, b, where)
        return self._elementwise(x, activation_patterns.mul(x.value, activation_patterns.constant(c), where), where)

    def div(self, a: Operand, b: Operand, where: str) -> TracedValue:
        """a / b as a · (1/b), and a note if 1/b is rounded."""
        if isinstance(b, TracedValue):
            raise SourceError(f"{where} divides by a computed tensor: only division by constants is a layer")
        c = _finite(b, "constants", where)
        if not c.all():
            raise SourceError(f"{where} divides by 0")
        with np.errstate(over="ignore"):
            inverse = 1.0 / c
        quotient = self.mul(a, inverse, where)
        back = times(c.ravel(), inverse.ravel())
        if back is not None and (back == 1.0).all():
            return quotient
        some = float(c.flat[0])
        what = f"{some:.17g}" if (c == some).all() else f"{c.size} constants"
        return _noted(quotient, f"division by {what} at {where}: 1/{'c' if c.size > 1 else what} rounded to float64")

    def neg(self, a: TracedValue, where: str) -> TracedValue:
        return self.mul(a, np.array(-1.0), where)

    def power(self, a: TracedValue, n: float, where: str) -> TracedValue:
        if n not in (1, 2, 3):
            raise SourceError(f"{where} takes the power {n}: 2 and 3 are supported, as parts of activations")
        x = result = self._polynomial(a)
        for _ in range(int(n) - 1):
            result = self.mul(result, x, where)
        return replace(result, where=where)

    def unary(self, name: str, a: TracedValue, where: str, slope: Any = 0.0) -> TracedValue:
        """An activation; `slope`, of leaky_relu, is a number or an array that broadcasts to the shape of a."""
        leak: float | Floats = 0.0
        if name == "leaky_relu":
            given = _finite(slope, "slopes", where)
            leak = float(given.reshape(())) if given.size == 1 else self._with_constant(a, given, where)[1]
        if name == "identity":
            return replace(a, where=where)
        x = self._polynomial(a)
        return self._elementwise(x, activation_patterns.apply(name, x.value, leak), where)

    def reshape(self, a: TracedValue, shape: Sequence[int], where: str) -> TracedValue:
        """The same features in the same order; one size may be −1."""
        wanted = [int(n) for n in shape]
        rest = math.prod(n for n in wanted if n != -1)
        if wanted.count(-1) == 1 and rest > 0 and a.features % rest == 0:
            wanted[wanted.index(-1)] = a.features // rest
        if min(wanted, default=1) < 1 or math.prod(wanted) != a.features:
            raise SourceError(
                f"{where} gives shape {tuple(shape)} to {a.features} features of shape {a.shape} (batch of 1)"
            )
        return replace(a, shape=tuple(wanted), where=where)

    def arrange(self, a: TracedValue, order: Indices, where: str) -> TracedValue:
        """The features with these numbers, in the shape of `order`. If that changes more than the shape it is a matrix
        of 0 and 1, exact."""
        numbers = order.ravel()
        if np.array_equal(numbers, np.arange(a.features)):
            return replace(a, shape=order.shape, where=where)
        if numbers.size * a.features > LARGEST:
            raise SourceError(
                f"{where} takes {numbers.size} of {a.features} features in another order: as a matrix that is more "
                f"than {LARGEST} entries; arrange the weights instead"
            )
        self.spend(numbers.size * a.features, where)
        matrix = np.zeros((numbers.size, a.features))
        matrix[np.arange(numbers.size), numbers] = 1.0
        return replace(self.dense(a, matrix, None, where), shape=order.shape)

    def network(self, output: TracedValue) -> Network:
        """The layers from the input to that value."""
        parts: list[Map | ActivationLayer] = []
        notes: list[tuple[str, ...]] = []  # of the last layer first
        x, form = output, activation_patterns.form(output.value, output.where)
        while True:
            parts.append((form.s, form.t))
            if form.f != "identity":
                parts.append(ActivationLayer(form.f, form.slope, len(form.a)))
            parts.append((form.a, form.b))
            notes.append(form.notes)
            anchor = x.anchor
            if anchor.source is None or anchor.form is None:
                break
            parts.append((anchor.A, anchor.b))
            x, form = anchor.source, anchor.form
        said = dict.fromkeys(note for some in reversed(notes) for note in some)
        return Network(tuple(layers(reversed(parts), x.features)), self.source, tuple(said))

    def _polynomial(self, a: TracedValue) -> TracedValue:
        """The value as a polynomial of its anchor: what went through an activation becomes an anchor itself."""
        if a.value.f is None:
            return a
        if id(a.value) not in self._linked:
            one = np.ones(a.features)
            self._linked[id(a.value)] = a.value, _anchor(a, one, 0.0 * one)
        return replace(a, anchor=self._linked[id(a.value)][1], value=activation_patterns.argument(a.features))

    def _elementwise(self, x: TracedValue, value: ElementwiseValue, where: str) -> TracedValue:
        self.spend(value.r.size + value.q.size, where)
        return replace(x, value=value, where=where)

    def _together(self, a: TracedValue, b: TracedValue, where: str) -> tuple[TracedValue, TracedValue]:
        """Two values over one anchor and with one shape."""
        if a.anchor is not b.anchor:
            a, b = (self._polynomial(x) if id(x.value) in self._linked else x for x in (a, b))
        if a.anchor is not b.anchor:
            raise SourceError(
                f"{where} combines two computed tensors, from {a.where} and {b.where}: residual connections and gates "
                "are not part of a feedforward net, but of a graph: compile it with method='exact'"
            )
        shape = broadcast(a.shape, b.shape, where)
        if math.prod(shape) != a.features:
            raise SourceError(f"{where} combines shapes {a.shape} and {b.shape}: that repeats features")
        return replace(a, shape=shape), replace(b, shape=shape)

    def _with_constant(self, a: Operand, b: Operand, where: str) -> tuple[TracedValue, Floats]:
        """The traced operand, and the other as one number for each of its features."""
        x, other = (a, b) if isinstance(a, TracedValue) else (b, a)
        if not isinstance(x, TracedValue):
            raise SourceError(f"{where} has only constants: nothing to trace")
        c = _finite(other, "constants", where)
        shape = broadcast(x.shape, c.shape, where)
        size = math.prod(shape)
        if size != x.features:
            if x.features > 1 or (len(shape) > 1 and shape[0] != 1) or not size:
                raise SourceError(
                    f"{where} combines shape {x.shape} with constants of shape {c.shape}: that repeats features"
                )
            x = self.dense(x, np.ones((size, 1)), None, where)
        return replace(x, shape=shape), np.broadcast_to(c, shape).ravel()

    def _shift(self, x: TracedValue, c: Floats, where: str) -> TracedValue:
        """x + c. Of an affine value it is an anchor, so that polynomials of it are written in x + c, unexpanded."""
        if not c.any():
            return replace(x, where=where)
        if not x.value.affine:
            return self._elementwise(x, activation_patterns.add(x.value, activation_patterns.constant(c), where), where)
        own, scale, shift = x.anchor, x.value.r[1], x.value.r[0]
        if own.source is not None and not own.b.any() and not shift.any() and (scale == 1).all() and not x.value.notes:
            anchor = Anchor(own.source, own.form, own.A, c)
        else:
            anchor = _anchor(x, np.ones(x.features), c)
        return self._elementwise(replace(x, anchor=anchor), activation_patterns.argument(x.features), where)


def _anchor(x: TracedValue, A: Floats, b: Floats) -> Anchor:
    """A map of a value that is complete: from here on it is an input of the next layer."""
    return Anchor(x, activation_patterns.form(x.value, x.where), A, b)


def _noted(x: TracedValue, note: str) -> TracedValue:
    return replace(x, value=replace(x.value, notes=(*x.value.notes, note)))


def _finite(given: Any, what: str, where: str) -> Floats:
    array = numbers(given, f"{what} of {where}", SourceError)
    if not np.isfinite(array).all():
        at = [int(n) for n in np.argwhere(~np.isfinite(array))[0]]
        raise SourceError(f"{where}: entry {at} of its {what} is {array[tuple(at)]}, they must be finite")
    return array


def broadcast(a: tuple[int, ...], b: tuple[int, ...], where: str) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise SourceError(f"{where} combines shapes {a} and {b}, which do not broadcast") from None
