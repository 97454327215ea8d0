"""Beam search: a good set of new variables soon, which the exhaustive search then tries to beat."""

from __future__ import annotations

from collections import Counter

from integraph.clock import now
from integraph.constructions.lifting.problem import Node, Problem
from integraph.constructions.lifting.search import SearchTimeError

TRIED = 40  # new variables that are tried for each set


def beam(problem: Problem, until: float, most: int, width: int) -> list[int] | None:
    """New variables, fewer than `most`, or nothing; `width` sets are kept for each number of them."""
    root = problem.root()
    levels: dict[int, dict[frozenset[int], Node]] = {0: {frozenset(root.variables): root}}
    for size in range(most):
        level = levels.pop(size, {})
        ranked = sorted(level.values(), key=lambda node: _score(problem, node.missing))[:width]
        for node in ranked:
            if not node.missing:
                return node.variables[len(root.variables) :]
        for node in ranked:
            for new in _candidates(problem, node):
                if now() > until:
                    raise SearchTimeError
                chosen = frozenset((*node.variables, *new))
                following = levels.setdefault(size + len(new), {})
                if chosen not in following:
                    following[chosen] = problem.extended(node, new)
    return None


def _score(problem: Problem, missing: set[int]) -> tuple[int, int]:
    return len(missing), sum(sum(map(abs, problem.exponents(m))) for m in missing)


def _candidates(problem: Problem, node: Node) -> list[tuple[int, ...]]:
    variables, missing = node.variables, node.missing
    covers = Counter([m - v for m in missing for v in variables])
    single = []
    for w, _ in covers.most_common():
        if problem.allowed(w):
            single.append((w,))
            if len(single) == TRIED:
                break
    hardest = min(missing, key=problem.hardness)
    double = [pair for pair in problem.splits(hardest) if not set(pair) & set(variables)]
    return [*single, *((a,) if a == b else (a, b) for a, b in double[:TRIED])]
