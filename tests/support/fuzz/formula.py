"""Formulas: every function of the language, on boxes of every size, against mpmath at 60 digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from mpmath import mpf

import integraph
from fuzz import formula_trees as trees
from fuzz.formula_trees import VARIABLES, Tree
from fuzz.formula_truth import truth
from fuzz.judge import ENGINES, FREES, Points, guarded, reason
from fuzz.kind import AGREES, FAILS, REFUSED, UNDECIDED, Outcome
from fuzz.precision import Row, Subject, judge
from integraph.errors import IntegraphError, SpecError

POINTS = 10  # random ones
LEAN = 0.01  # of the cases
BOXES = ((0.0, 1.0), (-1.0, 1.0), (0.5, 2.0), (1.0, 2.0), (-2.0, -0.5), (0.1, 1.0), (-3.0, 3.0))


@dataclass(frozen=True)
class Case:
    trees: tuple[Tree, ...]
    box: tuple[tuple[float, float], ...]
    eps: float | None
    seed: int  # of the points
    method: str = "exact"

    @property
    def texts(self) -> list[str]:
        return [trees.text(tree) for tree in self.trees]

    @property
    def variables(self) -> tuple[str, ...]:
        return VARIABLES[: len(self.box)]


class Formula:
    name = "formula"
    needs = ("mpmath",)

    def draw(self, rng: np.random.Generator) -> Case:
        variables, seed = int(rng.integers(1, 4)), int(rng.integers(2**31))
        if rng.random() < LEAN:
            tree = trees.formula(rng, min(variables, 2), 2)
            return Case((tree,), ((0.0, 1.0),) * min(variables, 2), 10.0 ** -int(rng.integers(1, 4)), seed, "lean")
        depth, outputs = int(rng.integers(1, 5)), 1 + int(rng.random() < 0.1)
        found = tuple(trees.formula(rng, variables, depth) for _ in range(outputs))
        eps = 10.0 ** -int(rng.integers(1, 9)) if rng.random() < 0.4 else None
        return Case(found, tuple(_side(rng) for _ in range(variables)), eps, seed)

    @guarded
    def check(self, case: Case) -> Outcome:
        return _check(case)

    def smaller(self, case: Case) -> Iterator[Case]:
        if len(case.trees) > 1:
            yield from (replace(case, trees=(tree,)) for tree in case.trees)
        if case.method == "exact" and case.eps is not None:
            yield replace(case, eps=None)
        for n, tree in enumerate(case.trees):
            for less in trees.smaller(tree):
                yield replace(case, trees=(*case.trees[:n], less, *case.trees[n + 1 :]))
        if len(case.box) > 1 and not any(case.variables[-1] in trees.names(tree) for tree in case.trees):
            yield replace(case, box=case.box[:-1])
        for n, side in enumerate(case.box):
            for simple in (*BOXES[:4], tuple(float(f"{end:.2g}") for end in side)):
                if simple[0] < simple[1] and len(repr(simple)) < len(repr(side)):
                    yield replace(case, box=(*case.box[:n], simple, *case.box[n + 1 :]))

    def show(self, case: Case) -> str:
        method = "" if case.method == "exact" else f", method={case.method!r}"
        return (
            f"import integraph\n\nprogram = integraph.compile({case.texts}, {case.eps}, box={list(case.box)}, "
            f"variables={list(case.variables)}{method})\nprogram({oracle(case).points(1)[:1].tolist()})"
        )


def _side(rng: np.random.Generator) -> tuple[float, float]:
    """Often [0, 1] and its like, sometimes tiny, wide or far from 0."""
    kind = rng.random()
    if kind < 0.5:
        return BOXES[int(rng.integers(len(BOXES)))]
    middle = float(rng.normal() * 10.0 ** rng.integers(-2, 3))
    radius = float(10.0 ** rng.uniform(-6, 3) if kind < 0.8 else 10.0 ** rng.uniform(-1, 1))
    return middle - radius * float(rng.random()), middle + radius


def _check(case: Case) -> Outcome:
    """All ways to free registers; the worst of what became of them."""
    subject, outcomes = oracle(case), []
    for free in FREES if case.method == "exact" else FREES[:1]:
        try:
            program = integraph.compile(
                case.texts, case.eps, box=list(case.box), method=case.method, variables=case.variables,
                free=free if case.method == "exact" else None,
            )  # fmt: skip
        except SpecError:  # what the compiler made itself breaks a rule
            raise
        except IntegraphError as error:
            outcomes.append(Outcome(REFUSED, reason(error)))
            continue
        outcomes.append(judge(subject, program, free, _engines(case, free), subject.points(POINTS)))
        if outcomes[-1].status == FAILS:
            return outcomes[-1]
    return min(outcomes, key=lambda one: (UNDECIDED, AGREES, REFUSED).index(one.status))


def _engines(case: Case, free: str) -> Sequence[str]:
    """All of them for two of the policies."""
    every = case.method == "exact" and free in (FREES[0], FREES[1 + case.seed % 3])
    return ENGINES if every else ENGINES[:1]


def oracle(case: Case) -> Subject:
    def rows(x: Points, unit: mpf) -> list[Row]:
        return [list(row) for row in zip(*(truth(tree, x, unit) for tree in case.trees), strict=True)]

    def values(x: Points) -> Points:
        return integraph.graph(case.texts, variables=case.variables).values(x)

    return Subject(rows, values, case.box, len(case.trees), case.seed, case.eps)


KIND = Formula()
