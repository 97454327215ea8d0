"""`integraph trace`: one input on its way through all segments, as a table and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from integraph.cli import options as a
from integraph.cli.inputs import box_beside
from integraph.cli.output import Answer, command, waiting
from integraph.cli.paths import PICTURE, loaded, output
from integraph.cli.points import from_arguments, input_names
from integraph.cli.terminal import console
from integraph.errors import UsageError
from integraph.text import clean

if TYPE_CHECKING:
    from integraph import Program
    from integraph.numbers.arrays import Floats
    from integraph.program.program import Trajectory

NUMBERS = 10_000_000  # registers times moments
THIRD = 1 / 3
MOMENTS = 33  # of a segment, if there is room
CHANGED, ROWS, SEGMENTS = 4, 12, 60  # registers of a line, lines of the picture, lines of the table


def register(app: typer.Typer) -> None:
    command(app, "Look")(trace)


def trace(
    file: a.ProgramFile,
    point: Annotated[
        list[str] | None,
        typer.Argument(
            help="Input: 0.3 0.8, or 0.3,0.8. Default: a third of the way along each side of the box.",
            metavar="POINT",
            show_default=False,
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Draw every register over time into this .png, .svg or .pdf file."),
    ] = None,
    engine: a.Engine = None,
) -> Answer:
    """Follow one input through all segments: which registers change, and to what.

    [bold]Examples[/bold]

    integraph trace bell.integraph

    integraph trace bell.integraph -0.5 -o bell.png

    integraph trace net.integraph 0.3 0.8 --json
    """
    from integraph.cli.sparkline import sparks

    program = loaded(file)
    target = None if picture is None else output(picture, PICTURE, "-o", [file])
    x = _point(program, point)
    with waiting("following"):
        way = program.trajectory(x, _moments(program), engine)
    outputs = program.readout @ way.states[-1] if program.scales is None else program(x, engine)
    names = input_names(program)
    data: dict[str, Any] = {
        "point": dict(zip(names, x.tolist(), strict=True)),
        "outputs": outputs,
        "times": way.times,
        "states": way.states,
        "switches": way.switches,
        "labels": way.labels,
        "names": way.names,
    }
    rows, note = _interesting(program, way)
    text = [_said(names, x, outputs), "", _table(way), "", note, *sparks(way, rows, console().width)]
    if target is not None:
        from integraph.plot import plot

        with waiting("drawing"):
            plot(program, "trajectory", target, x=x if program.scales is None else x * program.scales[: len(x)])
        data["picture"] = target
        text.append(f"\nwrote {clean(str(target))}")
    return Answer(data, text)


def _point(program: Program, words: list[str] | None) -> Floats:
    if not words:
        cube = box_beside(program, None)
        inside: Floats = cube.low * (1 - THIRD) + cube.high * THIRD  # at the centre many registers stay at 0
        return inside if program.scales is None else inside / program.scales[: program.inputs]
    point = from_arguments(words, input_names(program))
    if len(point) != 1:
        raise UsageError(f"{len(point)} points: trace follows one; integraph eval takes many")
    row: Floats = point[0]
    return row


def _moments(program: Program) -> int:
    """So many of each segment as can be kept."""
    room = NUMBERS // max(program.width * max(program.depth, 1), 1)
    if room < 2:
        raise UsageError(
            f"{program.width:,} registers in {program.depth:,} segments are more than {NUMBERS:,} numbers: too many to "
            "follow; Program.flow(x, times=[…]) gives single moments"
        )
    return min(room, MOMENTS)


def _said(names: tuple[str, ...], x: Floats, end: Floats) -> str:
    inputs = [f"{name} = {value:.6g}" for name, value in zip(names, x.tolist(), strict=True)]
    outputs = [f"{value:.12g}" for value in end.tolist()]
    parts = [", ".join(all[:6]) + f", … ({len(all)} in all)" * (len(all) > 6) for all in (inputs, outputs)]
    return f"{parts[0]}  →  {parts[1]}"


def _table(way: Trajectory) -> Any:
    """What each segment leaves behind."""
    from rich.table import Table

    drawn = Table(box=None, pad_edge=False)
    drawn.add_column("segment", justify="right")
    drawn.add_column("what it does")
    drawn.add_column("t at its end", justify="right")
    drawn.add_column("registers that changed, at its end")
    for number, label in list(enumerate(way.labels))[:SEGMENTS]:
        drawn.add_row(str(number), _plain(label), f"{way.switches[number + 1]:.6g}", _plain(_changed(way, number)))
    left = len(way.labels) - SEGMENTS
    if left > 0:
        drawn.add_row("…", f"{left:,} more segments (all of them with --json)", "", "")
    return drawn


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text, overflow="fold")


def _changed(way: Trajectory, number: int) -> str:
    import numpy as np

    inside = (way.times >= way.switches[number]) & (way.times <= way.switches[number + 1])
    states = way.states[inside]
    moved = np.flatnonzero((states != states[0]).any(0))
    if not len(moved):
        return "none"
    by_size = moved[np.argsort(-np.abs(states[-1, moved] - states[0, moved]), kind="stable")]
    shown = [f"{way.names[r]} = {states[-1, r]:.6g}" for r in sorted(by_size[:CHANGED].tolist())]
    left = len(moved) - len(shown)
    return ", ".join(shown) + (f" and {left:,} that changed less" if left else "")


def _interesting(program: Program, way: Trajectory) -> tuple[list[int], str]:
    """Registers that get a line: those that are read out, then those that move most."""
    import numpy as np

    spread = np.ptp(way.states, axis=0)
    moving = np.flatnonzero(spread > 0)
    out = np.unique(program.readout.indices)
    order = sorted(moving.tolist(), key=lambda r: (r not in out, -spread[r]))
    chosen = sorted(order[:ROWS])
    which = f"{len(chosen)} of the {len(moving):,} registers that move" if len(moving) > ROWS else "registers that move"
    still = program.width - len(moving)
    rest = f" ({still:,} {'does' if still == 1 else 'do'} not)" if still else ""
    return chosen, f"{which}{rest}, from t = 0 to {way.times[-1]:g}, lowest … highest:"
