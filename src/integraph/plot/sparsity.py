"""Which register reads which, segment by segment: A and b, and the products of Q.

Terms are streamed. A few are dots, many are counted on a coarse grid.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from integraph.numbers.arrays import Floats, Int32
from integraph.plot.labels import part_of, shortened_label
from integraph.plot.picture import POINTS, Curve, Frame, Heat, Mark, Panel, Picture, Tick
from integraph.plot.subject import Subject
from integraph.program import Program, Terms
from integraph.program.lowering import count_segment
from integraph.program.terms import ONE, concatenate
from integraph.program.views import mark
from integraph.program.wording import right_side
from integraph.text import counted

TERMS = 100_000_000  # that are streamed for a picture: some seconds
FRAMES = 24  # segments that are shown
DOTS, WIDE = 4000, 160  # terms in all frames, and registers, up to which each term is a dot
NAMED, APART = 32, 24  # registers that are all named at the axes; names that have room where there are more
BINS = 48  # of a side of the coarse grid
SPREAD = 0.7  # of a row's height, over which its products are spread
LINEAR, PRODUCTS = "b and A: what is added", "Q: what is multiplied"
DOTTED = (
    "Left, a dot in row i and column k is a term y_k of y_i'; the first column is the constant b. Right, a product "
    "y_j·y_k of y_i' joins j and k in row i."
)
COUNTED = "Left, how many terms y_k there are in y_i'; right, how many products of y_i' have y_k as a factor."
READ, DERIVED = "register read", "register changed"


def no_terms(program: Program) -> str:
    """Why the terms of a program cannot be drawn; an empty text if they can."""
    if not program.depth:
        return "the program has no segments"
    return f"{program.terms:,} terms exceed the limit of {TERMS:,}" if program.terms > TERMS else ""


def sparsity(s: Subject) -> Picture | str:
    """Dots of b and A, pairs of Q; a frame for each segment, or for some of many."""
    program = s.program
    missing = no_terms(program)
    if missing:
        return missing
    numbers = shown_segments(program)
    counts = [count_segment(program.segments[n], program) for n in numbers]
    dotted = sum(counts) <= DOTS and program.width <= WIDE
    frames = []
    for number, count in zip(numbers, counts, strict=True):
        panels = _dots(program, number) if dotted else _density(program, number)
        terms = counted(count, "term")
        frames.append(Frame(f"{number} {program.segments[number].label}, {terms}", panels))
    says = DOTTED if dotted else COUNTED
    if len(numbers) < program.depth:
        says += f" {part_of(len(numbers), program.depth, 'segment')} are shown."
    changed = [_changed(program, number) for number in numbers]
    first = changed.index(max(changed))
    slider = "segment" if len(frames) > 1 else ""
    return Picture("sparsity", "Terms of each segment", says, tuple(frames), slider, first=first)


def shown_segments(program: Program) -> list[int]:
    """All segments, or the first of each kind (numbers in a label do not make another kind) and some in between."""
    if program.depth <= FRAMES:
        return list(range(program.depth))
    kinds = {segment.label.rstrip("0123456789 "): n for n, segment in reversed(list(enumerate(program.segments)))}
    first = sorted(kinds.values())[:FRAMES]
    between = np.linspace(program.depth - 1, 0, FRAMES).round().astype(int).tolist()
    rest = [n for n in between if n not in first]
    return sorted([*first, *rest[: FRAMES - len(first)]])


def _changed(program: Program, number: int) -> int:
    """How many registers a segment changes."""
    written = np.zeros(program.width, np.bool_)
    for block in program.segments[number].blocks:
        for ref in block.targets:
            mark(ref, written, True)
    return int(np.count_nonzero(written))


def _ticks(program: Program) -> tuple[Tick, ...]:
    """Every register by name; of many, the first of each group, and the last, where a matrix ends."""
    last = program.width - 1
    shown = list(range(program.width))
    if program.width > NAMED:
        shown = []
        for offset in (group.view.offset for group in program.registers):
            if (not shown or offset >= shown[-1] + last / APART) and offset < last * (1 - 1 / APART):
                shown.append(offset)
        shown.append(last)
    return tuple((float(n), shortened_label(program.registers.name(n), 16)) for n in shown)


def _dots(program: Program, number: int) -> tuple[Panel, Panel]:
    terms = concatenate(list(program.segment_terms(number)))
    product = terms.j != ONE
    names = [program.registers.name(n) for n in range(program.width)]
    linear, pairs = terms[~product], terms[product]
    ticks = _ticks(program)
    columns = ((-1.0, "1"), *(tick for tick in ticks if tick[0] >= program.width / APART - 1.0))  # apart from the 1
    dots = _signed(linear, linear.k.astype(float), linear.i.astype(float), names)
    left = Panel(LINEAR, READ, DERIVED, dots, matrix=True, x_ticks=columns, y_ticks=ticks)
    rows = pairs.i + _offsets(pairs)
    joined = np.stack([pairs.j.astype(float), pairs.k.astype(float), np.full(len(pairs), np.nan)], 1)
    lines = Curve(joined.ravel(), np.repeat(rows, 3), "product", 7)
    both = Terms(*(np.concatenate([part, part]) for part in (pairs.i, pairs.j, pairs.k, pairs.value)))
    ends = _signed(both, np.append(pairs.j, pairs.k).astype(float), np.tile(rows, 2), names)
    right = Panel(PRODUCTS, READ, DERIVED, (lines, *ends), matrix=True, x_ticks=columns, y_ticks=ticks)
    return left, right


def _signed(terms: Terms, x: Floats, y: Floats, names: list[str]) -> tuple[Mark, ...]:
    """Positive and negative controls as two clouds of dots; both are always there, so that frames are alike."""
    marks = []
    for colour, (name, chosen) in enumerate((("positive", terms.value > 0), ("negative", terms.value < 0))):
        words = tuple(_term(i, j, k, value, names) for i, j, k, value in _rows(terms[chosen]))
        marks.append(Curve(x[chosen], y[chosen], name, colour, POINTS, words))
    return tuple(marks)


def _rows(terms: Terms) -> Iterator[tuple[int, int, int, float]]:
    return zip(terms.i.tolist(), terms.j.tolist(), terms.k.tolist(), terms.value.tolist(), strict=True)


def _term(i: int, j: int, k: int, value: float, names: list[str]) -> str:
    """`u' = 3·x·v`, one term of it."""
    factors = (shortened_label(names[n]) for n in (j, k) if n != ONE)
    return f"{shortened_label(names[i])}' = {right_side([('', value, *factors)], '')} …"


def _offsets(pairs: Terms) -> Floats:
    """Products of one row are drawn a little above each other; terms come sorted by row."""
    starts = np.flatnonzero(np.diff(pairs.i, prepend=-1))
    counts = np.diff(starts, append=len(pairs.i))
    place = np.arange(len(pairs.i)) - np.repeat(starts, counts)
    many = np.repeat(counts, counts)
    result: Floats = SPREAD * ((place + 0.5) / many - 0.5)
    return result


def _density(program: Program, number: int) -> tuple[Panel, Panel]:
    bins = min(BINS, program.width)
    linear, pairs = np.zeros(bins * bins), np.zeros(bins * bins)

    def cells(rows: Int32, columns: Int32) -> Floats:
        row, column = (index.astype(np.int64) * bins // program.width for index in (rows, columns))
        return np.bincount(row * bins + column, minlength=bins * bins).astype(np.float64)

    constants = 0
    for terms in program.segment_terms(number):
        product, constant = terms.j != ONE, terms.k == ONE
        constants += int(constant.sum())
        plain = ~product & ~constant
        linear += cells(terms.i[plain], terms.k[plain])
        square = product & (terms.j == terms.k)
        pairs += cells(terms.i[product], terms.j[product])
        pairs += cells(terms.i[product & ~square], terms.k[product & ~square])
    middle = (np.arange(bins) + 0.5) * program.width / bins - 0.5
    panels, ticks = [], _ticks(program)
    for title, counts in ((f"A: what is added; and {constants:,} constants b", linear), (PRODUCTS, pairs)):
        with np.errstate(divide="ignore"):
            z = np.where(counts > 0, np.log10(counts), np.nan).reshape(bins, bins)
        heat = Heat(middle, middle, z, "log₁₀ of the number of terms")
        panels.append(Panel(title, READ, DERIVED, (heat,), matrix=True, x_ticks=ticks, y_ticks=ticks))
    return panels[0], panels[1]
