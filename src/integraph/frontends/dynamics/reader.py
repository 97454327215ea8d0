"""What a dynamical system is given as: a mapping from names to formulas, equations of sympy, text or a list of
lines, a file of text or of SBML, a function."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from integraph.errors import FileError, UsageError
from integraph.frontends.dynamics.callables import read_callable
from integraph.frontends.dynamics.equations import read_equations
from integraph.frontends.dynamics.sbml import read_antimony, read_sbml
from integraph.frontends.dynamics.sympy_equations import is_sympy_system, read_sympy
from integraph.frontends.formula.formula_file import text_of
from integraph.frontends.formula.parameters import Parameters
from integraph.frontends.formula.tokens import Line
from integraph.frontends.input_names import names
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.text import FORMULA, shortened

SUFFIXES = (".ode", ".txt")
READERS = {".xml": read_sbml, ".sbml": read_sbml, ".ant": read_antimony}


def read_system(
    source: Any,
    *,
    inputs: str | Sequence[str] = (),
    positive: str | Sequence[str] = (),
    parameters: Parameters = None,
    states: str | Sequence[str] | int | None = None,
) -> DynamicalSystem:
    """The system of a source; one that is read already stays as it is. `states` names those of a function."""
    if isinstance(source, DynamicalSystem):
        return source
    held = names(inputs, "inputs") if inputs else ()
    above = names(positive, "positive") if positive else ()
    if parameters is not None and not isinstance(parameters, Mapping):
        raise UsageError('give names and values, as in {"g": 9.81}', argument="parameters", value=parameters)
    if is_sympy_system(source):
        if states is not None:
            raise UsageError(
                "names the states of a function; equations name their own", argument="states", value=states
            )
        return read_sympy(source, held, above, parameters)
    if callable(source) and not isinstance(source, Mapping):
        if parameters:
            raise UsageError("a function has its parameters inside: bind them in a lambda", argument="parameters")
        return read_callable(source, states, held, above)
    if states is not None:
        raise UsageError("names the states of a function; equations name their own", argument="states", value=states)
    if isinstance(source, Mapping):
        if not source or not all(isinstance(part, str) for pair in source.items() for part in pair):
            raise UsageError(
                'give names and right-hand sides as text, as in {"x": "v", "v": "-sin(x)"}',
                argument="source",
                value=source,
            )
        for name, side in source.items():
            if set(side) & set(";=#\n"):
                raise UsageError(f"the right-hand side of {name} is one formula", argument="source", value=side)
        lines = [Line(f"{name}{'' if name.endswith(chr(39)) else chr(39)} = {side}") for name, side in source.items()]
        return read_equations(lines, held, above, parameters)
    if isinstance(source, Path) or (isinstance(source, str) and "=" not in source):
        path = Path(os.fspath(source))
        if path.suffix in READERS:
            return READERS[path.suffix](path, held, above, parameters)
        if path.suffix not in SUFFIXES:
            known = (*SUFFIXES, *READERS)
            raise FileError(
                f"{shortened(path.name, FORMULA) or 'an empty text'} has no equation, x' = …, and a file of equations "
                f"ends with {', '.join(known[:-1])} or {known[-1]}"
            )
        lines = [Line(line, number) for number, line in enumerate(text_of(path).splitlines(), 1)]
        return read_equations(lines, held, above, parameters, path.stem)
    if isinstance(source, (list, tuple)) and source and all(isinstance(line, str) for line in source):
        source = "\n".join(source)
    if isinstance(source, str):
        return read_equations([Line(line) for line in source.splitlines()], held, above, parameters)
    raise UsageError(
        "give equations as text, a file of them, a mapping from names to formulas, or a function",
        argument="source",
        value=source,
    )
