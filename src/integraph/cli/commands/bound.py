"""`integraph bound`: between which numbers every output is, for all inputs of a box."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from integraph.cli import options as a
from integraph.cli.inputs import box_of, inputs_of, names_of, source_of, values_of
from integraph.cli.output import FAILED, GOOD, INTERRUPTED, Answer, command
from integraph.cli.paths import is_program, loaded
from integraph.errors import UsageError

if TYPE_CHECKING:
    from integraph.certify.bounds.bounds import Bounds

ROWS = 40  # of the table


def register(app: typer.Typer) -> None:
    command(app, "Prove")(bound)


def bound(
    source: a.BoundSource,
    box: a.EitherBox = None,
    gap: Annotated[
        float | None,
        typer.Option(help="Tighten until every bound exceeds what is attained by at most this part of the width: 0.01"),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Tighten for so long. Default: 60 with --gap, else not at all.")
    ] = None,
    registers: Annotated[
        bool, typer.Option("--registers", help="Also the range of every register of a program, at all times.")
    ] = False,
    workers: a.Workers = None,
    scheduler: a.Scheduler = None,
    variables: a.Variables = None,
    parameters: a.Parameters = None,
    inputs: a.Inputs = None,
) -> Answer:
    """Prove between which numbers every output is, for all inputs of a box.

    Beside each bound stands a value that the output provably attains, so the true range is known to within the gap.
    Exits with 0, and with 1 if an output has no finite bound or --gap is not reached.
    Ctrl-C ends the search and keeps what is proved.

    [bold]Examples[/bold]

    integraph bound net.onnx --box "[-1,1]^2"

    integraph bound "sin(3*x)*exp(-y)" --gap 0.001

    integraph bound net.integraph --registers --json
    """
    import integraph
    from integraph.certify.bounds.bounds import Ending

    path = Path(source.strip())
    if registers and not is_program(path):
        raise UsageError(f"--registers: {source} is no program, and has no registers: integraph compile it first")
    bounds = integraph.bound(
        loaded(path) if is_program(path) else source_of(source), box_of(box), gap=gap, seconds=seconds,
        workers=workers, scheduler=scheduler, variables=names_of(variables), inputs=inputs_of(inputs),
        parameters=values_of(parameters),
    )  # fmt: skip
    data, text = _facts(bounds), [bounds.head, "", _table(bounds), "", bounds.foot]
    if registers:
        ranges = bounds.registers
        data["registers"] = {"names": ranges.names, "low": ranges.low.min(0), "high": ranges.high.max(0)}
        text += ["", repr(ranges), "", ranges.table()]
    if bounds.ending is Ending.INTERRUPTED:
        return Answer(data, text, INTERRUPTED)
    reached = gap is None or bounds.ending is Ending.GAP
    return Answer(data, text, GOOD if reached and bool((bounds.width < math.inf).all()) else FAILED)


def _facts(bounds: Bounds) -> dict[str, Any]:
    """Bounds as data."""
    names = ("low", "high", "attained_low", "attained_high", "lowest", "highest", "gap", "cells", "open", "seconds")
    data: dict[str, Any] = {name: getattr(bounds, name) for name in names}
    return data | {"ending": bounds.ending.name.lower(), "box": {"low": bounds.box.low, "high": bounds.box.high}}


def _table(bounds: Bounds) -> Any:
    from rich.table import Table

    drawn = Table(box=None, pad_edge=False)
    for heading in ("output", "low", "high", "attained low", "attained high", "gap"):
        drawn.add_column(heading, justify="right")
    for n in range(min(ROWS, len(bounds.low))):
        drawn.add_row(str(n), *bounds.row(n))
    return drawn
