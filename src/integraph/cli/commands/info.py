"""`integraph info` and `integraph describe`: what is in a file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from integraph.cli import options as a
from integraph.cli.facts import program_facts, segment_facts
from integraph.cli.output import Answer, command, waiting
from integraph.cli.paths import is_regular, loaded, proof_beside
from integraph.errors import FileError, UsageError

if TYPE_CHECKING:
    from integraph import Program

POINTS = 9  # times in each segment, for the stiffness
ALL = 2000  # terms of one segment whose equations are written out when it is asked for


def register(app: typer.Typer) -> None:
    for function in (info, describe):
        command(app, "Look")(function)


def info(file: a.ProgramFile) -> Answer:
    """Print the sizes, the largest rate, the stiffness and the error bounds of a program.

    If a proof lies beside FILE.integraph, as FILE.proof.json, print what it claims. integraph check checks it.

    [bold]Example[/bold]

    integraph info net.integraph
    """
    from integraph.program import summary

    program = loaded(file)
    size = file.stat().st_size
    with waiting("looking at trajectories"):
        stiff = summary.stiffness(program, POINTS)
    claims, said = _proof(program, file)
    data = program_facts(program) | {"stiffness": stiff[0], "file": file, "bytes": size, "proof": claims}
    rows = [*said, ("file", f"{file}, {size:,} bytes"), ("digest", program.digest)]
    return Answer(data, [summary.table(program, POINTS, stiff), *(f"{name:<18}{text}" for name, text in rows)])


def _proof(program: Program, file: Path) -> tuple[dict[str, Any] | None, list[tuple[str, str]]]:
    """What the proof beside a program claims, as data and in words. Nothing of it is checked here."""
    import numpy as np

    from integraph import Certificate
    from integraph.api.origin import recalled
    from integraph.certify.statement import of_program
    from integraph.program.summary import above, input_names, inputs_in

    path = proof_beside(file)
    if not is_regular(path):
        return None, []
    try:
        certificate = Certificate.load(path)
    except FileError as error:
        return None, [("proof", str(error))]
    if certificate.program != of_program(program):
        return None, [("proof", f"{path} is about another program")]
    low, high = np.array(certificate.box.low), np.array(certificate.box.high)
    check = f"integraph check {path} {file}{'' if recalled(program) else ' SOURCE'}"
    where = inputs_in(low, high, input_names(program))
    upper = certificate.upper if certificate.upper < math.inf else None
    claim = f"an error ≥ {certificate.lower:.3g}" if upper is None else f"an error ≤ {above(upper)}"
    row = f"{path} claims {claim} for {where}; {check} checks it"
    return {"file": path, "upper": upper, "low": low, "high": high}, [("proof", row)]


def describe(
    file: a.ProgramFile,
    segment: Annotated[
        int | None,
        typer.Option(help=f"Print only this segment, counted from 0, with all its equations (up to {ALL} terms)."),
    ] = None,
) -> Answer:
    """Print what each segment does: its equations, and a sentence for each block.

    [bold]Examples[/bold]

    integraph describe net.integraph

    integraph describe net.integraph --segment 3
    """
    from integraph.program import description

    program = loaded(file)
    if segment is not None and not 0 <= segment < program.depth:
        raise UsageError(f"--segment {segment}: the program has {program.depth} segments, 0 to {program.depth - 1}")
    numbers, spelled = (range(program.depth), description.SPELLED) if segment is None else ([segment], ALL)
    registers = [{"name": group.name, "shape": group.view.shape, "label": group.label} for group in program.registers]
    with waiting("describing", len(numbers)) as bar:
        lines, segments = description.legend_lines(program), []
        for number in numbers:
            lines += description.described(program, number, spelled).lines()
            segments.append(segment_facts(program, number, spelled))
            bar(1)
    output = description.outputs(program) if segment is None else []
    return Answer(
        program_facts(program) | {"registers": registers, "segments": segments}, [repr(program), "", *lines, *output]
    )
