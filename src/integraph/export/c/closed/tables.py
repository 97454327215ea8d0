"""Constants of a C file: numbers in the code, arrays as tables, each stored once. Hexadecimal floats hold every bit."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE = 6  # numbers
ZEROS = re.compile(r"\.?0*p")


def number(value: float) -> str:
    """A number that can stand anywhere in an expression."""
    if not math.isfinite(value):
        return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)"
    text = ZEROS.sub("p", float(value).hex())
    return f"({text})" if text.startswith("-") else text


class Tables:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.text: list[str] = []
        self._known: dict[tuple[str, bytes], str] = {}

    def name(self, values: NDArray[Any]) -> str:
        """The table of an array, of doubles or of integers, as one row."""
        row = np.ascontiguousarray(values).reshape(-1)
        kind = "int" if row.dtype.kind == "i" else "double"
        key = (kind, row.tobytes())
        if key not in self._known:
            self._known[key] = name = f"{self.prefix}_{'places' if kind == 'int' else 'numbers'}{len(self.text)}"
            entries = [str(one) if kind == "int" else number(one) for one in row.tolist()]
            lines = ",\n    ".join(", ".join(entries[n : n + LINE]) for n in range(0, len(entries), LINE))
            self.text.append(f"static const {kind} {name}[{len(entries)}] = {{\n    {lines}\n}};\n")
        return self._known[key]
