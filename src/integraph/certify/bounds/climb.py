"""Points of a box of many inputs where an output is large, or small: corners that linear forms point at.

The forms of the bounds point at first ones. At a point the lines of a function are its tangents, so that linear forms
backwards from there are gradients, and point at the next corner. No bound depends on these points.
"""

from __future__ import annotations

import numpy as np

from integraph.certify.bounds.backward import Backward, backward
from integraph.certify.bounds.graph_parts import part_values
from integraph.certify.bounds.network_steps import network_values
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.targets.graph import Graph
from integraph.targets.network import Network

ROUNDS = 3
MOST, COMPARED = 64, 4096  # points that climb, and points of which the better are kept


def climbed(
    source: Network | Graph, watch: Backward, low: Floats, high: Floats, dips: Floats, peaks: Floats
) -> tuple[Floats, Floats]:
    """Better points than these, (cells, outputs, inputs) each, after bounds on cells."""
    shape, first = (-1, dips.shape[2]), np.stack([dips, peaks])
    for number, entry, mine in watch.where(np.arange(dips.shape[1])):
        if number in watch.slopes:
            slopes = watch.slopes[number][:, :, entry]
            dips[:, mine], peaks[:, mine] = np.where(slopes >= 0, low[:, None], high[:, None])
    cells, outputs = dips.shape[:2]
    count = 2 * cells * outputs
    if count > COMPARED:
        return dips, peaks
    low, high = (np.broadcast_to(end[:, None], dips.shape).reshape(shape) for end in (low, high))
    which = np.tile(np.arange(outputs), 2 * cells)
    signs = np.repeat([1.0, -1.0], cells * outputs)
    starts = first.reshape(shape), np.stack([dips, peaks]).reshape(shape)
    rounds = ROUNDS if count <= MOST else 0
    points = _down(source, starts, np.tile(low, (2, 1)), np.tile(high, (2, 1)), which, signs, rounds)
    dips, peaks = points.reshape(2, *dips.shape)
    return dips, peaks


def _down(
    source: Network | Graph, starts: tuple[Floats, Floats], low: Floats, high: Floats, which: Indices, signs: Floats,
    rounds: int,
) -> Floats:  # fmt: skip
    """Points where sign·output is smaller than at either start, an output for each."""

    def values(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            every = source.values(x) if isinstance(source, Graph) else source(x)
        return signs * every[np.arange(len(x)), which]

    first, second = (values(x) for x in starts)
    points, best = np.where((first < second)[:, None], *starts), np.fmin(first, second)
    for _ in range(rounds):
        corners = np.where(signs[:, None] * gradients(source, points, which) >= 0, low, high)
        reached = values(corners)
        better = reached < best
        if not better.any():
            break
        points, best = np.where(better[:, None], corners, points), np.where(better, reached, best)
    return points


@quiet
def gradients(source: Network | Graph, points: Floats, which: Indices) -> Floats:
    """Of one output at each point, about."""
    watch, result = backward(source), np.zeros_like(points)
    for values in network_values(source, points) if isinstance(source, Network) else part_values(source, points):
        watch.announce(Interval(values.T, values.T))
    for number, entry, mine in watch.where(which):
        form = np.zeros((len(points), 1, len(watch.ranges[number].low)))
        form[mine, 0, entry] = 1.0
        result[mine] = watch.least(number, form, 0).form[mine, 0]
    return result
