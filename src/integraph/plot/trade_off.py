"""Width against depth against ε: where this program is among all that could have been compiled.

Theorem 1: plans of the same order for other ε, beside the paper's own; nothing of that size is built. Networks are
compiled again unless they are large. Exact programs have no ε, and differ in how registers are used again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from integraph.api.graphs import layouts
from integraph.api.origin import is_exact
from integraph.constructions.graph.allocation import FREES
from integraph.constructions.theorem1.planner import plan
from integraph.constructions.theorem1.task import Task, task
from integraph.constructions.theorem2.construction import feedforward
from integraph.errors import IntegraphError
from integraph.plot.frontier import frontier, spans_decades
from integraph.plot.picture import POINTS, Bars, Curve, Panel, Picture, alone
from integraph.plot.subject import Subject
from integraph.program import Program
from integraph.program.origin import THEOREM1
from integraph.targets import Function, Network

EPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
PARAMETERS = 100_000  # of a network that is compiled again and again
NODES = 20_000  # of a graph that is laid out again
SMALLEST = {1: 1e-12, 2: 1e-6}  # ε that is planned for so many inputs in less than a second; for more inputs none is
THIS = "this program"
OURS, PAPER, HERE = 0, 1, 3  # colours
NETS = "Narrow programs clear registers by decay, faster for smaller ε; wide ones have more registers, fewer segments."
EXACT = "Exact programs have no ε: their size depends on how registers are reused: kept, cleaned, or left to decay."


def trade_off(s: Subject) -> Picture | str:
    """Of Theorem 1, of Theorem 2, or of an exact program."""
    if s.target is None:
        return "what the program was compiled from is not known"
    origin = s.program.origin
    order = origin.options.get("order") if origin is not None and origin.method in THEOREM1 else None
    if origin is not None and isinstance(order, int) and isinstance(s.target, Function):
        try:
            return _theorem1(s, s.target, origin.method, order)
        except IntegraphError as error:  # a file says anything of its origin
            return f"there are no plans of the origin that the program names: {error}"
    if isinstance(s.target, Network) and not is_exact(s.program):
        return _theorem2(s, s.target)
    return _exact(s)


def _here(x: float, y: float) -> Curve:
    return Curve(np.array([x]), np.array([y]), THIS, HERE, POINTS)


def _swept(make: Callable[[float], tuple[float, ...]], tolerances: Sequence[float] = EPS) -> list[tuple[float, ...]]:
    """(ε, …) for every ε that is not refused."""
    sizes = []
    for eps in tolerances:
        try:
            sizes.append((eps, *make(eps)))
        except IntegraphError:
            continue
    return sizes


def _curve(rows: Sequence[tuple[float, ...]], column: int, name: str, colour: int) -> Curve:
    return Curve(np.array([row[0] for row in rows]), np.array([float(row[column]) for row in rows]), name, colour)


def _theorem1(s: Subject, function: Function, method: str, order: int) -> Picture | str:
    if function.expression is None:
        return "plans without trial fits exist only for formulas"
    own = task(function, s.box, EPS[0], method=method, order=order)
    free = function.inputs == 1  # to choose an order: bounds of high derivatives in several variables take long
    theirs = replace(own, method="paper", order=None if free else order)

    def sizes(of: Task, eps: float) -> tuple[float, ...]:
        chosen = plan(replace(of, eps=eps)).chosen
        return chosen.width, chosen.depth

    some = [eps for eps in EPS if eps >= SMALLEST.get(function.inputs, math.inf)]
    printed = f"the paper's{' choice' if free else f', order {order}'}"
    name, rows, paper = f"{method}, order {order}", _swept(partial(sizes, own), some), _swept(partial(sizes, theirs))
    if not rows and not paper:
        return "every plan of this order is refused"
    panels = []
    for column, (title, here) in enumerate((("width W", s.program.width), ("depth D", s.program.depth)), 1):
        curves = [_curve(rows, column, name, OURS)] if rows else []
        curves += [_curve(paper, column, printed, PAPER)] if paper else []
        if s.promised:
            curves.append(_here(s.promised, here))
        far = spans_decades(*(curve.y for curve in curves))
        panels.append(Panel(title, "ε", title, tuple(curves), log_x=True, log_y=far))
    own_order = " with its own order" if free else f", order {order}"
    says = f"How width and depth grow as ε shrinks: {name}, and the construction of the paper{own_order}."
    if not rows:
        says = f"How width and depth grow as ε shrinks in the construction of the paper{own_order}, and this program."
    says += " Plans are those of real arithmetic: float64 may refuse the smallest ε."
    others = _frontier(s, own, theirs, order)
    if others is not None:
        panels.append(others)
        says += " Right, every plan for one ε: the frontier is what no other plan is both narrower and less deep than."
    return alone("trade-off", "Width against depth against ε", says, *panels)


def _frontier(s: Subject, own: Task, theirs: Task, order: int) -> Panel | None:
    """All plans for the power of ten above what this program promises, of every order where that is quick."""
    if not s.promised:
        return None
    eps = _power_of_ten(s.promised)
    every = eps >= SMALLEST.get(own.function.inputs, math.inf)
    wanted = [(own.method if every else f"{own.method}, order {order}", own, OURS)]
    wanted += [("the paper's", theirs, PAPER)] if own.method != theirs.method else []
    tasks = [(name, replace(of, eps=eps, order=None if every else order), colour) for name, of, colour in wanted]
    return frontier(tasks, _here(s.program.width, s.program.depth))


def _power_of_ten(bound: float) -> float:
    """The next one above."""
    return 10.0 ** math.ceil(math.log10(bound))


def _theorem2(s: Subject, network: Network) -> Picture | str:
    if network.parameters > PARAMETERS:
        return f"a network of {network.parameters:,} parameters is not compiled again: at most {PARAMETERS:,}"
    eps = _power_of_ten(s.promised) if s.promised else 1e-6
    box = np.stack([s.box.low, s.box.high], 1)

    def made(eps: float, method: str, free: str = "keep", bound: str = "tight") -> Program:
        return feedforward(network, eps, method=method, free=free, bound=bound, box=box)

    def rate(bound: str, eps: float) -> tuple[float, ...]:
        return (made(eps, "narrow", bound=bound).rate,)

    ways = {"narrow": ("narrow", "keep"), **{f"wide, {free}": ("wide", free) for free in FREES}}
    sizes = {}
    for name, (method, free) in ways.items():
        try:
            program = made(eps, method, free)
        except IntegraphError:
            continue
        sizes[name] = (program.width, program.depth)
    curves = []
    for colour, (bound, name) in enumerate((("tight", "our bound"), ("paper", "the paper's bound"))):
        rows = _swept(partial(rate, bound))
        curves += [_curve(rows, 1, f"narrow, {name}", colour)] if rows else []
    if s.promised and s.program.rate > 0:
        curves.append(_here(s.promised, s.program.rate))
    right = Panel("fastest decay", "ε", "rate r", tuple(curves), log_x=True, log_y=True)
    return alone("trade-off", "Width against depth against ε", NETS, *_sizes(s, sizes, f", ε = {eps:g}"), right)


def _exact(s: Subject) -> Picture | str:
    nodes = len(getattr(s.target, "nodes", ()))
    if nodes > NODES:
        return f"a graph of {nodes:,} nodes is not laid out again: at most {NODES:,}"
    box = np.stack([s.box.low, s.box.high], 1) if s.program.inputs else None
    smoothed = s.program.origin is not None and s.program.origin.options.get("smoothed")
    try:
        alternatives = layouts(s.target, s.promised if smoothed else None, box=box).choices
    except IntegraphError as error:
        return str(error)
    return alone(
        "trade-off",
        "Width against depth",
        EXACT,
        *_sizes(s, {one.free: (one.width, one.depth) for one in alternatives}),
    )


def _sizes(s: Subject, others: dict[str, tuple[int, int]], where: str = "") -> tuple[Panel, Panel]:
    """Width and depth of all of them side by side, this program last."""
    named = others | {THIS: (s.program.width, s.program.depth)}
    panels = []
    for n, title in enumerate(("width W", "depth D")):
        bars = Bars(tuple(named), np.array([float(sizes[n]) for sizes in named.values()]), title, n)
        panels.append(Panel(title + where, "", title, (bars,), legend=False))
    return panels[0], panels[1]
