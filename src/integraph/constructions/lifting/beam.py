"""Beam search: a good set of new variables soon, which the exhaustive search then tries to beat."""

from __future__ import annotations

from collections import Counter

from integraph.clock import now
from integraph.constructions.lifting.problem import Problem
from integraph.constructions.lifting.search import SearchTimeError

TRIED = 40  # new variables that are tried for each set


def beam(problem: Problem, until: float, most: int, width: int) -> list[int] | None:
    """New variables, fewer than `most`, or nothing; `width` sets are kept for each number of them."""
    known = list(problem.known)
    products = frozenset(problem.given | {a + b for a in known for b in known})
    missing = frozenset(set().union(*(problem.needs(v) for v in known)) - products)
    levels: dict[int, dict[frozenset[int], tuple[list[int], frozenset[int], frozenset[int]]]] = {
        0: {frozenset(known): (known, products, missing)}
    }
    for size in range(most):
        level = levels.pop(size, {})
        ranked = sorted(level.values(), key=lambda node: _score(problem, node[2]))[:width]
        for variables, _, missing in ranked:
            if not missing:
                return variables[len(known) :]
        for variables, products, missing in ranked:
            for new in _candidates(problem, variables, missing):
                if now() > until:
                    raise SearchTimeError
                chosen = frozenset((*variables, *new))
                following = levels.setdefault(size + len(new), {})
                if chosen not in following:
                    following[chosen] = _extended(problem, variables, products, missing, new)
    return None


def _score(problem: Problem, missing: frozenset[int]) -> tuple[int, int]:
    return len(missing), sum(sum(map(abs, problem.exponents(m))) for m in missing)


def _candidates(problem: Problem, variables: list[int], missing: frozenset[int]) -> list[tuple[int, ...]]:
    covers = Counter([m - v for m in missing for v in variables])
    single = []
    for w, _ in covers.most_common():
        if problem.allowed(w):
            single.append((w,))
            if len(single) == TRIED:
                break
    hardest = min(missing, key=lambda m: (len(problem.splits(m)), m))
    double = [pair for pair in problem.splits(hardest) if not set(pair) & set(variables)]
    return [*single, *((a,) if a == b else (a, b) for a, b in double[:TRIED])]


def _extended(
    problem: Problem, variables: list[int], products: frozenset[int], missing: frozenset[int], new: tuple[int, ...]
) -> tuple[list[int], frozenset[int], frozenset[int]]:
    variables, more, lacking = list(variables), set(products), set(missing)
    for w in new:
        variables.append(w)
        more.update([w + v for v in variables])
        lacking |= problem.needs(w)
    return variables, frozenset(more), frozenset(lacking - more)
