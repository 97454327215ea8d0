"""What a program says about itself: in two lines, and in a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

import numpy as np

from integraph.errors import FlowError, UsageError
from integraph.numbers.arrays import Floats
from integraph.program.engine import DOUBLE
from integraph.program.lowering import stream_segment
from integraph.program.origin import DATA, HELD_OUT, RMS
from integraph.program.terms import ONE
from integraph.text import counted, joined

if TYPE_CHECKING:
    from integraph.program.origin import Origin
    from integraph.program.program import Program

MANY_TERMS = 2_000_000  # above, a table should not wait for eigenvalues
MAX_PATH = 50_000_000  # numbers of a trajectory that a table may hold: 400 MB
SIDES = 3  # intervals of a box that are written out
NAMES = 6  # and names of inputs
COORDINATES = 8  # of a point that is written out
SEED = 0


def rate(program: Program) -> float:
    """The largest |r| of all y_i' = −r y_i + …; what only adds to a register has no such term, and is not lowered."""
    largest = 0.0
    for segment in program.segments:
        own = tuple(block for block in segment.blocks if not block.op.additive)
        for t in stream_segment(replace(segment, blocks=own), program.width, program.scales) if own else ():
            rates = np.abs(t.value[(t.j == ONE) & (t.k == t.i)])
            largest = max(largest, float(rates.max(initial=0.0)))
    return largest


def short(program: Program) -> str:
    width = f"W = {counted(program.width, 'register')}"
    depth = f"D = {counted(program.depth, 'segment')}"
    terms = counted(program.terms, "term")
    needs = f", needs {program.bits} bits" if program.bits > DOUBLE else ""
    return (
        f"Program of {program.source}: {program.inputs} → {program.outputs}\n"
        f"    {width}, {depth}, T = {program.horizon:g}, {terms}{needs}\n"
        f"    {', '.join(errors(program))}"
    )


def errors(program: Program) -> list[str]:
    """What is known of the error: promised, proven, and the largest difference found."""
    budget = program.budget
    known = (
        []
        if budget is None
        else [f"promised error ≤ {above(budget.total)} for {inputs_in(budget.low, budget.high, input_names(program))}"]
    )
    known += [] if program.proven is None else [f"proven error ≤ {above(program.proven)}"]
    known += [f"largest difference found {measured(program)}"] if program.seen is not None else []
    if budget is None:
        domain = program.domain
        here = "" if domain is None else f" for {inputs_in(domain.low, domain.high, input_names(program))}"
        return [", ".join(known) + here if known else f"no error bound is promised{here}"]
    return known


def measured(program: Program) -> str:
    """The largest difference found; of a program of data also on how many rows, which the fit had not used."""
    options = {} if program.origin is None or program.origin.kind != DATA else program.origin.options
    held, rms = options.get(HELD_OUT), options.get(RMS)
    on = f"on {counted(held, 'held-out row')} " if isinstance(held, int) else ""
    return f"{on}{program.seen:.3g}" + (f" (RMS {rms:.3g})" if isinstance(rms, float) else "")


Stiffness = tuple[float | None, str]  # None where it is not computed; in words


def sizes(program: Program, points: int, stiff: Stiffness | None = None) -> list[tuple[str, str]]:
    """What there is to say of the program itself, row by row. Its stiffness is that at `points` times in each segment,
    unless it is known already."""
    if not isinstance(points, int | np.integer) or points < 2:
        raise UsageError("a summary needs an integer ≥ 2, points in each segment", argument="points", value=points)
    rows = [
        ("source", program.source),
        *_made(program.origin),
        ("inputs → outputs", f"{program.inputs} → {program.outputs}"),
        ("width W", counted(program.width, "register")),
        ("depth D", counted(program.depth, "segment")),
        ("horizon T", f"{program.horizon:g}"),
        ("terms", f"{program.terms:,}"),
        ("largest rate", f"{program.rate:.4g}"),
        ("stiffness", (stiff or stiffness(program, points))[1]),
    ]
    if program.bits > DOUBLE:
        rows.append(("precision", f"{program.bits} bits: more than float64 has"))
    return rows


def _made(origin: Origin | None) -> list[tuple[str, str]]:
    return [] if origin is None else [("method", str(origin)), ("compiled by", f"integraph {origin.version}")]


def table(program: Program, points: int, stiff: Stiffness | None = None) -> str:
    budget = program.budget
    rows = sizes(program, points, stiff)
    if budget is None:
        rows.append(("promised error", "no bound is promised"))
        if program.domain is not None:
            rows.append(("made for", inputs_in(program.domain.low, program.domain.high, input_names(program))))
    else:
        parts = f"{budget.approximation:.3g} approximation + {budget.residue:.3g} residue"
        rows.append(("error budget", f"{parts} + {budget.rounding:.3g} control rounding"))
        where = inputs_in(budget.low, budget.high, input_names(program))
        rows.append(("promised error", f"≤ {above(budget.total)} for {where}"))
    rows.append(("proven error", "none is stored" if program.proven is None else f"≤ {above(program.proven)}"))
    rows.append(("difference found", "not measured" if program.seen is None else measured(program)))
    return "\n".join(f"{name:<18}{value}" for name, value in rows)


