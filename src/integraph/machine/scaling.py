"""Amplitude and time scaling by powers of two, so that every register fits a machine's unit and nothing is rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from integraph.certify.ranges.register_ranges import NAMED, ROWS, Ranges, register_ranges
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, real
from integraph.program import Program, transform
from integraph.program.terms import ONE, Terms
from integraph.text import counted, joined

FAINT = 2.0**-16  # of the unit: what is always smaller is not amplified further
TERMS = 1000  # beyond the machine's range, that are kept; the rest is counted
SLACK = 1 + 2.0**-24  # ranges are known to a part in 10⁹: no unit doubles for that
POWERS = 900  # the exponents of units and times that are tried, far from the ends of float64


@dataclass(frozen=True, slots=True)
class LargeTerm:
    """A term whose coefficient the machine cannot set."""

    segment: int
    label: str
    term: str  # mu1' ∋ 23.4·x1
    value: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scaling:
    """A program in the units of a machine: ŷ = y / scales, and `slower` times as long.

    Call `program` with inputs in the new units, `inputs(x)`; its outputs are those of the old program.
    """

    program: Program
    ranges: Ranges  # of the old program
    scales: Floats
    slower: float
    unit: float
    largest: float  # coefficient that the machine can set
    coefficient: float  # the largest that the program has
    beyond: tuple[LargeTerm, ...]
    count: int  # of terms beyond the machine's range
    mend: float  # times slower that would bring all of them into it

    def inputs(self, x: ArrayLike) -> Floats:
        """x in the new units; refused outside the box for which the ranges hold."""
        given = np.asarray(x, np.float64)
        box = self.ranges.box
        if given.shape[-1:] != box.low.shape or not ((given >= box.low) & (given <= box.high)).all():
            raise UsageError(f"inputs must be in {self.ranges.where}, for which the program is scaled", argument="x")
        return given / self.scales[: len(box.low)]

    def __repr__(self) -> str:
        sizes = (self.ranges.largest / self.scales).max(initial=0.0)
        fits = f"|y| ≤ {sizes:.4g} of {self.unit:g}, coefficients ≤ {self.coefficient:.4g} of {self.largest:g}"
        late = (
            f"\n    {counted(self.count, 'term')} beyond the machine's range: {self.mend:g} times slower mends it"
            if self.count
            else ""
        )
        return f"Scaling of {self.program.source}: {fits}, T = {self.program.horizon:g}{late}"

    def __str__(self) -> str:
        return f"{self!r}\n{self.table()}"

    def table(self, rows: int | None = ROWS) -> str:
        """A line for each register, with its unit, and one for each term beyond the machine's range."""
        width = max([len("register"), *map(len, self.ranges.names)])
        lines = [f"{'register':<{width}}  {'largest |y|':>12}  {'1 unit is':>12}  {'scaled':>8}"]
        shown = len(self.ranges.names) if rows is None else rows
        listed = zip(self.ranges.names[:shown], self.ranges.largest.tolist(), self.scales.tolist(), strict=False)
        for name, size, scale in listed:
            lines.append(f"{name:<{width}}  {size:>12.6g}  {scale:>12.6g}  {size / scale:>8.4f}")
        lines += [f"… {len(self.ranges.names) - shown} more"] if len(self.ranges.names) > shown else []
        lines += [f"segment {t.segment} {t.label}: {t.term}" for t in self.beyond[: rows if rows is not None else None]]
        return "\n".join(lines)


def scaled(
    program: Program,
    box: ArrayLike | None = None,
    *,
    unit: float = 1.0,
    headroom: float = 1.0,
    horizon: float | None = None,
    largest: float = 10.0,
    cells: int | None = None,
    progress: bool = True,
) -> Scaling:
    """Every register within unit/headroom, to a part in 10⁷, on all of the box; in `horizon` of time at most."""
    for name, value, least in (("unit", unit, 0.0), ("headroom", headroom, 1.0), ("largest", largest, 0.0)):
        number = real(value, name)
        if isinstance(value, bool) or not (math.isfinite(number) and number > 0 and number >= least):
            raise UsageError(f"needs a finite number {'≥ 1' if least else '> 0'}", argument=name, value=value)
    ranges = register_ranges(program, box, cells=cells, progress=progress)
    if ranges.unbounded:
        raise UsageError(
            f"no bound is known of {joined(ranges.unbounded, ', ', NAMED)}, so nothing says which unit is enough: "
            "take a smaller box, or more cells"
        )
    scales = _units(program, ranges.largest, unit / headroom)
    changed = transform.rescale_states(program, scales)
    if not transform.same_mantissas(program, changed, scales):
        raise UsageError(
            f"with registers up to {ranges.largest.max():.3g} a coefficient would be rounded, or vanish, in units "
            "that fit them: take a smaller box, or split the program"
        )
    slower = 1.0
    if horizon is not None:
        slower = _power_below(real(horizon, "the horizon") / program.horizon, horizon)
        changed = transform.slow_down(changed, slower)
    beyond, count, most = _beyond(changed, largest)
    mend = float(2.0 ** max(math.ceil(math.log2(most / largest)), 0)) if most > largest else 1.0
    return Scaling(changed, ranges, scales, slower, unit, largest, most, beyond, count, mend)


def _units(program: Program, largest: Floats, room: float) -> Floats:
    """The smallest power of two for each register; one for all registers of a probe, which has one scale."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mantissa, exponent = np.frexp(np.where(largest > 0, np.maximum(largest / room, FAINT), 1.0))
    if np.abs(exponent).max(initial=0) > POWERS:
        raise UsageError(f"registers reach {largest.max():.3g}: units that far from 1 round", argument="unit")
    scales = np.ldexp(1.0, np.where(mantissa == 0.5, exponent - 1, exponent))
    scales = np.where(0.5 * scales * room * SLACK >= largest, 0.5 * scales, scales)
    scales = np.where(scales * room * SLACK < largest, 2 * scales, scales)  # the quotient was rounded
    scales[largest == 0] = 1.0
    before = np.zeros_like(scales)
    while not np.array_equal(before, scales):  # probes may share registers
        before = scales.copy()
        for probe in program.probes:
            registers = probe.ref.indices()
            scales[registers] = scales[registers].max(initial=0.0)
    return scales


def _power_below(ratio: float, horizon: float) -> float:
    if not (math.isfinite(ratio) and ratio > 0 and abs(math.log2(ratio)) < POWERS):
        raise UsageError(
            "needs a finite number > 0, near the horizon of the program", argument="horizon", value=horizon
        )
    return float(2.0 ** math.floor(math.log2(ratio)))


def _beyond(program: Program, largest: float) -> tuple[tuple[LargeTerm, ...], int, float]:
    """Terms beyond the machine's range, how many there are, and the largest |coefficient|."""
    kept: list[LargeTerm] = []
    count, most = 0, 0.0
    for number, terms in program.stream():
        size = np.abs(terms.value)
        most, many = max(most, float(size.max(initial=0.0))), size > largest
        count += int(many.sum())
        for i, j, k, value in zip(*(part[many][: TERMS - len(kept)].tolist() for part in _parts(terms)), strict=True):
            factors = "".join(f"·{program.registers.name(r)}" for r in (j, k) if r != ONE)
            text = f"{program.registers.name(i)}' ∋ {value:.6g}{factors}, {abs(value) / largest:.3g} times too large"
            kept.append(LargeTerm(number, program.segments[number].label, text, value))
    return tuple(kept), count, most


def _parts(terms: Terms) -> tuple[NDArray[Any], ...]:
    return terms.i, terms.j, terms.k, terms.value
