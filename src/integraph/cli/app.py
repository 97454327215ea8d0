"""The command itself: its subcommands in the order of a first visit, and how it starts."""

from __future__ import annotations

import sys
from typing import Any

import typer

from integraph.cli.commands import (
    bench,
    bound,
    certify,
    compare,
    compile,
    evaluate,
    export,
    lemma4,
    lift,
    loop,
    paper,
    plan,
    prove,
    ranges,
    report,
    trace,
)
from integraph.cli.commands import info as showing
from integraph.cli.output import GOOD, INTERRUPTED, MISUSE, Group, ParserError, fail, telling
from integraph.cli.terminal import prepare

app = typer.Typer(
    name="integraph",
    cls=Group,
    help="Compile formulas, functions and trained networks into quadratic neural ODEs, and prove their error bounds.",
    epilog='Start with: integraph compile "sin(3*x)*exp(-y)"   ·   integraph paper   ·   integraph COMMAND --help',
    invoke_without_command=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from integraph import __version__

        print(f"integraph {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Every command takes --json, for programs that read the answer, and --debug."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


for module in (
    compile, lift, plan, showing, evaluate, trace, export, ranges, compare, report, certify, bound, prove, loop,
    paper, lemma4, bench,
):  # fmt: skip
    module.register(app)


def main() -> None:
    """The entry point. Misuse that the parser finds is told like any other, in JSON where JSON was asked for."""
    prepare()
    code: int | str | None = GOOD
    try:
        with telling():  # help, and the version
            code = app(prog_name="integraph", standalone_mode=False)
    except ParserError as error:
        code = _misused(error)
    except typer.Exit as done:
        code = done.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as end:  # of completion; or rich's way to say that nobody reads the help
        code = GOOD if isinstance(end.__context__, BrokenPipeError) else end.code
    sys.exit(code)


def _misused(error: Any) -> int:
    """Report the error, and return the exit code."""
    commands = {info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands}
    name = next((f" {part}" for part in sys.argv[1:] if part in commands), "")  # where the parser does not say it
    where = f"integraph{name}" if error.ctx is None else error.ctx.command_path
    try:
        fail("UsageError", f"{error.format_message()}\nsee {where} --help", MISUSE, "--json" in sys.argv[1:])
    except typer.Exit as done:
        return done.exit_code
