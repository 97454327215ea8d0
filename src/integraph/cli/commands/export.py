"""`integraph export`: the ODE of a program as a file for another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from integraph.cli.output import Answer, command, waiting
from integraph.cli.paths import FileKind, loaded, output
from integraph.errors import UsageError
from integraph.text import clean, counted


def register(app: typer.Typer) -> None:
    command(app, "Take elsewhere")(export)


def export(
    file: Annotated[
        Path | None,
        typer.Argument(help="A program file, as compile -o writes it.", metavar="FILE", show_default=False),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Argument(help="The file to write: wave.c, wave.sbml, …", metavar="TARGET", show_default=False),
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="Format. Default: that of the suffix. --list names them all.", metavar="FORMAT")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the model in the file. Default: from the name of TARGET.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Largest number of terms. Default: that of the format.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="An option of the format: precision=float32. Repeat it for others.", metavar="NAME=VALUE"
        ),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the formats, and the options that they take.")] = False,
) -> Answer:
    """Write the ODE for another tool: C, ONNX, FMU, SBML, SPICE, MATLAB, a reach tool, LaTeX, …

    [bold]Examples[/bold]

    integraph export --list

    integraph export wave.integraph wave.c

    integraph export wave.integraph wave.onnx --set precision=float32

    integraph export wave.integraph wave.py --to heyoka
    """
    from integraph.export.formats import format_named

    if listing:
        return _list()
    if file is None or target is None:
        raise UsageError("give the program file and the file to write: integraph export wave.integraph wave.c")
    chosen = format_named(to, target)
    program = loaded(file)
    where = output(target, FileKind(f"the format {chosen.name}", (target.suffix.lower(),)), "TARGET", [file])
    with waiting("writing"):
        program.export(where, chosen.name, limit=limit, name=name, **_settings(chosen.options(), settings or []))
    size = where.stat().st_size
    data = {"file": where, "format": chosen.name, "bytes": size, "terms": program.terms, "exact": chosen.exact}
    exact = "every number to the last bit" if chosen.exact else "not bit-exact: see its header"
    return Answer(data, f"wrote {clean(str(where))}: {chosen.what}; {counted(program.terms, 'term')}, {exact}")


def _settings(known: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """The values as their defaults are: numbers, words, or true and false."""
    values: dict[str, Any] = {}
    for word in words:
        option, equals, text = (part.strip() for part in word.partition("="))
        if not equals:
            raise UsageError(f"--set {word}: write NAME=VALUE")
        default = known.get(option)
        if isinstance(default, bool):
            if text not in ("true", "false"):
                raise UsageError(f"--set {word}: the value is true or false")
            values[option] = text == "true"
        elif default is None or isinstance(default, str):
            values[option] = text
        else:
            try:
                values[option] = type(default)(text)
            except ValueError:
                raise UsageError(f"--set {word}: {text!r} is no number like {default}") from None
    return values


def _list() -> Answer:
    from rich.table import Table

    from integraph.export.formats import FORMATS

    table = Table(box=None, pad_edge=False)
    for column in ("format", "suffix", "what it is", "terms", "simulated in our tests by"):
        table.add_column(column, justify="right" if column == "terms" else "left")
    data = []
    for one in FORMATS:
        options = one.options()
        table.add_row(one.name, one.suffixes[0], one.what, f"{one.limit:,}", one.judge)
        if options:
            table.add_row(
                "", "", "  " + ", ".join(f"--set {key}={_shown(value)}" for key, value in options.items()), "", ""
            )
        data.append(
            {
                "format": one.name,
                "suffixes": list(one.suffixes),
                "what": one.what,
                "limit": one.limit,
                "exact": one.exact,
                "judge": one.judge,
                "options": options,
            }
        )
    return Answer({"formats": data}, table)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "…" if value is None else str(value)
