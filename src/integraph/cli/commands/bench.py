"""`integraph bench`: how fast a program runs here, beside its source in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from integraph.cli import options as a
from integraph.cli.inputs import box_beside, box_of, read_source
from integraph.cli.output import FAILED, GOOD, Answer, command, waiting
from integraph.cli.paths import PICTURE, is_program, loaded, output
from integraph.cli.timing import race
from integraph.errors import UsageError
from integraph.text import clean

if TYPE_CHECKING:
    from integraph import Program
    from integraph.frontends import Target
    from integraph.numbers.arrays import Floats

BATCHES = (1, 1000, 100_000)
LONGEST = 2.0  # seconds of one run that is worth waiting for
TURNS = 20  # at least, that a rival should get in its time, or it is left at a few
AGREE = 1000  # inputs at which outputs are compared
UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
SOURCE = "source"  # in numpy, or whatever its Python function does
FORMULA = "sin(3*x)*exp(-y)"
DEPTH = "depth"  # asks for the study of errors against depth
PARAMETERS = 300  # of each model that it trains
NUMBERS = 50_000_000  # of the inputs of a batch
NOTE = f"""Times are the best of several runs. The last column is the largest difference found between outputs, and the
number of inputs. Runs that would take longer than {LONGEST:g} s are left out."""
SOURCE_NOTE = '"source" is the source itself, without the ODE.'


def register(app: typer.Typer) -> None:
    command(app, "Look")(bench)


def bench(
    what: Annotated[
        str | None,
        typer.Argument(
            help="A program file, a source to compile, or the word depth. Default: a formula, a network, Theorem 1.",
            metavar="WHAT",
            show_default=False,
        ),
    ] = None,
    eps: a.Eps = None,
    box: a.EitherBox = None,
    method: a.Method = None,
    seconds: Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="Time to spend on each batch size.")] = 1.0,
    threads: Annotated[int, typer.Option(min=1, metavar="COUNT", help="Number of threads to use.")] = 1,
    variables: a.Variables = None,
    parameters: a.Parameters = None,
    inputs: a.Inputs = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With depth: draw both curves into this file, as .png, .svg or .pdf.",
            show_default=False,
        ),
    ] = None,
) -> Answer:
    """Measure how fast a program runs on this machine.

    Runs every engine and, for comparison, the source in numpy, with one input and with many.
    They take turns, and the best time of each counts: trust the ratios more than the times.
    With the word depth, it measures the errors of trained and of constructed programs against their depth instead.

    [bold]Examples[/bold]

    integraph bench

    integraph bench net.integraph

    integraph bench "sin(3*x)*exp(-y)" --method lean --eps 1e-4
    """
    if what is None:
        why = "without WHAT, programs are timed that are always the same"
        _refuse(why, eps=eps, box=box, method=method, variables=variables, inputs=inputs, set=_joined(parameters))
    if what == DEPTH:
        why = "the depth study is always the same"
        _refuse(why, eps=eps, box=box, method=method, variables=variables, inputs=inputs, set=_joined(parameters))
        return _depth(figure)
    _refuse("only the word depth has a picture", figure=figure)
    subjects = _built_in() if what is None else [_subject(what, eps, box, method, variables, inputs, parameters)]
    data: list[dict[str, Any]] = []
    text: list[Any] = []
    for program, target in subjects:
        with waiting(f"timing {program.source}"):
            rivals = _rivals(program, target, threads)
            _run(rivals, _random(program, box), seconds)
        rows = [_facts(rival, rivals) for rival in rivals]
        data.append({"program": program.source, "threads": threads, "rivals": rows})
        text += [repr(program), _table(rows), ""]
    lost = any(math.isnan(row["difference"]) for one in data for row in one["rivals"] if row["at"])
    notes = [NOTE, SOURCE_NOTE] if any(row["name"] == SOURCE for one in data for row in one["rivals"]) else [NOTE]
    return Answer({"programs": data}, [*text, *notes], FAILED if lost else GOOD)


def _depth(figure: Path | None) -> Answer:
    """Errors against depth, trained and constructed."""
    from integraph import learn

    where = None if figure is None else output(figure, PICTURE, "--figure")
    study = learn.depth_study(FORMULA, parameters=PARAMETERS)
    rows = [
        {"made": one.made, "width": one.width, "depth": one.depth, "parameters": one.parameters, "error": one.error}
        for one in study.points
    ]
    data: dict[str, Any] = {
        "function": study.function,
        "fixed": study.fixed,
        "points": rows,
        "missing": list(study.missing),
    }
    data["figure"] = None if where is None else str(where)
    text = [repr(study)]
    if where is not None:
        study.plot(where)
        text.append(f"wrote {clean(str(where))}")
    return Answer(data, text, GOOD)


@dataclass(eq=False)
class Rival:
    """Something that can be run on a batch (B, d), and what came of it."""

    name: str
    run: Callable[[Floats], Floats]
    expected: float  # seconds for one input, about
    best: dict[int, float] = field(default_factory=dict)  # batch → seconds
    outputs: Floats | None = None  # the outputs at the first inputs


def _subject(
    what: str,
    eps: float | None,
    box: str | None,
    method: str | None,
    variables: str | None,
    inputs: str | None,
    parameters: list[str] | None,
) -> tuple[Program, Target | None]:
    import integraph
    from integraph.api.origin import recalled

    if is_program(Path(what)):
        why = f"{what} is a program already"
        _refuse(why, eps=eps, method=method, variables=variables, inputs=inputs, set=_joined(parameters))
        program = loaded(Path(what))
        return program, recalled(program)
    target = read_source(what, method, box, variables, inputs, parameters)
    with waiting("compiling"):
        return integraph.compile(target, eps, box=box_of(box), method=method), target


def _joined(parameters: list[str] | None) -> str | None:
    return " ".join(parameters or ()) or None


def _refuse(why: str, **options: object) -> None:
    """Options that would be without effect."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{name} {value}: {why}, leave it out")


