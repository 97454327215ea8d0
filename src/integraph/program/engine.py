"""The interface of engines: one signature, one result, one way to fail. The engines themselves live in `flow/`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from integraph.errors import EscapeError, FlowError, OverflowedError, PrecisionError, StepLimitError, UsageError
from integraph.numbers.arrays import Floats, numbers
from integraph.program.plugins import FLOW, load_layer
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.program.program import Program


DOUBLE = 53  # bits of float64
RTOL = 1e-12
FEW = 64  # numbers for which a Python loop beats numpy
FLOAT64 = np.dtype(np.float64)
Point = Callable[[list[float]], Floats | None]  # from one input to the outputs; None sends it the long way


class Status(Enum):
    """How the flow of one input ended; the value is the message."""

    DONE = "reached the end"
    ESCAPED = "the solution blows up before the segment ends"
    OVERFLOWED = "the solution is larger than float64 holds"
    LOST = "the result is not sure, even with 4096 bits beyond those of the program (use a smaller box)"
    STEP_LIMIT = "the integrator used up its steps (raise max_steps, or rtol)"


_ERRORS: dict[Status, type[FlowError]] = {
    Status.ESCAPED: EscapeError,
    Status.OVERFLOWED: OverflowedError,
    Status.LOST: PrecisionError,
    Status.STEP_LIMIT: StepLimitError,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One input that did not reach the end."""

    input: int
    status: Status
    segment: int
    label: str
    register: str
    time: float  # since t = 0; NaN where it was not worth finding out (many failures at once)
    domain: str = ""  # what the gadget asks of its arguments
    remedy: str = ""  # why that is so and what to do, if it is known

    def __str__(self) -> str:
        needs = f" ({self.domain})" if self.domain else ""
        when = "" if math.isnan(self.time) else f", t ≈ {self.time:.6g}"
        where = f"register {self.register}, segment {self.segment} {self.label!r}"
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"input {self.input}: {self.status.value}: {where}{when}{needs}{remedy}"


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """What an engine returns. Rows of failed inputs are NaN, never a plausible number."""

    engine: str
    outputs: Floats  # (B, outputs)
    states: Floats | None  # (B, W) at t = T, where asked for
    path: Floats | None  # (B, len(times), W), where asked for
    failures: tuple[Failure, ...]  # one for each failed input, by index
    steps: int = 0  # of the integrator; 0 for closed forms

    def __repr__(self) -> str:
        count, failed = len(self.outputs), len(self.failures)
        text = f"Flow by {self.engine}: {counted(count, 'input')}, {counted(self.outputs.shape[1], 'output')} each, "
        return text + (f"{failed} failed; {self.failures[0]}" if failed else "all reached the end")

    @property
    def ok(self) -> bool:
        return not self.failures

    @property
    def status(self) -> tuple[Status, ...]:
        """One for each input."""
        statuses = [Status.DONE] * len(self.outputs)
        for failure in self.failures:
            statuses[failure.input] = failure.status
        return tuple(statuses)

    def check(self) -> Flow:
        """Raise a named error unless every input reached the end."""
        if self.ok:
            return self
        first = self.failures[0]
        more = f" (and {len(self.failures) - 1} more inputs)" if len(self.failures) > 1 else ""
        raise _ERRORS[first.status](f"{first}{more}", tuple(f.input for f in self.failures))


class Options(NamedTuple):
    """What every engine takes. An engine that has no use for one ignores it and says so."""

    rtol: float = RTOL  # relative to each component
    max_steps: int = 100_000  # for one input in one segment
    threads: int = 1
    states: bool = False  # also return y(T)
    times: tuple[float, ...] = ()  # also return y at these times


class Engine(Protocol):
    name: str

    def can(self, program: Program) -> bool:
        """Whether the engine can run this program at all."""
        ...

    def run(self, program: Program, x: Floats, options: Options) -> Flow:
        """Carry the inputs `x` (B, d), already checked, through the program."""
        ...


_ENGINES: dict[str, Engine] = {}
_BITS: dict[str, float] = {}
_POINTS: dict[str, Callable[[Program], Point | None] | None] = {}
_PACKAGES: dict[str, str | None] = {}
_DUE: dict[str, Callable[[Program, int], bool]] = {}


def plug(
    engine: Engine,
    bits: float = DOUBLE,
    point: Callable[[Program], Point | None] | None = None,
    package: str | None = None,
    due: Callable[[Program, int], bool] | None = None,
) -> Engine:
    """Make an engine known by name; `bits` is the highest precision that it works in, `point` gives a program's
    quick way for one input, `package` is another package, our extra of the same name, that it needs, and `due` tells
    whether so many inputs should run on it although an earlier engine could. Ours come first."""
    load_layer(FLOW)
    if due is not None:
        _DUE[engine.name] = due
    _ENGINES[engine.name], _BITS[engine.name], _POINTS[engine.name] = engine, bits, point
    _PACKAGES[engine.name] = package
    return engine


