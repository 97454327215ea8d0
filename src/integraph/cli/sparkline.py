"""Registers over time as lines of text: a block for each moment, a bar between segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from integraph.numbers.arrays import Floats
    from integraph.program.program import Trajectory

BLOCKS = "▁▂▃▄▅▆▇█"
COLUMNS, SHORTEST = 60, 20  # of all segments together
ENDS = 26  # columns of the values that stand behind
LEAST = 2  # columns that a segment must have, or its ends are not drawn


def sparks(way: Trajectory, registers: list[int], width: int) -> list[str]:
    """One line for each register, each from its own lowest to its own highest value, which stand behind.

    They are as long as a screen of this width allows.
    """
    names = [way.names[register] for register in registers]
    wide = max(map(len, names), default=0)
    columns = min(max(width - wide - ENDS, SHORTEST), COLUMNS)
    shares = _shares(len(way.labels), columns)
    if shares is None:
        parts = [np.linspace(way.times[0], way.times[-1], columns)]
    else:
        ends = zip(way.switches[:-1], way.switches[1:], shares, strict=True)
        parts = [np.linspace(a, b, share) for a, b, share in ends]
    lines = []
    for name, register in zip(names, registers, strict=True):
        values = way.states[:, register]
        drawn = "│".join(_blocks(_sampled(way, register, times), values) for times in parts)
        lines.append(f"{name:<{wide}}  {drawn}  {values.min():.4g} … {values.max():.4g}")
    return lines


def _shares(segments: int, columns: int) -> list[int] | None:
    """Columns of each segment, as equal as can be: what happens in a short one is not less."""
    room = columns - (segments - 1)
    if segments < 1 or room < LEAST * segments:
        return None
    return [room // segments + (n < room % segments) for n in range(segments)]


def _sampled(way: Trajectory, register: int, times: Floats) -> Floats:
    """The value that is known nearest to each time."""
    after = np.clip(np.searchsorted(way.times, times), 1, len(way.times) - 1)
    nearer = times - way.times[after - 1] < way.times[after] - times
    samples: Floats = way.states[np.where(nearer, after - 1, after), register]
    return samples


def _blocks(values: Floats, every: Floats) -> str:
    low, high = 0.5 * float(every.min()), 0.5 * float(every.max())  # half, so that differences do not overflow
    height = np.zeros(len(values)) if low == high else (0.5 * values - low) / (high - low)
    return "".join(BLOCKS[int(level)] for level in np.clip(height * len(BLOCKS), 0, len(BLOCKS) - 1))
