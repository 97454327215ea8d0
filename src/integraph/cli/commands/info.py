"""`integraph info` and `integraph describe`: what is in a file."""

from __future__ import annotations

from typing import Annotated

import typer

from integraph.cli import options as a
from integraph.cli.facts import program_facts, segment_facts
from integraph.cli.output import Answer, command, waiting
from integraph.cli.paths import loaded
from integraph.errors import UsageError

POINTS = 9  # times in each segment, for the stiffness
ALL = 2000  # terms of one segment whose equations are written out when it is asked for


def register(app: typer.Typer) -> None:
    for word in (info, describe):
        command(app, "Look")(word)


def info(file: a.ProgramFile) -> Answer:
    """Sizes, largest rate, stiffness, and what is known of the error.

    [bold]Example[/bold]

    integraph info net.integraph
    """
    from integraph.program import summary

    program = loaded(file)
    size = file.stat().st_size
    with waiting("looking at trajectories"):
        stiff = summary.stiffness(program, POINTS)
    data = program_facts(program) | {"stiffness": stiff[0], "file": file, "bytes": size}
    rows = [("file", f"{file}, {size:,} bytes"), ("digest", program.digest)]
    return Answer(data, [summary.table(program, POINTS, stiff), *(f"{name:<18}{text}" for name, text in rows)])


def describe(
    file: a.ProgramFile,
    segment: Annotated[
        int | None, typer.Option(help=f"Only this one, from 0 on, with all equations (up to {ALL} terms).")
    ] = None,
) -> Answer:
    """Each segment in words, and its equations where they are short.

    [bold]Examples[/bold]

    integraph describe net.integraph

    integraph describe net.integraph --segment 3
    """
    from integraph.program import summary

    program = loaded(file)
    if segment is not None and not 0 <= segment < program.depth:
        raise UsageError(f"--segment {segment}: the program has {program.depth} segments, 0 to {program.depth - 1}")
    numbers, spelled = (range(program.depth), summary.SPELLED) if segment is None else ([segment], ALL)
    with waiting("describing", len(numbers)) as bar:
        lines, segments = [], []
        for number in numbers:
            lines += summary.described(program, number, spelled)
            segments.append(segment_facts(program, number, spelled))
            left_out = segments[-1]["terms"] if not segments[-1]["equations"] else 0
            lines += [f"    {left_out:,} terms, too many to write out"] if left_out else []
            bar(1)
    return Answer(program_facts(program) | {"segments": segments}, [repr(program), "", *lines])
