"""`integraph paper`: the paper from beginning to end, computed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from integraph.cli.output import FAILED, GOOD, Answer, command, waiting
from integraph.cli.paths import PAGE, output
from integraph.text import clean

UNNAMED = "paper.html"  # the page, if --html names no file


def register(app: typer.Typer) -> None:
    command(app, "Prove", bare={"--html": UNNAMED})(paper)


def paper(
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Also write the table as an HTML page: {UNNAMED}, if you name no file."),
    ] = None,
) -> Answer:
    """Reproduce the paper: every lemma, remark, theorem, table and figure, and every known erratum.

    Each row is computed, not quoted. Exits with 1 if a row fails.

    [bold]Examples[/bold]

    integraph paper

    integraph paper --html

    integraph paper --html reproduction.html
    """
    from integraph.paper import ITEMS, reproduce

    page = None if html is None else output(html, PAGE, "--html")
    with waiting("reproducing", len(ITEMS)) as bar:

        def turn(name: str) -> None:
            bar.say(name)
            bar(1)

        reproduction = reproduce(turn)
        if page is not None:
            reproduction.save_html(page)
    text = [repr(reproduction)] + ([] if page is None else [f"wrote {clean(str(page))}"])
    return Answer(reproduction.data() | {"html": page}, text, GOOD if reproduction.holds else FAILED)
