"""Words that name a file or a module in this folder, but are written as a formula or a file name is."""

from __future__ import annotations

import re
from pathlib import Path

from integraph.cli.paths import is_regular
from integraph.errors import UsageError

PYTHON = ".py"
DOTTED = re.compile(r"([A-Za-z_]\w*)\.([A-Za-z_]\w*)")  # my.f, as in Python


def refuse_python_file(text: str) -> None:
    """A UsageError for a Python file and for my.f, where my.py is here: a function in it is named my:f."""
    path = Path(text)
    if path.suffix == PYTHON and is_regular(path):
        raise UsageError(f"{text} is Python code: to compile a function in it, write {path.stem}:NAME in its folder")
    match = DOTTED.fullmatch(text)
    if match is not None and is_regular(Path(match[1] + PYTHON)) and not is_regular(path):
        raise UsageError(f"there is no file {text}: for {match[2]} in {match[1]}{PYTHON} write {match[1]}:{match[2]}")


def namesake(text: str) -> str | None:
    """A warning for a single name that was read as a formula, if a file or a module here has the same name."""
    name = text.strip()
    if not name.isidentifier():
        return None
    if is_regular(Path(name)):
        return f"{name} was read as a formula, a single variable: for the file {name} write ./{name}"
    if is_regular(Path(name + PYTHON)):
        return f"{name} was read as a formula, a single variable: for a function in {name}{PYTHON} write {name}:NAME"
    return None
