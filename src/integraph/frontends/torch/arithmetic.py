"""Operations of torch that act entry by entry, and choices between entries.

Numbers in the code of `forward` are taken as written (0.1 is the double), weights as they are stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from integraph.errors import SourceError
from integraph.frontends import tensor_operations
from integraph.frontends.tensor_builder import Operand, TensorValue
from integraph.frontends.tensor_operations import choice, extreme
from integraph.frontends.torch.call import TorchCall

Rule = Callable[[TorchCall], Operand | tuple[Operand, ...]]
LN2 = 0.6931471805599453


def function(name: str) -> Rule:
    """A function that graphs have."""
    return lambda call: call.builder.unary(name, call.traced(), call.where)


def add(call: TorchCall) -> Operand:
    """self + alpha·other."""
    return _sum(call, call.operand("self"), call.operand("other"), call.number("alpha", 1.0))


def subtract(call: TorchCall) -> Operand:
    return _sum(call, call.operand("self"), call.operand("other"), -call.number("alpha", 1.0))


def reverse_subtract(call: TorchCall) -> Operand:
    """other − alpha·self."""
    return _sum(call, call.operand("other"), call.operand("self"), -call.number("alpha", 1.0))


def _sum(call: TorchCall, a: Operand, b: Operand, factor: float) -> Operand:
    if factor == -1.0 and isinstance(b, TensorValue):
        return call.builder.sub(a, b, call.where)
    return call.builder.add(a, scaled(call, b, factor), call.where)


def scaled(call: TorchCall, x: Operand, factor: float) -> Operand:
    if factor == 1.0:
        return x
    return call.builder.mul(x, np.array(factor), call.where) if isinstance(x, TensorValue) else factor * x


def multiply(call: TorchCall) -> Operand:
    return call.builder.mul(call.operand("self"), call.operand("other"), call.where)


def divide(call: TorchCall) -> Operand:
    if call["rounding_mode"] is not None:
        raise SourceError(f"{call.where} rounds to integers, which jumps: only plain division is read")
    return call.builder.div(call.operand("self"), call.operand("other"), call.where)


def negative(call: TorchCall) -> Operand:
    return call.builder.neg(call.traced(), call.where)


def power(call: TorchCall) -> Operand:
    return tensor_operations.power(call, call.operand("self"), call.operand("exponent"))


def fixed_power(exponent: Fraction) -> Rule:
    return lambda call: call.builder.draw("power", call.traced(), where=call.where, data=(exponent,))


def power_of_two(call: TorchCall) -> Operand:
    return call.builder.unary("exp", call.builder.mul(call.traced(), np.array(LN2), call.where), call.where)


def maximum(call: TorchCall) -> Operand:
    return extreme(call, "max", call.operand("self"), call.operand("other"))


def minimum(call: TorchCall) -> Operand:
    return extreme(call, "min", call.operand("self"), call.operand("other"))


def clamp(call: TorchCall) -> Operand:
    """max(min, ·), then min(max, ·)."""
    value = call.operand("self")
    for op, name, none in (("max", "min", -math.inf), ("min", "max", math.inf)):
        if call[name] is not None and not (isinstance(call[name], float) and call[name] == none):
            value = extreme(call, op, value, call.operand(name))
    return value


def where(call: TorchCall) -> Operand:
    return choice(call, call.truth("condition"), call.operand("self"), call.operand("other"))


def masked_fill(call: TorchCall) -> Operand:
    return choice(call, call.truth("mask"), call.operand("value"), call.operand("self"))


def triangle(upper: bool) -> Rule:
    """Zeros below or above a diagonal."""

    def rule(call: TorchCall) -> Operand:
        x = call.traced()
        ones = np.ones(x.shape[-2:])
        kept = np.triu(ones, int(call["diagonal"])) if upper else np.tril(ones, int(call["diagonal"]))
        return call.builder.mul(x, kept, call.where)

    return rule


def copy(call: TorchCall) -> Operand:
    return call.traced()
