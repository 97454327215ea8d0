"""`integraph lift`: from differential equations to a quadratic system, and to a program of its flow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from integraph.cli import options as a
from integraph.cli.facts import program_facts
from integraph.cli.inputs import box_of, names_of, values_of
from integraph.cli.output import Answer, command
from integraph.cli.paths import PROGRAM, output
from integraph.errors import UsageError
from integraph.text import clean


def register(app: typer.Typer) -> None:
    command(app, "Make")(lift)


def lift(
    source: Annotated[
        str,
        typer.Argument(
            help="Equations (\"x' = v; v' = -sin(x)\"), an .ode or .txt file with one on each line, "
            "SBML (.xml, .sbml) or Antimony (.ant).",
            metavar="SOURCE",
            show_default=False,
            autocompletion=a.files,
        ),
    ],
    save: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the program x(0) → x(T) to this .integraph file."),
    ] = None,
    time: Annotated[float | None, typer.Option(help="T of the program.")] = None,
    box: Annotated[
        str | None,
        typer.Option(help="Starts: 'low,high' for all states, or one pair for each: '0,1;-2,2'.", metavar="BOX"),
    ] = None,
    project: Annotated[
        float | None,
        typer.Option(help="Time between two computations of the new variables from the states. Default: as needed."),
    ] = None,
    parameters: a.Parameters = None,
    inputs: Annotated[str | None, typer.Option(help="Names that are held: u,v.", metavar="NAMES")] = None,
    positive: Annotated[str | None, typer.Option(help="States that stay positive: T,c.", metavar="NAMES")] = None,
    seconds: Annotated[float, typer.Option(help="Time for the search of fewer new variables.")] = 30.0,
) -> Answer:
    """Lift differential equations with elementary functions to a quadratic system.

    [bold]Examples[/bold]

    integraph lift "x' = v; v' = -g*sin(x)" --set g=9.81

    integraph lift model.ode -o model.integraph --time 5 --box=-1,1
    """
    import integraph

    to = None if save is None else output(save, PROGRAM, "-o", [Path(source)])
    if to is not None and (time is None or box is None):
        raise UsageError(
            "-o writes the program of x(0) → x(T): give T and the box of starts, as in --time 5 --box=-1,1"
        )
    system = integraph.lift(
        source,
        parameters=values_of(parameters),
        inputs=names_of(inputs) or (),
        positive=names_of(positive) or (),
        seconds=seconds,
    )
    data = {
        "states": system.source.states,
        "inputs": system.source.inputs,
        "starts": system.starts,
        "new": dict(zip(system.new, system.formulas, strict=True)),
        "terms": [[t.i, t.j, t.k, float(t.value)] for t in system.terms],
        "minimal": system.minimal,
        "among": system.among,
    }
    text = str(system).splitlines()
    if to is None or time is None or box is None:
        return Answer(data, text, hint="to keep the flow as a program, add -o NAME.integraph --time T --box BOX")
    pairs = box_of(box)
    program = system.program(time, pairs or (0.0, 1.0), project=True if project is None else project)
    program.save(to)
    return Answer(data | {"program": program_facts(program)}, [*text, "", repr(program), f"wrote {clean(str(to))}"])
