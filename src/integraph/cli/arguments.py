"""The arguments and options that several words take, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SOURCE = (
    'What is compiled: a formula ("sin(3*x)*exp(-y)"), an .onnx, .keras or .h5 file, or module:callable, a Python '
    "function, a torch module or an estimator in a module that can be imported from here (its code runs)."
)

Source = Annotated[str, typer.Argument(help=SOURCE, show_default=False)]
MaybeSource = Annotated[
    str | None,
    typer.Argument(help="What the program was compiled from; a formula that the file names may be left out."),
]
ProgramFile = Annotated[Path, typer.Argument(help="A program, written by compile -o.", show_default=False)]
Eps = Annotated[
    float | None, typer.Option(help="The tolerance. 1e-6 unless given; none where nothing is approximated.")
]
Box = Annotated[
    str | None,
    typer.Option(
        help="Where inputs live: 'low,high' for all of them, or one pair each: '0,1;-2,2'. [0, 1] unless given."
    ),
]
Method = Annotated[
    str | None,
    typer.Option(help="exact, lean, remark or paper for functions; narrow or wide for networks. Chosen by source."),
]
Order = Annotated[int | None, typer.Option(help="n of Theorem 1. The cheapest unless given.")]
Width = Annotated[int | None, typer.Option(help="The largest W that Theorem 1 may use.")]
Bound = Annotated[str | None, typer.Option(help="Decay rates of Theorem 2: 'tight', or 'paper' as printed.")]
Variables = Annotated[str | None, typer.Option(help="The inputs of a formula in order: 'x,y'. Sorted unless given.")]
Inputs = Annotated[int | None, typer.Option(help="How many numbers a Python function takes, where it does not tell.")]
Engine = Annotated[str | None, typer.Option(help="exact, taylor, oracle or precise. The first that can unless given.")]
