"""`integraph eval`: the program at points."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from integraph.cli import options as a
from integraph.cli.output import Answer, command, waiting
from integraph.cli.paths import TABLE, loaded, output
from integraph.cli.points import points_of
from integraph.text import clean, counted

if TYPE_CHECKING:
    from integraph import Program
    from integraph.numbers.arrays import Floats
    from integraph.program import Flow

WORK = {"exact": 50_000_000, "taylor": 500_000}  # terms times points of a piece, for a bar that moves
SLOW = 20_000  # of other engines
ROWS = 100_000  # of a table that are written at once


def register(app: typer.Typer) -> None:
    command(app, "Look", "eval")(evaluate)


def evaluate(
    file: a.ProgramFile,
    points: a.Points = None,
    table: a.Table = None,
    engine: a.Engine = None,
    rtol: Annotated[
        float, typer.Option(help="Relative tolerance of the step-by-step engines taylor and oracle.")
    ] = 1e-12,
    save: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the outputs to this .csv or .npy file instead of printing them."),
    ] = None,
) -> Answer:
    """Evaluate a program at points, and print one line of outputs for each.

    [bold]Examples[/bold]

    integraph eval bell.integraph -0.3 0.5 1.2

    integraph eval wave.integraph 0.3,0.8 0.1,-0.2

    integraph eval net.integraph --points inputs.csv -o outputs.csv

    integraph eval net.integraph --points inputs.npy --engine taylor --rtol 1e-9 --json
    """
    to = None if save is None else output(save, TABLE, "-o", [file, table])
    program = loaded(file)
    x, warnings = points_of(points, table, program)
    flow = flow_of(program, x, engine, rtol).check()
    strangers = outside(program, x)
    data = {"engine": flow.engine, "points": len(x), "outside": strangers}
    warnings += (_warning(program, strangers, len(x)),) if strangers else ()
    if to is None:
        return Answer(data | {"outputs": flow.outputs}, "\n".join(_lines(flow.outputs)), warnings=warnings)
    _write(to, flow.outputs)
    wrote = f"{counted(len(x), 'point')} by engine {flow.engine}, wrote {clean(str(to))}"
    return Answer(data | {"output": to}, wrote, warnings=warnings)


def flow_of(program: Program, x: Floats, engine: str | None, rtol: float) -> Flow:
    """One flow, computed in pieces so that a bar can move."""
    import numpy as np

    from integraph.program.engine import engine_named, first_able

    chosen = (first_able(program) if engine is None else engine_named(program, engine)).name
    size = max(1, WORK.get(chosen, SLOW) // max(program.terms, 1))
    parts = []
    with waiting(f"evaluating, engine {chosen}", len(x)) as bar:
        for first in range(0, len(x), size):
            flow = program.flow(x[first : first + size], chosen, rtol=rtol)
            failures = tuple(replace(failure, input=failure.input + first) for failure in flow.failures)
            parts.append(replace(flow, failures=failures))
            bar(len(flow.outputs))
    failures = tuple(failure for part in parts for failure in part.failures)
    steps = sum(part.steps for part in parts)
    return replace(parts[0], outputs=np.concatenate([p.outputs for p in parts]), failures=failures, steps=steps)


def outside(program: Program, x: Floats) -> int:
    """How many points are outside the box of the program."""
    import numpy as np

    box = program.box
    return 0 if box is None else int(np.count_nonzero(((x < box.low) | (x > box.high)).any(1)))


def _warning(program: Program, count: int, of: int) -> str:
    from integraph.program.summary import named_box

    assert program.box is not None
    box = named_box(program.box.low, program.box.high)
    why = "where the error is promised" if program.budget else "for which the program was made"
    return f"{count:,} of {of:,} points {'is' if count == 1 else 'are'} outside {box}, {why}"


def _lines(outputs: Floats) -> list[str]:
    """Shortest texts that read back as the same numbers."""
    return [",".join(map(repr, row)) for row in outputs.tolist()]


def _write(path: Path, outputs: Floats) -> None:
    """Whole or not at all."""
    import numpy as np

    from integraph.files import atomic

    with atomic(path) as file, waiting(f"writing {clean(str(path))}", len(outputs)) as bar:
        if path.suffix.lower() == ".npy":
            np.save(file, outputs, allow_pickle=False)
            return
        m = outputs.shape[1]
        file.write((",".join(f"output[{n}]" for n in range(m)) if m > 1 else "output").encode() + b"\n")
        for first in range(0, len(outputs), ROWS):
            rows = outputs[first : first + ROWS]
            file.write("".join(f"{line}\n" for line in _lines(rows)).encode())
            bar(len(rows))
