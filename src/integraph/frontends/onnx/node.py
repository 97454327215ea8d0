"""One node of an ONNX graph: its operands and attributes, checked against the schema of its operator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.affine import times
from integraph.frontends.extras import need
from integraph.frontends.onnx.tensors import Array, decode, finite
from integraph.text import clean

OFTEN = 60  # letters of a name that are shown


class ComputedValue(Protocol):
    """A tensor that depends on the input."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def where(self) -> str: ...


T = TypeVar("T", bound=ComputedValue)


class OperatorTarget(Protocol[T]):
    """What is built as the nodes are read: a network or a graph. One operand at least is computed."""

    masks: bool

    def spend(self, entries: int, where: str) -> None: ...
    def lift(self, x: Array, where: str) -> T: ...
    def fold(self, op: str, a: Array, b: Array, where: str) -> T | Array | None: ...
    def add(self, a: T | Array, b: T | Array, where: str) -> T: ...
    def sub(self, a: T | Array, b: T | Array, where: str) -> T: ...
    def mul(self, a: T | Array, b: T | Array, where: str) -> T: ...
    def div(self, a: T | Array, b: T | Array, where: str) -> T: ...
    def neg(self, a: T, where: str) -> T: ...
    def unary(self, name: str, a: T, where: str, slope: Any = 0.0) -> T: ...
    def reshape(self, a: T, shape: Sequence[int], where: str) -> T: ...
    def transpose(self, a: T, perm: Sequence[int], where: str) -> T: ...


R = TypeVar("R", bound=OperatorTarget[Any], covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class OnnxNode(Generic[T, R]):
    """What an operator sees; a constant is an array, and what depends on the input is a T."""

    operator: str
    where: str  # for errors
    text: str  # its name, or that of its result
    opset: int
    inputs: tuple[T | Array | None, ...]
    outputs: int
    attributes: dict[str, Any]
    tracer: R
    notes: list[str]

    def given(self, n: int) -> T | Array | None:
        """Operand n, or None if it was left out."""
        return self.inputs[n] if n < len(self.inputs) else None

    def operand(self, n: int) -> T | Array:
        value = self.given(n)
        if value is None:
            raise SourceError(f"{self.where} has no operand {n}")
        return value

    def traced(self, n: int = 0) -> T:
        value = self.operand(n)
        return self.tracer.lift(value, self.where) if isinstance(value, np.ndarray) else value

    def constant(self, n: int, what: str) -> Array:
        value = self.operand(n)
        if not isinstance(value, np.ndarray):
            raise SourceError(f"{self.where}: its {what} come from {value.where}, they must be constants of the file")
        return value

    def weights(self, n: int, what: str) -> Array:
        """A constant that is part of what the net computes."""
        array = self.constant(n, what)
        if array.dtype.kind != "f":
            raise SourceError(f"{self.where}: its {what} are of type {array.dtype}, they must be floats")
        return array

    def integers(self, n: int, what: str) -> list[int]:
        """Operand n as sizes or axes."""
        array = self.constant(n, what)
        if array.dtype.kind != "i" or array.ndim > 1 or array.size > 64:
            raise SourceError(f"{self.where}: its {what} must be a short list of integers, got shape {array.shape}")
        return [int(n) for n in np.atleast_1d(array)]

    def number(self, name: str, default: float) -> float:
        value = float(self.attributes.get(name, default))
        if not math.isfinite(value):
            raise SourceError(f"{self.where}: attribute {name} is {value}, it must be finite")
        return value

    def scaled(self, factor: float, array: Array, what: str) -> Array:
        """factor · array, and a note if that is rounded."""
        given = np.asarray(array, np.float64)
        if factor == 1.0:
            return given
        self.room(*given.shape)
        exact = times(np.array([factor]), given.reshape(1, -1))
        if exact is None:
            self.notes.append(f"{self.where}: {factor:.9g} times its {what} rounded to float64")
            return finite(factor * given, f"{self.where}: {factor:g} times its {what}")
        return exact.reshape(given.shape)

    def checked(self, array: Array) -> Array:
        """A constant that this node makes."""
        return finite(array, self.where, self.tracer.masks)

    def decoded(self, tensor: Any) -> Array:
        """A constant that is stored in this node."""
        return decode(tensor, self.where, self.tracer.masks)

    def room(self, *shape: int) -> tuple[int, ...]:
        """A shape that may be allocated."""
        if min(shape, default=1) < 0:
            raise SourceError(f"{self.where} makes a constant of shape {shape}: sizes must be ≥ 0")
        self.tracer.spend(math.prod(shape), self.where)
        return shape


AnyNode = OnnxNode[T, OperatorTarget[T]]


def attributes(proto: Any, where: str, opset: int) -> dict[str, Any]:
    """Attributes by name. What the operator's schema does not know is refused, as is a wrong number of operands."""
    onnx = need("onnx", "onnx")
    values = {}
    schema = None
    if proto.domain in ("", "ai.onnx"):
        try:
            schema = onnx.defs.get_schema(proto.op_type, opset, "")
        except onnx.defs.SchemaError:
            raise SourceError(f"{where} is no operator of opset {opset}, which the file says it uses") from None
        if not schema.min_input <= len(proto.input) <= schema.max_input:
            raise SourceError(
                f"{where} has {len(proto.input)} operands, opset {opset} says {schema.min_input} to {schema.max_input}"
            )
    for attribute in proto.attribute:
        if attribute.name in values:
            raise SourceError(f"{where} has the attribute {show(attribute.name)} twice")
        known = schema.attributes.get(attribute.name) if schema else None
        if (schema and (known is None or int(known.type) != attribute.type)) or attribute.ref_attr_name:
            raise SourceError(
                f"{where} has an attribute {show(attribute.name)} that its operator does not have in opset {opset}"
            )
        value = onnx.helper.get_attribute_value(attribute)
        values[attribute.name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return values


def show(name: str | bytes) -> str:
    """A name from a file, short and without control characters. What is no UTF-8 comes as bytes."""
    return clean(name.decode(errors="backslashreplace") if isinstance(name, bytes) else name, OFTEN)
