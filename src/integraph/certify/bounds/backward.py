"""Linear bounds backwards (CROWN): a value between linear forms of earlier values, and in the end of the inputs.

Forward models lose what their symbols cannot hold. Here nothing is carried: each range that matters is computed from
its own forms, through lines below and above every function on the way, down to the inputs. Lines are drawn over ranges,
and ranges are what forms give: so values are announced in order, and each is bounded before the next is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from integraph.certify.bounds.forms import added, dense, sizes, times, units
from integraph.certify.bounds.graph_parts import Rows, graph_parts
from integraph.certify.bounds.graph_steps import graph_rules, graph_wanted
from integraph.certify.bounds.network_steps import Rule, Steps, network_rules, network_wanted
from integraph.certify.bounds.steps import Affine
from integraph.clock import check_deadline
from integraph.numbers import intervals
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import Models
from integraph.numbers.roundoff import U
from integraph.targets.graph import Graph
from integraph.targets.network import Network

if TYPE_CHECKING:
    from integraph.certify.bounds.forms import Form

CHUNK = 4_000_000  # numbers in the forms of one value
WORK = 2e9  # multiplications for the range of one value


def backward(source: Network | Graph) -> Backward:
    """Linear bounds of a source, before its first value is announced."""
    if isinstance(source, Network):
        wanted = network_wanted(source)
        return Backward(network_rules(source), wanted, (Rows(len(wanted) - 1),))
    parts = graph_parts(source)
    return Backward(graph_rules(source, parts), graph_wanted(source, parts), parts.outputs)


class Least(NamedTuple):
    """Lower bounds of forms, (cells, forms), the forms of the inputs that they come from, (cells, forms, inputs), and
    the multiplications that it took."""

    bound: Floats
    form: Floats
    work: float


@dataclass(slots=True, eq=False)
class Backward:
    """Rules of the values to come, the inputs first, and which of those are to be bounded; ranges and steps of those
    that came. `slopes` are the coefficients of the inputs in the forms below and above an output, (2, cells, entries,
    inputs); those above have the other sign."""

    rules: Sequence[Rule]
    wanted: Sequence[bool]
    outputs: Sequence[Rows]
    slopes: dict[int, Floats] = field(default_factory=dict)
    ranges: list[Interval] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)
    bent: list[bool] = field(default_factory=list)  # whether a value is not an affine map of the inputs

    @quiet
    def __call__(self, rows: Models) -> Models:
        """The rows of the next value, with what its linear forms say of them."""
        number = len(self.steps)
        self.announce(rows.known)
        if self.wanted[number] and self.bent[number]:
            rows = rows.within(self.bounds(number))
            self.ranges[-1] = rows.known
        return rows

    def announce(self, known: Interval) -> None:
        """The next value, of which this is known."""
        self.ranges.append(known)
        self.steps.append(self.rules[len(self.steps)](self.ranges))
        step = self.steps[-1][0]
        straight = isinstance(step, Affine)
        self.bent.append(bool(step.operands) and (not straight or any(self.bent[n] for n in step.operands)))

    def bounds(self, number: int) -> Interval:
        """The ranges of a value by its linear forms alone, (entries, cells); of the first entries alone if these show
        that all would take more than `WORK`."""
        size, cells = self.ranges[number].low.shape
        ends = np.full((2, size, cells), np.nan)
        count = max(1, CHUNK // (cells * max(len(x.low) for x in self.ranges)))
        slopes = np.zeros((2, cells, size, len(self.ranges[0].low))) if self._is_output(number) else None
        families, spent = self._families(number), 0.0
        for start in range(0, size, count):
            check_deadline()
            entries = np.arange(start, min(start + count, size))
            for end, sign in enumerate((1.0, -1.0)):
                tried = [self.least(number, units(entries, size, sign, cells), family) for family in range(families)]
                spent += sum(one.work for one in tried)
                least = np.fmax.reduce([one.bound for one in tried])
                ends[end, entries] = sign * least.T
                if slopes is not None:
                    best = (tried[0].bound == least)[..., None]
                    slopes[end, :, entries] = np.where(best, tried[0].form, tried[-1].form).swapaxes(0, 1)
            if spent * size > WORK * (start + len(entries)):
                return intervals.interval(ends[0], ends[1])
        if slopes is not None:
            self.slopes[number] = slopes
        return intervals.interval(ends[0], ends[1])

    def where(self, which: Indices) -> list[tuple[int, Indices, Indices]]:
        """Of these outputs: a value, its entries, and which of the outputs they are; for each value that holds some."""
        found, start = [], 0
        for rows in self.outputs:
            places = np.arange(len(self.ranges[rows.part].low)) if rows.places is None else rows.places
            mine = np.flatnonzero((start <= which) & (which < start + len(places)))
            found.append((rows.part, places[which[mine] - start], mine))
            start += len(places)
        return found

    def _is_output(self, number: int) -> bool:
        return any(rows.part == number for rows in self.outputs)

    def _families(self, number: int) -> int:
        """How many families of lines there are on the way to the inputs."""
        reached, todo = set[int](), [number]
        while todo:
            n = todo.pop()
            if n not in reached:
                reached.add(n)
                todo += self.steps[n][0].operands
        return max(len(self.steps[n]) for n in reached)

    @quiet
    def least(self, number: int, form: Form, family: int) -> Least:
        """Lower bounds of forms of a value with lines of one family."""
        shape = (len(self.ranges[0].low[0]), form.shape[-2])
        slopes: Form = np.zeros((*shape, len(self.ranges[0].low)))
        forms, total, size, work = {number: form}, np.zeros(shape), np.zeros(shape), 0.0
        while forms:
            n = max(forms)
            steps, form = self.steps[n], forms.pop(n)
            step = steps[min(family, len(steps) - 1)]
            work += step.work(form)
            slopes = form if n == 0 else slopes
            parts, least = step.pull(form)
            total, size = total + least, size + np.abs(total) + np.abs(least)
            for operand, part in parts:
                if operand in forms:
                    both = added(sizes(forms[operand]), sizes(part))
                    total = total - 4 * U * times(both, self.ranges[operand].size.T)
                    part = added(forms[operand], part)
                forms[operand] = part
        return Least(total - 4 * U * size, dense(slopes), work)
