"""Symbolic arrays: arithmetic with them is recorded as operations.

Constants are folded, equal operations are shared, and x + 0, 1·x and 0·x cost nothing. Closed forms see arrays with a
last axis of inputs, as everywhere: a `Symbol` has one of length 1, and a constant too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.errors import UsageError
from integraph.flow.closed_forms.operations import ELEMENTWISE, SMOOTH, Operation
from integraph.gadgets.functions.namespace import FLOAT
from integraph.numbers.arrays import Indices

Array = Any  # a Symbol, or a constant
Lanes = tuple[int, ...]


class Symbol:
    """The result of an operation. It has no truth value: closed forms do not branch."""

    __slots__ = ("index", "lanes", "recorder")
    __array_ufunc__ = None  # numpy leaves arithmetic with constants to this class

    def __init__(self, recorder: Recorder, index: int, lanes: Lanes) -> None:
        self.recorder, self.index, self.lanes = recorder, index, lanes

    @property
    def shape(self) -> Lanes:
        return (*self.lanes, 1)

    @property
    def ndim(self) -> int:
        return len(self.lanes) + 1

    def __add__(self, other: Array) -> Array:
        return self.recorder.push("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Array) -> Array:
        return self.recorder.push("subtract", self, other)

    def __rsub__(self, other: Array) -> Array:
        return self.recorder.push("subtract", other, self)

    def __mul__(self, other: Array) -> Array:
        return self.recorder.push("multiply", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Array) -> Array:
        return self.recorder.push("divide", self, other)

    def __rtruediv__(self, other: Array) -> Array:
        return self.recorder.push("divide", other, self)

    def __neg__(self) -> Array:
        return self.recorder.push("negate", self)

    def __getitem__(self, key: Any) -> Array:
        """What numpy gives; the axis of inputs must stay whole."""
        places = np.arange(math.prod(self.lanes)).reshape(self.shape)[key]
        return self.recorder.gather(self, places[..., 0])

    def __bool__(self) -> bool:
        raise TypeError("the value of an operation is not known while closed forms are recorded")


class Recorder:
    """`native` are the elementwise operations that the language has; `expansions` write the others by them."""

    def __init__(self, native: frozenset[str], expansions: dict[str, Callable[..., Array]], kind: type) -> None:
        self.native, self.expansions = native, expansions
        numbers = np.finfo(kind)
        self.tiny, self.huge = float(numbers.tiny) * 2.0**26, float(numbers.max) / 2.0
        self.smooth = "contract" in native  # a language with derivatives: no branch may have a wrong one, or NaN
        self.operations: list[Operation] = []
        self.fixed: set[int] = set()  # what depends on parameters only
        self._known: dict[tuple[Any, ...], int] = {}

    def push(self, op: str, *arguments: Array) -> Array:
        """An elementwise operation: a symbol, or a constant if all arguments are."""
        given = [a if isinstance(a, Symbol) else constant(a) for a in arguments]
        known = [a for a in given if not isinstance(a, Symbol)]
        if len(known) == len(given):
            return _fold(op, known)[..., None]
        lanes = np.broadcast_shapes(*(a.lanes if isinstance(a, Symbol) else a.shape for a in given))
        simple = self._simplified(op, given)
        if simple is not None:
            return self.broadcast(simple, lanes)
        if op not in self.native:
            return self.expansions[op](self, *arguments)
        return self.record(op, *(self._aligned(a, len(lanes)) for a in given), lanes=lanes)

    def record(self, op: str, *given: Array, lanes: Lanes, indices: Indices | None = None, name: str = "") -> Symbol:
        """Any operation, of symbols and of constants without an axis of inputs."""
        key = (op, lanes, name, None if indices is None else indices.tobytes(), *map(_key, given))
        if key not in self._known:
            own = tuple(a.index if isinstance(a, Symbol) else a for a in given)
            self._known[key] = len(self.operations)
            if op != "input" and all(a in self.fixed for a in own if isinstance(a, int)):
                self.fixed.add(len(self.operations))
            self.operations.append(Operation(op, own, lanes, indices, name))
        return Symbol(self, self._known[key], lanes)

    def operation(self, value: Symbol) -> Operation:
        return self.operations[value.index]

    def symbol(self, index: int) -> Symbol:
        return Symbol(self, index, self.operations[index].lanes)

    def reshape(self, value: Array, lanes: Lanes) -> Array:
        if not isinstance(value, Symbol):
            return constant(value).reshape(lanes)[..., None]
        own = self.operation(value)
        if own.op == "reshape":
            value = self.symbol(own.arguments[0])
        return value if value.lanes == lanes else self.record("reshape", value, lanes=lanes)

    def broadcast(self, value: Array, lanes: Lanes) -> Array:
        if not isinstance(value, Symbol):
            return np.broadcast_to(constant(value), lanes)[..., None]
        if value.lanes == lanes:
            return value
        if math.prod(value.lanes) == math.prod(lanes):
            return self.reshape(value, lanes)
        return self.record("broadcast", self._aligned(value, len(lanes)), lanes=lanes)

    def gather(self, value: Array, places: Indices) -> Array:
        """The numbers at flat places of the lanes, in their shape."""
        if not isinstance(value, Symbol):
            return constant(value).reshape(-1)[places][..., None]
        size = math.prod(value.lanes)
        if places.size == size and (places.reshape(-1) == np.arange(size)).all():
            return self.reshape(value, places.shape)
        part = self._part(value, places.reshape(-1)) if places.size else None
        if part is not None:
            return self.reshape(part, places.shape)
        row = self.reshape(value, (size,))
        return self.record("gather", row, lanes=places.shape, indices=np.array(places, np.int64))

    def _part(self, value: Symbol, places: Indices) -> Array:
        """Places of a concatenation, or of its multiple, that are all in one part: taken from there. Else None."""
        own = self.operation(value)
        if own.op == "reshape":
            return self._part(self.symbol(own.arguments[0]), places)
        if own.op == "gather" and own.indices is not None:
            return self._part(self.symbol(own.arguments[0]), own.indices.reshape(-1)[places])
        if own.op == "multiply":
            return self._part_of_multiple(own, places)
        begin, first, last = 0, int(places.min()), int(places.max())
        for argument in own.arguments if own.op == "concatenate" else ():
            row = self.symbol(argument) if isinstance(argument, int) else argument[..., None]
            end = begin + row.shape[0]
            if begin <= first and last < end:
                return self.gather(row, places - begin)
            begin = end
        return None

    def _part_of_multiple(self, own: Operation, places: Indices) -> Array:
        given = [self.symbol(a) if isinstance(a, int) else a[..., None] for a in own.arguments]
        for one, other in (given, given[::-1]):
            if math.prod(one.shape) == 1 and isinstance(other, Symbol) and math.prod(other.lanes) > 1:
                part = self._part(other, places)
                return None if part is None else part * self.reshape(one, (1,))
        return None

    def _aligned(self, value: Array, axes: int) -> Array:
        if not isinstance(value, Symbol):
            return value.reshape((1,) * (axes - value.ndim) + value.shape)
        return self.reshape(value, (1,) * (axes - len(value.lanes)) + value.lanes)

    def _simplified(self, op: str, given: list[Array]) -> Array:
        """What an operation equals, if it needs none."""
        first, last = given[0], given[-1]
        if op in ("add", "multiply"):
            for one, other in ((first, last), (last, first)):
                if _all(one, 0.0 if op == "add" else 1.0):
                    return other if isinstance(other, Symbol) else other[..., None]
        if op == "multiply" and (_all(first, 0.0) or _all(last, 0.0)):
            return np.zeros(1)
        if op == "multiply" and (_all(first, -1.0) or _all(last, -1.0)):
            return self.push("negate", last if isinstance(last, Symbol) else first)
        if op == "subtract":
            same = isinstance(first, Symbol) and isinstance(last, Symbol) and first.index == last.index
            return np.zeros(1) if same else first if _all(last, 0.0) else -last if _all(first, 0.0) else None
        if op == "divide":
            return first if _all(last, 1.0) else np.zeros(1) if _all(first, 0.0) else None
        if op == "negate" and self.operation(first).op == "negate":
            return self.symbol(self.operation(first).arguments[0])
        if op == "where" and not isinstance(first, Symbol) and (first.all() or not first.any()):
            chosen = given[1] if first.all() else last
            return chosen if isinstance(chosen, Symbol) else chosen[..., None]
        return None


def constant(value: Array) -> NDArray[Any]:
    """A number, or an array with an axis of inputs of length 1, by its lanes."""
    array = np.asarray(value)
    if array.dtype != np.bool_:
        array = array.astype(np.float64, copy=False)
    if array.ndim and array.shape[-1] != 1:
        raise UsageError(f"a constant of a closed form has the shape {array.shape}: its last axis must have length 1")
    return array[..., 0] if array.ndim else array


def _fold(op: str, given: list[NDArray[Any]]) -> NDArray[Any]:
    if op == "erf":
        import scipy  # loads scipy.special on first use, which takes a while

        return np.asarray(scipy.special.erf(*given))
    if op in SMOOTH:
        return np.asarray(getattr(FLOAT, op)(*given))
    with np.errstate(all="ignore"):
        return np.asarray(getattr(np, ELEMENTWISE[op].numpy)(*given))


def _all(value: Array, number: float) -> bool:
    if isinstance(value, Symbol) or not value.size or value.flat[0] != number:
        return False
    return bool((value == number).all())


SMALL = 64  # numbers of a constant that is compared by value; others are the same if they share their memory


def _key(value: Array) -> tuple[Any, ...]:
    if isinstance(value, Symbol):
        return (value.index,)
    if value.size <= SMALL:
        return (value.shape, value.tobytes())
    return (value.shape, value.strides, value.__array_interface__["data"][0])
