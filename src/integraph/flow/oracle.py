"""The oracle: scipy's DOP853 on the terms, one input at a time. Slow, simple, and independent of the other engines."""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.program import Failure, Flow, Options, Program, Status, Terms
from integraph.program.dynamics import switches
from integraph.program.terms import concatenate

FINEST = 2.3e-14  # scipy takes no smaller tolerance
COARSEST = 1e-6  # with a looser one an escape can pass unseen
ABSOLUTE = 5e-324  # as good as none, so that every register has relative accuracy; 0 would divide by 0
FROM_ZERO = 1e-40  # for registers that start at 0: one that grows like t¹⁰ has no relative accuracy in a first step
FIRST = 1e-3  # of a stretch: the first step tried
SHORTEST = 1e-13  # of a segment: no step near a pole is shorter, the solution escapes
NEAR = 3e-2  # of the longest step so far: a step longer than this means no pole but something fast
HUGE = 1e300  # what fails beyond this has overflowed


class Oracle:
    """Ignores `threads`."""

    name = "oracle"

    def can(self, program: Program) -> bool:
        return True

    def run(self, program: Program, x: Floats, options: Options) -> Flow:
        terms = [concatenate(list(program.segment_terms(number))) for number in range(program.depth)]
        states = np.full((len(x), program.width), np.nan)
        path = np.full((len(x), len(options.times), program.width), np.nan)
        failures, steps = [], 0
        with np.errstate(all="ignore"):
            for index, point in enumerate(x):
                walk = _OracleRun(program, terms, options, point)
                failure = walk.run(index)
                steps += walk.steps
                if failure is None:
                    states[index], path[index] = walk.y, walk.path
                else:
                    failures.append(failure)
            outputs = np.asarray(program.readout @ states.T).T
        return Flow(
            self.name,
            outputs,
            states if options.states else None,
            path if options.times else None,
            tuple(failures),
            steps,
        )


class _OracleRun:
    """One input on its way."""

    def __init__(self, program: Program, terms: list[Terms], options: Options, point: Floats) -> None:
        self.program, self.terms, self.options = program, terms, options
        self.y = np.zeros(program.width)
        self.y[: program.inputs] = point
        self.path = np.empty((len(options.times), program.width))
        self.steps = 0

    def run(self, index: int) -> Failure | None:
        """Segment after segment, each cut at the times asked for."""
        times, edges = np.asarray(self.options.times), switches(self.program)
        self.path[times == 0] = self.y
        for number, segment in enumerate(self.program.segments):
            budget = self.steps + int(self.options.max_steps)
            inside = (times > edges[number]) & (times <= edges[number + 1])
            # since the start of the segment: after long segments, edges are too coarse for the duration of this one
            after = np.where(times == edges[number + 1], segment.duration, times - edges[number])
            stops = np.unique(np.append(np.minimum(after[inside], segment.duration), segment.duration)).tolist()
            start = 0.0
            for stop in stops:
                failed = self._stretch(self.terms[number], stop - start, segment.duration, budget)
                if failed is not None:
                    status, register, moment = failed
                    name, moment = self.program.registers.name(register), float(edges[number]) + start + moment
                    return Failure(index, status, number, segment.label, name, moment)
                self.path[inside & (np.minimum(after, segment.duration) == stop)] = self.y
                start = stop
        if not np.isfinite(self.program.readout @ self.y).all():
            last = self.program.depth - 1
            label = self.program.segments[last].label if last >= 0 else ""
            return Failure(index, Status.OVERFLOWED, last, label, "read-out", self.program.horizon)
        return None

    def _stretch(
        self, terms: Terms, span: float, duration: float, budget: int, rtol: float | None = None
    ) -> tuple[Status, int, float] | None:
        """Advance y by `span`; if that fails, say how, which register and when. Where the end is near a pole, once more
        with the finest tolerance: every error so far is multiplied there, and may have moved the pole past the end."""
        from scipy.integrate import DOP853  # takes a quarter of a second to import

        moving = np.unique(terms.i)
        if span == 0.0 or len(moving) == 0:
            return None

        def derivative(_t: float, y: Floats) -> Floats:
            self.y[moving] = y
            return terms.evaluate(self.y)[moving]

        # scipy bounds the mean square of the registers' errors, we want the bound for each
        rtol = rtol or max(min(self.options.rtol, COARSEST) / np.sqrt(len(moving)), FINEST)
        start = self.y[moving]
        atol: Any = np.where(start == 0.0, FROM_ZERO, ABSOLUTE)
        solver: Any = DOP853(derivative, 0.0, start, span, rtol=rtol, atol=atol, first_step=FIRST * span)
        longest, shrunk = 0.0, False
        while solver.status != "finished":
            status = None
            shrunk = solver.h_abs < NEAR * longest
            if shrunk and solver.h_abs < min(SHORTEST * duration, span - solver.t):
                status = Status.ESCAPED
            elif solver.status == "failed":  # the next step is too short to advance the time
                status = Status.ESCAPED if shrunk else Status.STEP_LIMIT
            elif self.steps >= budget:
                status = Status.STEP_LIMIT
            else:
                solver.step()
                self.steps += 1
                longest = max(longest, solver.t - (solver.t_old or 0.0))
            if status is not None:
                slope = derivative(solver.t, solver.y)
                fastest = int(np.argmax(np.abs(slope) / (np.abs(solver.y) + ABSOLUTE)))
                huge = np.abs(solver.y).max() > HUGE or not np.isfinite(slope).all()
                return Status.OVERFLOWED if huge else status, int(moving[fastest]), float(solver.t)
        if shrunk and rtol > FINEST:
            self.y[moving] = start
            return self._stretch(terms, span, duration, budget, FINEST)
        self.y[moving] = solver.y
        return None


ORACLE = Oracle()
