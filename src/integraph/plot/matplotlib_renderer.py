"""Pictures drawn with matplotlib: figures to look at, and PNG, SVG or PDF files for papers.

No pyplot, so no state and no display. The same picture gives the same bytes: no dates, no random names.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from integraph.errors import UsageError
from integraph.files import FilePath, atomic, check_path
from integraph.plot.axes import STYLE, draw_panel, plain
from integraph.plot.picture import Frame, Picture
from integraph.text import clean

FORMATS = ("png", "svg", "pdf")
SHORN: dict[str, dict[str, Any]] = {  # of whatever changes from run to run
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
DPI = 160
PANEL, STACKED, MARGIN = (5.4, 4.2), (9.0, 2.7), 0.9  # inches: of a panel in a row, in a stack; for titles


class FigureHandle(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        return _bytes(self, "png")


def draw(picture: Picture, frame: int | None = None) -> FigureHandle:
    """The picture at one position of its slider, by default the most telling one."""
    shown = _frame(picture, frame)
    many = len(shown.panels)
    width, height = STACKED if picture.stacked else PANEL
    size = (width, height * many + MARGIN) if picture.stacked else (width * many, height + MARGIN)
    with _styled():
        figure = FigureHandle(figsize=size, layout="constrained")
        plain(figure.suptitle(clean(_title(picture, shown)), x=0.01, ha="left", fontsize=11))
        shape = (many, 1) if picture.stacked else (1, many)
        axes = figure.subplots(*shape, squeeze=False, sharex=picture.stacked).ravel()
        for n, (panel, place) in enumerate(zip(shown.panels, axes, strict=True)):
            named, last = n == 0 or not picture.stacked, n == many - 1 or not picture.stacked
            draw_panel(panel, place, names=named, below=last)
    return figure


def _frame(picture: Picture, frame: int | None) -> Frame:
    number = picture.first if frame is None else frame
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(picture.frames):
        raise UsageError(
            f"frame = {frame!r}: the picture {picture.name!r} has {len(picture.frames)} frames, 0 … "
            f"{len(picture.frames) - 1}"
        )
    return picture.frames[number]


def _title(picture: Picture, frame: Frame) -> str:
    return f"{picture.title}: {frame.label}" if frame.label and len(picture.frames) > 1 else picture.title


def save(picture: Picture, path: FilePath, frame: int | None = None) -> Path:
    """Write the picture as PNG, SVG or PDF, by the path's suffix, whole or not at all."""
    kind = format_of(path)
    write(draw(picture, frame), path, kind)
    return Path(path)


def write(figure: Figure, path: FilePath, kind: str) -> None:
    """A figure as a file."""
    data = _bytes(figure, kind)
    with atomic(path) as file:
        file.write(data)


def format_of(path: FilePath) -> str:
    """What the suffix asks for."""
    check_path(path)
    suffix = Path(os.fspath(path)).suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(f"{os.fspath(path)}: a picture is written as {known}; give the path one of these suffixes")
    return suffix


def _bytes(figure: Figure, kind: str) -> bytes:
    file = io.BytesIO()
    with _styled():
        figure.savefig(file, format=kind, dpi=DPI, metadata=SHORN[kind])
    return file.getvalue()


@contextmanager
def _styled() -> Iterator[None]:
    """Our style, and no complaint about letters that a font does not have: they become boxes."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        yield
