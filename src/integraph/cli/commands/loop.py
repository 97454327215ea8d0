"""`integraph loop`: whether all trajectories of a closed loop meet a specification."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from integraph.cli import options as a
from integraph.cli.output import FAILED, GOOD, UNDECIDED, Answer, command, waiting
from integraph.cli.paths import PAGE, output, refuse_pipe
from integraph.text import clean

if TYPE_CHECKING:
    from integraph.certify.loops.search import LoopResult

CODES = {"proved": GOOD, "refuted": FAILED, "unknown": UNDECIDED}
BOXES = 1000  # of cells that are open, in JSON


def register(app: typer.Typer) -> None:
    command(app, "Prove")(loop)


def loop(
    file: Annotated[
        Path,
        typer.Argument(
            help="A .toml file with plant, controller, period, steps, start and spec.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    report: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Write the tube and simulations to this .html file.")
    ] = None,
    cells: Annotated[
        int | None, typer.Option(help="Largest number of cells of the start set. Default: that of the file, or 256.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Time limit. Default: that of the file, or 60.", show_default=False)
    ] = None,
    workers: a.Workers = None,
    scheduler: a.Scheduler = None,
) -> Answer:
    """Prove that a plant under a sampled controller meets its specification from every start, or find one that fails.

    Exits with 0 if it is proved, with 1 if it is refuted, and with 3 if it remains open.
    Ctrl-C ends the search and keeps what is proved.

    [bold]Examples[/bold]

    integraph loop pendulum.toml

    integraph loop pendulum.toml --report tube.html
    """
    import integraph
    from integraph.api.loop_file import read_loop

    page = None if report is None else output(report, PAGE, "--report", [file])
    refuse_pipe(file)
    arguments = read_loop(file)
    arguments |= {name: value for name, value in (("cells", cells), ("seconds", seconds)) if value is not None}
    result = integraph.loop(**arguments, workers=workers, scheduler=scheduler)
    data, text = loop_facts(result), [repr(result)]
    if page is not None:
        with waiting("reporting") as bar:
            integraph.report(result, page, progress=bar.say)
        data["report"] = page
        text.append(f"wrote {clean(str(page))}")
    return Answer(data, text, CODES[result.answer.value])


def loop_facts(result: LoopResult) -> dict[str, Any]:
    """The result as data."""
    return {
        "status": result.answer.value,
        "specification": [clause.text for clause in result.spec.clauses],
        "states": result.loop.states,
        "start": result.start,
        "share": result.share,
        "proved": len(result.proved),
        "open": len(result.open),
        "cells": [{"low": cell.low, "high": cell.high, "reason": cell.reason} for cell in result.open[:BOXES]],
        "boxes": result.boxes(),
        "period": result.loop.period,
    }
