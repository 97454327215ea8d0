"""What all words of the command share: two ways to answer, one way to fail, a bar for whoever waits.

Results go to stdout, everything else to stderr. The exit code is 0 for good, 1 for refuted, failed or unknown, 2 for
misuse, 130 after Ctrl-C.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn, get_type_hints

import typer

from integraph.cli.plain import plain
from integraph.errors import FlowError, IntegraphError

GOOD, FAILED, MISUSE, INTERRUPTED = 0, 1, 2, 130
PATIENCE = 0.7  # seconds before a bar appears

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
SHARED: dict[str, Any] = {"json": Json, "debug": Debug}  # by every word


@dataclass(frozen=True)
class Answer:
    """What a word found out."""

    data: dict[str, Any]  # for --json
    text: Any  # for people: a text, something that rich can print, or a list of both
    code: int = GOOD


def command(app: typer.Typer, panel: str) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """A word of the command, with `--json` and `--debug`; its answer is printed, its errors are explained."""

    def register(word: Callable[..., Answer]) -> Callable[..., Answer]:
        @functools.wraps(word)
        def run(**arguments: Any) -> None:
            as_json, debug = arguments.pop("json"), arguments.pop("debug")
            with explained(as_json, debug):
                answer = word(**arguments)
                show(answer, as_json)
                sys.stdout.flush()
            raise typer.Exit(answer.code)

        hints = get_type_hints(word, include_extras=True) | SHARED
        own = [*inspect.signature(word).parameters.values()]
        own += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False) for name in SHARED]
        typed = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
        run.__signature__ = inspect.Signature(typed)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in typed}
        app.command(rich_help_panel=panel)(run)
        return word

    return register


@contextmanager
def explained(as_json: bool, debug: bool) -> Iterator[None]:
    """Errors as sentences, with the exit code that belongs to them."""
    try:
        yield
    except (typer.Exit, typer.BadParameter):
        raise
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(GOOD) from None
    except KeyboardInterrupt:
        fail("Interrupted", "interrupted: nothing was half-written", INTERRUPTED, as_json)
    except IntegraphError as error:
        if debug:
            traceback.print_exc()
        code = FAILED if isinstance(error, FlowError) else MISUSE
        fail(type(error).__name__, str(error), code, as_json)
    except Exception as error:  # a mistake of ours
        if debug:
            traceback.print_exc()
        hint = "" if debug else "\nThis is a mistake in integraph; --debug shows where."
        fail("InternalError", f"{type(error).__name__}: {error}{hint}", FAILED, as_json)


def fail(kind: str, message: str, code: int, as_json: bool) -> NoReturn:
    """An error, as a sentence on stderr or as JSON on stdout."""
    if as_json:
        print(json.dumps({"error": {"kind": kind, "message": message}}, ensure_ascii=False, indent=2))
    else:
        from rich.text import Text

        console(stderr=True).print(Text("error: ", style="bold red"), Text(message), sep="", soft_wrap=True)
    raise typer.Exit(code)


def show(answer: Answer, as_json: bool) -> None:
    if as_json:
        print(json.dumps(plain(answer.data), ensure_ascii=False, indent=2, allow_nan=False))
        return
    out = console()
    for part in answer.text if isinstance(answer.text, list) else [answer.text]:
        if isinstance(part, str):
            out.print(part, markup=False, highlight=False, soft_wrap=True)
        else:
            out.print(part)


def console(stderr: bool = False) -> Any:
    """Where a person reads. What goes into a file or a pipe has no width of its own, so tables are as wide as they need."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else 160)


@contextmanager
def waiting(what: str, total: float | None = None) -> Iterator[Callable[[float], None]]:
    """`with waiting("compiling") as advance`: a bar on stderr if it takes longer than a moment and a person waits."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console(stderr=True), transient=True)
    task = bar.add_task(what, total=total)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda steps: bar.advance(task, steps)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
