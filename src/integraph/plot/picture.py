"""A picture as data: what is drawn, not how. `plot.matplotlib_renderer` draws it with matplotlib,
`report.panel_data` hands it to the script of a page.

A picture has one or more frames; with more than one a slider chooses the frame. A frame is a row of panels, or a stack
of them, a panel is a pair of axes with marks in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from integraph.numbers.arrays import Floats

LINE, DASHED, STEPS, POINTS = "line", "dashed", "steps", "points"


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """y over x. NaN is a gap. Curves with the same `colour` (a number of the palette) belong together."""

    x: Floats
    y: Floats
    name: str
    colour: int = 0
    style: str = LINE
    text: tuple[str, ...] = ()  # of each point, shown when it is pointed at
    group: str = ""  # curves with the same group share one entry in the legend, which is called so


@dataclass(frozen=True, slots=True, eq=False)
class Heat:
    """z[row, column] over y[row] and x[column]. `diverging` is for signed values: 0 is in the middle of the colours."""

    x: Floats
    y: Floats
    z: Floats
    label: str
    diverging: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """One value for each name, side by side."""

    names: tuple[str, ...]
    values: Floats
    name: str
    colour: int = 0


Mark = Curve | Heat | Bars


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the x-axis with a name: a segment of time."""

    start: float
    end: float
    label: str


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line with a name: a bound."""

    y: float
    label: str


Tick = tuple[float, str]  # where on an axis, and its words


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes. `matrix` has row 0 on top and columns as wide as rows are high. Ticks, where they are given, take
    the place of numbers on an axis."""

    title: str
    x: str
    y: str
    marks: tuple[Mark, ...]
    spans: tuple[Span, ...] = ()
    levels: tuple[Level, ...] = ()
    log_x: bool = False
    log_y: bool = False
    matrix: bool = False
    legend: bool = True
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """What is seen at one position of the slider."""

    label: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """`name` is that of its file, `says` what there is to see, in a sentence or two."""

    name: str
    title: str
    says: str
    frames: tuple[Frame, ...]
    slider: str = ""  # what the frames are one for each of
    stacked: bool = False  # panels below each other: they have the same x-axis
    first: int = 0  # the frame that is seen at first, and in a file
    plays: bool = False  # the frames follow each other in time

    def __post_init__(self) -> None:
        assert self.frames, f"picture {self.name} has no frame"
        assert len({len(frame.panels) for frame in self.frames}) == 1, f"frames of {self.name} have other panels"
        assert 0 <= self.first < len(self.frames), f"picture {self.name} has no frame {self.first}"


def alone(name: str, title: str, says: str, *panels: Panel, stacked: bool = False) -> Picture:
    """A picture without a slider."""
    return Picture(name, title, says, (Frame("", panels),), stacked=stacked)
