"""The Taylor engine: sees only the control terms. Linear parts by exponentials, the rest by adaptive Taylor series of
high order, with relative error control of every register; restarts at every switch and at every time asked for.

A limit: a register that starts at 0 and whose first nonzero Taylor term is beyond the order (about 20 at the default
tolerance) is still 0 after the first step, and has no relative accuracy during the first steps. This takes a chain of
more than 20 registers, each fed by the one before, in a component that is not linear or has more than 128 registers
(smaller linear ones are solved by exponentials). At the end of a chain y_k' = y_{k−1} from (1, 0, 0, …) over 1, where
y_k = 1/k!, the relative error is 1e−15 for k = 20, 6e−10 for k = 30 and 3e−3 for k = 60.
"""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from integraph.errors import UsageError
from integraph.flow.chunks import over_chunks
from integraph.flow.lost_digits import with_precision_hint
from integraph.flow.taylor.lanes import TaylorLanes
from integraph.flow.taylor.plan import TaylorPlan, make
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Failure, Flow, Options, Program, Status
from integraph.program.dynamics import switches
from integraph.program.engine import finite

CHUNK = 256  # inputs
BUDGET = 1 << 25  # bytes of states and coefficients that a chunk should not exceed
ORDERS_PER_DIGIT = 1.6  # of the tolerance: more orders make steps longer but dearer
MIN_ORDER = 8
CAUTION = 0.1  # of the tolerance is left to a step: errors add up and grow
FINEST = 1e-16  # tolerance of a step: below rounding there is nothing to control
COARSEST = 1e-4  # tolerance of a step: with a looser one an escape can pass unseen
MAX_STEPS = 1 << 53  # integers that float64 holds exactly

STATUS = {1: Status.ESCAPED, 2: Status.OVERFLOWED, 3: Status.STEP_LIMIT}  # as the kernel numbers them

Bad = dict[int, tuple[float, Status, int]]  # column → when, how, which register


