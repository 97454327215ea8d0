"""The engine `jax`: closed forms compiled by XLA, in float64, on the device that jax prefers.

Inputs run in chunks, padded to a power of two, so that few shapes are compiled. What the compiled closed forms do not
carry to the end, the exact engine runs again: it may decide more, and says why an input fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from integraph.errors import UsageError
from integraph.flow.exact.engine import EXACT
from integraph.numbers.arrays import Floats
from integraph.program.engine import Flow, Options

if TYPE_CHECKING:
    from integraph.program import Program

CHUNK = 1024  # inputs at a time on a processor: what stays in its cache
DEVICE_NUMBERS = 2**27  # of the registers of a chunk on an accelerator: 1 GB


class JaxEngine:
    """Ignores `rtol`, `max_steps` and `threads`: a closed form has no step, and jax has threads of its own."""

    name = "jax"

    def can(self, program: Program) -> bool:
        return EXACT.can(program)

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
        again = EXACT.run(program, x[failed], options)
        outputs[failed] = again.outputs
        failures = tuple(replace(failure, input=int(failed[failure.input])) for failure in again.failures)
        return Flow(self.name, outputs, None, None, failures)

    def _outputs(self, program: Program, x: Floats) -> Floats:
        import jax

        with jax.enable_x64(True):
            function = _compiled(program)
            chunk = _chunk(jax.default_backend(), program.width)
            outputs = np.empty((len(x), program.outputs))
            pending: list[tuple[int, int, Any]] = []
            for first in range(0, len(x), chunk):
                rows = x[first : first + chunk]
                pending.append((first, len(rows), function(_padded(rows))))
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


def _chunk(backend: str, width: int) -> int:
    if backend == "cpu":
        return CHUNK
    return int(max(CHUNK, 1 << (DEVICE_NUMBERS // max(width, 1)).bit_length() - 1))


JAX = JaxEngine()
