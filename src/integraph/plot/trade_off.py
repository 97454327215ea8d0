"""Width against depth against ε: where this program is among all that could have been compiled.

Theorem 1: plans of the same order for other ε, beside the paper's own; nothing of that size is built. Networks are
compiled again unless they are large. Exact programs have no ε, and differ in how registers are used again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from integraph.constructions.feedforward import feedforward
from integraph.constructions.graph.allocation import FREES
from integraph.constructions.planner import plan
from integraph.constructions.task import Task, task
from integraph.errors import IntegraphError
from integraph.graphs import layouts
from integraph.plot.picture import POINTS, Curve, Panel, Picture, alone
from integraph.plot.subject import Subject
from integraph.program import Program
from integraph.targets import Function, Network

EPS = tuple(10.0**-k for k in range(1, 13))
THEOREM1 = re.compile(r"Theorem 1, (lean|remark|paper), order (\d+)")
PARAMETERS = 100_000  # of a network that is compiled again and again
NODES = 20_000  # of a graph that is laid out again
THIS = "this program"
OURS, PAPER, HERE = 0, 1, 3  # colours


def trade_off(s: Subject) -> Picture | str:
    """Of Theorem 1, of Theorem 2, or of an exact program."""
    if s.target is None:
        return "what the program was compiled from is not known"
    made = THEOREM1.search(s.program.source)
    if made is not None and isinstance(s.target, Function):
        return _theorem1(s, s.target, made[1], int(made[2]))
    if isinstance(s.target, Network) and "exact" not in s.program.source:
        return _theorem2(s, s.target)
    return _exact(s)


def _point(x: float, y: float, colour: int = HERE, name: str = THIS) -> Curve:
    return Curve(np.array([x]), np.array([y]), name, colour, POINTS)


def _swept(make: Callable[[float], tuple[float, ...]]) -> list[tuple[float, ...]]:
    """(ε, …) for every ε that is not refused."""
    found = []
    for eps in EPS:
        try:
            found.append((eps, *make(eps)))
        except IntegraphError:
            continue
    return found


def _curve(rows: Sequence[tuple[float, ...]], column: int, name: str, colour: int) -> Curve:
    return Curve(np.array([row[0] for row in rows]), np.array([float(row[column]) for row in rows]), name, colour)


def _theorem1(s: Subject, function: Function, method: str, order: int) -> Picture | str:
    if function.expression is None:
        return "only of a formula are plans known without trying them"
    own = task(function, s.box, EPS[0], method=method, order=order)
    theirs = task(function, s.box, EPS[0], method="paper")

    def sizes(of: Task, eps: float) -> tuple[float, ...]:
        chosen = plan(replace(of, eps=eps)).chosen
        return chosen.width, chosen.depth

    name, rows, paper = f"{method}, order {order}", _swept(partial(sizes, own)), _swept(partial(sizes, theirs))
    panels = []
    for column, (title, here) in enumerate((("width W", s.program.width), ("depth D", s.program.depth)), 1):
        curves = [_curve(rows, column, name, OURS), _curve(paper, column, "the paper's choice", PAPER)]
        if s.promised:
            curves.append(_point(s.promised, here))
        panels.append(Panel(title, "ε", title, tuple(curves), log_x=True, log_y=True))
    says = f"How width and depth grow as ε shrinks: {name}, and the construction of the paper with its own order."
    if s.promised:
        panels.append(_alternatives(s, own, name))
        says += " Right, width against depth for the ε of this program."
    return alone("trade-off", "Width against depth against ε", says, *panels)


def _alternatives(s: Subject, own: Task, name: str) -> Panel:
    """All plans of this order for the power of ten above what this program promises."""
    assert s.promised is not None
    eps = 10.0 ** math.ceil(math.log10(s.promised))
    found = plan(replace(own, eps=eps)).alternatives
    width, depth = (np.array([float(getattr(one, of)) for one in found]) for of in ("width", "depth"))
    text = tuple(f"N = {one.N}, c = {one.c:g}, P = {one.batch}" for one in found)
    others = Curve(width, depth, f"{name}, ε = {eps:g}", OURS, POINTS, text)
    marks = (others, _point(s.program.width, s.program.depth))
    return Panel("width against depth", "width W", "depth D", marks, log_x=True, log_y=True)


def _theorem2(s: Subject, network: Network) -> Picture | str:
    if network.parameters > PARAMETERS:
        return f"a network of {network.parameters:,} parameters is not compiled again: at most {PARAMETERS:,}"
    eps = 1e-6 if not s.promised else 10.0 ** math.ceil(math.log10(s.promised))
    box = np.stack([s.box.low, s.box.high], 1)

    def made(eps: float, method: str, free: str = "keep", bound: str = "tight") -> Program:
        return feedforward(network, eps, method=method, free=free, bound=bound, box=box)

    ways = {"narrow": ("narrow", "keep"), **{f"wide, {free}": ("wide", free) for free in FREES}}
    marks = []
    for colour, (name, (method, free)) in enumerate(ways.items()):
        try:
            found = made(eps, method, free)
        except IntegraphError:
            continue
        marks.append(_point(found.width, found.depth, colour, name))
    here = (s.program.width, s.program.depth)
    marks.append(Curve(np.array([here[0]]), np.array([here[1]]), THIS, 7, POINTS))
    tight = _curve(_swept(lambda eps: (made(eps, "narrow").rate,)), 1, "narrow, tight bound", OURS)
    paper = _curve(
        _swept(lambda eps: (made(eps, "narrow", bound="paper").rate,)), 1, "narrow, the paper's bound", PAPER
    )
    curves = [tight, *([paper] if len(paper.x) else [])]
    if s.promised and s.program.rate > 0:
        curves.append(_point(s.promised, s.program.rate))
    left = Panel(f"width against depth, ε = {eps:g}", "width W", "depth D", tuple(marks))
    right = Panel("largest rate of decay", "ε", "rate r", tuple(curves), log_x=True, log_y=True)
    says = (
        "Narrow programs forget by decay, the faster the smaller ε is; wide ones have more registers, fewer segments."
    )
    return alone("trade-off", "Width against depth against ε", says, left, right)


def _exact(s: Subject) -> Picture | str:
    nodes = len(getattr(s.target, "nodes", ()))
    if nodes > NODES:
        return f"a graph of {nodes:,} nodes is not laid out again: at most {NODES:,}"
    box = np.stack([s.box.low, s.box.high], 1) if s.program.inputs else None
    try:
        found = layouts(s.target, s.promised if "smoothed" in s.program.source else None, box=box).found
    except IntegraphError as error:
        return str(error)
    marks = [
        _point(one.width, one.depth, n, f"{one.free}: W = {one.width:,}, D = {one.depth:,}")
        for n, one in enumerate(found)
    ]
    marks.append(_point(s.program.width, s.program.depth, 7))
    says = (
        "An exact program has no ε; its width depends on how registers are used again: kept, cleaned, or left to decay."
    )
    panel = Panel("", "width W", "depth D", tuple(marks))
    return alone("trade-off", "Width against depth", says, panel)
