"""Iterative deepening with branch and bound: for k = 0, 1, … all sets of k new variables that could do.

A node is a set of variables; one monomial that is not yet a product of two of them is chosen, and every way to make it
one is a branch. After a branch with the new variable w failed, its siblings need not consider w. A branch is cut when k
more variables cannot cover what is missing: w covers as many missing monomials as there are quotients in the set, and k
new ones have k(k + 1)/2 products among themselves. Where every way to write a monomial as a product is known, each
missing one needs a new factor; more than k of them that share no possible factor cut the branch too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from integraph.clock import now
from integraph.constructions.lifting.problem import Node, Problem

Tick = Callable[[int], None]
REMEMBERED = 300_000  # sets without a solution, about 300 MB
EVERY = 512  # nodes between two messages


class SearchTimeError(Exception):
    """The time is over."""


class Search:
    """`tick(k)` is called now and then."""

    def __init__(self, problem: Problem, tick: Tick) -> None:
        self.problem, self.tick = problem, tick
        self.until = 0.0
        self.nodes = self.size = 0
        self.failed: dict[frozenset[int], int] = {}
        self.excluded: set[int] = set()

    def smallest(self, below: int, until: float) -> list[int] | None:
        """The smallest set of new variables with fewer than `below`, or nothing: then there is none among what is
        tried. A SearchTimeError after the time `until`; called again, it goes on with the size that it came to."""
        self.until = until
        root = self.problem.root()
        while self.size < below:
            self.failed, self.excluded = {}, set()
            result = self._extend(root, frozenset(root.variables), self.size)
            if result is not None:
                return result[len(root.variables) :]
            self.size += 1
        return None

    def _extend(self, node: Node, chosen: frozenset[int], k: int) -> list[int] | None:
        """The variables and at most k more, or nothing."""
        variables, missing = node.variables, node.missing
        self.nodes += 1
        if now() > self.until:
            raise SearchTimeError
        if self.nodes % EVERY == 0:
            self.tick(self.size)
        if not missing:
            return variables
        if k == 0:
            return None
        if k == 1:
            return self._last(node, chosen)
        if self.failed.get(chosen, -1) >= k:
            return None
        covers = Counter([m - v for m in missing for v in variables])
        most = sum(sorted(covers.values())[-k:]) + k * (k + 1) // 2
        if most < len(missing) or self._too_many_apart(missing, chosen, k):
            self._remember(chosen, k)
            return None
        single, double = self._branches(missing, variables, chosen)
        before = []
        try:
            for w in sorted(single, key=lambda w: -covers[w]):
                result = self._extend(self.problem.extended(node, (w,)), chosen.union((w,)), k - 1)
                if result is not None:
                    return result
                self.excluded.add(w)
                before.append(w)
            for pair in double:
                if self.excluded.isdisjoint(pair):
                    result = self._extend(self.problem.extended(node, pair), chosen.union(pair), k - 2)
                    if result is not None:
                        return result
        finally:
            self.excluded.difference_update(before)
        self._remember(chosen, k)
        return None

    def _remember(self, chosen: frozenset[int], k: int) -> None:
        """That a set has no solution with k more; when there are too many, all are forgotten."""
        if len(self.failed) >= REMEMBERED:
            self.failed.clear()
        self.failed[chosen] = k

    def _too_many_apart(self, missing: set[int], chosen: frozenset[int], k: int) -> bool:
        """Whether more than k missing monomials share no factor that could be new."""
        left = len(missing)
        if left <= k or not self.problem.complete:
            return False
        taken: set[int] = set()
        for m in sorted(missing, key=self.problem.hardness):
            new = self.problem.factors(m) - chosen - self.excluded
            if not new:
                return True
            if taken.isdisjoint(new):
                taken |= new
                k -= 1
                if k < 0:
                    return True
            left -= 1
            if left <= k:
                return False
        return False

    def _branches(
        self, missing: set[int], variables: list[int], chosen: frozenset[int]
    ) -> tuple[set[int], list[tuple[int, int]]]:
        """Single variables and pairs of them, one of which is needed."""
        problem = self.problem
        m = min(missing, key=problem.hardness)
        single: set[int] = set()
        double = []
        for a, b in problem.splits(m):
            if a in chosen or b in chosen or a == b:
                single.add(b if a in chosen else a)
            else:
                double.append((a, b))
        if not problem.complete:
            single.update(m - v for v in variables if problem.allowed(m - v))
        return single - self.excluded, double

    def _last(self, node: Node, chosen: frozenset[int]) -> list[int] | None:
        """With one more variable: it has to cover all that is missing."""
        variables, products, missing = node
        rest = iter(missing)
        m = next(rest)
        able = {m - v for v in variables} | {m // 2}
        for m in rest:
            able = {w for w in able if m - w in chosen or w + w == m}
        for w in able - self.excluded:
            if self.problem.allowed(w) and all(
                m in products or m - w in chosen or m == w + w for m in (*self.problem.needs(w), *missing)
            ):
                return [*variables, w]
        return None
