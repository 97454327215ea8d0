"""`integraph compare`: a program and its source, side by side at many inputs."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Annotated

import typer

from integraph.cli import options as a
from integraph.cli.inputs import beside, box_beside
from integraph.cli.output import FAILED, GOOD, Answer, command, waiting
from integraph.cli.paths import loaded
from integraph.cli.points import input_names, points_of
from integraph.errors import UsageError

if TYPE_CHECKING:
    from integraph import Program
    from integraph.numbers.arrays import Floats

SAMPLES, FEW = 1000, 20  # random inputs unless it is said how many; few where float64 is too coarse for the flow
SHOWN = 8  # inputs of a point that is written out


def register(app: typer.Typer) -> None:
    command(app, "Look")(compare)


def compare(
    file: a.ProgramFile,
    source: a.MaybeSource = None,
    table: a.Table = None,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="COUNT",
            help=f"Number of random points in the box. Default: {SAMPLES}, or {FEW} if float64 is too coarse.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="SEED", help="Seed of the random points. Default: 0.")
    ] = None,
    box: Annotated[
        str | None,
        typer.Option(metavar="BOX", help="Box of the random points: 0,1;-2,2. Default: that of the program."),
    ] = None,
    engine: a.Engine = None,
    variables: a.Variables = None,
    parameters: a.Parameters = None,
    inputs: a.Inputs = None,
) -> Answer:
    """Compare a program with its source: print the largest difference found, for a network layer by layer.

    Exits with 1 if the difference exceeds what the program promises, or is not a number.

    [bold]Examples[/bold]

    integraph compare net.integraph net.onnx

    integraph compare bell.integraph --samples 100000

    integraph compare f.integraph mymodule:f --points inputs.csv

    integraph compare density.integraph density.csv
    """
    import integraph
    from integraph.api.data_rows import placed
    from integraph.program.engine import DOUBLE
    from integraph.targets import Function

    for name, value in (("samples", samples), ("seed", seed), ("box", box)):
        if table is not None and value is not None:
            raise UsageError(f"--points and --{name} both say where to compare: give one of them")
    program = loaded(file)
    target, origin = beside(program, source, box, variables, inputs, parameters)
    count = samples or (SAMPLES if program.bits <= DOUBLE else FEW)
    warnings: tuple[str, ...] = ()
    rows = isinstance(target, Function) and target.rows is not None  # data
    if isinstance(target, Function) and rows:
        for name, given in (("points", table), ("samples", samples), ("seed", seed), ("box", box)):
            if given is not None:
                raise UsageError(f"--{name} says where to compare, and data have rows of their own: leave it out")
        x = placed(program, target, None)[1]
    elif table is None:
        x = _random(program, box, count, seed or 0)
    else:
        x, warnings = points_of(None, table, program)
    with waiting("comparing"):
        comparison = integraph.compare(program, target, None if rows else x, engine)
    worst = dict(zip(input_names(program), x[comparison.worst.input].tolist(), strict=True))
    data = {
        "source": origin,
        "inputs": comparison.inputs,
        "seed": (seed or 0) if table is None and not rows else None,
        "largest": comparison.largest,
        "promised": None if program.budget is None else comparison.promised,
        "broken": comparison.broken,
        "rows": [dataclasses.asdict(row) for row in comparison.rows],
        "origin": comparison.origin.label,
        "worst": worst,
        "notes": comparison.notes,
    }
    text = [f"source: {origin}", repr(comparison), *_where(comparison.worst.input, worst)]
    return Answer(data, text, FAILED if comparison.broken or math.isnan(comparison.largest) else GOOD, warnings)


def _random(program: Program, box: str | None, count: int, seed: int) -> Floats:
    import numpy as np

    cube = box_beside(program, box)
    x = np.random.default_rng(seed).uniform(size=(count, program.inputs))
    return np.clip(cube.low * (1 - x) + cube.high * x, cube.low, cube.high)


def _where(number: int, worst: dict[str, float]) -> list[str]:
    shown = ", ".join(f"{name} = {value!r}" for name, value in worst.items())
    return [f"input {number} is {shown}"] if len(worst) <= SHOWN else []
