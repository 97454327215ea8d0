"""ONNX graphs against onnxruntime in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import integraph
from fuzz import judge
from fuzz.kind import FAILS, REFUSED, Outcome
from fuzz.onnx import oracle
from fuzz.onnx.case import Case, model
from fuzz.onnx.draw import draw
from fuzz.onnx.runtime import run
from fuzz.onnx.show import show
from fuzz.onnx.smaller import smaller
from integraph.errors import IntegraphError

QUICK = judge.Plan()
THOROUGH = judge.Plan(judge.ENGINES, judge.FREES, search=12)
POINTS = 4


class Onnx:
    name = "onnx"
    needs = ("onnx", "onnxruntime", "scipy")

    def draw(self, rng: np.random.Generator) -> Case:
        return draw(rng)

    def check(self, case: Case) -> Outcome:
        try:
            return _check(case)
        except Exception as error:
            return judge.crash(error)

    def smaller(self, case: Case) -> Iterator[Case]:
        """Those that still are graphs which the oracle can run, and have an output."""
        for candidate in smaller(case):
            if candidate.outputs and _runs(candidate):
                yield candidate

    def show(self, case: Case) -> str:
        return show(case)


def _runs(case: Case) -> bool:
    try:
        with np.errstate(all="ignore"):
            found = run(case, np.array(case.low))
    except (ValueError, KeyError, TypeError):
        return False
    return all(found[name].size for name in case.outputs)


def _check(case: Case) -> Outcome:
    low, high, rng = np.array(case.low), np.array(case.high), np.random.default_rng(case.seed)
    x = judge.points(low, high, POINTS, rng)
    with np.errstate(all="ignore"):
        values = run(case, x[0])
    shapes = {name: values[name].shape for name in case.outputs}
    try:
        graph = integraph.graph(model(case, shapes))
    except IntegraphError as error:
        return Outcome(REFUSED, judge.reason(error))
    read = tuple(graph.nodes[number].shape for number in graph.outputs)
    if read != tuple(shapes.values()):
        return Outcome(FAILS, f"shape: the graph has outputs of shapes {read}, the oracle {tuple(shapes.values())}")

    def compiled(**options: Any) -> integraph.Program:
        return integraph.compile(graph, method="exact", box=np.stack([low, high], 1), **options)

    subject = judge.Subject(
        compiled,
        lambda points: oracle.truth(case, points),
        lambda points: oracle.slack(case, points),
        low,
        high,
        lambda point, found: oracle.indifferent(case, point, found),
        lambda point: oracle.singular(case, point),
    )
    return judge.judge(subject, x, THOROUGH if case.thorough else QUICK, rng)


KIND = Onnx()
