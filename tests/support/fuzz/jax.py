"""Functions written in jax.numpy, against their own values in float64."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # each function runs once: compiling is all

import jax
import jax.numpy as jnp
import numpy as np

import integraph
from fuzz import judge
from fuzz.jax_draws import LARGEST
from fuzz.jax_operations import OPERATIONS
from fuzz.judge import Points
from fuzz.kind import FAILS, REFUSED, Outcome
from fuzz.straight import Case, Step, flat, needed, run, show, slack, smaller, split
from integraph.errors import IntegraphError

SHAPES = ((), (1,), (2,), (3,), (1, 3), (2, 2), (3, 1), (2, 3), (2, 1, 2), (1, 2, 3), (2, 1, 1, 3))
BOXES = ((0.0, 1.0), (-1.0, 1.0), (-2.0, 2.0), (0.5, 2.0), (-3.0, -1.0), (-0.1, 0.1))
STEPS, POINTS, TRIES = 9, 3, 40
EDGES = {"sqrt": 0.0, "cbrt": 0.0, "log": 0.0, "arcsin": 1.0, "arccos": 1.0, "arccosh": 1.0, "abs": 0.0}


class Jax:
    name = "jax"
    needs = ("jax",)

    def draw(self, rng: np.random.Generator) -> Case:
        with jax.enable_x64(True):
            return _draw(rng)

    @judge.guarded
    def check(self, case: Case) -> Outcome:
        with jax.enable_x64(True):
            return _check(case)

    def smaller(self, case: Case) -> Iterator[Case]:
        for candidate in smaller(case):
            with jax.enable_x64(True):
                fits = _shapes(candidate) is not None
            if fits:
                yield candidate

    def show(self, case: Case) -> str:
        tail = "p = integraph.compile(f, method='exact', inputs={inputs}, box={box})"
        return show(case, OPERATIONS, "import integraph, jax, jax.numpy as jnp", tail)


def _function(case: Case) -> Any:
    def f(*arrays: Any) -> Any:
        values = run(case, OPERATIONS, arrays)
        return tuple(values[n] for n in case.outputs)

    return f


def _shapes(case: Case) -> list[tuple[int, ...]] | None:
    """Of the outputs; None if it is no function that jax can trace."""
    try:
        found = jax.eval_shape(_function(case), *(jax.ShapeDtypeStruct(s, np.float64) for s in case.inputs))
    except Exception:  # of whatever kind jax raises
        return None
    return [one.shape for one in found] if all(math.prod(one.shape) for one in found) else None


def _draw(rng: np.random.Generator) -> Case:
    shapes = [SHAPES[int(rng.integers(len(SHAPES)))] for _ in range(int(rng.integers(1, 4)))]
    inputs, steps = tuple(shapes), list[Step]()
    for _ in range(int(rng.integers(1, STEPS + 1))):
        found = _step(rng, shapes)
        if found is not None:
            steps.append(found[0])
            shapes.append(found[1])
    last = len(shapes) - 1
    outputs = (last,) if rng.random() < 0.7 else (int(rng.integers(len(shapes))), last)
    size = sum(math.prod(shape) for shape in inputs)
    box = BOXES[int(rng.integers(len(BOXES)))]
    seed, thorough = int(rng.integers(1 << 30)), bool(rng.random() < 0.3)
    return needed(Case(inputs, tuple(steps), outputs, (box[0],) * size, (box[1],) * size, seed, thorough))


def _step(rng: np.random.Generator, shapes: list[tuple[int, ...]]) -> tuple[Step, tuple[int, ...]] | None:
    names = list(OPERATIONS)
    for _ in range(TRIES):
        name = names[int(rng.integers(len(names)))]
        op = OPERATIONS[name]
        args = tuple(len(shapes) - 1 - min(int(rng.geometric(0.5)) - 1, len(shapes) - 1) for _ in range(op.operands))
        data = op.draw(rng, [shapes[n] for n in args])
        if data is None:
            continue
        try:
            own = [jax.ShapeDtypeStruct(shapes[n], np.float64) for n in args]
            shape = jax.eval_shape(lambda *x, op=op, data=data: op.apply(*x, *data), *own).shape
        except (TypeError, ValueError, IndexError):
            continue
        if 0 < math.prod(shape) <= LARGEST and len(shape) <= 4:
            return Step(name, args, data), shape
    return None


def _given(case: Case, x: Points) -> list[Any]:
    return [jnp.asarray(part) for part in split(case, x)]


def _excuse(case: Case, x: Points) -> str:
    """Why a flow may fail where the outputs have values."""
    values = [np.asarray(value) for value in run(case, OPERATIONS, _given(case, x))]
    for step, value in zip(case.steps, values[len(case.inputs) :], strict=True):
        edge = EDGES.get(step.op)
        if edge is not None and (np.abs(np.abs(values[step.args[0]]) - edge) <= 1e-7).any():
            return "a root of 0"
        if not np.isfinite(value).all():
            return "what has no value is cut off"
    return ""


def _check(case: Case) -> Outcome:
    shapes, rng = _shapes(case), np.random.default_rng(case.seed)
    if shapes is None:
        return Outcome(REFUSED, "jax cannot trace it")
    low, high = np.array(case.low), np.array(case.high)
    try:
        graph = integraph.graph(_function(case), inputs=case.inputs)
    except IntegraphError as error:
        return Outcome(REFUSED, judge.reason(error))
    read = [graph.nodes[number].shape for number in graph.outputs]
    if read != shapes:
        return Outcome(FAILS, f"shape: the graph has outputs of shapes {read}, jax {shapes}")
    subject = judge.Subject(
        lambda **options: integraph.compile(graph, method="exact", box=np.stack([low, high], 1), **options),
        lambda x: np.stack([flat(run(case, OPERATIONS, _given(case, row)), case.outputs) for row in x]),
        lambda x: slack(case, OPERATIONS, jnp.asarray, x),
        low,
        high,
        lambda x: _excuse(case, x),
    )
    plan = judge.Plan(judge.engines(case.seed), judge.FREES, search=8) if case.thorough else judge.Plan()
    return judge.judge(subject, judge.points(low, high, POINTS, rng), plan, rng)


KIND = Jax()
