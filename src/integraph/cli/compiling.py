"""`integraph compile`: from a source to a program, on the screen or in a file, proved and reported if asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from integraph.cli import arguments as a
from integraph.cli.facts import program_facts
from integraph.cli.shell import GOOD, Answer, command, waiting
from integraph.cli.sources import box_of, names_of, source_of

SHORT = 60  # lines of a description that are printed unasked


def register(app: typer.Typer) -> None:
    command(app, "Make")(compile)


def compile(
    source: a.Source,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where the program is written.")] = None,
    eps: a.Eps = None,
    box: a.Box = None,
    method: a.Method = None,
    order: a.Order = None,
    width: a.Width = None,
    bound: a.Bound = None,
    free: Annotated[str | None, typer.Option(help="How registers are used again: keep, clean, decay or auto.")] = None,
    horizon: Annotated[float | None, typer.Option(help="T. One unit of time for each segment unless given.")] = None,
    variables: a.Variables = None,
    inputs: a.Inputs = None,
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove the error; the proof goes beside the output.")
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Write a report, one HTML file, here.")] = None,
) -> Answer:
    """Compile a formula, a network or a function into a quadratic neural ODE.

    [bold]Examples[/bold]

    integraph compile "sin(3*x)*exp(-y)"

    integraph compile "exp(-x^2)" --box=-2,2 -o bell.integraph --report bell.html

    integraph compile net.onnx --eps 1e-8 -o net.integraph --certify

    integraph compile "1/(1+x*y)" --method lean --eps 1e-4 --certify

    integraph compile mymodule:f --inputs 2 --eps 1e-3
    """
    import integraph

    given = source_of(source)
    with waiting("compiling"):
        program = integraph.compile(
            given, eps, box=box_of(box), method=method, order=order, width=width, bound=bound, free=free,
            horizon=horizon, variables=names_of(variables), inputs=inputs,
        )  # fmt: skip
    data, text, code = program_facts(program), [repr(program)], GOOD
    if output is not None:
        program.save(output)
    return Answer(data, text, code)