def _built_in() -> Iterator[tuple[Program, Target]]:
    import numpy as np

    import integraph

    formula = integraph.function(FORMULA)
    yield integraph.compile(FORMULA), formula
    rng, sizes = np.random.default_rng(0), (2, 32, 32, 1)
    layers = [(rng.normal(size=(n, m)) / m**0.5, np.zeros(n)) for m, n in pairwise(sizes)]
    net = integraph.network([(A, b, "tanh") for A, b in layers[:-1]] + [layers[-1]])
    yield integraph.compile(net), net
    yield integraph.compile(FORMULA, 1e-4, method="lean"), formula


def _random(program: Program, box: str | None) -> Floats:
    """The largest batch, which holds the smaller ones."""
    import numpy as np

    cube = box_beside(program, box)
    count = max(min(BATCHES[-1], NUMBERS // max(program.inputs, 1)), 1)
    x = np.random.default_rng(0).uniform(size=(count, program.inputs))
    return np.clip(cube.low * (1 - x) + cube.high * x, cube.low, cube.high)


def _rivals(program: Program, target: Target | None, threads: int) -> list[Rival]:
    """All engines that can, the default first, and the source."""
    from integraph.api.origin import values
    from integraph.plot.subject import COST, WORK
    from integraph.program.engine import able

    def by(engine: str) -> Callable[[Floats], Floats]:
        return lambda x: program(x, engine, threads=threads)

    rivals = [Rival(e.name, by(e.name), program.terms * COST.get(e.name, 1.0) / WORK) for e in able(program)]
    plain = None if target is None or program.scales is not None else values(target)  # in other units it has no rival
    return rivals if plain is None else [*rivals, Rival(SOURCE, plain, 0.0)]


def _run(rivals: list[Rival], x: Floats, seconds: float) -> None:
    """Batch after batch. Who would take too long for one, by what the last one took, is out."""
    for batch in (batch for batch in BATCHES if batch <= len(x)):
        part = x[:batch]
        here = [rival for rival in rivals if rival.expected * batch <= LONGEST]
        best = race({rival.name: partial(rival.run, part) for rival in here}, 0.0)
        quick = [rival for rival in here if best[rival.name] < seconds / TURNS]
        again = race({rival.name: partial(rival.run, part) for rival in quick}, seconds) if quick else {}
        for rival in here:
            rival.best[batch] = min(best[rival.name], again.get(rival.name, math.inf))
            rival.expected = rival.best[batch] / batch
            if batch <= AGREE:
                rival.outputs = rival.run(part)


def _facts(rival: Rival, rivals: list[Rival]) -> dict[str, Any]:
    """Times, their ratio to those of the source (else of the first engine), and how far the outputs are apart."""
    import numpy as np

    first, last = rivals[0], rivals[-1] if rivals[-1].name == SOURCE else rivals[0]
    ratios = {batch: time / last.best[batch] for batch, time in rival.best.items() if batch in last.best}
    at, apart = 0, math.nan
    if rival.outputs is not None and first.outputs is not None:
        at = min(len(rival.outputs), len(first.outputs))
        apart = float(np.max(np.abs(rival.outputs[:at] - first.outputs[:at]), initial=0.0))
    return {
        "name": rival.name, "seconds": rival.best, "ratio": ratios, "against": last.name, "difference": apart,
        "from": first.name, "at": at,
    }  # fmt: skip


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    drawn.add_column("")
    for batch in BATCHES:
        drawn.add_column(f"{batch:,} input" if batch == 1 else f"{batch:,}", justify="right")
        drawn.add_column(f"÷ {rows[0]['against']}", justify="right")
    drawn.add_column(f"from {rows[0]['from']}")
    for row in rows:
        cells = [
            cell for batch in BATCHES for cell in (_time(row["seconds"].get(batch)), _times(row["ratio"].get(batch)))
        ]
        same = row["name"] == row["from"]
        apart = "" if same else "not run" if not row["at"] else f"{row['difference']:.2g} ({row['at']:,})"
        drawn.add_row(row["name"], *cells, apart)
    return drawn


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "not run"
    unit, scale = next((unit for unit in UNITS if seconds >= unit[1]), UNITS[-1])
    return f"{seconds / scale:.3g} {unit}"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g}"
