"""The command itself: its words in the order of a first visit, and how it starts."""

from __future__ import annotations

import sys

import typer

from integraph.cli import compiling, showing
from integraph.cli.shell import MISUSE, fail

app = typer.Typer(
    name="integraph",
    help="Compile formulas, functions and trained networks into quadratic neural ODEs, and prove how far they are off.",
    epilog='Start with: integraph compile "sin(3*x)*exp(-y)"   ·   integraph paper   ·   integraph WORD --help',
    no_args_is_help=True,
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
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """All words take --json, for programs that read the answer, and --debug."""


for words in (compiling, showing):
    words.register(app)


def main() -> None:
    """The entry point. Misuse that the parser finds is JSON too where JSON was asked for."""
    as_json = "--json" in sys.argv[1:]
    try:
        code = app(standalone_mode=not as_json)
    except typer.Exit as done:
        code = done.exit_code
    except typer.exceptions.TyperException as error:
        try:
            fail("UsageError", error.format_message(), MISUSE, as_json)
        except typer.Exit as done:
            code = done.exit_code
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
