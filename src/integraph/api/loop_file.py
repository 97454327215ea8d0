"""Closed loops in files: TOML with the arguments of `loop` as keys.

    controller = "net.onnx"        a formula, or a file beside this one (./net without a suffix); or a table of them
    period = 0.2
    steps = 35
    spec = "x^2 + v^2 <= 4 always"
    [plant]                        or plant = "pendulum.ode", or equations as text
    x = "v"
    v = "-sin(x) - 0.5*v + u"
    [start]
    x = [0.8, 0.9]
    v = 0

Nothing in a file is executed, and it names no other machine: workers and schedulers are for whoever calls.
"""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from integraph.api.loop_controllers import is_file
from integraph.api.loops import loop, question
from integraph.errors import FileError
from integraph.files import FilePath, check_path
from integraph.frontends.formula.formula_file import text_of
from integraph.frontends.formula.vocabulary import nearest

if TYPE_CHECKING:
    from integraph.api.loop_questions import LoopQuestion

SUFFIX = ".toml"
WORK = ("cells", "seconds")  # arguments that say nothing of the question
CALLER = ("progress", "workers", "scheduler")  # arguments that a file does not have
KINDS: dict[str, tuple[tuple[type, ...], str]] = {  # what TOML can hold that an argument takes
    "plant": ((str, dict), 'a table of formulas, equations as text, or the name of an .ode file'),
    "controller": ((str, dict), 'a formula, the name of a file, or a table of them, by inputs'),
    "period": ((int, float), "a number, as in 0.2"),
    "steps": ((int,), "a whole number, as in 35"),
    "start": ((dict,), "a table, as in x = [0.8, 0.9]"),
    "spec": ((str,), 'a text, as in "x <= 1 always"'),
    "inputs": ((str, list), 'names, as in "u, w"'),
    "outputs": ((str, list, dict), 'formulas, as in "x - 1, v"'),
    "scale": ((int, float, list), "a number, or a list of them"),
    "offset": ((int, float, list), "a number, or a list of them"),
    "limits": ((list,), "two numbers, as in [-1, 1]"),
    "discrete": ((bool,), "true or false"),
    "parameters": ((dict,), "a table, as in m = 1.5 or g = [9.7, 9.9]"),
    "disturbances": ((dict,), "a table, as in w = [-0.1, 0.1]"),
    "cells": ((int,), "a whole number, as in 256"),
    "seconds": ((int, float), "a number, as in 60"),
}  # fmt: skip


def read_loop(path: FilePath) -> dict[str, Any]:
    """The arguments of `loop` that a file holds; names of files in it are relative to its folder."""
    check_path(path)
    file = Path(path)
    if file.suffix.lower() != SUFFIX:
        raise FileError(f"{file.name}: a closed loop is a {SUFFIX} file")
    try:
        values = tomllib.loads(text_of(file))
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{file.name} is not TOML: {error}") from None
    except RecursionError:
        raise FileError(f"{file.name} is not a closed loop: its lists are too deep") from None
    known = [name for name in inspect.signature(loop).parameters if name not in CALLER]
    for name, value in values.items():
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near}? " if near else ""
            raise FileError(f"{file.name}: there is no key {name}: {hint}keys are {', '.join(known)}")
        kinds, usage = KINDS[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise FileError(f"{file.name}: {name} = {value!r} is {type(value).__name__}: give {usage}")
    missing = [name for name in ("plant", "controller", "period", "steps", "start", "spec") if name not in values]
    if missing:
        raise FileError(f"{file.name}: {missing[0]} is missing: give {KINDS[missing[0]][1]}")
    values["controller"] = _beside(values["controller"], file.parent)
    if isinstance(values["plant"], str) and "=" not in values["plant"]:
        values["plant"] = file.parent / values["plant"]
    return values


def read_question(path: FilePath) -> LoopQuestion:
    """What a file asks of its loop."""
    arguments = read_loop(path)
    return question(**{name: value for name, value in arguments.items() if name not in WORK})


def _beside(controller: Any, folder: Path) -> Any:
    if isinstance(controller, dict):
        return {key: _beside(value, folder) for key, value in controller.items()}
    if not isinstance(controller, str):
        return controller
    path = folder / controller
    return path if is_file(controller) or (controller.startswith("./") and path.is_file()) else controller
