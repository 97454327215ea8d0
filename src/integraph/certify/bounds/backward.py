"""Linear bounds backwards (CROWN): a value between linear forms of earlier values, and in the end of the inputs.

Forward models lose what their symbols cannot hold. Here nothing is carried: each range that matters is computed from
its own forms, through lines below and above every function on the way, down to the inputs. Lines are drawn over ranges,
and ranges are what forms give: so values are announced in order, and each is bounded before the next is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from integraph.certify.bounds.graph_steps import graph_rules, graph_wanted
from integraph.certify.bounds.network_steps import Rule, Steps, network_rules, network_wanted
from integraph.certify.bounds.steps import Product, Total, times
from integraph.clock import check_deadline
from integraph.numbers import intervals
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import Models
from integraph.numbers.roundoff import U
from integraph.targets.graph import Graph
from integraph.targets.network import Network

CHUNK = 4_000_000  # numbers in the forms of one value
FAMILIES = 2  # of lines
WORK = 2e10  # multiplications for the range of one value of a network
WORK_GRAPH = 4e9  # and of a graph, where they are not matrix products alone


def backward(source: Network | Graph) -> Backward:
    """Linear bounds of a source, before its first value is announced."""
    if isinstance(source, Network):
        wanted = network_wanted(source)
        return Backward(network_rules(source), wanted, {0: 0}, (len(wanted) - 1,), WORK)
    starts = {n: node.data[0] for n, node in enumerate(source.nodes) if node.op == "input"}
    return Backward(graph_rules(source), graph_wanted(source), starts, source.outputs, WORK_GRAPH)


@dataclass(slots=True, eq=False)
class Backward:
    """Rules of the values to come, and which of those are to be bounded; ranges and steps of those that came. `slopes`
    are the coefficients of the inputs in the forms below and above an output, (2, cells, entries, inputs); those above
    have the other sign."""

    rules: Sequence[Rule]
    wanted: Sequence[bool]
    starts: dict[int, int]  # the first input of each value that holds inputs
    outputs: Sequence[int]
    most: float  # work for the range of one value
    slopes: dict[int, Floats] = field(default_factory=dict)
    ranges: list[Interval] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)
    bent: list[bool] = field(default_factory=list)  # whether a value is not an affine map of the inputs

    @quiet
    def __call__(self, rows: Models) -> Models:
        """The rows of the next value, with what its linear forms say of them."""
        number = len(self.steps)
        self.ranges.append(rows.known)
        self.steps.append(self.rules[number](self.ranges))
        step = self.steps[-1][0]
        linear = isinstance(step, Product | Total)
        self.bent.append(bool(step.operands) and (not linear or any(self.bent[n] for n in step.operands)))
        if self.wanted[number] and self.bent[number] and self._work(number) * 2.0 * FAMILIES * rows.r.size <= self.most:
            rows = rows.within(self.bounds(number))
            self.ranges[-1] = rows.known
        return rows

    def _work(self, number: int) -> int:
        """Multiplications for one form of a value."""
        reached, todo = set[int](), [number]
        while todo:
            n = todo.pop()
            if n not in reached:
                reached.add(n)
                todo += self.steps[n][0].operands
        return sum(self.steps[n][0].work for n in reached)

    def bounds(self, number: int) -> Interval:
        """The ranges of a value by its linear forms alone, (entries, cells)."""
        size, cells = self.ranges[number].low.shape
        ends = np.empty((2, size, cells))
        count = max(1, CHUNK // (cells * max(len(x.low) for x in self.ranges)))
        if number in self.outputs:
            self.slopes[number] = np.empty((2, cells, size, self.inputs))
        for start in range(0, size, count):
            check_deadline()
            entries = np.arange(start, min(start + count, size))
            form = np.zeros((cells, len(entries), size))
            form[:, np.arange(len(entries)), entries] = 1.0
            for end, sign in enumerate((1.0, -1.0)):
                tried = [self.least(number, sign * form, family) for family in range(FAMILIES)]
                least = np.fmax.reduce([bound for bound, _ in tried])
                ends[end, entries] = sign * least.T
                if number in self.outputs:
                    best = tried[0][0] == least
                    self.slopes[number][end, :, entries] = np.where(best[..., None], tried[0][1], tried[1][1]).swapaxes(
                        0, 1
                    )
        return intervals.interval(ends[0], ends[1])

    @property
    def inputs(self) -> int:
        return sum(len(self.ranges[number].low) for number in self.starts)

    @quiet
    def least(self, number: int, form: Floats, family: int) -> tuple[Floats, Floats]:
        """Lower bounds of forms of a value, (cells, forms), with lines of one family, and the forms of the inputs that
        they come from."""
        slopes = np.zeros((*form.shape[:2], self.inputs))
        forms, total, size = {number: form}, np.zeros(form.shape[:2]), np.zeros(form.shape[:2])
        while forms:
            n = max(forms)
            steps = self.steps[n]
            form = forms.pop(n)
            if n in self.starts:
                slopes[..., self.starts[n] : self.starts[n] + form.shape[2]] = form
            parts, least = steps[min(family, len(steps) - 1)].pull(form)
            total, size = total + least, size + np.abs(total) + np.abs(least)
            for operand, part in parts:
                if operand in forms:
                    sizes = np.abs(forms[operand]) + np.abs(part)
                    total = total - 4 * U * times(sizes, self.ranges[operand].size.T)
                    part = forms[operand] + part
                forms[operand] = part
        return total - 4 * U * size, slopes
