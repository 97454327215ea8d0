"""The program over the box beside its source: a curve, a map, or slices where more than two inputs vary.

A difference on a logarithmic axis is drawn no smaller than the rounding of float64: below, it says nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.plot.labels import bounds, part_of, point, rounding, shortened_label
from integraph.plot.picture import DASHED, Curve, Frame, Heat, Level, Panel, Picture
from integraph.plot.places import Slice, influential, moving
from integraph.plot.subject import EPSILON, Subject
from integraph.program.summary import above

OUTPUTS = 8  # that have a frame each
SIGNED = 0.05  # of the largest value: below, values have one sign
ROUNDED = 8  # times the rounding of the largest value: a difference that says nothing
UNITS = "difference, in units of 2.2e-16"
LOG = "log₁₀ of the difference"


def error(s: Subject) -> Picture | str:
    """Source and program over the box, and how far they are apart."""
    if not s.program.outputs:
        return "the program has no outputs"
    if not s.places:
        return "the program has no inputs" if not s.program.inputs else "the box is a single point"
    if len(s.places) > 1 or s.places[0].rest:
        return _slices(s)
    outputs, worst = _outputs(s)
    (place,) = s.places
    curves = [_values(place, n) for n in outputs]
    draw = _curves if len(place.axes) == 1 else _map
    frames = [Frame(f"output {n + 1}", draw(s, place, values)) for n, values in zip(outputs, curves, strict=True)]
    return _picture(s, frames, curves, "output", worst, _chosen(outputs, s))


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


def _values(place: Slice, output: int) -> _Values:
    return _Values(place.got[:, output], None if place.wanted is None else place.wanted[:, output])


def _outputs(s: Subject) -> tuple[list[int], int]:
    """Outputs to show, those that differ most if there are many; and the place of the worst among them."""
    many = s.program.outputs
    if s.seen is None:
        return list(range(min(many, OUTPUTS))), 0
    off = np.nan_to_num(s.seen.difference, nan=0.0).max(0)
    chosen = sorted(np.argsort(-off, kind="stable")[:OUTPUTS].tolist())
    return chosen, chosen.index(s.seen.output) if s.seen.output in chosen else 0


def _curves(s: Subject, place: Slice, values: _Values) -> tuple[Panel, ...]:
    name, t = s.variables[place.axes[0]], place.sides[0]
    curves = [] if values.wanted is None else [Curve(t, values.wanted, "source")]
    curves.append(Curve(t, values.got, "program", 1, DASHED if curves else "line"))
    panels = [Panel("source and program" if values.wanted is not None else "program", name, "value", tuple(curves))]
    if values.wanted is not None:
        off = Curve(t, values.difference, "difference", 2)
        panels.append(Panel("their difference", name, "difference", (off,), levels=_levels(s, values), log_y=True))
    return tuple(panels)


def _levels(s: Subject, values: _Values) -> tuple[Level, ...]:
    bound = (("promised", s.promised), ("proven", s.proven))
    known = [Level(y, f"{name} ≤ {above(y)}") for name, y in bound if y is not None and y > 0]
    return (*known, Level(values.floor, "rounding of float64"))


def _slices(s: Subject) -> Picture:
    """One output, a frame for each slice."""
    output = 0 if s.seen is None else s.seen.output
    slices = [_values(place, output) for place in s.places]
    frames = []
    for place, values in zip(s.places, slices, strict=True):
        names = " and ".join(shortened_label(s.variables[axis], 12) for axis in place.axes)
        frames.append(Frame(f"{names}, {place.rest}", _map(s, place, values)))
    varied, (chosen, among) = len(moving(s)), influential(s)
    shown = [f"Slices: two inputs vary, {part_of(math.comb(len(chosen), 2), math.comb(varied, 2), 'pair')}"]
    if len(chosen) < varied:
        looked = "" if among == varied else f" the first {among:,} of"
        shown.append(f"of the {len(chosen)} inputs that move the output most, among{looked} the {varied:,} there are")
    if s.program.outputs > 1:
        shown.append(f"output {output + 1} of {s.program.outputs:,}")
    worst = max(range(len(slices)), key=lambda n: _top(slices[n]))
    return _picture(s, frames, slices, "slice", worst, ", ".join(shown) + ".")


def _top(values: _Values) -> float:
    if values.wanted is None or not np.isfinite(values.difference).any():
        return 0.0
    return float(np.nanmax(values.difference))


def _map(s: Subject, place: Slice, values: _Values) -> tuple[Panel, ...]:
    across, up = (s.variables[axis] for axis in place.axes)
    x, y = place.sides
    square = (len(y), len(x))
    low, high = float(np.nanmin(values.got, initial=0.0)), float(np.nanmax(values.got, initial=0.0))
    signed = min(-low, high) > SIGNED * max(-low, high)
    heat = Heat(x, y, values.got.reshape(square), "value", signed)
    panels = [Panel("program", across, up, (heat,))]
    if values.wanted is not None:
        largest = _top(values)
        if largest <= ROUNDED * values.floor:
            z, label, how = np.abs(values.got - values.wanted) / EPSILON, UNITS, "at rounding level"
        else:
            z, label, how = np.log10(values.difference), LOG, f"up to {largest:.2g}"
        off = Heat(x, y, z.reshape(square), label)
        panels.append(Panel(f"difference from the source, {how}", across, up, (off,)))
    return tuple(panels)


def _chosen(outputs: list[int], s: Subject) -> str:
    if len(outputs) == s.program.outputs:
        return ""
    return f"{part_of(len(outputs), s.program.outputs, 'output')}, those that differ most."


def _picture(
    s: Subject, frames: list[Frame], drawn_values: list[_Values], slider: str, first: int, shown: str
) -> Picture:
    says = [shown] if shown else []
    if s.seen is not None and not math.isnan(s.seen.largest):
        where = point(s.seen.worst, s.variables)
        says.append(f"The largest difference of {len(s.seen.points):,} points is {s.seen.largest:.3g}, at {where}.")
    if s.values is not None:
        says.append(bounds(s))
    gaps, total = sum(values.gaps for values in drawn_values), sum(values.got.size for values in drawn_values)
    if gaps:
        says.append(f"{gaps:,} of {total:,} values do not exist, where the source or the flow fails: gaps.")
    title = "Source and program over the box" if s.values is not None else "The program over the box"

    slider = slider if len(frames) > 1 else ""
    return Picture("error", title, " ".join(filter(None, says)), tuple(frames), slider, first=first)
