"""The program over the box beside its source: a curve, a map, or slices where more than two inputs vary.

A difference on a logarithmic axis is drawn no smaller than the rounding of float64: below, it says nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from integraph.plot.picture import DASHED, Curve, Frame, Heat, Level, Panel, Picture
from integraph.plot.subject import EPSILON, Subject
from integraph.plot.words import bounds, fitting, of, point, rounding
from integraph.program.summary import above
from integraph.program.views import Floats

CURVE, MAP, SLICE = 401, 61, 41  # points of a curve, of a side of the map, of a side of each slice
OUTPUTS = 8  # that have a frame each
VARIED = 4  # inputs whose pairs are slices
SIGNED = 0.05  # of the largest value: below, values have one sign
ROUNDED = 8  # times the rounding of the largest value: a difference that says nothing
UNITS = "difference, in units of 2.2e-16"
LOG = "log₁₀ of the difference"


def error(s: Subject) -> Picture | str:
    """Source and program over the box, and how far they are apart."""
    moving = np.flatnonzero(s.box.high > s.box.low)
    if not s.program.outputs:
        return "the program has no outputs"
    if not len(moving):
        return "the program has no inputs" if not s.program.inputs else "the box is a single point"
    if len(moving) == 1:
        return _curves(s, int(moving[0]))
    return _maps(s, int(moving[0]), int(moving[1])) if len(moving) == 2 else _slices(s, moving.tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """Program and source at points, one output of them."""

    got: Floats
    wanted: Floats | None

    @property
    def floor(self) -> float:
        """The rounding of float64."""
        known = np.abs(self.got if self.wanted is None else np.stack([self.got, self.wanted]))
        return rounding(float(np.nanmax(known)) if np.isfinite(known).any() else 0.0)

    @property
    def difference(self) -> Floats:
        """Not below rounding; NaN where there is none."""
        assert self.wanted is not None
        return np.maximum(np.abs(self.got - self.wanted), self.floor)

    @property
    def gaps(self) -> int:
        gap = np.isnan(self.got)
        return int((gap if self.wanted is None else gap | np.isnan(self.wanted)).sum())


def _evaluated(s: Subject, x: Floats, outputs: list[int]) -> list[_Values]:
    got, wanted = s.run(x), s.wanted(x)
    return [_Values(got[:, n], None if wanted is None else wanted[:, n]) for n in outputs]


def _outputs(s: Subject) -> tuple[list[int], int]:
    """Outputs to show, those that differ most if there are many; and the place of the worst among them."""
    many = s.program.outputs
    if s.seen is None:
        return list(range(min(many, OUTPUTS))), 0
    off = np.nan_to_num(s.seen.difference, nan=0.0).max(0)
    chosen = sorted(np.argsort(-off, kind="stable")[:OUTPUTS].tolist())
    return chosen, chosen.index(s.seen.output) if s.seen.output in chosen else 0


def _curves(s: Subject, axis: int) -> Picture:
    t = _along(s, axis, s.points(CURVE, 33))
    x = np.repeat(s.landmarks[:1], len(t), 0)
    x[:, axis] = t
    outputs, worst = _outputs(s)
    found = _evaluated(s, x, outputs)
    frames = []
    for n, values in zip(outputs, found, strict=True):
        name = s.variables[axis]
        curves = [] if values.wanted is None else [Curve(t, values.wanted, "source")]
        curves.append(Curve(t, values.got, "program", 1, DASHED if curves else "line"))
        panels = [Panel("source and program" if values.wanted is not None else "program", name, "value", tuple(curves))]
        if values.wanted is not None:
            off = Curve(t, values.difference, "difference", 2)
            panels.append(Panel("their difference", name, "difference", (off,), levels=_levels(s, values), log_y=True))
        frames.append(Frame(f"output {n + 1}", tuple(panels)))
    return _picture(s, frames, found, "output", worst, _chosen(outputs, s))


def _levels(s: Subject, values: _Values) -> tuple[Level, ...]:
    bound = (("promised", s.promised), ("proven", s.proven))
    known = [Level(y, f"{name} ≤ {above(y)}") for name, y in bound if y is not None and y > 0]
    return (*known, Level(values.floor, "rounding of float64"))


def _along(s: Subject, axis: int, count: int) -> Floats:
    """From end to end of a side of the box, which may be longer than any number of float64."""
    t = np.linspace(0.0, 1.0, count)
    found: Floats = s.box.low[axis] * (1 - t) + s.box.high[axis] * t
    return found


def _maps(s: Subject, first: int, second: int) -> Picture:
    outputs, worst = _outputs(s)
    side = math.isqrt(s.points(MAP**2, 81))
    x, y, points = _grid(s, first, second, s.landmarks[0], side)
    found = _evaluated(s, points, outputs)
    frames = [
        Frame(f"output {n + 1}", _map(s, (x, first), (y, second), values))
        for n, values in zip(outputs, found, strict=True)
    ]
    return _picture(s, frames, found, "output", worst, _chosen(outputs, s))


def _slices(s: Subject, moving: list[int]) -> Picture:
    """Pairs of the inputs that matter most vary; the others are at the centre, or where the difference is largest."""
    chosen, among = _influential(s, moving)
    pairs = list(combinations(chosen, 2))
    seen, output = s.seen, 0 if s.seen is None else s.seen.output
    rests = [("the rest at the centre", s.landmarks[0])]
    if seen is not None and seen.largest > 0:
        rests.append(("the rest where the difference seen is largest", seen.worst))
    each = len(pairs) * len(rests)
    side = math.isqrt(s.points(each * SLICE**2, each * 49) // each)
    frames, found = [], []
    for where, rest in rests:
        for first, second in pairs:
            x, y, points = _grid(s, first, second, rest, side)
            (values,) = _evaluated(s, points, [output])
            names = " and ".join(fitting(s.variables[axis], 12) for axis in (first, second))
            frames.append(Frame(f"{names}, {where}", _map(s, (x, first), (y, second), values)))
            found.append(values)
    shown = [f"Slices: two inputs vary, {of(len(pairs), math.comb(len(moving), 2), 'pair')}"]
    if len(chosen) < len(moving):
        looked = "" if among == len(moving) else f" the first {among:,} of"
        shown.append(
            f"of the {len(chosen)} inputs that move the output most, among{looked} the {len(moving):,} there are"
        )
    if s.program.outputs > 1:
        shown.append(f"output {output + 1} of {s.program.outputs:,}")
    worst = max(range(len(found)), key=lambda n: _top(found[n]))
    return _picture(s, frames, found, "slice", worst, ", ".join(shown) + ".")


def _top(values: _Values) -> float:
    if values.wanted is None or not np.isfinite(values.difference).any():
        return 0.0
    return float(np.nanmax(values.difference))


def _influential(s: Subject, moving: list[int]) -> tuple[list[int], int]:
    """The inputs that move the outputs most when they go from end to end, and how many were tried."""
    if len(moving) <= VARIED:
        return moving, len(moving)
    tried = moving[: max(s.points(2 * len(moving), 16) // 2, VARIED)]
    x = np.repeat(s.landmarks[:1], 2 * len(tried), 0)
    for row, axis in enumerate(tried):
        x[2 * row : 2 * row + 2, axis] = s.box.low[axis], s.box.high[axis]
    ends = s.run(x)
    change = np.nan_to_num(np.abs(ends[1::2] - ends[::2]), nan=0.0).max(1)
    return sorted(tried[n] for n in np.argsort(-change, kind="stable")[:VARIED]), len(tried)


def _grid(s: Subject, first: int, second: int, rest: Floats, side: int) -> tuple[Floats, Floats, Floats]:
    x, y = (_along(s, axis, side) for axis in (first, second))
    points = np.repeat(rest[None], side * side, 0)
    points[:, first], points[:, second] = np.tile(x, side), np.repeat(y, side)
    return x, y, points


def _map(s: Subject, x: tuple[Floats, int], y: tuple[Floats, int], values: _Values) -> tuple[Panel, ...]:
    across, up = s.variables[x[1]], s.variables[y[1]]
    square = (len(y[0]), len(x[0]))
    low, high = float(np.nanmin(values.got, initial=0.0)), float(np.nanmax(values.got, initial=0.0))
    signed = min(-low, high) > SIGNED * max(-low, high)
    heat = Heat(x[0], y[0], values.got.reshape(square), "value", signed)
    panels = [Panel("program", across, up, (heat,))]
    if values.wanted is not None:
        largest = _top(values)
        if largest <= ROUNDED * values.floor:
            z, label, how = np.abs(values.got - values.wanted) / EPSILON, UNITS, "at rounding level"
        else:
            z, label, how = np.log10(values.difference), LOG, f"up to {largest:.2g}"
        off = Heat(x[0], y[0], z.reshape(square), label)
        panels.append(Panel(f"difference from the source, {how}", across, up, (off,)))
    return tuple(panels)


def _chosen(outputs: list[int], s: Subject) -> str:
    if len(outputs) == s.program.outputs:
        return ""
    return f"{of(len(outputs), s.program.outputs, 'output')}, those that differ most."


def _picture(s: Subject, frames: list[Frame], found: list[_Values], slider: str, first: int, shown: str) -> Picture:
    says = [shown] if shown else []
    if s.seen is not None and not math.isnan(s.seen.largest):
        where = point(s.seen.worst, s.variables)
        says.append(f"The largest difference of {len(s.seen.points):,} points is {s.seen.largest:.3g}, at {where}.")
    if s.values is not None:
        says.append(bounds(s))
    gaps, total = sum(values.gaps for values in found), sum(values.got.size for values in found)
    if gaps:
        says.append(f"{gaps:,} of {total:,} values do not exist, where the source or the flow fails: gaps.")
    title = "Source and program over the box" if s.values is not None else "The program over the box"

    slider = slider if len(frames) > 1 else ""
    return Picture("error", title, " ".join(filter(None, says)), tuple(frames), slider, first=first)
