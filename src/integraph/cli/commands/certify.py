"""`integraph certify` and `integraph check`: prove a bound, and check a proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from integraph.cli import options as a
from integraph.cli.inputs import beside, box_of, read_source
from integraph.cli.output import FAILED, GOOD, INTERRUPTED, Answer, command, waiting
from integraph.cli.paths import PROOF, loaded, output, refuse_pipe, save_proof
from integraph.errors import UsageError
from integraph.text import counted

if TYPE_CHECKING:
    from integraph import Proof

PROVED = "proved"


def register(app: typer.Typer) -> None:
    for function in (certify, check):
        command(app, "Prove")(function)


def certify(
    file: a.ProgramFile,
    source: a.MaybeSource = None,
    eps: Annotated[float | None, typer.Option(help="Error bound to prove. Default: what the program promises.")] = None,
    box: Annotated[
        str | None, typer.Option(metavar="BOX", help="Input domain: 0,1;-2,2. Default: that of the promise.")
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(help="Tighten the bound until it exceeds the difference found by at most this fraction: 0.1."),
    ] = None,
    boxes: Annotated[int, typer.Option(min=1, metavar="COUNT", help="Largest number of boxes.")] = 100_000,
    seconds: Annotated[float, typer.Option(help="Time limit.")] = 60.0,
    workers: a.Workers = None,
    scheduler: a.Scheduler = None,
    proof: Annotated[Path | None, typer.Option("--output", "-o", help="Write the proof to this .json file.")] = None,
    variables: a.Variables = None,
    parameters: a.Parameters = None,
    inputs: a.Inputs = None,
) -> Answer:
    """Prove an error bound: how far a program can be from its source anywhere in a box.

    For a program that was compiled exactly the default bound is 1e-12, or its promise if that is larger;
    for that of a lifted system it is 1e-10, and SOURCE is its equations.
    Exits with 0 if the bound is proved, and with 1 if it is refuted, undecided, or --gap is not reached.
    Ctrl-C ends the search and keeps what is proved.

    [bold]Examples[/bold]

    integraph certify net.integraph net.onnx -o net.proof.json

    integraph certify bell.integraph --eps 1e-9

    integraph certify bell.integraph --gap 0.1 --seconds 300
    """
    import integraph
    from integraph.certify.search.stop import Stop

    target = None if proof is None else output(proof, PROOF, "-o", [file])
    program = loaded(file)
    proof_target, origin = beside(program, source, box, variables, inputs, parameters)
    made = integraph.certify(
        program, proof_target, eps, box=box_of(box), gap=gap, boxes=boxes, seconds=seconds,
        workers=workers, scheduler=scheduler,
    )  # fmt: skip
    data, text = {"source": origin} | proof_facts(made), [f"source: {origin}", repr(made)]
    warnings = save_proof(made.certificate, target, "nothing is proved", data, text)
    done = made.status == PROVED and not (made.stopped.early and gap is not None)  # the gap is reached
    ended = INTERRUPTED if made.stopped is Stop.INTERRUPTED else FAILED
    return Answer(data, text, GOOD if done else ended, tuple(warnings))


def proof_facts(proof: Proof) -> dict[str, Any]:
    """A proof as data."""
    return {
        "status": proof.status,
        "reason": proof.reason,
        "stopped": proof.stopped.value,
        "eps": proof.eps,
        "gap": proof.gap,
        "promised": proof.promised,
        "proven": proof.proven,
        "seen": proof.seen,
        "lower": proof.lower,
        "point": proof.point,
        "low": proof.box.low,
        "high": proof.box.high,
        "boxes": proof.boxes,
        "bits": proof.precision,
        "seconds": proof.seconds,
        "assumed": proof.assumed,
    }


def check(
    proof: Annotated[
        Path, typer.Argument(help="A proof, as certify -o or prove -o writes it.", metavar="PROOF", show_default=False)
    ],
    file: Annotated[
        str,
        typer.Argument(
            help="The program file; for a property of a source, that source; for a closed loop, its .toml file.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    source: a.MaybeSource = None,
    workers: a.Workers = None,
    variables: a.Variables = None,
    parameters: a.Parameters = None,
    inputs: a.Inputs = None,
) -> Answer:
    """Check a proof by computing everything that it claims again.

    The check is independent of the search that found the proof.
    Exits with 0 only if the proof holds and proves what was asked for.

    [bold]Examples[/bold]

    integraph check net.proof.json net.integraph net.onnx

    integraph check bell.proof.json bell.integraph

    integraph check safe.json net.onnx

    integraph check tube.proof.json pendulum.toml
    """
    import integraph
    from integraph.api.certificates import parsed_certificate
    from integraph.certify.loops.certificate import LoopCertificate
    from integraph.cli.paths import is_program

    refuse_pipe(proof)
    certificate = parsed_certificate(proof)
    of_source = isinstance(certificate, integraph.PropertyCertificate) and not certificate.program
    subject: Any
    target: Any
    if of_source and is_program(Path(file)):
        raise UsageError(f"the proof is about a source, and {file} is a program: give what it is compiled from")
    reading: dict[str, Any] = {}
    if isinstance(certificate, LoopCertificate):
        subject, target, origin = file, source, file
        reading = {"variables": variables, "inputs": inputs, "parameters": parameters or None}
    elif of_source:
        subject, target, origin = read_source(file, None, None, variables, inputs, parameters), source, file
    else:
        subject = loaded(Path(file))
        target, origin = beside(subject, source, None, variables, inputs, parameters)
    with waiting("checking"):
        checked = integraph.check(certificate, subject, target, workers=workers, **reading)
    assumed: tuple[str, ...] = ()
    if checked.holds:  # else it is anybody's text
        assumed = certificate.assumed
    data = {
        "source": origin,
        "holds": checked.holds,
        "status": checked.status,
        "claim": checked.claim,
        "reason": checked.reason,
        "assumed": assumed,
        "boxes": checked.boxes,
        "seconds": checked.seconds,
    }
    verdict = f"the proof holds: {checked.status}" if checked.holds else f"the proof does not hold: {checked.reason}"
    claims = "what is proved" if checked.holds else "what it claims"
    work = f"{counted(checked.boxes, 'box')} computed again in {checked.seconds:.2g} s"
    text = [f"source: {origin}", verdict, f"{claims}: {checked.claim}", *(f"assumed: {one}" for one in assumed), work]
    return Answer(data, text, GOOD if checked.holds and checked.status == PROVED else FAILED)
