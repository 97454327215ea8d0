"""What all commands share: two ways to answer, one way to fail.

Results go to stdout, everything else to stderr. The exit code is 0 for good, 1 for refuted, failed or unknown, 2 for
misuse, 3 for a property that is neither proved nor refuted, 130 after Ctrl-C.
"""

from __future__ import annotations

import errno
import functools
import inspect
import json
import math
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn, cast, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo

from integraph.cli.terminal import put, remark, silence
from integraph.cli.terminal import waiting as waiting
from integraph.errors import FileError, FlowError, IntegraphError, SourceError, UsageError

GOOD, FAILED, MISUSE, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130
MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, None)
# what typer's parser raises: it has no name that lasts
ParserError = cast(type[Exception], typer.BadParameter.__mro__[1])

FILE = re.compile(r"\.[A-Za-z]+$")  # how a text ends that names a file, and no formula

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
SHARED: dict[str, Any] = {"json": Json, "debug": Debug}  # by every command


@dataclass(frozen=True)
class Answer:
    """The result of a command."""

    data: dict[str, Any]  # for --json
    text: Any  # for people: a text, something that rich can print, or a list of both
    code: int = GOOD
    warnings: tuple[str, ...] = ()  # in both
    hint: str = ""  # what a person may want to do next


class Untyped:
    """Help without a type beside flags, which take no value, and without braces around arguments in the usage."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for flag in (param for param in params if getattr(param, "is_flag", False)):
            flag.metavar = ""
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]


INSTEAD = {  # what other tools call it, and what to type here
    "run": "integraph eval FILE POINTS",
    "plot": "integraph report FILE --figures FOLDER, or integraph trace FILE -o PICTURE.png",
    "verify": "integraph prove SOURCE PROPERTY, or integraph certify FILE for the error of a program",
    "show": "integraph describe FILE",
    "help": "integraph --help",
}


class Group(Untyped, TyperGroup):
    """The command itself, which knows what other tools call things."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except ParserError as error:
            if args[0] in INSTEAD:
                error.message = f"There is no command {args[0]!r}: type {INSTEAD[args[0]]}"  # type: ignore[attr-defined]
            raise


class Command(Untyped, TyperCommand):
    """A command whose arguments may begin with a minus sign: -0.3 is a number, -cos(x) a formula, and -o an option,
    also in -oFILE where the file has a suffix: -omega is a formula."""

    bare: Mapping[str, str] = {}  # options whose value may be left out, and what it is then

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        end = args.index("--") if "--" in args else len(args)
        meant: list[str] = []
        for arg, following in zip(args[:end], [*args[1:end], "-"], strict=False):
            if arg[:1] != "-" or arg[1:2] == "-" or arg in known | {"-"}:
                meant.append(arg)
            elif arg[:2] in known and FILE.search(arg):
                meant += [arg[:2], arg[2:]]
            else:  # a space says to the parser that this is no option, and nothing to readers of numbers and formulas
                meant.append(f" {arg}")
            if arg in self.bare and following[:1] == "-":
                meant.append(self.bare[arg])
        try:
            return super().parse_args(ctx, meant + args[end:])
        except ParserError as error:
            for name, value in ((arg[1:3], arg[3:]) for arg in meant if arg[:1] == " " and arg[1:3] in known):
                error.message += f" Is {name}{value} a formula, or do you mean {name} {value}?"  # type: ignore[attr-defined]
            raise


def command(
    app: typer.Typer,
    panel: str,
    name: str | None = None,
    bare: Mapping[str, str] | None = None,
    called: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """A command with `--json` and `--debug`; its answer is printed, its errors are explained. `bare`: see `Command`.
    `called` are arguments of Python that have another name at the prompt."""

    def register(function: Callable[..., Answer]) -> Callable[..., Answer]:
        options = option_names(function) | dict(called or {})

        @functools.wraps(function)
        def run(**arguments: Any) -> None:
            as_json, debug = arguments.pop("json"), arguments.pop("debug")
            with explained(as_json, debug, options), redirect_stdout(sys.stderr):  # a user's module prints no results
                answer = function(**arguments)
            show(answer, as_json)
            raise typer.Exit(answer.code)

        hints = get_type_hints(function, include_extras=True) | SHARED
        own = [*inspect.signature(function).parameters.values()]
        own += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False) for name in SHARED]
        typed = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
        run.__signature__ = inspect.Signature(typed)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in typed}
        own_class = type("Command", (Command,), {"bare": bare or {}})
        app.command(name, cls=own_class, rich_help_panel=panel)(run)
        return function

    return register