def able(program: Program) -> list[Engine]:
    """The engines that can run the program, in the order in which they were plugged in."""
    load_layer(FLOW)
    return [
        engine
        for name, engine in _ENGINES.items()
        if _BITS[name] >= program.bits and not _missing(name) and engine.can(program)
    ]


def _missing(name: str) -> bool:
    """Whether an engine's package is not installed."""
    package = _PACKAGES[name]
    return package is not None and find_spec(package) is None


def first_able(program: Program) -> Engine:
    """The first of them."""
    engines = able(program)
    if not engines:
        raise UsageError(
            f"no engine can run this program: it needs {program.bits} bits and has a block without a closed form, and "
            "only closed forms run in more than float64"
        )
    return engines[0]


def quickest(program: Program, first: Engine, count: int) -> Engine:
    """The engine for outputs of so many inputs: the first that can run the program, unless another is due."""
    return next((_ENGINES[name] for name, due in _DUE.items() if due(program, count)), first)


def engine_named(program: Program, name: str) -> Engine:
    """The engine asked for, if it exists and can run the program."""
    load_layer(FLOW)
    if isinstance(name, int | float | np.number):  # program(0.3, 0.8), a common slip
        raise UsageError(
            f"the engine is {name}, which is a number: a point is one argument, a list of its {program.inputs} inputs, "
            "as in program([0.3, 0.8])",
            argument="engine",
        )
    if not isinstance(name, str) or name not in _ENGINES:
        raise UsageError(f"unknown engine {name!r}: known are {', '.join(_ENGINES)}", argument="engine")
    if _missing(name):
        package = _PACKAGES[name]
        raise UsageError(
            f"engine {name!r} needs the {package} package: pip install 'integraph[{package}]'", argument="engine"
        )
    engine, others = _ENGINES[name], " or ".join(repr(e.name) for e in able(program))
    if program.bits > _BITS[name]:
        instead = f"use engine={others}" if others else "no engine can"
        raise UsageError(
            f"engine {name!r} works in float64 ({DOUBLE} bits); this program needs {program.bits} bits, because it "
            f"takes logarithms of numbers that are smaller than rounding: {instead}, or compile with method='remark' "
            "or 'lean', which are stable in float64",
            argument="engine",
        )
    if not engine.can(program):
        instead = f"use {others}" if others else "no engine can"
        raise UsageError(
            f"engine {name!r} cannot run this program (a block has no closed form): {instead}", argument="engine"
        )
    return engine


def finite(array: Floats) -> bool:
    """Whether every number is finite. For a handful a Python loop beats numpy, and batches of one are common; of many a
    sum takes a third of the time, and only a sum that is too large needs a look at each."""
    if array.size <= FEW:
        return all(map(math.isfinite, array.ravel().tolist()))
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.add.reduce(array, axis=None)
    return math.isfinite(total) or bool(np.isfinite(array).all())


def direct(engine: Engine, program: Program) -> Callable[[Any], Floats | None] | None:
    """The outputs of what plainly is one finite point, without a batch and a `Flow`; None for all else, and where the
    point fails. None at all if the engine or the program has no such way."""
    way, d = _POINTS[engine.name], program.inputs
    point = way(program) if way is not None and d <= FEW else None
    if point is None:
        return None

    def one(x: Any) -> Floats | None:
        if type(x) is np.ndarray:
            if x.dtype is not FLOAT64 or (x.shape != (d,) and x.shape != (1, d)):
                return None
            numbers = x.ravel().tolist()
        elif type(x) is list and len(x) == d and all(type(number) is float for number in x):
            numbers = x
        elif d == 1 and isinstance(x, float):
            numbers = [float(x)]
        else:
            return None
        if not all(map(math.isfinite, numbers)):
            return None
        outputs = point(numbers)
        return outputs[None] if outputs is not None and type(x) is np.ndarray and x.ndim == 2 else outputs

    return one


def batch_of(x: object, d: int, whose: str = "the program") -> Floats:
    """A checked batch (B, d) from whatever the user gave: one point, a batch, or for d = 1 a list of numbers."""
    try:
        given = numbers(x, "inputs")
    except UsageError:
        jax = sys.modules.get("jax")
        if jax is not None and isinstance(x, jax.core.Tracer):
            raise UsageError(
                f"{whose} computes numbers here, and jax traces x, as jit and grad do: call the function that to_jax() "
                "gives instead",
                argument="x",
            ) from None
        raise
    if given.ndim <= 1 and d == 1 and given.shape != (1,):
        batch = given.reshape(-1, 1)
    elif given.ndim == 1:
        batch = given.reshape(1, -1)
    else:
        batch = given
    if batch.ndim != 2 or batch.shape[1] != d:
        fits = given.ndim > 1 and math.prod(given.shape[1:]) == d
        flat = f"; flatten them, as x.reshape({len(given)}, {d})" if fits else ""
        raise UsageError(f"inputs have shape {given.shape}: {whose} takes ({d},) or (batch, {d}){flat}")
    if not finite(batch):
        row, column = (int(n) for n in np.argwhere(~np.isfinite(batch))[0])
        raise UsageError(f"input {row} is not finite: component {column} is {batch[row, column]}")
    return np.ascontiguousarray(batch)