def stiffness(program: Program, points: int) -> Stiffness:
    """The largest of a few inputs, where that does not take long."""
    if program.bits > DOUBLE:
        return None, f"not computed: the flow needs {program.bits} bits; stiffness(x) does it"
    if program.terms > MANY_TERMS:
        return None, f"not computed: more than {MANY_TERMS:,} terms; stiffness(x) does it"
    if points * program.depth * program.width > MAX_PATH:
        return None, f"not computed: {points} points in each segment are too many for so large a program"
    largest = 0.0
    chosen = _inputs(program)
    try:
        for x in chosen:  # one at a time: a Jacobian for each point is kept
            largest = max(largest, program.stiffness(x[None], points))
    except (UsageError, FlowError, np.linalg.LinAlgError) as error:
        return None, f"not computed: {error}"
    where = "[0, 1]^d" if program.box is None else "the budget's box" if program.budget else "its domain"
    return largest, f"{largest:.4g} (of {counted(len(chosen), 'input')}, the centre and corners of {where})"


def _inputs(program: Program) -> Floats:
    """The centre and a few corners of the box."""
    d = program.inputs
    low, high = (np.zeros(d), np.ones(d)) if program.box is None else (program.box.low, program.box.high)
    if d <= 2:
        upper = (np.arange(2**d)[:, None] >> np.arange(d)) & 1 == 1
    else:  # the lowest, the highest, and two opposite ones
        some = np.random.default_rng(SEED).integers(0, 2, d) == 1
        upper = np.stack([np.zeros_like(some), np.ones_like(some), some, ~some])
    return np.concatenate([(0.5 * low + 0.5 * high)[None], np.where(upper, high, low)])


def above(bound: float, digits: int = 3) -> str:
    """So many digits, rounded up: a bound that is printed holds too."""
    return _directed(bound, digits, ROUND_CEILING)


def below(bound: float, digits: int = 3) -> str:
    """The same, rounded down."""
    return _directed(bound, digits, ROUND_FLOOR)


def between(low: float, high: float, digits: int = 9) -> str:
    """An interval that contains this one, in so many digits."""
    return f"[{below(low, digits)}, {above(high, digits)}]"


def _directed(x: float, digits: int, direction: str) -> str:
    if not math.isfinite(x):
        return f"{x:g}"
    near = f"{x:.{digits}g}"
    if float(near) == x:
        return near
    directed = Context(prec=digits, rounding=direction).create_decimal_from_float(x)
    text = f"{float(directed):.{digits}g}"
    return text if Decimal(text) == directed else f"{directed:e}"  # at the ends of float64


def _exactly(x: float) -> str:
    short = f"{x:g}"
    return short if float(short) == x else repr(x)


def input_names(program: Program) -> tuple[str, ...]:
    """The names that the inputs have in the formula that a program was compiled from; none if it was something else."""
    return () if program.origin is None else program.origin.variables


def inputs_in(low: Floats, high: Floats, names: Sequence[str] = ()) -> str:
    """`T, E in [0, 1]^2`, or `x in [0, 1]^2` for inputs without names."""
    return f"{joined(names, ', ', NAMES) or 'x'} in {named_box(low, high)}"


def at_point(x: Sequence[float] | None, names: Sequence[str] = ()) -> str:
    """` at T = 0, E = 1`, or ` at x = (0, 1)` for inputs without names; nothing of no point, or of a long one."""
    if x is None or len(x) > COORDINATES:
        return ""
    values = [f"{value:.6g}" for value in x]
    if not names:
        return f" at x = ({', '.join(values)})"
    return f" at {', '.join(f'{name} = {value}' for name, value in zip(names, values, strict=True))}"


def named_box(low: Floats, high: Floats) -> str:
    """`[0, 1]^2`, or the first intervals one by one."""
    some = zip(low[: SIDES + 1].tolist(), high[: SIDES + 1].tolist(), strict=True)
    sides = [f"[{_exactly(a)}, {_exactly(b)}]" for a, b in some]
    if len(low) and (low == low[0]).all() and (high == high[0]).all():
        return sides[0] if len(low) == 1 else f"{sides[0]}^{len(low)}"
    more = [f"… ({len(low)} intervals)"] if len(low) > SIDES else []
    return " × ".join(sides[:SIDES] + more) or "no inputs"
