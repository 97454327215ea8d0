"""`integraph loop`: whether all trajectories of a closed loop meet a specification."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from integraph.cli import options as a
from integraph.cli.output import FAILED, GOOD, INTERRUPTED, MISUSE, UNDECIDED, Answer, command, waiting
from integraph.cli.paths import LOOP, PAGE, PROGRAM, FileKind, output, refuse_pipe
from integraph.errors import IntegraphError, UsageError
from integraph.text import clean, counted

if TYPE_CHECKING:
    from integraph.certify.loops.result import LoopResult

CODES = {"proved": GOOD, "refuted": FAILED, "unknown": UNDECIDED}
BOXES = 1000  # of cells that are open, in JSON
SHOWN = 5  # of them, in words
STATES, DIGITS = 12, 6  # of the last box, in words


def register(app: typer.Typer) -> None:
    command(app, "Prove")(loop)


def loop(
    file: Annotated[
        Path,
        typer.Argument(
            help="A .toml file with plant, controller, period, steps, start and spec.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    report: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Write the tube and simulations to this .html file.")
    ] = None,
    proof: Annotated[Path | None, typer.Option("--output", "-o", help="Write the proof to this .json file.")] = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the loop, as one program, to this file: loop.integraph, loop.c, …"),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(help="Format of that file: cora, juliareach, flowstar, dreal, … Default: that of the suffix."),
    ] = None,
    eps: Annotated[
        float | None,
        typer.Option(
            help="With --export: how far smoothed kinks, of relu or of limits, may be off.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="With --export: largest number of terms. Default: that of the format.")
    ] = None,
    cells: Annotated[
        int | None, typer.Option(help="Largest number of cells of the start set. Default: that of the file, or 256.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Time limit. Default: that of the file, or 60.", show_default=False)
    ] = None,
    workers: a.Workers = None,
    scheduler: a.Scheduler = None,
) -> Answer:
    """Prove that a plant under a sampled controller meets its specification from every start, or find one that fails.

    Exits with 0 if it is proved, with 1 if it is refuted, and with 3 if it remains open.
    Ctrl-C ends the search and says how much is proved.

    [bold]Examples[/bold]

    integraph loop pendulum.toml

    integraph loop pendulum.toml --report tube.html -o tube.proof.json

    integraph loop pendulum.toml --export pendulum.m --to cora --eps 1e-3
    """
    import integraph
    from integraph.api.loop_file import read_loop

    page = None if report is None else output(report, PAGE, "--report", [file])
    certificate = None if proof is None else output(proof, LOOP, "-o", [file])
    target = None if export is None else _target(export, to, file)
    if eps is not None and export is None:
        raise UsageError("it is the tolerance of the program that --export writes: give --export too", argument="--eps")
    if to is not None and export is None:
        raise UsageError("it is the format of the file that --export writes: give --export too", argument="--to")
    if limit is not None and export is None:
        raise UsageError("it is about the file that --export writes: give --export too", argument="--limit")
    refuse_pipe(file)
    arguments = read_loop(file)
    if export is not None and arguments.get("disturbances"):
        raise UsageError("a program has no disturbances, and this loop has: leave --export out", argument="--export")
    arguments |= {name: value for name, value in (("cells", cells), ("seconds", seconds)) if value is not None}
    result = integraph.loop(**arguments, workers=workers, scheduler=scheduler)
    data, text, warnings = loop_facts(result), [repr(result), *_end(result), *_open_cells(result)], []
    code = INTERRUPTED if result.interrupted else CODES[result.answer.value]
    if certificate is not None and result.answer.value != "unknown":
        try:
            with waiting("certifying"):
                result.save(certificate, workers)
            data["written"] = certificate
            text.append(f"wrote {clean(str(certificate))}")
        except UsageError as reason:
            warnings.append(f"{reason}, so {clean(str(certificate))} was not written")
    elif certificate is not None:
        warnings.append(f"nothing is decided, so {clean(str(certificate))} was not written")
    if page is not None:
        with waiting("reporting") as bar:
            integraph.report(result, page, progress=bar.say)
        data["report"] = page
        text.append(f"wrote {clean(str(page))}")
    if target is not None:
        path, format = target
        try:
            with waiting("compiling"):
                program = integraph.loop_program(result, eps=eps)
                program.save(path) if format is None else program.export(path, format, limit=limit)
            data["exported"] = path
            text.append(f"wrote {clean(str(path))}")
        except IntegraphError as reason:
            warnings.append(f"{reason}, so {clean(str(path))} was not written")
            code = MISUSE
    return Answer(data, text, code, tuple(warnings))


def _target(export: Path, to: str | None, file: Path) -> tuple[Path, str | None]:
    """Where the loop goes, and in which format; None is a program file."""
    if to is None and export.suffix.lower() in PROGRAM.suffixes:
        return output(export, PROGRAM, "--export", [file]), None
    from integraph.export.formats import format_named

    chosen = format_named(to, export)
    kind = FileKind(f"the format {chosen.name}", (export.suffix.lower(),))
    return output(export, kind, "--export", [file]), chosen.name


def _end(result: LoopResult) -> list[str]:
    """The last box of a proof, rounded outward."""
    from integraph.program.summary import between

    if result.answer.value != "proved":
        return []
    ends = zip(result.loop.states, result.boxes()[-1].tolist(), strict=True)
    sides = [f"{name} in {between(low, high, DIGITS)}" for name, (low, high) in ends]
    more = [f"… and {counted(len(sides) - STATES, 'more state')}"] if len(sides) > STATES else []
    return [f"at t = {result.loop.steps * result.loop.period:.6g}: {', '.join(sides[:STATES] + more)}"]


def _open_cells(result: LoopResult) -> list[str]:
    """The cells that are not proved, a line for each of the first ones."""
    if result.answer.value != "unknown":
        return []
    lines = []
    for cell in result.open[:SHOWN]:
        sides = zip(result.loop.states, cell.low, cell.high, strict=True)
        where = ", ".join(f"{name} in [{low:g}, {high:g}]" for name, low, high in sides)
        why = cell.reason or f"its boxes do not decide {result.undecided(cell)}"
        lines.append(f"open: {where}: {why} (reached t = {cell.reached * result.loop.period:.4g})")
    more = len(result.open) - len(lines)
    return [*lines, f"… and {counted(more, 'more open cell')}"] if more else lines


def loop_facts(result: LoopResult) -> dict[str, Any]:
    """The result as data."""
    return {
        "status": result.answer.value,
        "specification": [clause.text for clause in result.spec.clauses],
        "clauses": [answer.value for answer in result.clauses],
        "states": result.loop.states,
        "start": result.start,
        "disturbance": result.disturbance,
        "share": result.share,
        "proved": len(result.proved),
        "open": len(result.open),
        "cells": [{"low": cell.low, "high": cell.high, "reason": cell.reason} for cell in result.open[:BOXES]],
        "boxes": result.boxes(),
        "period": result.loop.period,
    }
