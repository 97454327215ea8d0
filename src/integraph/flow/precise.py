"""The precise engine: closed forms on Arb balls, in as many bits as it takes to decide every float64.

Blocks without a closed form are integrated by Taylor steps on balls, in factors.

For programs that float64 cannot follow, such as Lemma 4 as printed, and a reference for all others. Registers may leave
the range of float64 on the way; what is asked for must fit. A ball holds its number for certain, so a result is the
float64 next to the value of the closed form, and an escape is an escape. An input that is not decided yet, because a
ball rounds to two floats or may have either sign, runs again in more bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from integraph.flow.exact.plan import make
from integraph.gadgets import Gadget
from integraph.gadgets.free_form import FreeForm
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Failure, Flow, Options, Program

if TYPE_CHECKING:
    from integraph.flow.ball_flow import BallFlow

GUARDS = (64, 192, 512, 1344, 4096)  # bits beyond those of the program; with 1344, a 0 is below every float64
CHUNK = 64  # inputs
TIMED = 32  # failures of a chunk whose time is worth finding: each takes many closed forms


class PreciseEngine:
    """Ignores `rtol` and `threads`: balls run in Python, on one core. A closed form has no steps for `max_steps`."""

    name = "precise"

    def can(self, program: Program) -> bool:
        return closed_forms(program, FreeForm)

    def run(self, program: Program, x: Floats, options: Options) -> Flow:
        return self._run(program, x, options, TIMED)

    def carries(self, program: Program, x: Floats) -> NDArray[np.bool_]:
        """Which inputs reach the end."""
        return ~np.isin(np.arange(len(x)), [failure.input for failure in self._run(program, x, Options(), 0).failures])

    def _run(self, program: Program, x: Floats, options: Options, timed: int) -> Flow:
        from integraph.flow.ball_flow import BallFlow

        count = len(x)
        outputs = np.full((count, program.outputs), np.nan)
        final = np.full((count, program.width), np.nan)
        path = np.full((count, len(options.times), program.width), np.nan)
        work = make(program, options.states or bool(options.times)).work()
        failures: list[Failure] = []
        for first in range(0, count, CHUNK):
            rows = np.arange(first, min(first + CHUNK, count))
            flow = BallFlow(program, work, options, outputs, final, path)
            failures += _settle(flow, x, rows, timed)
        for failure in failures:
            outputs[failure.input] = final[failure.input] = path[failure.input] = np.nan
        failures.sort(key=lambda failure: failure.input)
        wanted = final if options.states else None
        return Flow(self.name, outputs, wanted, path if options.times else None, tuple(failures))


def closed_forms(program: Program, *besides: type) -> bool:
    """Whether every block has one, but for those of other kinds."""
    blocks = [block for segment in program.segments for block in segment.blocks]
    return all(isinstance(b.op, Gadget) and (b.op.exact or isinstance(b.op, besides)) for b in blocks)


def _settle(flow: BallFlow, x: Floats, rows: Indices, timed: int) -> list[Failure]:
    """The failures among the inputs `rows`; the others are written."""
    failures: list[Failure] = []
    for guard in GUARDS:
        result = flow.run(x[rows], rows, guard, timed - len(failures))
        failures += result.failures
        rows = np.array([failure.input for failure in result.undecided], np.int64)
        if not len(rows):
            break
    return failures + result.undecided


PRECISE = PreciseEngine()
