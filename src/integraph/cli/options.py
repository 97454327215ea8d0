"""The arguments and options that several words take, each described once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

SOURCE = (
    'What is compiled: a formula ("sin(3*x)*exp(-y)"), an .onnx, .keras or .h5 file, or module:callable, a Python '
    "function, a torch module or an estimator in a module that can be imported from here (its code runs)."
)
TABLE = (
    "Read points from a file: .npy, or numbers as text, a line for each point, with or without a header (columns that "
    "it names after the inputs are taken by name). - is stdin."
)


def among(*values: str) -> Callable[[str], list[str]]:
    """Completion of an option that takes one of these."""
    return lambda incomplete: [value for value in values if value.startswith(incomplete)]


def files(incomplete: str) -> list[str]:
    """Completion by the shell, which knows files best."""
    return []


Source = Annotated[str, typer.Argument(help=SOURCE, metavar="SOURCE", show_default=False, autocompletion=files)]
MaybeSource = Annotated[
    str | None,
    typer.Argument(
        help="What the program was compiled from; a formula that the file names may be left out.",
        metavar="SOURCE",
        show_default=False,
        autocompletion=files,
    ),
]
ProgramFile = Annotated[
    Path, typer.Argument(help="A program, written by compile -o.", metavar="FILE", show_default=False)
]
Points = Annotated[
    list[str] | None,
    typer.Argument(
        help="Points: 0.3 0.8 is one of two inputs, 0.3,0.8 0.1,0.2 are two.", metavar="POINTS", show_default=False
    ),
]
Table = Annotated[Path | None, typer.Option("--points", help=TABLE, metavar="FILE")]
Eps = Annotated[
    float | None,
    typer.Option(help="The tolerance. 1e-6 unless given; none for exact programs: kinks need one."),
]
Box = Annotated[
    str | None,
    typer.Option(
        help="Where inputs live: 'low,high' for all of them, or one pair each: '0,1;-2,2'. 0,1 unless given.",
        metavar="BOX",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        help="exact, lean, remark or paper for functions; narrow or wide for networks. Chosen by source.",
        metavar="METHOD",
        autocompletion=among("exact", "lean", "remark", "paper", "narrow", "wide"),
    ),
]
Order = Annotated[int | None, typer.Option(help="n of Theorem 1. The cheapest unless given.")]
Width = Annotated[int | None, typer.Option(help="The largest W that Theorem 1 may use.")]
Bound = Annotated[
    str | None,
    typer.Option(
        help="Decay rates of Theorem 2: tight, or paper as printed.",
        metavar="BOUND",
        autocompletion=among("tight", "paper"),
    ),
]
Free = Annotated[
    str | None,
    typer.Option(
        help="How registers are used again: keep, clean, decay or auto.",
        metavar="HOW",
        autocompletion=among("keep", "clean", "decay", "auto"),
    ),
]
Variables = Annotated[
    str | None, typer.Option(help="The inputs of a formula in order: x,y. Sorted unless given.", metavar="NAMES")
]
Inputs = Annotated[int | None, typer.Option(help="How many numbers a Python function takes, where it does not tell.")]
Engine = Annotated[
    str | None,
    typer.Option(
        help="exact, taylor, oracle or precise. The first that can unless given.",
        metavar="ENGINE",
        autocompletion=among("exact", "taylor", "oracle", "precise"),
    ),
]
