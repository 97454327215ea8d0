"""Every register on its way through the segments, or those that matter if there are many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, Indices
from integraph.plot.labels import part_of, point_label, shortened_label
from integraph.plot.picture import Curve, Frame, Panel, Picture, Span
from integraph.plot.subject import Subject
from integraph.program.dynamics import grid, switches
from integraph.program.engine import batch_of
from integraph.program.summary import above
from integraph.text import counted

TIMES, LEAST, MOST = 400, 3, 33  # in all, at least and at most in a segment
MEMORY = 30_000_000  # numbers of all paths: 240 MB
REGISTERS, OUTPUTS = 40, 8  # that are drawn; of them read out
OWN_COLOUR = 8  # registers that can be told apart by colour
APART = 8.0  # registers so many times smaller than others have their own panel
PANELS = 3
FAR = 1e4  # times the median of a panel: such a value needs a logarithmic axis
STILL = 1e-3  # of the most that an output moves on any way: less is not seen


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """One input, and its path: states (times, registers)."""

    label: str
    states: Floats


def trajectory(s: Subject, x: ArrayLike | None = None) -> Picture | str:
    """The path of an input x, or of the centre, of corners and of the worst point seen, with a slider."""
    program = s.program
    if not program.depth:
        return "the program has no segments: its outputs are read from its inputs"
    inputs = _inputs(s) if x is None else [("", _one(s, x))]
    if LEAST * program.depth * program.width * len(inputs) > MEMORY:
        inputs = inputs[:1]
    affordable = s.points(MOST * len(inputs), LEAST * len(inputs)) // len(inputs)
    per_segment = max(min(TIMES // program.depth + 1, affordable), LEAST)
    per_segment = min(per_segment, MEMORY // (program.depth * program.width * len(inputs)))
    if per_segment < 2:
        return f"{program.depth:,} segments × {program.width:,} registers are too many to keep"
    try:
        times = grid(program, per_segment)
    except UsageError as error:
        return str(error)
    ways, failures = [], []
    for label, start in inputs:
        flow = program.flow(s.units(start[None]), times=times)
        if flow.ok:
            assert flow.path is not None
            ways.append(_Path(point_label(start, s.variables, label), flow.path[0]))
        else:
            failures.append(f"{label or 'the input'}: {flow.failures[0]}")
    if not ways:
        return f"no input reaches the end: {failures[0]}"
    return _picture(s, times, ways, failures)


def _inputs(s: Subject) -> list[tuple[str, Floats]]:
    corners = ["the centre", "the lowest corner", "the highest corner", "a corner", "a corner"]
    inputs = list(zip(corners, s.landmarks, strict=False))
    if s.seen is not None and s.seen.largest > 0:
        inputs.append(("where the largest difference was found", s.seen.worst))
    return inputs


def _one(s: Subject, x: ArrayLike) -> Floats:
    batch = batch_of(x, s.program.inputs)
    if len(batch) != 1:
        raise UsageError(f"a trajectory is that of one input, got {len(batch)}: draw each of them")
    result: Floats = batch[0]
    return result


def _groups(s: Subject) -> tuple[list[str], Indices]:
    """Names of groups, and the number of the group of each register."""
    sizes = {group.name: group.view.size for group in s.program.registers}
    return list(sizes), np.repeat(np.arange(len(sizes)), list(sizes.values()))


def _registers(s: Subject, ways: list[_Path], group: Indices) -> Indices:
    """All, or those that are read out, and of each group those that move most; in order."""
    if s.program.width <= REGISTERS:
        return np.arange(s.program.width)
    moved = np.max([np.ptp(way.states, axis=0) for way in ways], 0)
    moved[np.unique(s.program.readout.indices)[:OUTPUTS]] = np.inf
    order = np.lexsort((-moved, group))
    place = np.empty(len(group), np.int64)  # of a register in its group
    place[order] = np.arange(len(group)) - np.searchsorted(group[order], group[order])
    place[np.isinf(moved)] = -1
    return np.sort(np.lexsort((-moved, place))[:REGISTERS])


def _panels(sizes: dict[str, float]) -> list[tuple[float, list[str]]]:
    """Groups of like size together, the largest first: (largest value, groups)."""
    panels: list[tuple[float, list[str]]] = []
    for group in sorted(sizes, key=lambda name: -sizes[name]):
        if not panels or (len(panels) < PANELS and sizes[group] < panels[-1][0] / APART):
            panels.append((sizes[group], []))
        panels[-1][1].append(group)
    return panels


def _picture(s: Subject, times: Floats, ways: list[_Path], failures: list[str]) -> Picture:
    kinds, kind = _groups(s)
    chosen = _registers(s, ways, kind)
    names = [shortened_label(s.program.registers.name(register)) for register in chosen.tolist()]
    groups = [kinds[n] for n in kind[chosen].tolist()]
    size = np.max([np.abs(way.states[:, chosen]).max(0) for way in ways], 0)
    sizes: dict[str, float] = {}
    for group, largest in zip(groups, size.tolist(), strict=True):
        sizes[group] = max(sizes.get(group, 0.0), largest)
    own, colours, parts = len(chosen) <= OWN_COLOUR, {group: n for n, group in enumerate(sizes)}, _panels(sizes)
    edges = switches(s.program).tolist()
    spans = tuple(Span(a, b, one.label) for a, b, one in zip(edges, edges[1:], s.program.segments, strict=False))
    frames = []
    for way in ways:
        panels = []
        for largest, members in parts:
            inside = [n for n, group in enumerate(groups) if group in members]
            far = _far(np.stack([other.states[:, chosen[inside]] for other in ways]))
            curves = tuple(
                Curve(
                    times, _sizes(way.states[:, chosen[n]]) if far else way.states[:, chosen[n]], names[n],
                    n if own else colours[groups[n]], group="" if own else groups[n],
                )
                for n in inside
            )  # fmt: skip
            of_size = f"{'|value|' if far else 'value'}, at most {above(largest)}" if len(parts) > 1 or far else "value"
            panels.append(Panel("", "time", of_size, curves, spans, log_y=far))
        frames.append(Frame(way.label, tuple(panels)))
    shown = part_of(len(chosen), s.program.width, "register")
    which = ": those that are read out, and of each group those that move most" if len(chosen) < len(kind) else ""
    says = f"{shown[0].upper()}{shown[1:]}{which}, through {counted(len(spans), 'segment')}."
    if any(panel.log_y for panel in frames[0].panels):
        says += " Where values span decades the axis is logarithmic and shows |value|; zeros are gaps."
    if failures:
        says += f" Some inputs do not reach the end: {'; '.join(failures)}."
    slider = "input" if len(frames) > 1 else ""
    title = "Registers through the segments"
    if len(ways) == 1 and ways[0].label:
        title += f": {ways[0].label}"
    return Picture("trajectory", title, says, tuple(frames), slider, True, _liveliest(s, ways, chosen))


def _far(states: Floats) -> bool:
    """Whether the largest value is so far above most others that a linear axis would show nothing but it."""
    sizes = np.abs(states[states != 0])
    return bool(sizes.size and sizes.max() > FAR * np.median(sizes))


def _sizes(values: Floats) -> Floats:
    """|y| for a logarithmic axis, which has no 0: gaps."""
    return np.where(values == 0, np.nan, np.abs(values))


def _liveliest(s: Subject, ways: list[_Path], chosen: Indices) -> int:
    """The way on which most outputs move, and of those the one on which most registers do: where f is 0 an output is
    flat, and at the centre, where polynomials are expanded, many registers stay at 0."""
    outputs = np.stack([np.ptp(way.states @ s.program.readout.T, axis=0) for way in ways])
    alive = np.count_nonzero(outputs > STILL * outputs.max(0), axis=1)
    moving = [np.count_nonzero(np.ptp(way.states[:, chosen], axis=0)) for way in ways]
    return max(range(len(ways)), key=lambda n: (alive[n], moving[n]))
