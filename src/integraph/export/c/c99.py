"""C99: one file without a library, whose loops run over tables of terms; each segment by Taylor series of order 20."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from integraph.export.c.c_names import function_name
from integraph.export.header import header
from integraph.program.terms import ONE

if TYPE_CHECKING:
    from integraph.program import Program

ORDER = 20
ROW = 10  # numbers of a line


def write(program: Program, name: str) -> str:
    function = function_name(name)
    about = [
        *header(program, name, exact=True),
        "",
        f"int {function}(const double x[{program.inputs}], double y[{program.outputs}]);",
        "returns 0, or 1 for an escape (y leaves every bound before T), 2 for an input that is not finite, 3 for more",
        "steps than allowed; then all of y is NaN. It allocates nothing and needs no library.",
        f"Working memory: {_memory(program):,} bytes, static, so one call at a time; threads call",
        f"{function}_in(memory, x, y), each with a {function}_memory of its own.",
        f"-DINTEGRAPH_MAIN makes the file a program that takes {program.inputs} numbers and prints {program.outputs}.",
    ]
    return comment(about) + core(program, function) + template("entry.c", function)


def comment(lines: Iterable[str]) -> str:
    """A comment of C. Two question marks could begin a trigraph."""
    return "/*\n" + "".join(f" * {line.replace('?', '_')}".rstrip() + "\n" for line in lines) + " */\n"


def core(program: Program, function: str) -> str:
    """Tables and Taylor steps, which the C file and the FMU share; all names begin with that of the function."""
    return template("taylor.c", function, TABLES=_tables(program))


def template(file: str, function: str, **parts: str) -> str:
    text = files("integraph.export.c").joinpath(file).read_text("ascii")
    for word, part in parts.items():
        text = text.replace(f"{word}\n", part)
    return text.replace("MODEL", function)


def _tables(program: Program) -> str:
    controls, readout = program.controls(), program.readout.tocoo()
    rows = np.flatnonzero(np.diff(controls.segment, prepend=-1) | np.diff(controls.i, prepend=-1))
    factors = [np.where(part == ONE, program.width, part) for part in (controls.j, controls.k)]
    sizes = {"WIDTH": program.width, "INPUTS": program.inputs, "OUTPUTS": program.outputs, "DEPTH": program.depth,
             "READS": len(readout.data)}  # fmt: skip
    tables = (
        ("double", "value", controls.value),
        ("index", "j", factors[0]),
        ("index", "k", factors[1]),
        ("uint32_t", "row", np.append(rows, len(controls.value))),
        ("index", "i", controls.i[rows]),
        ("uint32_t", "start", np.searchsorted(controls.segment[rows], np.arange(program.depth + 1))),
        ("double", "duration", np.array([segment.duration for segment in program.segments])),
        ("uint32_t", "output", readout.row),
        ("index", "register", readout.col),
        ("double", "weight", readout.data),
    )
    return (
        "".join(f"#define MODEL_{word} {size}\n" for word, size in sizes.items())
        + f"typedef uint{8 * _bytes(program)}_t MODEL_index;\n"
        + "".join(_table("MODEL_index" if kind == "index" else kind, name, column) for kind, name, column in tables)
    )


def _table(kind: str, what: str, numbers: np.ndarray) -> str:
    """An array of constants; C has none without elements."""
    write_one = float.hex if kind == "double" else str
    texts = list(map(write_one, numbers.tolist())) or ["0"]
    lines = (", ".join(texts[start : start + ROW]) for start in range(0, len(texts), ROW))
    return f"static const {kind} MODEL_{what}[{len(texts)}] = {{\n" + ",\n".join(lines) + "};\n"


def _bytes(program: Program) -> int:
    return next(size for size in (1, 2, 4) if program.width < 256**size)


def _memory(program: Program) -> int:
    """Of the struct: the series of all registers and of the constant 1, and a flag for each."""
    return -((program.width + 1) * (8 * (ORDER + 1) + 1) // -8) * 8
