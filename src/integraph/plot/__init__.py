"""Pictures of programs, as data and as files.

Each picture is a function in a file of its own, from a `Subject` to a `Picture`, or to the reason why there is none.

Read `subject` and `picture`; the pictures `error`, `layers`, `trajectory`, `sparsity`, `rates`, `trade_off`,
`partition` with `places` and `labels`; and `matplotlib_renderer` with `axes`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.plot.error import error
from integraph.plot.layers import layers
from integraph.plot.partition import partition
from integraph.plot.picture import Picture
from integraph.plot.rates import rates
from integraph.plot.sparsity import sparsity
from integraph.plot.subject import Subject, subject
from integraph.plot.trade_off import trade_off
from integraph.plot.trajectory import trajectory
from integraph.program import Program

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[[Subject], Picture | str]

PICTURES: dict[str, Draw] = {
    "error": error,
    "trajectory": trajectory,
    "layers": layers,
    "sparsity": sparsity,
    "rates": rates,
    "partition": partition,
    "trade-off": trade_off,
}


def gallery(subject: Subject, progress: Callable[[str], None] | None = None) -> dict[str, Picture | str]:
    """Every picture by name, or why there is none; `progress` is told the name of what is drawn next."""
    gallery_ = {}
    for name, draw in PICTURES.items():
        if progress is not None:
            progress(name)
        gallery_[name] = draw(subject)
    return gallery_


def pictures(subject: Subject, progress: Callable[[str], None] | None = None) -> list[Picture]:
    """The pictures that there are."""
    return [picture for picture in gallery(subject, progress).values() if isinstance(picture, Picture)]


def plot(
    program: Program,
    what: str = "trajectory",
    path: str | os.PathLike[str] | None = None,
    *,
    source: Any = None,
    x: ArrayLike | None = None,
    box: ArrayLike | None = None,
) -> Figure:
    """One picture as a matplotlib figure, and as a PNG, SVG or PDF file if there is a path.

    `source` is what was compiled; a program of a formula knows it. `x` is the input of a trajectory."""
    from integraph.plot import matplotlib_renderer  # matplotlib is slow to import

    if what not in PICTURES:
        raise UsageError(f"the pictures are {', '.join(map(repr, PICTURES))}", argument="what", value=what)
    if x is not None and what != "trajectory":
        raise UsageError(f"x is the input of a trajectory, and this is what = {what!r}: leave it out")
    kind = None if path is None else matplotlib_renderer.format_of(path)
    seen = subject(program, source, box=box)
    if what == "error" and seen.values is None:
        raise UsageError("the error is the difference from the source: give what was compiled", argument="source")
    picture = (PICTURES[what] if x is None else partial(trajectory, x=x))(seen)
    if isinstance(picture, str):
        raise UsageError(f"there is no picture {what!r} of this program: {picture}")
    figure = matplotlib_renderer.draw(picture)
    if path is not None and kind is not None:
        matplotlib_renderer.write(figure, path, kind)
    return figure
