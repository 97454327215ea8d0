"""`integraph compile`: from a source to a program, on the screen or in a file, proved and reported if asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from integraph.cli import options as a
from integraph.cli.commands.certify import PROVED, proof_facts
from integraph.cli.facts import program_facts
from integraph.cli.inputs import box_beside, box_of, read_source, waiting_unless_called
from integraph.cli.namesakes import namesake
from integraph.cli.output import FAILED, GOOD, Answer, command, waiting
from integraph.cli.paths import PAGE, PROGRAM, PROOF, output, proof_beside
from integraph.cli.spot_value import centre
from integraph.errors import UsageError
from integraph.text import clean

if TYPE_CHECKING:
    from integraph import Program, Proof
    from integraph.frontends import Target

SHORT = 40  # lines of a description that are printed unasked
NO_PROMISE = (
    "no error is promised: it is not proved that every root, power, quotient and logarithm of the formula exists on "
    "the whole box (evaluation checks it at every point); give the input domain with --box"
)
SMOOTHED = (
    "no error is promised: a condition of the formula changes on the box, and is smoothed; the difference found is the "
    "largest at many points"
)


def register(app: typer.Typer) -> None:
    command(app, "Make")(compile)


def compile(
    source: a.Source,
    save: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the program to this .integraph file."),
    ] = None,
    eps: a.Eps = None,
    box: a.Box = None,
    method: a.Method = None,
    order: a.Order = None,
    width: a.Width = None,
    bound: a.Bound = None,
    free: a.Free = None,
    horizon: Annotated[
        float | None, typer.Option(help="Horizon T. Default: one unit of time for each segment.")
    ] = None,
    variables: a.Variables = None,
    parameters: a.Parameters = None,
    inputs: a.Inputs = None,
    max_calls: a.MaxCalls = None,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify", help="Prove the error bound; with -o FILE.integraph, write the proof to FILE.proof.json."
        ),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report, one HTML page, to this file.")
    ] = None,
) -> Answer:
    """Compile a formula, a network, a function or data into a quadratic neural ODE.

    With --certify, exits with 1 unless the error bound is proved; the program is written in any case.

    [bold]Examples[/bold]

    integraph compile "sin(3*x)*exp(-y)"

    integraph compile "a*sin(x)" --set a=pi/4

    integraph compile model.formula

    integraph compile "exp(-x^2)" --box=-2,2 -o bell.integraph --report bell.html

    integraph compile net.onnx --eps 1e-8 -o net.integraph --certify

    integraph compile "1/(1+x*y)" --method lean --eps 1e-4 --certify

    integraph compile mymodule:f --inputs 2 --eps 1e-3

    integraph compile density.csv --inputs 2
    """
    import integraph

    read = [Path(source)]
    to = None if save is None else output(save, PROGRAM, "-o", read)
    proof_to = output(proof_beside(to), PROOF, "--certify", read) if certify and to is not None else None
    page = None if report is None else output(report, PAGE, "--report", read)
    with waiting("compiling"):
        target = read_source(source, method, box, variables, inputs, parameters)
    with waiting_unless_called("compiling", target):
        program = integraph.compile(
            target, eps, box=box_of(box), method=method, order=order, width=width, bound=bound, free=free,
            horizon=horizon, max_calls=max_calls,
        )  # fmt: skip
    proof = _proof(program, target, eps) if certify else None
    if proof is not None and proof.certificate is not None:
        program = program.with_errors(proven=proof.upper)
    written = _written(program, target, proof, to, proof_to, page)
    seen = centre(program, target, box_beside(program, box))
    data = program_facts(program) | {"centre": seen.data, "proof": None if proof is None else proof_facts(proof)}
    text = [repr(program), "", *_described(program), "", seen.text]
    if proof is not None:
        text += ["", repr(proof)]
    text += [f"wrote {clean(str(path))}" for path in written.values()]
    code = GOOD if proof is None or proof.status == PROVED else FAILED
    warnings = tuple(_warnings(program, target, source))
    return Answer(data | {"files": written}, text, code, warnings, _next(program, to, page))


def _warnings(program: Program, target: Target, source: str) -> Iterator[str]:
    from integraph.api.origin import is_exact
    from integraph.program.origin import LOOK
    from integraph.targets import Function

    other = namesake(source)
    if other is not None:
        yield other
    if program.budget is None and is_exact(program) and isinstance(target, Function):
        smoothed = program.origin is not None and program.origin.options.get("smoothed") is True
        yield SMOOTHED if smoothed else NO_PROMISE
    covered = None if program.origin is None else program.origin.options.get("covered")
    if isinstance(covered, float):
        yield f"the rows cover {100 * covered:.3g} % of the box: elsewhere the program extrapolates"
    look = None if program.origin is None else program.origin.options.get(LOOK)
    if look is not None:
        yield f"the function looks like {look}: between the points where it was called, the error may be much larger"


def _proof(program: Program, target: Target, eps: float | None) -> Proof:
    """Of what the program promises, or of `eps` if it promises nothing."""
    import integraph
    from integraph.certify.search.stop import Stop
    from integraph.targets import Function, Network

    if not isinstance(target, Function | Network):
        raise UsageError(
            "--certify proves formulas and feedforward networks only: leave it out; integraph compare measures the "
            "difference at sample points"
        )
    proof = integraph.certify(program, target, eps if program.budget is None else None)
    if proof.stopped is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    return proof


def _written(
    program: Program,
    target: Target,
    proof: Proof | None,
    to: Path | None,
    proof_to: Path | None,
    page: Path | None,
) -> dict[str, Path]:
    """Write the files, and return their paths. The report takes longest and can fail, so it comes first."""
    paths = {}
    if page is not None:
        from integraph.report import report

        with waiting("reporting") as bar:
            paths["report"] = report(program, page, target, proof=proof, progress=bar.say)
    if proof_to is not None and proof is not None and proof.certificate is not None:
        proof.certificate.save(proof_to)
        paths["proof"] = proof_to
    if to is not None:
        program.save(to)
        paths["program"] = to
    return paths


def _described(program: Program) -> list[str]:
    """All segments, if they are short."""
    if program.depth <= SHORT:
        lines = program.describe().splitlines()
        if len(lines) <= SHORT:
            return lines
    return [f"{program.depth} segments; integraph describe shows each of them"]


def _next(program: Program, to: Path | None, page: Path | None) -> str:
    """What a person may want to do with it."""
    from integraph.api.origin import recalled

    if to is None:
        return "to keep the program, add -o NAME.integraph" + "; to see it, --report NAME.html" * (page is None)
    commands = [f"integraph eval {to} POINT", f"integraph trace {to}", f"integraph export {to} TARGET"]
    if page is None:
        commands.append(f"integraph report {to}" + " SOURCE" * (recalled(program) is None))
    return ", ".join(commands)
