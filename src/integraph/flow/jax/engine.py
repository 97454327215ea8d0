"""The engine `jax`: programs compiled by XLA, in float64, on the device that jax prefers.

Inputs run in pieces, the last padded to a power of two, so that few shapes are compiled. What the compiled function
does not carry to the end, `exact` runs again, or `taylor` where a block has no closed form: it may decide more, and
says why an input fails.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from integraph.errors import UsageError
from integraph.flow.exact.engine import EXACT
from integraph.flow.precise import closed_forms
from integraph.flow.taylor.engine import TAYLOR
from integraph.gadgets.free_form import FreeForm
from integraph.numbers.arrays import Floats
from integraph.program.engine import DOUBLE, Flow, Options

if TYPE_CHECKING:
    from integraph.program import Program

PIECES = (2**14, 2**12, 2**10)  # inputs at a time on a processor: the function itself splits them further
DUE = 3 * 10**10  # terms of all inputs so far, some seconds of `exact`: as long as it takes to compile
DEVICE_NUMBERS = 2**27  # of the registers of a chunk on an accelerator: 1 GB


class JaxEngine:
    """Ignores `rtol`, `max_steps` and `threads`: a closed form has no step, blocks without one take steps that lose no
    digit, and jax has threads of its own."""

    name = "jax"

    def __init__(self) -> None:
        self._carried: WeakKeyDictionary[Program, int] = WeakKeyDictionary()

    def can(self, program: Program) -> bool:
        return closed_forms(program, FreeForm)

    def due(self, program: Program, count: int) -> bool:
        """Whether jax, which somebody else has loaded, has an accelerator, and the program has had so much work that
        compiling it pays: what is lost is never more than what `exact` has taken. Note the work."""
        jax = sys.modules.get("jax")
        if jax is None or count < PIECES[-1] or program.bits > DOUBLE or not EXACT.can(program):
            return False
        try:
            if jax.default_backend() == "cpu":  # `exact` is as fast, but for wide nets, and needs no second to compile
                return False
        except RuntimeError:  # no device
            return False
        self._carried[program] = done = self._carried.get(program, 0) + count * program.terms
        return done >= DUE

    def run(self, program: Program, x: Floats, options: Options) -> Flow:
        if options.states or options.times:
            asked = "states" if options.states else "times"
            raise UsageError(
                "engine 'jax' computes outputs only, of y(T): choose engine='exact' for states on the way",
                argument=asked,
                value=getattr(options, asked),
            )
        outputs = self._outputs(program, x)
        failed = np.flatnonzero(~np.isfinite(outputs).all(1))
        if not len(failed):
            return Flow(self.name, outputs, None, None, ())
        again = (EXACT if EXACT.can(program) else TAYLOR).run(program, x[failed], options)
        outputs[failed] = again.outputs
        failures = tuple(replace(failure, input=int(failed[failure.input])) for failure in again.failures)
        return Flow(self.name, outputs, None, None, failures)

    def _outputs(self, program: Program, x: Floats) -> Floats:
        import jax

        from integraph.flow.jax.library import backend

        with jax.enable_x64(True):
            function = _compiled(program)
            sizes = _sizes(backend(), program.width)
            outputs = np.empty((len(x), program.outputs))
            pending: list[tuple[int, int, Any]] = []
            first = 0
            while first < len(x):
                size = next((size for size in sizes if size <= len(x) - first), sizes[-1])
                rows = x[first : first + size]
                pending.append((first, len(rows), function(_padded(rows))))
                first += size
            for first, count, part in pending:
                outputs[first : first + count] = np.asarray(part)[:count]
        return outputs


def _compiled(program: Program) -> Callable[[Any], Any]:
    """Stored in the program, to which it refers."""
    made: Callable[[Any], Any] | None = vars(program).get("_jax")
    if made is None:
        import jax

        function, params = program.to_jax()
        made = vars(program)["_jax"] = jax.jit(lambda x: function(params, x))
    return made


def _padded(rows: Floats) -> Floats:
    """A power of two of rows: the last one again and again."""
    more = (1 << (len(rows) - 1).bit_length()) - len(rows)
    return rows if not more else np.concatenate([rows, np.repeat(rows[-1:], more, 0)])


def _sizes(device: str, width: int) -> tuple[int, ...]:
    """How many inputs run at a time, the most first."""
    if device == "cpu":
        return PIECES
    return (int(max(PIECES[0], 1 << (DEVICE_NUMBERS // max(width, 1)).bit_length() - 1)),)


JAX = JaxEngine()
