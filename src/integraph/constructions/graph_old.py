"""A graph of affine maps and elementwise functions as a program, exactly: schedule, registers, segments.

Value 0 is the input, value n the result of node n. A node runs as soon as its source is there: an affine map takes one
segment, a function one for each stage of its recipe. What a function needs at its start is loaded by the affine map
that computes its argument, in the same segment, so that a layer takes two. Registers come in groups, one for each role
of a node. With r = ∞ every group has registers of its own. With a finite r they are used again: a group that is last
read in segment s decays in segment s + 1, at rate r, and its slot is free from segment s + 2 on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from integraph.constructions.recipes import Recipe
from integraph.gadgets import affine, decay, ramp, relax
from integraph.program import Block, Registers, Segment, View, segment
from integraph.program.views import Floats

ALWAYS = 1 << 30  # the last use of what the read-out needs
NOWHERE = View(0, (0,), (1,))


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """A·source + b. Registers are named by the role they have and `tag`, or the number of the node."""

    label: str
    source: int
    A: Floats
    b: Floats
    tag: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """A function of an affine value, unit by unit. The result is the recipe's `out`, before gain and offset."""

    label: str
    source: int
    recipe: Recipe
    tag: str = ""


Node = Affine | Apply


@dataclass(slots=True, eq=False)
class Group:
    """Registers of one role of a node, used from segment `first` to segment `last`."""

    name: str
    size: int
    first: int
    last: int
    view: View = NOWHERE


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """What a program is built from, where each value is, and the segment behind which it is there."""

    registers: Registers
    segments: tuple[Segment, ...]
    values: tuple[View, ...]
    ready: tuple[int, ...]
    one: View  # holds 1 at the end, if asked for


def schedule(inputs: int, nodes: Sequence[Node], output: int, *, constant: bool, r: float) -> Schedule:
    """The value `output` stays to the end; `constant` asks for a register that holds 1 there."""
    ready = _ready(nodes)
    groups = _groups(inputs, nodes, ready, output)
    depth = max(*ready, 0 if constant else -1) + 1
    slots = _slots(groups, r)
    x = groups[0, "value"]
    reuse = constant and math.isfinite(r) and x.last + 1 < depth  # the first input is forgotten and becomes 1
    registers = _registers(groups, slots, extra=constant and not reuse)
    blocks: dict[int, list[Block]] = defaultdict(list)
    values = _emit(nodes, ready, groups, blocks)
    for sharing in slots:
        for group in sharing[:-1]:  # all but the last make room
            blocks[group.last + 1].append(decay(group.view, r=r))
    one = View(0 if reuse else registers.width - 1, (1,), (1,))
    if constant:
        blocks[x.last + 1 if reuse else 0].append(relax(one, r=r, v=1.0) if reuse else ramp(one, b=1.0))
    labels = _labels(nodes, ready)
    segments = tuple(segment(" and ".join(labels[s]) or "constant", *blocks[s]) for s in range(depth))
    return Schedule(registers, segments, values, ready, one)


def _ready(nodes: Sequence[Node]) -> tuple[int, ...]:
    """The segment that finishes each value; the input is there before segment 0."""
    found = [-1]
    for node in nodes:
        found.append(found[node.source] + (1 if isinstance(node, Affine) else len(node.recipe.stages)))
    return tuple(found)


def _groups(inputs: int, nodes: Sequence[Node], ready: Sequence[int], output: int) -> dict[tuple[int, str], Group]:
    """(value, role) → group. An affine value that only functions read lives in their registers alone."""
    last: dict[int, int] = defaultdict(lambda: -1)
    read = {node.source for node in nodes if isinstance(node, Affine)} | {output}
    for number, node in enumerate(nodes, 1):
        if isinstance(node, Affine):
            last[node.source] = max(last[node.source], ready[number])
    last[output] = ALWAYS
    groups = {(0, "value"): Group("x", inputs, -1, last[0])}
    sizes = [inputs]
    for number, node in enumerate(nodes, 1):
        end = ready[number]
        if isinstance(node, Affine):
            sizes.append(len(node.A))
            if number in read:
                groups[number, "value"] = Group(f"mu{node.tag or number}", sizes[-1], end, max(end, last[number]))
            continue
        sizes.append(sizes[node.source])
        for role, (_, shift) in node.recipe.starts.items():
            loaded = role in node.recipe.loaded or shift != 0.0
            first = ready[node.source] + (0 if loaded else 1)
            final = max(end, last[number]) if role == node.recipe.out else end
            groups[number, role] = Group(f"{role}{node.tag or number}", sizes[-1], first, final)
    return groups


