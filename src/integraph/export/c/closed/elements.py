"""How C code names one element of an array: of a table, of the workspace or of the input; or a single number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.export.c.closed.tables import Tables, number
from integraph.flow.closed_forms import ClosedForms


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    forms: ClosedForms
    root: list[tuple[int, int]]  # see `steps`
    offsets: dict[int, int]  # in the workspace w
    tables: Tables

    def value(self, argument: Any, place: str) -> str:
        """The element at a place, which is an expression, of an argument as one row."""
        if not isinstance(argument, int):
            return number(argument.item()) if argument.size == 1 else f"{self.tables.name(argument)}[{place}]"
        root, begin = self.root[argument]
        own = self.forms.operations[root]
        if own.size == 1 and own.op != "input":
            return f"v{root}"
        first = begin if own.op == "input" else begin + self.offsets[root]
        single = self.forms.operations[argument].size == 1
        where = str(first) if single or place == "0" else place if first == 0 else f"{first} + {place}"
        text = f"{'x' if own.op == 'input' else 'w'}[{where}]"
        return f"({text} != 0.0)" if own.truth else text

    def place(self, argument: Any, into: tuple[int, ...]) -> str:
        """The place in an argument for element i of a result with these lanes, to which it is broadcast."""
        lanes = self.forms.operations[argument].lanes if isinstance(argument, int) else argument.shape
        size, whole = math.prod(lanes), math.prod(into)
        axes = [k for k, n in enumerate(lanes) if n > 1]
        if size == whole or not axes:
            return "i"
        if lanes[axes[0] : axes[-1] + 1] == into[axes[0] : axes[-1] + 1]:
            tail = math.prod(into[axes[-1] + 1 :])
            inner = "i" if tail == 1 else f"i / {tail}"
            return inner if size * tail == whole else f"{inner} % {size}"
        return f"{self.tables.name(np.broadcast_to(np.arange(size).reshape(lanes), into))}[i]"
