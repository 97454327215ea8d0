"""One node of an ONNX graph: its operands and attributes, checked against the schema of its operator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.chain import scaled
from integraph.frontends.extras import need
from integraph.frontends.onnx.tensors import decode, finite
from integraph.frontends.tensor_builder import Array, Operand, TensorBuilder, TensorValue
from integraph.text import clean

OFTEN = 60  # letters of a name that are shown


@dataclass(frozen=True, slots=True, eq=False)
class OnnxNode:
    """What an operator sees; a constant is an array, and what depends on the input is an `TensorValue`."""

    operator: str
    where: str  # for errors
    text: str  # its name, or that of its result
    opset: int
    inputs: tuple[Operand | None, ...]
    outputs: int
    attributes: dict[str, Any]
    builder: TensorBuilder
    notes: list[str]

    def given(self, n: int) -> Operand | None:
        """Operand n, or None if it was left out."""
        return self.inputs[n] if n < len(self.inputs) else None

    def operand(self, n: int) -> Operand:
        value = self.given(n)
        if value is None:
            raise SourceError(f"{self.where} has no operand {n}")
        return value

    def traced(self, n: int = 0) -> TensorValue:
        return self.builder.lift(self.operand(n), self.where)

    def constant(self, n: int, what: str) -> Array:
        value = self.operand(n)
        if not isinstance(value, np.ndarray):
            raise SourceError(f"{self.where}: its {what} come from {value.where}, they must be constants of the file")
        return value

    def weights(self, n: int, what: str) -> Array:
        """A constant that is part of what is computed; one that was combined from others is rounded."""
        value = self.operand(n)
        combined = None if isinstance(value, np.ndarray) else self.builder.combined(value)
        if combined is not None:
            self.notes.append(f"{self.where}: constants combined in float64")
        array = self.constant(n, what) if combined is None else combined
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
        array, exact = scaled(factor, given)
        if not exact:
            self.notes.append(f"{self.where}: {factor:.9g} times its {what} rounded to float64")
        return finite(array, f"{self.where}: {factor:g} times its {what}")

    def checked(self, array: Array) -> Array:
        """A constant that this node makes."""
        return finite(array, self.where, masks=True)

    def decoded(self, tensor: Any) -> Array:
        """A constant that is stored in this node."""
        return decode(tensor, self.where)

    def room(self, *shape: int) -> tuple[int, ...]:
        """A shape that may be allocated."""
        if min(shape, default=1) < 0:
            raise SourceError(f"{self.where} makes a constant of shape {shape}: sizes must be ≥ 0")
        self.builder.spend(math.prod(shape), self.where)
        return shape


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
