"""Which two of many variables have a given product: looked up by a generator that both share with it."""

from __future__ import annotations

from collections.abc import Iterable

from integraph.constructions.lifting.polynomials import ONE, Monomial, power, times


class Products:
    """Variables, as monomials, in the order of preference. A factor of a product contains each of its generators, so
    that few variables are candidates."""

    def __init__(self, variables: Iterable[Monomial]) -> None:
        self.rank: dict[Monomial, int] = {}
        self._containing: dict[int, list[Monomial]] = {}
        for one in variables:
            self.add(one)

    def add(self, variable: Monomial) -> None:
        if variable not in self.rank:
            self.rank[variable] = len(self.rank)
            for number, _ in variable:
                self._containing.setdefault(number, []).append(variable)

    def remove_last(self) -> None:
        """Take the last variable back."""
        variable, _ = self.rank.popitem()
        for number, _ in variable:
            self._containing[number].pop()

    def pairs(self, product: Monomial) -> list[tuple[Monomial, Monomial]]:
        """The pairs of variables with this product, in their order, the one that was added first in front."""
        if not product:
            return [(ONE, ONE)] if ONE in self.rank else []
        candidates = min((self._containing.get(number, []) for number, _ in product), key=len)
        pairs = set()
        for a in candidates:
            b = times(product, power(a, -1))
            if b in self.rank:
                pairs.add((a, b) if self.rank[a] <= self.rank[b] else (b, a))
        return sorted(pairs, key=lambda pair: (self.rank[pair[0]], self.rank[pair[1]]))

    def pair(self, product: Monomial) -> tuple[Monomial, Monomial] | None:
        """The first of them."""
        return next(iter(self.pairs(product)), None)