class Taylor:
    name = "taylor"

    def __init__(self) -> None:
        self._plans: WeakKeyDictionary[Program, tuple[TaylorPlan, ...]] = WeakKeyDictionary()

    def can(self, program: Program) -> bool:
        return True

    def run(self, program: Program, x: Floats, options: Options) -> Flow:
        with np.errstate(all="ignore"):
            work = _TaylorRun(program, self.plans(program), x, options)
        width = program.width + max((plan.footprint for plan in work.plans), default=0)
        size = max(1, min(CHUNK, BUDGET // (8 * width)))
        over_chunks(work.chunk, len(x), size, options.threads)
        failures = with_precision_hint(program, x, sorted(work.failures, key=lambda failure: failure.input))
        return Flow(self.name, work.outputs, work.states, work.path, failures, sum(work.steps))

    def plans(self, program: Program) -> tuple[TaylorPlan, ...]:
        """One for each segment; kept as long as the program is."""
        plans = self._plans.get(program)
        if plans is None:
            plans = self._plans[program] = tuple(make(program, number) for number in range(program.depth))
        return plans


class _TaylorRun:
    """One call: what chunks read and where they write. Rows of failed inputs stay NaN."""

    def __init__(self, program: Program, plans: tuple[TaylorPlan, ...], x: Floats, options: Options) -> None:
        self.program, self.plans, self.x, self.options = program, plans, x, options
        self.rtol = min(max(CAUTION * options.rtol, FINEST), COARSEST)
        self.max_steps = min(int(options.max_steps), MAX_STEPS)
        self.order = max(math.ceil(-ORDERS_PER_DIGIT * math.log10(self.rtol)), MIN_ORDER)
        self.edges = switches(program)
        times = np.asarray(options.times)
        whole = np.zeros(0, np.int64)
        self.stops = [
            _stops(self.edges, number, plan.duration, times) if options.times else [(plan.duration, whole)]
            for number, plan in enumerate(plans)
        ]
        self.outputs = np.full((len(x), program.outputs), np.nan)
        self.states = np.full((len(x), program.width), np.nan) if options.states else None
        self.path = np.full((len(x), len(times), program.width), np.nan) if options.times else None
        self.failures: list[Failure] = []
        self.steps: list[int] = []

    def chunk(self, piece: tuple[int, int]) -> None:
        alive = np.arange(*piece)
        states = np.zeros((self.program.width, len(alive)))
        states[: self.program.inputs] = self.x[slice(*piece)].T
        with np.errstate(all="ignore"):
            if self.path is not None:
                self.path[np.ix_(alive, np.equal(self.options.times, 0.0))] = states.T[:, None]
            for number, plan in enumerate(self.plans):
                start = float(self.edges[number])
                for span, times in self.stops[number]:
                    bad = self._advance(plan, states, start, span)
                    if bad:
                        alive, states = self._drop(number, bad, alive, states)
                        if len(alive) == 0:
                            return
                    start += span
                    self._record(alive, states, times)
            self._finish(alive, states)

    def _advance(self, plan: TaylorPlan, states: Floats, start: float, span: float) -> Bad:
        """Carry the states over `span`, in place, and say which columns failed."""
        bad: Bad = {}
        for advance in plan.over(span):
            advance(states)
        if plan.linear and not finite(states[plan.written]):
            for register, column in np.argwhere(~np.isfinite(states)).tolist():
                bad.setdefault(column, (start + span, Status.OVERFLOWED, register))
        for lanes in plan.lanes:
            self._integrate(lanes, plan.duration, states, start, span, bad)
        return bad

    def _integrate(
        self, lanes: TaylorLanes, duration: float, states: Floats, start: float, span: float, bad: Bad
    ) -> None:
        inputs, count = states.shape[1], lanes.registers.shape[1] * states.shape[1]
        status, place, moment = np.zeros(count, np.int64), np.empty(count, np.int64), np.empty(count)
        steps = _kernel()(
            states,
            lanes.registers,
            lanes.forms,
            lanes.forms_source,
            lanes.forms_value,
            np.ascontiguousarray(lanes.forms_start(states).reshape(-1, count)),
            lanes.products,
            lanes.shared,
            lanes.shared_source,
            lanes.shared_value,
            lanes.own,
            lanes.own_source,
            np.ascontiguousarray(lanes.own_value(states).reshape(len(lanes.own_source), count)),
            self.order,
            self.rtol,
            span,
            duration,
            self.max_steps,
            status,
            place,
            moment,
        )
        self.steps.append(steps)
        for lane in np.flatnonzero(status).tolist():
            component, column = divmod(lane, inputs)
            failure = (start + float(moment[lane]), STATUS[status[lane]], int(lanes.registers[place[lane], component]))
            if column not in bad or failure[0] < bad[column][0]:  # what failed first is the cause
                bad[column] = failure

    def _drop(self, number: int, bad: Bad, alive: Indices, states: Floats) -> tuple[Indices, Floats]:
        label = self.program.segments[number].label
        for column, (time, status, register) in bad.items():
            name = self.program.registers.name(register)
            self.failures.append(Failure(int(alive[column]), status, number, label, name, time))
        if self.path is not None:
            self.path[alive[list(bad)]] = np.nan
        kept = np.delete(np.arange(len(alive)), list(bad))
        return alive[kept], np.ascontiguousarray(states[:, kept])

    def _record(self, alive: Indices, states: Floats, times: Indices) -> None:
        if self.path is not None:
            self.path[np.ix_(alive, times)] = states.T[:, None]

    def _finish(self, alive: Indices, states: Floats) -> None:
        outputs = np.asarray(self.program.readout @ states).T
        last = self.program.depth - 1
        label = self.program.segments[last].label if last >= 0 else ""
        overflowed = np.flatnonzero(~np.isfinite(outputs).all(1))  # finite states, but their weighted sum is not
        for row in overflowed.tolist():
            where = ("read-out", self.program.horizon)
            self.failures.append(Failure(int(alive[row]), Status.OVERFLOWED, last, label, *where))
            outputs[row] = states[:, row] = np.nan
            if self.path is not None:
                self.path[alive[row]] = np.nan
        self.outputs[alive] = outputs
        if self.states is not None:
            self.states[alive] = states.T


def _kernel() -> Any:
    import numba  # takes half a second

    config: Any = numba.config
    if config.DISABLE_JIT:
        raise UsageError("the taylor engine needs numba's compiler: unset NUMBA_DISABLE_JIT")
    from integraph.flow.taylor.kernel import integrate

    return integrate


def _stops(edges: Floats, number: int, duration: float, times: Floats) -> list[tuple[float, Indices]]:
    """How a segment is cut at the times asked for: lengths, and which times are reached after each."""
    inside = np.flatnonzero((times > edges[number]) & (times <= edges[number + 1]))
    after = np.where(times[inside] == edges[number + 1], duration, times[inside] - edges[number])
    after = np.minimum(after, duration)  # edges are rounded sums
    reached, which = np.unique(np.append(after, duration), return_inverse=True)
    spans = np.diff(reached, prepend=0.0)
    return [(float(span), inside[which[:-1] == n]) for n, span in enumerate(spans)]


TAYLOR = Taylor()
