"""Programs as functions of jax on an accelerator: time against the same net, transformer or formula in jax.

    PYTHONPATH=src python3 benchmarks/gpu.py results.json

needs jax, numpy and scipy. It prints one table in Markdown; the JSON file has all repetitions. A quotient is the median
of those of neighbouring repetitions. `--scale 0.01` shortens every batch, for a try on a processor.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import integraph
from integraph import Program
from random_nets import FORMULA, Source, formula_in_jax, net, net_in_jax, transformer_in_jax

NETS = (((2, 32, 32, 1), 1_000_000), ((8, 64, 64, 64, 1), 1_000_000), ((64, 512, 512, 512, 1), 100_000))
TARGETS = {("wide", "value"): 1.1, ("wide", "gradient"): 1.3, ("narrow", "value"): 1.8, ("narrow", "gradient"): 2.5,
           ("transformer", "value"): 1.15, ("formula", "value"): 2.5}  # fmt: skip
ROUNDS, SPAN = 7, 0.03  # repetitions, and seconds of calls in one
Pair = dict[str, partial[Any]]  # of what takes no more arguments
TRANSFORMER = {"tokens": 16, "width": 32, "heads": 4, "hidden": 128, "layers": 2}


@dataclass
class Row:
    kind: str
    of: str
    batch: int
    measured: str  # value, gradient in x, gradient in the weights, or error
    figure: float = float("nan")
    ours: float = float("nan")  # seconds of a call
    source: float = float("nan")
    rounds: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        limit = TARGETS.get((self.kind, self.measured))
        target = "" if limit is None else f"≤ {limit:g} {'met' if self.figure <= limit else 'MISSED'}"
        times = [f"{1e3 * one:.3g}" if one == one else "" for one in (self.ours, self.source)]
        figure = self.failure or (f"{self.figure:.1e}" if self.measured.startswith("error") else f"{self.figure:.2f}")
        return self.kind, self.of, f"{self.batch:.0e}", self.measured, figure, target, *times


@dataclass(frozen=True)
class Case:
    kind: str
    of: str
    batch: int
    compiled: Callable[[], Program]
    source: Source
    weights: list[tuple[Any, Any]] | None = None  # of a net


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("json", nargs="?", help="where the figures are written, with all repetitions")
    parser.add_argument("--scale", type=float, default=1.0, help="of all batch sizes")
    parser.add_argument("--seconds", type=float, default=220.0, help="after which no row begins")
    given = parser.parse_args()
    end, rows = time.perf_counter() + given.seconds, []
    machine = {
        "device": str(jax.devices()[0].device_kind),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": f"Python {platform.python_version()}, jax {jax.__version__}, numpy {np.__version__}",
    }
    print(", ".join(machine.values()))
    columns = ("program", "of", "B", "measured", "ours / source", "target", "ours, ms", "source, ms")
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    with jax.enable_x64(True):
        for row in _rows(given.scale):
            rows.append(row)
            print(f"| {' | '.join(row.cells)} |", flush=True)
            if given.json:
                Path(given.json).write_text(json.dumps({**machine, "rows": [asdict(one) for one in rows]}, indent=1))
            if time.perf_counter() > end:
                print("\nno time for the other rows")
                return


def _rows(scale: float) -> Iterator[Row]:
    for case in _cases(scale):
        try:
            function, params = case.compiled().to_jax()
        except Exception as reason:
            yield _failed(Row(case.kind, case.of, case.batch, "value"), reason)
            continue
        for measured, measure in (
            ("value", _value),
            ("gradient", _gradient),
            ("gradient in weights", _training),
            ("error", _single_precision),
            ("µs/input of engine jax, from numpy to numpy", _engine),
        ):
            if case.weights is None and measure in (_training, _single_precision):
                continue
            try:
                yield from measure(case, Row(case.kind, case.of, case.batch, measured), function, params)
            except Exception as reason:  # a row that fails must not lose the others
                yield _failed(Row(case.kind, case.of, case.batch, measured), reason)


def _failed(row: Row, reason: Exception) -> Row:
    row.failure = f"{type(reason).__name__}: {str(reason).splitlines()[0] if str(reason) else ''}"[:120].replace(
        "|", "/"
    )
    return row


def _cases(scale: float) -> Iterator[Case]:
    for sizes, count in NETS:
        network, name = net(sizes, None), "-".join(map(str, sizes))
        weights = [(layer.A, layer.b) for layer in network.layers]
        for kind, options in (("wide", {"method": "wide"}), ("narrow", {})):
            yield Case(
                kind, name, max(int(scale * count), 1),
                lambda n=network, o=options: integraph.compile(n, 1e-6, **o), net_in_jax(network), weights,
            )  # fmt: skip
    formula = Case(
        "formula", FORMULA, max(int(scale * 1_000_000), 1), lambda: integraph.compile(FORMULA), formula_in_jax()
    )
    yield formula
    from transformers import EPS, to_graph, transformer

    model = transformer(**TRANSFORMER)
    source = transformer_in_jax(model, EPS)
    count = max(int(scale * 4096), 1)
    yield Case("transformer", "2 × (16 × 32)", count, lambda: integraph.compile(to_graph(model), box=(-4, 4)), source)


def _inputs(case: Case, d: int, kind: Any = jnp.float64) -> Any:
    return jnp.asarray(np.random.default_rng(0).uniform(size=(case.batch, d)), kind)


def _width(function: Any) -> int:
    return int(function.program.inputs)


def _value(case: Case, row: Row, function: Any, params: Any) -> Iterator[Row]:
    x = _inputs(case, _width(function))
    pair = _compiled({"ours": (lambda x: function(params, x), x), "source": (case.source, x)})
    yield _timed(row, pair)
    ours, source = (run().reshape(len(x), -1) for run in pair.values())
    yield Row(case.kind, case.of, case.batch, "error of the program", float(jnp.abs(ours - source).max()))


def _gradient(case: Case, row: Row, function: Any, params: Any) -> Iterator[Row]:
    x = _inputs(case, _width(function))
    slopes = {
        "ours": (jax.grad(lambda x: function(params, x).sum()), x),
        "source": (jax.grad(lambda x: case.source(x).sum()), x),
    }
    yield _timed(row, _compiled(slopes))


def _training(case: Case, row: Row, function: Any, params: Any) -> Iterator[Row]:
    """The gradient of a mean square in weights and biases: of the net, and of the program, which has them too."""
    x = _inputs(case, _width(function))
    free = {name: jnp.asarray(value) for name, value in params.items() if name.endswith(("_w", "_b", "readout"))}
    network = net(tuple(int(n) for n in case.of.split("-")), None)
    weights = [(jnp.asarray(A), jnp.asarray(b)) for A, b in case.weights or ()]

    def ours(free: Any) -> Any:
        return (function({**params, **free}, x) ** 2).mean()

    def source(weights: Any) -> Any:
        return (net_in_jax(network, weights)(x) ** 2).mean()

    yield _timed(row, _compiled({"ours": (jax.grad(ours), free), "source": (jax.grad(source), weights)}))


def _single_precision(case: Case, row: Row, function: Any, params: Any) -> Iterator[Row]:
    """The largest difference of float32 from float64: with products in full precision, and as jax has them."""
    if case.kind != "wide":
        return
    x = _inputs(case, _width(function), jnp.float32)
    wanted = jax.jit(lambda x: function(params, x))(x.astype(jnp.float64))
    for precision in ("highest", "default"):
        run, own = function.program.to_jax(precision=precision)
        away = jnp.abs(jax.jit(lambda x, run=run, own=own: run(own, x))(x) - wanted).max()
        yield Row(case.kind, case.of, case.batch, f"error, float32, precision={precision!r}", float(away))


def _compiled(pair: dict[str, tuple[Callable[[Any], Any], Any]]) -> Pair:
    return {name: partial(jax.jit(run).lower(given).compile(), given) for name, (run, given) in pair.items()}


def _engine(case: Case, row: Row, function: Any, params: Any) -> Iterator[Row]:
    """What `program(x)` takes where the engine is due, transfers included."""
    program, x = function.program, np.random.default_rng(0).uniform(size=(case.batch, _width(function)))
    program.flow(x, "jax")
    row.rounds = [1e6 * _seconds(lambda: program.flow(x, "jax").outputs, 1) / case.batch for _ in range(3)]
    row.figure = median(row.rounds)
    yield row


def _timed(row: Row, pair: Pair) -> Row:
    """Both take turns. A repetition is a row of calls, of which the last is waited for."""
    calls = {}
    for name, run in pair.items():
        jax.block_until_ready(run())
        calls[name] = max(1, min(1000, int(SPAN / max(_seconds(run, 1), 1e-6))))
    seconds: dict[str, list[float]] = {name: [] for name in pair}
    for _ in range(ROUNDS):
        for name, run in pair.items():
            seconds[name].append(_seconds(run, calls[name]))
    row.rounds = [a / b for a, b in zip(seconds["ours"], seconds["source"], strict=True)]
    row.figure, row.ours, row.source = median(row.rounds), median(seconds["ours"]), median(seconds["source"])
    return row


def _seconds(run: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        last = run()
    jax.block_until_ready(last)
    return (time.perf_counter() - start) / calls


if __name__ == "__main__":
    main()
