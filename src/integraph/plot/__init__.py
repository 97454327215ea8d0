"""Pictures of programs, as data and as files.

Each picture is a function in a file of its own, from a `Subject` to a `Picture`, or to the reason why there is none.

Read `subject` and `picture`; the pictures `error`, `layers`, `trajectory`, `sparsity`, `rates`, `trade_off` with
`frontier`, `partition` with `places` and `labels`; `closed_loop`; and `matplotlib_renderer` with `axes` and `colours`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from integraph.bounds.paper.partition_of_unity import Partition
from integraph.errors import UsageError
from integraph.plot.closed_loop import loop_picture
from integraph.plot.error import error
from integraph.plot.layers import layers
from integraph.plot.partition import figure as partition_figure
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

    from integraph.certify.loops.result import LoopResult

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
    program: Program | LoopResult | str,
    what: str | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    source: Any = None,
    x: ArrayLike | None = None,
    box: ArrayLike | None = None,
    N: int | None = None,
    c: float | None = None,
) -> Figure:
    """One picture as a matplotlib figure, and as a PNG, SVG or PDF file if there is a path.

    `source` is what was compiled; a program of a formula knows it. `x` is the input of a trajectory. What `loop` proved
    has the pictures "tube" and "phase". The partition of unity of Lemma 4 needs no program: `plot("partition", N=5,
    c=30)`."""
    from integraph.plot import matplotlib_renderer  # matplotlib is slow to import

    kind = None if path is None else matplotlib_renderer.format_of(path)
    if isinstance(program, str):
        figure = matplotlib_renderer.draw(_without_program(program, N, c))
    elif N is not None or c is not None:
        raise UsageError("N and c describe a partition without a program: leave them out, or plot('partition', N=, c=)")
    elif isinstance(program, Program):
        figure = matplotlib_renderer.draw(_of_program(program, what or "trajectory", source, x, box))
    else:
        figure = matplotlib_renderer.draw(loop_picture(program, what or "tube"))
    if path is not None and kind is not None:
        matplotlib_renderer.write(figure, path, kind)
    return figure


def _without_program(name: str, N: int | None, c: float | None) -> Picture:
    """The one picture that there is without a program."""
    if name != "partition":
        raise UsageError(f"a program is needed, got {name!r}: without one there is only plot('partition', N=5, c=30)")
    if N is None or c is None:
        raise UsageError("without a program, a partition of unity needs N and c: plot('partition', N=5, c=30)")
    return partition_figure(Partition(N, c))


def _of_program(program: Program, what: str, source: Any, x: ArrayLike | None, box: ArrayLike | None) -> Picture:
    if what not in PICTURES:
        raise UsageError(f"the pictures are {', '.join(map(repr, PICTURES))}", argument="what", value=what)
    if x is not None and what != "trajectory":
        raise UsageError(f"x is the input of a trajectory, and this is what = {what!r}: leave it out")
    seen = subject(program, source, box=box)
    if what == "error" and seen.values is None:
        raise UsageError("the error is the difference from the source: give what was compiled", argument="source")
    picture = (PICTURES[what] if x is None else partial(trajectory, x=x))(seen)
    if isinstance(picture, str):
        raise UsageError(f"there is no picture {what!r} of this program: {picture}")
    return picture
