"""`integraph plan`: what a source would cost, before anything is built."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from integraph.cli import options as a
from integraph.cli.inputs import box_of, read_source, waiting_unless_called
from integraph.cli.output import Answer, command, error_message, option_names, waiting
from integraph.errors import IntegraphError, UsageError

if TYPE_CHECKING:
    from integraph import Network
    from integraph.frontends import Target

EXACT, LEAN = "exact", "lean"
THEOREM_1, THEOREM_2 = (LEAN, "remark", "paper"), ("narrow", "wide")
WAYS: tuple[dict[str, Any], ...] = (  # to build a network
    {"method": "narrow", "bound": "tight"},
    {"method": "narrow", "bound": "paper"},
    {"method": "wide", "free": "keep"},
    {"method": "wide", "free": "clean"},
    {"method": "wide", "free": "decay"},
)
PARAMETERS = 1_000_000  # of a network that is compiled to know what it costs
COLUMNS = ("method", "W", "D", "T", "terms", "largest rate", "promised error")


def register(app: typer.Typer) -> None:
    command(app, "Make")(plan)


def plan(
    source: a.Source,
    eps: a.Eps = None,
    box: a.Box = None,
    method: a.Method = None,
    order: a.Order = None,
    width: a.Width = None,
    variables: a.Variables = None,
    parameters: a.Parameters = None,
    inputs: a.Inputs = None,
    max_calls: a.MaxCalls = None,
) -> Answer:
    """Print what a program would cost, for every way to build it.

    For functions: orders n, cells N, steepness c and batches P of Theorem 1.
    For formulas: also the exact program, for each way to free registers (--free of compile).
    For networks: the narrow and the wide constructions of Theorem 2.

    [bold]Examples[/bold]

    integraph plan "sin(3*x)*exp(-y)" --eps 1e-8

    integraph plan "1/(1+x*y)" --method lean --width 100

    integraph plan net.onnx --eps 1e-9 --box=-1,1
    """
    from integraph.targets import Network

    cube = box_of(box)
    given = {"order": order, "width": width, "max_calls": max_calls}
    smooth = {name: value for name, value in given.items() if value is not None}
    with waiting("planning"):
        target = read_source(source, method, box, variables, inputs, parameters)
    with waiting_unless_called("planning", target):
        if isinstance(target, Network) and method != EXACT:
            _only(method, THEOREM_2, "a network")
            _refuse(smooth, "a network")
            return _network(target, eps, cube, method)
        return _function(target, eps, method, cube, smooth)


def _function(source: Any, eps: float | None, method: str | None, box: Any, smooth: dict[str, Any]) -> Answer:
    """Theorem 1, and exactly, as far as each is possible and wanted."""
    from integraph.targets.graph import Graph

    if isinstance(source, Graph):
        _only(method, (EXACT,), "a graph")
        method = EXACT
    _only(method, (EXACT, *THEOREM_1), "a function")
    if method == EXACT:
        _refuse(smooth, "compiled exactly")
    wanted = [EXACT] if method == EXACT else [method or LEAN]
    if method is None and not smooth and source.expression is not None:
        wanted.insert(0, EXACT)
    data: dict[str, Any] = {}
    text: list[Any] = []
    errors: list[IntegraphError] = []
    for one in wanted:
        try:
            facts, said = _exact(source, eps, box) if one == EXACT else _plan(source, eps, one, box, smooth)
        except IntegraphError as error:
            errors.append(error)
            why = error_message(error, option_names(plan))
            facts, said = {"impossible": why}, f"{one}: not possible: {why}"
        data[one], text = facts, [*text, *([""] if text else []), said]
    if len(errors) == len(wanted):
        raise errors[0]
    return Answer(data, text)


def _exact(source: Target, eps: float | None, box: Any) -> tuple[dict[str, Any], str]:
    import integraph

    layouts = integraph.layouts(source, eps, box=box)
    rows = [{"free": one.free, "width": one.width, "depth": one.depth} for one in layouts.choices]
    return {"layouts": rows}, f"exactly\n{layouts}"


def _plan(
    source: Target, eps: float | None, method: str, box: Any, smooth: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    import integraph
    from integraph.api.compiler import EPS

    planned = integraph.plan(source, EPS if eps is None else eps, method=method, box=box, **smooth)
    facts = {
        "eps": planned.eps,
        "by": planned.by,
        "chosen": _choice(planned.chosen),
        "alternatives": [_choice(choice) for choice in planned.alternatives],
    }
    return facts, f"by Theorem 1\n{planned!r}"


def _choice(choice: Any) -> dict[str, Any]:
    return dataclasses.asdict(choice) | {"size": choice.size, "memory": choice.memory}


def _network(net: Network, eps: float | None, box: Any, method: str | None) -> Answer:
    from rich.table import Table

    ways = [way for way in WAYS if method in (None, way["method"])]
    rows = list(_rows(net, eps, box, ways))
    drawn = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        drawn.add_column(column, justify="left" if column in (COLUMNS[0], COLUMNS[-1]) else "right")
    for row in rows:
        drawn.add_row(", ".join(row["way"].values()), *_cells(row))
    return Answer({"source": repr(net), "ways": rows}, [repr(net), drawn])


def _rows(net: Network, eps: float | None, box: Any, ways: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What each way would build; a network that is small is built to know it."""
    import integraph

    for way in ways:
        if net.parameters > PARAMETERS:
            yield {"way": way, "unknown": f"more than {PARAMETERS:,} parameters: compile tells"}
            continue
        try:
            program = integraph.compile(net, eps, box=box, **way)
        except UsageError as error:
            yield {"way": way, "impossible": error_message(error, option_names(plan))}
            continue
        promised = None if program.budget is None else program.budget.total
        yield {
            "way": way, "width": program.width, "depth": program.depth, "horizon": program.horizon,
            "terms": program.terms, "rate": program.rate, "promised": promised,
        }  # fmt: skip


def _cells(row: dict[str, Any]) -> list[str]:
    from integraph.program.summary import above

    for why in ("impossible", "unknown"):
        if why in row:
            return ["", "", "", "", "", f"{why}: {row[why]}"]
    sizes = [f"{row[name]:,}" for name in ("width", "depth")]
    promised = "nothing" if row["promised"] is None else f"≤ {above(row['promised'])}"
    return [*sizes, f"{row['horizon']:g}", f"{row['terms']:,}", f"{row['rate']:.4g}", promised]


def _only(method: str | None, known: tuple[str, ...], what: str) -> None:
    if method is not None and method not in known:
        raise UsageError(f"for {what} it is {' or '.join(known)}", argument="method", value=method)


def _refuse(options: dict[str, Any], what: str) -> None:
    for name, value in options.items():
        raise UsageError(f"this is for Theorem 1, and the source is {what}: leave it out", argument=name, value=value)
