"""`integraph info` and `integraph describe`: what is in a file."""

from __future__ import annotations

import typer

from integraph.cli import arguments as a
from integraph.cli.facts import program_facts
from integraph.cli.shell import Answer, command, waiting


def register(app: typer.Typer) -> None:
    for word in (info, describe):
        command(app, "Look")(word)


def info(file: a.ProgramFile) -> Answer:
    """Sizes, largest rate, stiffness, and what is known of the error.

    [bold]Example[/bold]

    integraph info net.integraph
    """
    import integraph

    with waiting("reading"):
        program = integraph.load(file)
        return Answer(program_facts(program), program.summary())


def describe(file: a.ProgramFile) -> Answer:
    """Each segment in words, and its equations where they are short.

    [bold]Example[/bold]

    integraph describe net.integraph
    """
    import integraph

    with waiting("reading"):
        program = integraph.load(file)
    segments = [
        {"label": s.label, "duration": s.duration, "blocks": [b.op.words(b) for b in s.blocks]}
        for s in program.segments
    ]
    return Answer(program_facts(program) | {"segments": segments}, [repr(program), "", program.describe()])
