"""Many float64 in one SIMD value: what the Taylor kernel computes with, one lane for each independent solution.

numba leaves vectorising to LLVM, which gives up where arrays might overlap. Here the vector is a type of its own, so
that sums stay in registers; LLVM splits it into whatever the processor has. Imported lazily, with numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, register_model

LANES = 32  # four AVX-512 or eight AVX registers: independent sums hide the latency of a multiply-add
EXPONENT_ONE = 0x3FF00000  # the upper half of the bits of 1.0

_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_LONGS = ir.VectorType(ir.IntType(64), LANES)
_INTS = ir.VectorType(ir.IntType(32), LANES)
_MULTIPLY_ADD = ("contract",)  # the only liberty taken with IEEE arithmetic


class _Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__(name=f"Lanes{LANES}")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _DOUBLES)  # type: ignore[no-untyped-call]


_LANES = _Lanes()
Builder = Any


def _vector(constant: float | int, kind: ir.VectorType) -> ir.Constant:
    return ir.Constant(kind, [constant] * LANES)


def _pointer(context: Any, builder: Builder, signature: Any, array: Any, position: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position], inbounds=True), _DOUBLES.as_pointer())


def _load(_context: Any, array: Any, _position: Any) -> Any:
    """LANES numbers of a flat array, from `position` on."""

    def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(context, builder, signature, *arguments), align=8)

    return _LANES(array, types.intp), generate


def _store(_context: Any, array: Any, _position: Any, _value: Any) -> Any:
    def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, *arguments[:2])
        builder.store(arguments[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _LANES), generate


def _fill(_context: Any, _number: Any) -> Any:
    """The same number in every lane."""

    def generate(_context: Any, builder: Builder, _signature: Any, arguments: Any) -> Any:
        first = builder.insert_element(
            ir.Constant(_DOUBLES, ir.Undefined), arguments[0], ir.Constant(ir.IntType(32), 0)
        )
        return builder.shuffle_vector(first, first, _vector(0, _INTS))

    return _LANES(types.float64), generate


def _elementwise(arity: int, rule: Callable[..., Any]) -> Any:
    """An operation on whole vectors from what it emits."""

    def generate(_context: Any, builder: Builder, _signature: Any, arguments: Any) -> Any:
        return rule(builder, *arguments)

    signature = _LANES(*[_LANES] * arity)
    if arity == 1:
        return intrinsic(lambda _context, _x: (signature, generate))
    if arity == 2:
        return intrinsic(lambda _context, _x, _y: (signature, generate))
    return intrinsic(lambda _context, _x, _y, _z: (signature, generate))


def _larger(builder: Builder, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _smaller(builder: Builder, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


def _if_zero(builder: Builder, test: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered("==", test, _vector(0.0, _DOUBLES)), x, y)


def _multiply_add(builder: Builder, x: Any, y: Any, z: Any) -> Any:
    return builder.fadd(builder.fmul(x, y, flags=_MULTIPLY_ADD), z, flags=_MULTIPLY_ADD)


def _size(builder: Builder, x: Any) -> Any:
    """Without the sign bit, so that −0 becomes 0: `log2` reads bits."""
    return builder.bitcast(builder.and_(builder.bitcast(x, _LONGS), _vector(2**63 - 1, _LONGS)), _DOUBLES)


def _log2(builder: Builder, x: Any) -> Any:
    """Exponent and leading mantissa bits as a number: log2 of x ≥ +0, up to 0.09 too small; −1023 at 0."""
    upper = builder.trunc(builder.lshr(builder.bitcast(x, _LONGS), _vector(32, _LONGS)), _INTS)
    shifted = builder.sub(upper, _vector(EXPONENT_ONE, _INTS))
    return builder.fmul(builder.sitofp(shifted, _DOUBLES), _vector(2.0**-20, _DOUBLES))


def _exp2(builder: Builder, x: Any) -> Any:
    """The inverse of `log2`: up to 6 % larger than 2^x. Needs |x| < 1000."""
    scaled = builder.fptosi(builder.fmul(x, _vector(2.0**20, _DOUBLES)), _INTS)
    upper = builder.zext(builder.add(scaled, _vector(EXPONENT_ONE, _INTS)), _LONGS)
    return builder.bitcast(builder.shl(upper, _vector(32, _LONGS)), _DOUBLES)


load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
fill: Any = intrinsic(_fill)
add = _elementwise(2, lambda builder, x, y: builder.fadd(x, y))
subtract = _elementwise(2, lambda builder, x, y: builder.fsub(x, y))
multiply = _elementwise(2, lambda builder, x, y: builder.fmul(x, y))
divide = _elementwise(2, lambda builder, x, y: builder.fdiv(x, y))
larger = _elementwise(2, _larger)
smaller = _elementwise(2, _smaller)
if_zero = _elementwise(3, _if_zero)  # y where the test is 0, else z; NaN is not 0
multiply_add = _elementwise(3, _multiply_add)  # x·y + z
size = _elementwise(1, _size)
log2 = _elementwise(1, _log2)
exp2 = _elementwise(1, _exp2)
