"""ONNX graphs against onnxruntime in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import ModelProto

import integraph
from fuzz import judge
from fuzz.kind import AGREES, FAILS, REFUSED, Outcome
from fuzz.onnx import oracle
from fuzz.onnx.case import Array, Case, model
from fuzz.onnx.draw import draw
from fuzz.onnx.laws import LAWS, Idle
from fuzz.onnx.runtime import run
from fuzz.onnx.show import show
from fuzz.onnx.smaller import smaller
from integraph.errors import IntegraphError, SourceError

QUICK = judge.Plan()
TOLERANCES = (1e-1, 1e-3, 1e-5)
POINTS = 4


class Onnx:
    name = "onnx"
    needs = ("onnx", "onnxruntime", "scipy")

    def draw(self, rng: np.random.Generator) -> Case:
        return draw(rng, tuple(LAWS))

    @judge.guarded
    def check(self, case: Case) -> Outcome:
        outcome = _check(case)
        return outcome if outcome.status != AGREES or not case.law else _law(case)

    def smaller(self, case: Case) -> Iterator[Case]:
        """Those that still are graphs which the oracle can run, and have an output."""
        for candidate in smaller(case):
            if candidate.outputs and _runs(candidate):
                yield candidate

    def show(self, case: Case) -> str:
        return show(case, _plan(case).eps if _smoothed(case) else None)


def _runs(case: Case) -> bool:
    try:
        found = run(case, np.array(case.low))
    except (ValueError, KeyError, TypeError):
        return False
    return all(found[name].size for name in case.outputs)


def _smoothed(case: Case) -> bool:
    """Whether it needs a tolerance."""
    try:
        integraph.compile(model(case), method="exact", box=np.stack([case.low, case.high], 1))
    except SourceError:
        return True
    except Exception:  # it fails, which is why it is shown
        return False
    return False


def _check(case: Case) -> Outcome:
    values = run(case, np.array(case.low))
    shapes = {name: values[name].shape for name in case.outputs}
    made = model(case, shapes)
    return _judged(case, made, tuple(shapes.values()), np.arange(len(case.low)), _plan(case))


def _plan(case: Case) -> judge.Plan:
    if not case.thorough:
        return QUICK
    eps = TOLERANCES[case.seed % len(TOLERANCES)]
    return judge.Plan(judge.engines(case.seed), judge.FREES, search=12, eps=eps, always=case.seed % 2 == 0)


def _law(case: Case) -> Outcome:
    """What is true of a case is true of it as a law changes it."""
    values = run(case, np.array(case.low))
    shapes = tuple(values[name].shape for name in case.outputs)
    try:
        changed = LAWS[case.law](case, np.random.default_rng(case.seed))
    except Idle:
        return Outcome(AGREES)
    found = _judged(case, changed.model, shapes, changed.order, QUICK)
    return Outcome(FAILS, f"law: {case.law}, {found.detail}") if found.status == FAILS else found


def _judged(case: Case, made: ModelProto, shapes: tuple[Any, ...], order: Array, plan: judge.Plan) -> Outcome:
    """A model whose inputs y are those of the case as x = y[order]."""
    back = np.argsort(order)
    low, high = np.array(case.low)[back], np.array(case.high)[back]
    rng = np.random.default_rng(case.seed)
    try:
        graph = integraph.graph(made)
    except IntegraphError as error:
        return Outcome(REFUSED, judge.reason(error))
    read = tuple(graph.nodes[number].shape for number in graph.outputs)
    if read != shapes:
        return Outcome(FAILS, f"shape: the graph has outputs of shapes {read}, the oracle {shapes}")

    def compiled(**options: Any) -> integraph.Program:
        return integraph.compile(graph, method="exact", box=np.stack([low, high], 1), **options)

    subject = judge.Subject(
        compiled,
        lambda y: oracle.truth(case, y[:, order]),
        lambda y: oracle.slack(case, y[:, order]),
        low,
        high,
        lambda y: oracle.excuse(case, y[order]),
    )
    return judge.judge(subject, judge.points(low, high, POINTS, rng), plan, rng)


KIND = Onnx()
