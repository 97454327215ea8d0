"""The exact operations of a tape as machine code: + − · / √, with the same bits as numpy's. Imported lazily, with LLVM.

Each run of such instructions becomes a function that carries eight inputs at a time through all of them. What only the
run itself reads stays in registers; what comes from elsewhere, or is read elsewhere, is a row of memory. The code is
made of the tape's own operations and numbers. LLVM may not contract or reorder: every operation is rounded.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any

import llvmlite.binding as llvm

from integraph.flow.exact.tape import Argument, Instruction

LANES = 8
VECTOR = f"<{LANES} x double>"
MASK = f"<{LANES} x i1>"
TRUE = f"<{', '.join(['i1 true'] * LANES)}>"
Numbered = tuple[int, Instruction]
Kernel = Callable[[int, int], bool]  # memory and bytes of a row; False if a result is not inside its bounds

BINARY = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
INTRINSIC = {"sqrt": "sqrt", "absolute": "fabs", "copysign": "copysign"}
SIGNATURES = "\n".join(
    f"declare {VECTOR} @llvm.{name}.v{LANES}f64({', '.join([VECTOR] * arguments)})"
    for name, arguments in (("sqrt", 1), ("fabs", 1), ("copysign", 2))
)
SHELL = """
define i8 @run{number}(ptr %memory, i64 %bytes) {{
start:
  br label %body
body:
  %first = phi i64 [ 0, %start ], [ %next, %body ]
  %before = phi {mask} [ {true}, %start ], [ %fine, %body ]
  %column = getelementptr i8, ptr %memory, i64 %first
{body}
  %fine = and {mask} %before, {fine}
  %next = add i64 %first, {step}
  %more = icmp ult i64 %next, %bytes
  br i1 %more, label %body, label %end
end:
  %bits = bitcast {mask} %fine to i{lanes}
  %all = icmp eq i{lanes} %bits, -1
  %result = zext i1 %all to i8
  ret i8 %result
}}
"""


class _Writer:
    """One run in LLVM's language."""

    def __init__(self, places: Mapping[int, int], bounds: Mapping[int, tuple[float, float]]) -> None:
        self.places, self.bounds = places, bounds
        self.lines: list[str] = []
        self.known: dict[int, str] = {}
        self.fine = TRUE
        self.names = map("%v{}".format, count())

    def line(self, text: str) -> str:
        """Append an instruction; the name of its result."""
        name = next(self.names)
        self.lines.append(f"  {name} = {text}")
        return name

    def row(self, place: int) -> str:
        offset = self.line(f"mul i64 %bytes, {place}")
        return self.line(f"getelementptr i8, ptr %column, i64 {offset}")

    def operand(self, argument: Argument) -> str:
        if isinstance(argument, float):
            return _all(argument)
        if argument not in self.known:
            self.define(argument, self.line(f"load {VECTOR}, ptr {self.row(self.places[argument])}, align 8"))
        return self.known[argument]

    def define(self, n: int, name: str) -> None:
        """Value n has this name; and it must be inside its bounds."""
        self.known[n] = name
        for test, limit in zip(("ogt", "olt"), self.bounds.get(n, ()), strict=False):
            inside = self.line(f"fcmp {test} {VECTOR} {name}, {_all(limit)}")
            self.fine = self.line(f"and {MASK} {self.fine}, {inside}")

    def result(self, op: str, given: Sequence[str]) -> str:
        if op in BINARY:
            return self.line(f"{BINARY[op]} {VECTOR} {given[0]}, {given[1]}")
        if op == "multiply_add":
            return self.result("add", (self.result("multiply", given[:2]), given[2]))
        if op == "maximum":
            less = self.line(f"fcmp olt {VECTOR} {given[0]}, {given[1]}")
            return self.line(f"select {MASK} {less}, {VECTOR} {given[1]}, {VECTOR} {given[0]}")
        arguments = ", ".join(f"{VECTOR} {one}" for one in given)
        return self.line(f"call {VECTOR} @llvm.{INTRINSIC[op]}.v{LANES}f64({arguments})")

    def write(self, number: int, run: Sequence[Numbered]) -> str:
        for n, (op, arguments) in run:
            self.define(n, self.result(op, [self.operand(a) for a in arguments]))
            if n in self.places:
                self.lines.append(f"  store {VECTOR} {self.known[n]}, ptr {self.row(self.places[n])}, align 8")
        body = "\n".join(self.lines)
        return SHELL.format(number=number, body=body, fine=self.fine, mask=MASK, true=TRUE, step=8 * LANES, lanes=LANES)


def kernels(
    runs: Sequence[Sequence[Numbered]], places: Mapping[int, int], bounds: Mapping[int, tuple[float, float]]
) -> list[Kernel]:
    """A function for each run of instructions, numbered by the values that they give, on rows of memory that lie one
    after the other, a multiple of LANES numbers each. Values that have a place are read and stored there."""
    texts = [_Writer(places, bounds).write(n, run) for n, run in enumerate(runs)]
    module = llvm.parse_assembly("\n".join([SIGNATURES, *texts]))
    engine = llvm.create_mcjit_compiler(module, _machine())
    engine.finalize_object()
    return [_function(engine, f"run{n}") for n in range(len(runs))]


def _function(engine: Any, name: str) -> Kernel:
    function: Any = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address(name))
    function.engine = engine  # which owns the machine code
    kernel: Kernel = function
    return kernel


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def _machine() -> Any:
    """This processor, with all it can do. An engine takes a machine with it, so each gets a new one."""
    features = llvm.get_host_cpu_features().flatten()
    return _target().create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2)


def _all(number: float) -> str:
    """A float64 in every lane, as LLVM writes it to all digits."""
    bits = struct.unpack(">Q", struct.pack(">d", number))[0]
    return f"<{', '.join([f'double 0x{bits:016X}'] * LANES)}>"