def _slots(groups: dict[tuple[int, str], Group], r: float) -> list[list[Group]]:
    """Which groups share registers, in the order of time; the input has its own. A group gets the smallest free slot
    that is large enough, else the largest, which grows, else a new one."""
    slots: list[list[Group]] = []
    sizes: list[int] = []
    for group in sorted(list(groups.values())[1:], key=lambda g: (g.first, -g.size)):
        free = [n for n, sharing in enumerate(slots) if sharing[-1].last + 2 <= group.first] if math.isfinite(r) else []
        fitting = [n for n in free if sizes[n] >= group.size]
        if not free:
            slots.append([group])
            sizes.append(group.size)
            continue
        chosen = min(fitting, key=sizes.__getitem__) if fitting else max(free, key=sizes.__getitem__)
        slots[chosen].append(group)
        sizes[chosen] = max(sizes[chosen], group.size)
    return slots


def _registers(groups: dict[tuple[int, str], Group], slots: Sequence[Sequence[Group]], extra: bool) -> Registers:
    """Names are those of the groups; a slot that several share is named after the first and the last."""
    registers = Registers()
    x = groups[0, "value"]
    x.view = registers.inputs("x", x.size)
    for sharing in slots:
        name = sharing[0].name if len(sharing) == 1 else f"{sharing[0].name}…{sharing[-1].name}"
        view = registers.new(name, max(group.size for group in sharing))
        for group in sharing:
            group.view = view[: group.size]
    if extra:
        registers.new("one")
    return registers


def _emit(
    nodes: Sequence[Node],
    ready: Sequence[int],
    groups: dict[tuple[int, str], Group],
    blocks: dict[int, list[Block]],
) -> tuple[View, ...]:
    """Fills `blocks`, segment by segment, and returns where each value is."""
    values = [groups[0, "value"].view]
    for number, node in enumerate(nodes, 1):
        if isinstance(node, Affine):
            own = groups.get((number, "value"))
            values.append(View(0, (len(node.A),), (1,)) if own is None else own.view)
            if own is not None:
                blocks[ready[number]].append(affine(own.view, values[node.source], w=node.A, b=node.b))
            continue
        feed = nodes[node.source - 1]
        assert isinstance(feed, Affine), "a function applies to an affine value"
        views = {role: groups[number, role].view for role in node.recipe.starts}
        for role, (scale, shift) in node.recipe.starts.items():
            if role in node.recipe.loaded:
                rows = np.broadcast_to(scale, (len(feed.A),))
                A, b = (feed.A, feed.b) if (rows == 1).all() else (rows[:, None] * feed.A, rows * feed.b)
                blocks[ready[node.source]].append(affine(views[role], values[feed.source], w=A, b=b + shift))
            elif shift != 0.0:
                blocks[ready[node.source]].append(ramp(views[role], b=shift))
        for stage, make in enumerate(node.recipe.stages, ready[node.source] + 1):
            blocks[stage].extend(make(views))
        values.append(views[node.recipe.out])
    return tuple(values)


def _labels(nodes: Sequence[Node], ready: Sequence[int]) -> dict[int, list[str]]:
    labels: dict[int, list[str]] = defaultdict(list)
    for number, node in enumerate(nodes, 1):
        first = ready[number] if isinstance(node, Affine) else ready[node.source] + 1
        for s in range(first, ready[number] + 1):
            labels[s].append(node.label)
    return labels
