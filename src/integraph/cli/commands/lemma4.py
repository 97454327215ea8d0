"""`integraph lemma4`: Lemma 4 alone, for any N and c: its sizes, its states after each step, its partition of unity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from integraph.cli.facts import program_facts
from integraph.cli.output import Answer, command, waiting
from integraph.cli.paths import PICTURE, PROGRAM, output
from integraph.errors import UsageError
from integraph.text import clean, counted

if TYPE_CHECKING:
    from integraph.bounds.paper.partition_of_unity import Partition
    from integraph.numbers.arrays import Floats

CELLS, STEEPEST = 200, 10_000.0  # the largest N and c
DELTA = 0.5  # Δ, which keeps x + Δ above 0
SHOWN = 8  # functions whose registers are printed: those that are largest at x


def register(app: typer.Typer) -> None:
    command(app, "Prove")(lemma4)


def lemma4(
    N: Annotated[int, typer.Option("--N", metavar="N", help=f"Number of cells, 1 to {CELLS}.")] = 3,
    c: Annotated[float, typer.Option("--c", metavar="C", help=f"Steepness, at most {STEEPEST:g}.")] = 20.0,
    x: Annotated[float, typer.Option("--x", metavar="X", help="The input to follow, in [0, 1].")] = 0.3,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the partition of unity (Figure 1 for N = 3, c = 20): .png, .svg, .pdf."
        ),
    ] = None,
    to: Annotated[Path | None, typer.Option("--output", "-o", help="Write the program to this file.")] = None,
) -> Answer:
    """Run Lemma 4 alone: seven segments from x to ln(x + Δ) and ln ψ_k(x), k = 0 … N, after each of its steps.

    The table is Table 1 of the paper with numbers in it, for Δ = 0.5. Values are rounded from as many bits as it takes.

    [bold]Examples[/bold]

    integraph lemma4 --N 5 --c 30

    integraph lemma4 --N 5 --c 30 --x 0.42 --figure partition.png
    """
    import numpy as np

    from integraph.bounds.paper.partition_of_unity import Partition
    from integraph.paper.items.lemma4 import compiled
    from integraph.paper.lemma4_equations import Lemma4

    for name, value, good, wanted in (
        ("--N", N, 1 <= N <= CELLS, f"an integer from 1 to {CELLS}"),
        ("--c", c, 0 < c <= STEEPEST, f"a number above 0, at most {STEEPEST:g}"),
        ("--x", x, 0 <= x <= 1, "a number from 0 to 1"),
    ):
        if not good:
            raise UsageError(f"{name} {value}: needs {wanted}")
    picture = None if figure is None else output(figure, PICTURE, "--figure")
    file = None if to is None else output(to, PROGRAM, "-o")
    partition, program = Partition(N, c), compiled(Lemma4(1, N, c, delta=DELTA))
    with waiting("running Lemma 4"):
        path = program.flow([[x]], engine="precise", times=np.arange(8.0)).check().path
    assert path is not None
    states, psi = path[0], partition(x)
    shown = sorted(np.argsort(-psi, kind="stable")[:SHOWN].tolist())
    data = program_facts(program) | {
        "N": N, "c": c, "x": x, "delta": partition.delta, "psi": psi, "states": states,
        "registers": [program.registers.name(n) for n in range(program.width)], "figure": picture, "file": file,
    }  # fmt: skip
    text = [
        f"Lemma 4, N = {N}, c = {c:g}, Δ = {DELTA:g}: W = {program.width} registers, D = {program.depth} segments, "
        f"{program.bits} bits",
        f"δ(c) = {partition.delta:.4g}: outside of its support [(k − 1)/N, (k + 1)/N], ψ_k is at most this",
        f"at x = {x:g}: {', '.join(f'ψ_{k} = {psi[k]:.4g}' for k in shown)}; e^μ_k differs from ψ_k by at most "
        f"{_difference(partition, states, psi):.1g} of it",
        "",
        *_table(N, states, shown),
    ]
    if len(shown) <= N:
        text.append(f"and the same for {counted(N + 1 - len(shown), 'function')} that are smaller at x; --json has all")
    if picture is not None:
        from integraph.plot import plot

        plot("partition", path=picture, N=N, c=c)
        text.append(f"wrote {clean(str(picture))}")
    if file is not None:
        program.save(file)
        text.append(f"wrote {clean(str(file))}")
    return Answer(data, text)


def _difference(partition: Partition, states: Floats, psi: Floats) -> float:
    """Of e^μ_k from ψ_k, relatively, where float64 has ψ_k."""
    import numpy as np

    mu = states[7, -(partition.N + 1) :]
    known = psi > np.finfo(np.float64).tiny
    return float(np.abs(np.expm1(mu[known] - np.log(psi[known]))).max())


def _table(N: int, states: Floats, shown: list[int]) -> list[str]:
    """Table 1 with numbers: a row for each register, a column for each step."""
    rows = [("α", 0), *((f"λ_{k}", 1 + k) for k in shown), ("β", N + 2), *((f"μ_{k}", N + 3 + k) for k in shown)]
    head = f"{'after step':<12}" + "".join(f"{step:>11}" for step in range(8))
    return [head, *(f"{name:<12}" + "".join(f"{value:>11.4g}" for value in states[:, at]) for name, at in rows)]
