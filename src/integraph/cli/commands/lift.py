"""`integraph lift`: from differential equations to a quadratic system, and to a program of its flow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from integraph.cli import options as a
from integraph.cli.facts import program_facts
from integraph.cli.inputs import box_of, names_of, values_of
from integraph.cli.output import FAILED, GOOD, Answer, command
from integraph.cli.paths import PROGRAM, output
from integraph.cli.solution_starts import starts_of
from integraph.errors import UsageError
from integraph.text import clean, shortened

if TYPE_CHECKING:
    from integraph import Program, QuadraticSystem

TIME = 1.0  # of a program for which none is given
NEAR = 0.1  # part of the start that a file names: the box around it
LISTED = 120  # characters of a box


def register(app: typer.Typer) -> None:
    command(app, "Make", called={"T": "--time", "x0": "--enclose"})(lift)


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
    time: Annotated[float | None, typer.Option(help="T, of the program (1 if not given) or of the enclosure.")] = None,
    box: Annotated[
        str | None,
        typer.Option(
            help="Starts: 'low,high' for all states, or one pair for each: '0,1;-2,2'. "
            "Default: near the start that the file names, or 0,1.",
            metavar="BOX",
        ),
    ] = None,
    enclose: Annotated[
        str | None,
        typer.Option(help="Prove where all solutions from this start, 'x=1±1e-6; v=0', are at T.", metavar="START"),
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

    integraph lift "x' = v; v' = -sin(x)" --enclose "x=1±1e-6; v=0" --time 10
    """
    import integraph

    if not source.strip():
        raise UsageError("SOURCE is empty: give equations, as \"x' = v; v' = -sin(x)\", or a file of them")
    to = None if save is None else output(save, PROGRAM, "-o", [Path(source)])
    if to is None:
        for option, value in (("--box", box), ("--project", project)):
            if value is not None:
                raise UsageError(f"{option} is for the program x(0) → x(T): add -o NAME.integraph, or leave it out")
        if time is not None and enclose is None:
            raise UsageError("--time is for a program or an enclosure: add -o NAME.integraph or --enclose START")
    starts = None if enclose is None else starts_of(enclose)
    if starts is not None and time is None:
        raise UsageError("--enclose proves where solutions are at T: give it, as in --time 10")
    system = integraph.lift(
        source,
        parameters=values_of(parameters),
        inputs=names_of(inputs) or (),
        positive=names_of(positive) or (),
        seconds=seconds,
    )
    data: dict[str, Any] = {
        "states": system.source.states,
        "inputs": system.source.inputs,
        "starts": system.starts,
        "new": dict(zip(system.new, system.formulas, strict=True)),
        "terms": [[t.i, t.j, t.k, float(t.value)] for t in system.terms],
        "minimal": system.minimal,
        "among": system.among,
    }
    text, code = str(system).splitlines(), GOOD
    if starts is not None and time is not None:
        solutions = system.enclose(starts, time)
        data["enclosure"] = {
            "low": dict(zip(system.source.states, solutions.low[-1].tolist(), strict=True)),
            "high": dict(zip(system.source.states, solutions.high[-1].tolist(), strict=True)),
            "complete": solutions.complete,
            "time": solutions.time,
            "blow_up": solutions.blow_up,
            "reason": solutions.reason,
        }
        text, code = [*text, "", *repr(solutions).splitlines()], GOOD if solutions.complete else FAILED
    if to is None:
        hint = "to keep the flow as a program, add -o NAME.integraph --time T --box BOX"
        return Answer(data, text, code, hint="" if starts else hint)
    pairs = None if box is None else box_of(box)
    horizon = TIME if time is None else time
    program = system.program(horizon, pairs or _around(system), project=True if project is None else project)
    program.save(to)
    text += ["", repr(program), *_chosen(time, box, program), f"wrote {clean(str(to))}"]
    return Answer(data | {"program": program_facts(program)}, text, code)


def _around(system: QuadraticSystem) -> list[tuple[float, float]]:
    """The starts of a program for which no box is given: near that of the source, or [0, 1] for each variable."""
    if not system.starts:
        return [(0.0, 1.0)] * len(system.source.variables)
    return [(x - NEAR * abs(x), x + NEAR * abs(x)) for x in system.starts.values()]


def _chosen(time: float | None, box: str | None, program: Program) -> list[str]:
    """What was not given, and what was taken."""
    said = []
    if time is None:
        said.append(f"T = {TIME:g}, because no --time was given")
    if box is None and program.box is not None:
        pairs = zip(program.box.low.tolist(), program.box.high.tolist(), strict=True)
        listed = shortened("; ".join(f"{low:g},{high:g}" for low, high in pairs), LISTED)
        said.append(f"starts in {listed}, because no --box was given")
    return said
