"""`integraph report`: a program on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from integraph.cli import options as a
from integraph.cli.inputs import box_of, inputs_of, names_of, source_of, values_of
from integraph.cli.output import Answer, command, waiting
from integraph.cli.paths import PAGE, loaded, output, refuse_pipe
from integraph.errors import UsageError
from integraph.text import clean

NO_SOURCE = "the program does not name its source and none is given, so there is no picture of the error: give SOURCE"


def register(app: typer.Typer) -> None:
    command(app, "Look")(report)


def report(
    file: a.ProgramFile,
    source: a.MaybeSource = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the page to this file. Default: FILE with the suffix .html."
        ),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write every picture to a file in this folder.")
    ] = None,
    formats: Annotated[
        str,
        typer.Option("--format", metavar="NAMES", help="Format of these files: png, svg or pdf, or several: png,pdf."),
    ] = "png",
    box: a.ProgramBox = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="PROOF", help="Show this proof, as certify -o writes it.")
    ] = None,
    variables: a.Variables = None,
    parameters: a.Parameters = None,
    inputs: a.Inputs = None,
) -> Answer:
    """Write a report: one self-contained HTML page with all pictures, error bounds and equations.

    [bold]Examples[/bold]

    integraph report bell.integraph

    integraph report net.integraph net.onnx -o net.html --certificate net.proof.json

    integraph report net.integraph net.onnx --figures pictures --format svg,pdf
    """
    from integraph.api.origin import recalled
    from integraph.report import report as write

    read = [file, certificate, None if source is None else Path(source)]
    page = output(file.with_suffix(PAGE.suffixes[0]) if save is None else save, PAGE, "-o", read)
    wanted = [name.strip().lower() for name in formats.split(",")]
    if figures is None and wanted != ["png"]:
        raise UsageError(
            f"--format {formats} is for the files that --figures DIR writes: add --figures DIR, or leave it out"
        )
    if certificate is not None:
        refuse_pipe(certificate)
    program = loaded(file)
    given = None if source is None else source_of(source)
    with waiting("reporting") as bar:
        written = write(
            program, page, given, box=box_of(box), variables=names_of(variables), inputs=inputs_of(inputs),
            parameters=values_of(parameters), proof=certificate, figures=figures, formats=wanted, progress=bar.say,
        )  # fmt: skip
    text = [f"wrote {clean(str(written))}"] + ([] if figures is None else [f"pictures are in {clean(str(figures))}"])
    data = {"report": written, "figures": figures, "formats": None if figures is None else wanted}
    return Answer(data, text, warnings=(NO_SOURCE,) if given is None and recalled(program) is None else ())
