"""What the command was given, as what `integraph.compile` takes: formulas stay texts, module:callable is imported."""

from __future__ import annotations

import importlib
import os
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from integraph.cli.namesakes import refuse_python_file
from integraph.cli.paths import DATA, FORMULAS, NETWORKS, PROGRAM, is_program, refuse_pipe
from integraph.cli.terminal import waiting
from integraph.errors import SourceError, UsageError

if TYPE_CHECKING:
    from integraph import Program
    from integraph.constructions.lifting.flow_map import FlowMap
    from integraph.frontends import Inputs, Target
    from integraph.numbers.intervals import Interval


CALLABLE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")

TIMES = re.compile(r"[;×xX*]")  # between the sides of a box
POWER = re.compile(r"\[([^\[\]]*)\](?:\^(\d{1,9}))?")  # a side of a box in brackets, and how often it comes
MOST_SIDES = 1_000_000


def source_of(text: str) -> Any:
    """The source that a text names. Only module:callable runs code, and only because it says so."""
    text = text.strip()
    if not text:
        raise UsageError("SOURCE is empty: give a formula, the file of a network, or module:callable")
    if Path(text).suffix.lower() in (
        *NETWORKS,
        *FORMULAS,
        *DATA,
        *PROGRAM.suffixes,
    ):  # anything else may be a formula as well
        refuse_pipe(Path(text))
    if is_program(Path(text)):
        raise UsageError(f"{text} is a program already: integraph info {text} shows it")
    match = CALLABLE.fullmatch(text)
    if match is None:
        refuse_python_file(text)
        return text
    return _imported(*match.groups())


def read_source(
    text: str,
    method: str | None,
    box: str | None,
    variables: str | None,
    inputs: str | None,
    parameters: list[str] | None,
) -> Target:
    """The source that a text names, read as this method needs it."""
    from integraph.api.compiler import NEEDS
    from integraph.frontends import ReadOptions, read

    values = values_of(parameters)
    options = ReadOptions(
        names_of(variables), inputs_of(inputs), box=box_of(box), into=NEEDS.get(method), parameters=values
    )
    return read(source_of(text), options)


def waiting_unless_called(what: str, target: Target) -> AbstractContextManager[object]:
    """A bar while a target is compiled; a Python function has one of its own, which counts calls."""
    from integraph.targets import Function

    return nullcontext() if isinstance(target, Function) and target.meter is not None else waiting(what)


def _imported(module: str, path: str) -> Any:
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        thing = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{module}.".startswith(f"{error.name}."):
            raise SourceError(f"module {module!r} imports {error.name!r}, which is not installed") from None
        raise SourceError(
            f"there is no module {module!r} in this folder or in the environment, as module:callable needs"
        ) from None
    except SystemExit:
        raise SourceError(f"module {module!r} ends the program (SystemExit) when it is imported") from None
    except Exception as error:
        raise SourceError(f"module {module!r} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(here)
        sys.path.append(here)  # for what it imports later; last, so that nothing of ours is taken from here
    for name in path.split("."):
        if not hasattr(thing, name):
            near = ", ".join(n for n in vars(thing) if not n.startswith("_") and callable(getattr(thing, n)))
            where = getattr(thing, "__file__", None) or module
            raise SourceError(f"{where} has no {name!r}: it has {near or 'nothing that can be called'}")
        thing = getattr(thing, name)
    return thing


def box_of(text: str | None) -> list[tuple[float, float]] | tuple[float, float] | None:
    """'0,1' or '0,1;-2,2' as what `box=` takes; a pair may have brackets, and then a power: '[0,1]^2;[-2,2]'.
    Between sides × and x serve too: '[0,1] x [-2,2]'."""
    if text is None:
        return None
    parts = [POWER.fullmatch(part.strip()) or part for part in TIMES.split(text.strip().rstrip(";"))]
    powers = [1 if isinstance(part, str) else int(part[2] or 1) for part in parts]
    if min(powers) < 1 or sum(powers) > MOST_SIDES:
        raise UsageError(f"--box {text!r}: a power must be at least 1, and a box has at most {MOST_SIDES} sides")
    sides = [_pair(part if isinstance(part, str) else part[1], text) for part in parts]
    pairs = [pair for pair, power in zip(sides, powers, strict=True) for _ in range(power)]
    return pairs if TIMES.search(text) or "^" in text else pairs[0]


def _pair(part: str, text: str) -> tuple[float, float]:
    try:
        low, high = (float(word) for word in part.split(","))
    except ValueError:
        raise UsageError(
            f"--box {text!r}: {part!r} is not a pair of numbers: write low,high for all inputs, or one pair for each, "
            "'0,1;-2,2', '[0,1] x [-2,2]' or '[0,1]^2'"
        ) from None
    return low, high


def names_of(text: str | None) -> list[str] | None:
    """'x,y' or 'x y' as a list of names."""
    return None if text is None else [name for part in text.split(",") for name in part.split() or [""]]


def inputs_of(text: str | None) -> Inputs:
    """'3', '1,28,28' or '16,32;8,32' as what `inputs=` takes."""
    if text is None:
        return None
    try:
        shapes = [tuple(int(n) for n in part.split(",")) for part in text.strip().rstrip(";").split(";")]
    except ValueError:
        raise UsageError(
            f"--inputs {text!r} is not a number of inputs: write 3, a shape as 1,28,28, or shapes as '16,32;8,32'"
        ) from None
    if ";" in text:
        return shapes
    return shapes[0] if len(shapes[0]) > 1 else shapes[0][0]


def values_of(words: list[str] | None) -> dict[str, str] | None:
    """Words such as 'a=1.5' as what `parameters=` takes."""
    values: dict[str, str] = {}
    for word in words or ():
        name, equals, value = (part.strip() for part in word.partition("="))
        if not (name and equals and value):
            raise UsageError(f"--set {word!r}: write a name and its value, as in --set a=1.5")
        if name in values:
            raise UsageError(f"--set {word!r}: {name} has the value {values[name]} already, set it once")
        values[name] = value
    return values or None


def beside(
    program: Program,
    source: str | None,
    box: str | None,
    variables: str | None,
    inputs: str | None,
    parameters: list[str] | None,
) -> tuple[Target | FlowMap, str]:
    """The source, and where it comes from in words; without one the formula that the program was compiled from."""
    from integraph.api.flow_maps import flow_map, is_lifted
    from integraph.api.origin import target_of
    from integraph.frontends import ReadOptions
    from integraph.targets import Function

    given = None if source is None else source_of(source)
    options = ReadOptions(names_of(variables), inputs_of(inputs), box=box_of(box), parameters=values_of(parameters))
    if is_lifted(program):
        return flow_map(program, given, options.parameters), str(source)
    target = target_of(program, given, options)
    if source is None and isinstance(target, Function):
        return target, f"{target.name}, which the program names"
    return target, str(source)


def box_beside(program: Program, box: str | None) -> Interval:
    """The box that was given, else the one that the program was made for."""
    from integraph.program.box import where

    return where(program, box_of(box))
