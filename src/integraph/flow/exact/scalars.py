"""A tape for one input: a Python function on floats, which takes a microsecond where numpy's calls take one each.

Its text is made of numbered names, operations of the tape and numbers: nothing that a program says in words is in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from integraph.flow.exact.schedule import Code
from integraph.flow.exact.tape import OPERATIONS, Argument

Scalar = Callable[..., "tuple[float, ...] | None"]  # the outputs; None if a guard fails


def scalar_function(code: Code) -> Scalar:
    """The outputs of one input, given as one float for each component."""
    checks = {guard.value: guard for guard in code.guards}
    lines = []
    for n in range(code.inputs + len(code.instructions)):
        if n >= code.inputs:
            op, arguments = code.instructions[n - code.inputs]
            lines.append(f"v{n} = {_expression(op, [*map(_name, arguments)])}")
        if n in checks:
            lines.append(f"if not {checks[n].low!r} < v{n} < {checks[n].high!r}: return None")
    outputs = "".join(f"{_name(argument)}, " for argument in code.outputs)
    head = f"def outputs({', '.join(f'v{n}' for n in range(code.inputs))}):"
    body = "\n  ".join(lines)
    names: dict[str, Any] = {op: operation.function for op, operation in OPERATIONS.items()} | {"inf": math.inf}
    exec(f"{head}\n  {body}\n  return ({outputs})", names)
    function: Scalar = names["outputs"]
    return function


def _name(argument: Argument) -> str:
    return f"v{argument}" if isinstance(argument, int) else f"({argument!r})"


def _expression(op: str, arguments: list[str]) -> str:
    text = OPERATIONS[op].text
    return text.format(*arguments) if text else f"{op}({', '.join(arguments)})"
