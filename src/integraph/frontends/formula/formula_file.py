"""Files of formulas: a line for each, with a name or without, and comments after #.

# a damped wave
r = sqrt(x^2 + y^2)         used below: a definition
wave = exp(-r)*cos(a*r)     used nowhere below: an output
r^2                         an output without a name
"""

from __future__ import annotations

from pathlib import Path

from integraph.errors import FileError, SourceError
from integraph.frontends.formula.parameters import Parameters
from integraph.frontends.formula.parser import Variables, parse_lines
from integraph.frontends.formula.tokens import Line
from integraph.targets.function import Function

COMMENT = "#"
LARGEST = 1_000_000  # bytes, comments included


def read(path: Path, variables: Variables = None, parameters: Parameters = None) -> Function:
    """The function whose outputs are the lines that no later line uses."""
    lines = [Line(text, number) for number, text in enumerate(text_of(path).splitlines(), 1)]
    formulas = [Line(line.text.partition(COMMENT)[0].rstrip(), line.number) for line in lines]
    formulas = [line for line in formulas if line.text.strip()]
    if not formulas:
        raise FileError(f"{path.name} has no formula: write one on each line")
    try:
        return parse_lines(formulas, variables, parameters, file=True)
    except SourceError as error:
        raise SourceError(f"{path.name}: {error.args[0]}", *error.args[1:]) from None


def text_of(path: Path, largest: int = LARGEST) -> str:
    """The text of a file of moderate size."""
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
        if len(data) > largest:
            raise FileError(f"{path.name} has more than {largest:,} bytes: no file of formulas or equations is so long")
        return data.decode("utf-8-sig")
    except OSError as reason:
        raise FileError(f"cannot read {path.name}: {reason.strerror or reason}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path.name} is not text in UTF-8: save it as that") from None
