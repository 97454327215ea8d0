"""The arguments and options that several commands take, each described once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

SOURCE = (
    'What to compile: a formula ("sin(3*x)*exp(-y)"), a .formula or .txt file with a formula on each line, an .onnx, '
    ".keras, .h5, .nnet, .yml or .mat file, a .csv file of data, or module:name, "
    "a Python function, a torch module or an estimator in a module that can be imported from here (its code runs)."
)
TABLE = (
    "Read points from a file: .npy, or text with one point on each line. If a header names the inputs, columns are "
    "matched by name. - reads stdin."
)


def among(*values: str) -> Callable[[str], list[str]]:
    """Completion of an option that takes one of these."""
    return lambda incomplete: [value for value in values if value.startswith(incomplete)]


def files(incomplete: str) -> list[str]:
    """Completion by the shell, which knows files best."""
    return []


Source = Annotated[str, typer.Argument(help=SOURCE, metavar="SOURCE", show_default=False, autocompletion=files)]
BoundSource = Annotated[
    str,
    typer.Argument(
        help="A program file, or a source as compile takes it: a formula, the file of a network or a graph, or "
        "module:name.",
        metavar="SOURCE",
        show_default=False,
        autocompletion=files,
    ),
]
MaybeSource = Annotated[
    str | None,
    typer.Argument(
        help="What the program was compiled from. Leave it out if it was a formula: the file names it.",
        metavar="SOURCE",
        show_default=False,
        autocompletion=files,
    ),
]
ProgramFile = Annotated[
    Path, typer.Argument(help="A program file, as compile -o writes it.", metavar="FILE", show_default=False)
]
Points = Annotated[
    list[str] | None,
    typer.Argument(
        help="Points: 0.3 0.8 is one point of two inputs; 0.3,0.8 0.1,0.2 are two points.",
        metavar="POINTS",
        show_default=False,
    ),
]
Table = Annotated[Path | None, typer.Option("--points", help=TABLE, metavar="FILE")]
Eps = Annotated[
    float | None,
    typer.Option(
        help="Tolerance of the error. Default: 1e-6; exact programs need one only for kinks, such as abs(x); data are "
        "fitted as well as they allow."
    ),
]
BOX = "Input domain: 'low,high' for all inputs, or one pair for each: '0,1;-2,2', '[0,1]x[-2,2]', '[0,1]^2'. Default: "
Box = Annotated[str | None, typer.Option(help=f"{BOX}that of a .nnet file or of data, else 0,1.", metavar="BOX")]
ProgramBox = Annotated[str | None, typer.Option(help=f"{BOX}that of the program.", metavar="BOX")]
EitherBox = Annotated[
    str | None, typer.Option(help=f"{BOX}that of the program or of a .nnet file, else 0,1.", metavar="BOX")
]
Method = Annotated[
    str | None,
    typer.Option(
        help="exact, for formulas and graphs. By Theorem 1, for functions: lean (our construction, small), paper (as "
        "printed, beyond float64) or remark (the paper's variant for float64). By Theorem 2, for networks: narrow (few "
        "registers, used again) or wide (exact). Default: what fits the source.",
        metavar="METHOD",
        autocompletion=among("exact", "lean", "remark", "paper", "narrow", "wide"),
    ),
]
Order = Annotated[int | None, typer.Option(help="Order n of Theorem 1. Default: the cheapest.")]
Width = Annotated[int | None, typer.Option(help="Largest width W that Theorem 1 may use.")]
Bound = Annotated[
    str | None,
    typer.Option(
        help="Bound that sets the decay rates of Theorem 2: tight, or paper as printed. Default: tight.",
        metavar="BOUND",
        autocompletion=among("tight", "paper"),
    ),
]
Free = Annotated[
    str | None,
    typer.Option(
        help="How to reuse registers: keep (never), clean (exactly), decay (within the tolerance) or auto.",
        metavar="HOW",
        autocompletion=among("keep", "clean", "decay", "auto"),
    ),
]
Variables = Annotated[
    str | None,
    typer.Option(
        help="Inputs of a formula, in order: x,y. Default: sorted by name. Of data: the columns that are inputs.",
        metavar="NAMES",
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Value of a parameter of a formula: a=1.5 or a=pi/4. Repeat it for others.", metavar="NAME=VALUE"
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option(
        help="Number of inputs of a Python function, if it cannot be inferred; of data, how many of the first columns "
        "are inputs; of a torch module also the shape of one "
        "input without the batch axis: 1,28,28, or the shapes of several: '16,32;8,32'.",
        metavar="N",
    ),
]
Workers = Annotated[int | None, typer.Option(help="Number of processes. Default: one for each core.")]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Address of a dask cluster to use instead of local processes.")
]
MaxCalls = Annotated[
    int | None,
    typer.Option(help="At how many points a Python function may be called. Default: 20000.", metavar="NUMBER"),
]
Engine = Annotated[
    str | None,
    typer.Option(
        help="exact, taylor, oracle, precise or jax. Default: the first of these that can run the program.",
        metavar="ENGINE",
        autocompletion=among("exact", "taylor", "oracle", "precise", "jax"),
    ),
]
