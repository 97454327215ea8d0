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
EQUALS = 16  # smallest sets that are compared
MORE = 2_000  # nodes that are spent on others after the first


class SearchTimeError(Exception):
    """The time is over, or the nodes are."""


class Search:
    """`tick(k)` is called now and then."""

    def __init__(self, problem: Problem, tick: Tick) -> None:
        self.problem, self.tick = problem, tick
        self.until = 0.0
        self.most: int | None = None
        self.nodes = self.size = self.last = 0
        self.sets: list[list[int]] = []
        self.failed: dict[frozenset[int], int] = {}
        self.excluded: set[int] = set()

    def smallest(self, below: int, until: float, nodes: int | None = None) -> list[list[int]]:
        """The smallest sets of new variables with fewer than `below`, some of those of equal size; none where there is
        none among what is tried. A SearchTimeError after the time `until` or so many nodes; called again, it goes on
        with the size that it came to."""
        self.until, self.most = until, None if nodes is None else self.nodes + nodes
        root = self.problem.root()
        while self.size < below:
            self.failed, self.excluded, self.sets = {}, set(), []
            self._extend(root, frozenset(root.variables), self.size)
            if self.sets:
                return [variables[len(root.variables) :] for variables in self.sets]
            self.size += 1
        return []

    def _extend(self, node: Node, chosen: frozenset[int], k: int) -> bool:
        """Collect the sets of the variables and at most k more; whether that is enough."""
        variables, missing = node.variables, node.missing
        self.nodes += 1
        if self.sets and (len(self.sets) >= EQUALS or self.nodes > self.last):
            return True
        if now() > self.until or (self.most is not None and self.nodes > self.most):
            if self.sets:
                return True
            raise SearchTimeError
        if self.nodes % EVERY == 0:
            self.tick(self.size)
        if not missing:
            self._collect(variables)
            return False
        if k == 0 or self.failed.get(chosen, -1) >= k:
            return False
        if k == 1:
            self._last(node, chosen)
            return False
        covers = Counter([m - v for m in missing for v in variables])
        most = sum(sorted(covers.values())[-k:]) + k * (k + 1) // 2
        if most < len(missing) or self._too_many_apart(missing, chosen, k):
            self._remember(chosen, k)
            return False
        single, double = self._branches(missing, variables, chosen)
        before = []
        try:
            for w in sorted(single, key=lambda w: -covers[w]):
                if self._extend(self.problem.extended(node, (w,)), chosen.union((w,)), k - 1):
                    return True
                self.excluded.add(w)
                before.append(w)
            for pair in double:
                if self.excluded.isdisjoint(pair) and self._extend(
                    self.problem.extended(node, pair), chosen.union(pair), k - 2
                ):
                    return True
        finally:
            self.excluded.difference_update(before)
        self._remember(chosen, k)
        return False

    def _collect(self, variables: list[int]) -> None:
        if not self.sets:
            self.last = self.nodes + MORE
        self.sets.append(variables)

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

    def _last(self, node: Node, chosen: frozenset[int]) -> None:
        """With one more variable: it has to cover all that is missing."""
        variables, products, missing = node
        rest = iter(missing)
        m = next(rest)
        able = {m - v for v in variables} | {m // 2}
        for m in rest:
            able = {w for w in able if m - w in chosen or w + w == m}
        for w in sorted(able - self.excluded):
            if self.problem.allowed(w) and all(
                m in products or m - w in chosen or m == w + w for m in (*self.problem.needs(w), *missing)
            ):
                self._collect([*variables, w])
