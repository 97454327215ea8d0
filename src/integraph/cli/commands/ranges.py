"""`integraph ranges` and `integraph scale`: how large every register becomes, and units in which it fits a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from integraph.cli import options as a
from integraph.cli.inputs import box_of
from integraph.cli.output import Answer, command
from integraph.cli.paths import PROGRAM, loaded, output

Cells = Annotated[int | None, typer.Option(help="Cells of the box, at most. Default: by the size of the program.")]


def register(app: typer.Typer) -> None:
    for function in (ranges, scale):
        command(app, "Take elsewhere")(function)


def ranges(file: a.ProgramFile, box: a.ProgramBox = None, cells: Cells = None) -> Answer:
    """Prove the low and the high of every register, for all inputs of a box and at all times.

    [bold]Examples[/bold]

    integraph ranges net.integraph

    integraph ranges net.integraph --box=-1,1 --json
    """
    program = loaded(file)
    result = program.ranges(box_of(box), cells=cells)
    data = {
        "names": result.names,
        "segments": result.labels,
        "low": result.low,
        "high": result.high,
        "largest": result.largest,
        "unbounded": result.unbounded,
        "cells": result.cells,
        "box": {"low": result.box.low, "high": result.box.high},
    }
    return Answer(data, [repr(result), "", result.table()])


def scale(
    file: a.ProgramFile,
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the scaled program into this .integraph file.")
    ] = None,
    unit: Annotated[float, typer.Option(help="The largest value that the machine can hold.")] = 1.0,
    headroom: Annotated[float, typer.Option(help="Stay so many times below it.")] = 1.0,
    horizon: Annotated[float | None, typer.Option(help="The longest time that a run may take.")] = None,
    largest: Annotated[float, typer.Option(help="The largest coefficient that the machine can set.")] = 10.0,
    box: a.ProgramBox = None,
    cells: Cells = None,
) -> Answer:
    """Choose units, powers of two, in which every register fits a machine.

    [bold]Examples[/bold]

    integraph scale net.integraph

    integraph scale net.integraph --unit 10 --headroom 1.2 -o machine.integraph
    """
    program = loaded(file)
    where = None if target is None else output(target, PROGRAM, "-o", [file])
    result = program.scaled(box_of(box), unit=unit, headroom=headroom, horizon=horizon, largest=largest, cells=cells)
    if where is not None:
        result.program.save(where)
    data = {
        "names": result.ranges.names,
        "scales": result.scales,
        "largest": result.ranges.largest,
        "slower": result.slower,
        "horizon": result.program.horizon,
        "coefficient": result.coefficient,
        "beyond": result.count,
        "mend": result.mend,
        "file": where,
    }
    wrote = [] if where is None else [f"wrote {where}"]
    return Answer(data, [repr(result), "", result.table(), *wrote])
