"""`integraph prove`: whether a property holds for every input of a box."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from integraph.cli import options as a
from integraph.cli.inputs import beside, box_of, read_source
from integraph.cli.output import FAILED, GOOD, INTERRUPTED, UNDECIDED, Answer, command
from integraph.cli.paths import PROPERTY, is_program, loaded, output, refuse_pipe, save_proof
from integraph.errors import UsageError

if TYPE_CHECKING:
    from integraph import PropertyProof

CODES = {"proved": GOOD, "refuted": FAILED, "unknown": UNDECIDED}
VERDICTS = {"proved": "holds (unsat)", "refuted": "violated (sat)", "unknown": "not decided (unknown)"}
BOXES = 1000  # of those that remain, in JSON


def register(app: typer.Typer) -> None:
    command(app, "Prove")(prove)


def prove(
    source: Annotated[
        str,
        typer.Argument(
            help="A network, a formula or a graph, as compile takes it, or a program file.",
            metavar="SOURCE",
            show_default=False,
            autocompletion=a.files,
        ),
    ],
    property: Annotated[
        str,
        typer.Argument(
            help='What is to hold: "y0 <= 2 and y1 - y0 > 0.1", or a .vnnlib file, which states what must not.',
            metavar="PROPERTY",
            show_default=False,
            autocompletion=a.files,
        ),
    ],
    origin: a.MaybeSource = None,
    box: a.EitherBox = None,
    seconds: Annotated[float, typer.Option(help="Time limit.")] = 60.0,
    proof: Annotated[Path | None, typer.Option("--output", "-o", help="Write the proof to this .json file.")] = None,
    workers: a.Workers = None,
    scheduler: a.Scheduler = None,
    variables: a.Variables = None,
    parameters: a.Parameters = None,
    inputs: a.Inputs = None,
) -> Answer:
    """Prove a property of all inputs in a box, or find one that violates it.

    Outputs are y0, y1, …; inputs have the names of the formula, or are x0, x1, …
    Exits with 0 if it is proved, with 1 if it is refuted, and with 3 if it remains open.
    Ctrl-C ends the search and lists the boxes that are open.

    [bold]Examples[/bold]

    integraph prove net.onnx "y0 <= 2 and y1 - y0 > 0.1" --box=-1,1 -o safe.json

    integraph prove net.onnx property.vnnlib

    integraph prove "x*exp(-x^2)" "y in [-0.43, 0.43]" --box=-2,2

    integraph prove net.integraph "y0 > x0 - 1" net.onnx
    """
    import integraph
    from integraph.api.flow_maps import is_lifted
    from integraph.api.origin import is_learned
    from integraph.frontends.property.sentence import is_property

    if is_property(source) and not is_property(property):
        raise UsageError(f"the source comes first: integraph prove {shlex.quote(property)} {shlex.quote(source)}")
    where = None if proof is None else output(proof, PROPERTY, "-o", [Path(source), Path(property)])
    refuse_pipe(Path(property))
    refuse_pipe(Path(source))
    subject: Any
    target = None
    if is_program(Path(source)):
        subject = loaded(Path(source))
        alone = is_lifted(subject) or (origin is None and is_learned(subject))
        target = None if alone else beside(subject, origin, box, variables, inputs, parameters)[0]
    else:
        subject = read_source(source, None, box, variables, inputs, parameters)
    made = integraph.prove(
        property, subject, box_of(box), compiled_from=target, seconds=seconds, workers=workers, scheduler=scheduler
    )
    nothing = "nothing is decided" if made.status == "unknown" else "there is no certificate of a learned program"
    data, text = property_facts(made), [f"{VERDICTS[made.status]}", repr(made)]
    warnings = save_proof(made.certificate, where, nothing, data, text)
    interrupted = made.ending.name == "INTERRUPTED"
    return Answer(data, text, INTERRUPTED if interrupted else CODES[made.status], tuple(warnings))


def property_facts(proof: PropertyProof) -> dict[str, Any]:
    """The result as data."""
    return {
        "status": proof.status,
        "verdict": VERDICTS[proof.status],
        "property": proof.text,
        "ending": proof.ending.name.lower(),
        "boxes": [{"low": box.low, "high": box.high} for box in proof.boxes],
        "point": proof.point,
        "low": proof.low,
        "high": proof.high,
        "proved": proof.proved,
        "open": len(proof.remaining),
        "remaining": [{"low": low, "high": high} for low, high in proof.remaining[:BOXES]],
        "delta": proof.delta,
        "cells": proof.cells,
        "seconds": proof.seconds,
        "assumed": proof.assumed,
    }