def option_names(function: Callable[..., Answer]) -> dict[str, str]:
    """What the parameters of a command are called at the prompt: `--eps`, or SOURCE."""
    hints = get_type_hints(function, include_extras=True)
    return {name: _option(name, hints[name].__metadata__[0]) for name in inspect.signature(function).parameters}


def _option(parameter: str, info: Any) -> str:
    if isinstance(info, ArgumentInfo):
        return info.metavar or parameter.upper()
    names = [name for name in (info.default, *(info.param_decls or ())) if isinstance(name, str) and name[:2] == "--"]
    return names[0] if names else f"--{parameter.replace('_', '-')}"


@contextmanager
def explained(as_json: bool, debug: bool, options: Mapping[str, str]) -> Iterator[None]:
    """Errors as sentences, with the exit code that belongs to them. `options` are what arguments are called."""
    try:
        yield
    except (typer.Exit, ParserError):
        raise
    except KeyboardInterrupt:
        fail("Interrupted", "interrupted: nothing was half-written", INTERRUPTED, as_json)
    except (Exception, SystemExit) as error:
        if debug:
            traceback.print_exc()
        kind, message, code, more = _verdict(error, debug, options)
        fail(kind, message, code, as_json, **more)


@contextmanager
def telling() -> Iterator[None]:
    """For writing to stdout. A reader that has gone is no error; output that cannot be written is one, on stderr."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough
        silence(sys.stdout)
    except OSError as error:
        silence(sys.stdout)
        remark("error", "bold red", f"cannot write to stdout: {error.strerror or error}")
        raise typer.Exit(FAILED) from None


def _verdict(
    error: Exception | SystemExit, debug: bool, options: Mapping[str, str]
) -> tuple[str, str, int, dict[str, Any]]:
    """What kind of error it is, what to say, how to exit, and what else JSON says."""
    kind = type(error).__name__
    if isinstance(error, SystemExit):
        said = "the source ends the program (SystemExit) when it is called: it should return numbers"
        return SourceError.__name__, said, MISUSE, {}
    if isinstance(error, FlowError):
        return kind, str(error), FAILED, {"inputs": error.indices}
    if isinstance(error, IntegraphError):
        why = error.__context__ if isinstance(error, FileError) else None
        broken = isinstance(why, OSError) and why.errno in MACHINE  # a full disk is nobody's misuse
        option = options.get(error.argument)
        more = {} if option is None else {"option": option}
        return kind, error_message(error, options), FAILED if broken else MISUSE, more
    if isinstance(error, MemoryError):
        return kind, f"there is not enough memory for this: {str(error) or 'ask for less at once'}", FAILED, {}
    if isinstance(error, OSError):
        return kind, str(error), FAILED, {}
    hint = "" if debug else "\nThis is a mistake in integraph; --debug shows where."
    return "InternalError", f"{kind}: {error}{hint}", FAILED, {}


def error_message(error: IntegraphError, options: Mapping[str, str]) -> str:
    """What an error says, with the name that its argument has at the prompt."""
    option = options.get(error.argument)
    if option is None:
        return str(error)
    said = "\n".join(error.args)
    if isinstance(error, UsageError) and error.value is not None:
        return f"{option} {error.value}: {said}"
    return f"{said} ({option})"


def fail(kind: str, message: str, code: int, as_json: bool, **more: Any) -> NoReturn:
    """An error, as a sentence on stderr or as JSON on stdout."""
    if as_json:
        with telling():
            print(document({"error": {"kind": kind, "message": message} | more}))
    else:
        remark("error", "bold red", message)
    raise typer.Exit(code)


def show(answer: Answer, as_json: bool) -> None:
    """Results on stdout, then what there is to say about them on stderr."""
    if as_json:
        with telling():
            print(document(answer.data | ({"warnings": answer.warnings} if answer.warnings else {})))
        return
    with telling():
        for part in answer.text if isinstance(answer.text, list) else [answer.text]:
            put(part)
    for warning in answer.warnings:
        remark("warning", "bold yellow", warning)
    if answer.hint:
        remark("next", "bold cyan", answer.hint)


def document(data: Any) -> str:
    """JSON in ASCII, so that no terminal and no encoding can stumble over what a file says."""
    return json.dumps(plain(data), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """The same with nothing in it but texts, numbers, lists and mappings; inf and nan as "inf" and "nan"."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return plain(value.tolist())
    return [plain(part) for part in value]
