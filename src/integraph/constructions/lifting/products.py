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

    def pair(self, product: Monomial) -> tuple[Monomial, Monomial] | None:
        """The two variables, the one that was added first in front; of several pairs, that with the first variable."""
        if not product:
            return (ONE, ONE) if ONE in self.rank else None
        candidates = min((self._containing.get(number, []) for number, _ in product), key=len)
        pairs = []
        for a in candidates:
            b = times(product, power(a, -1))
            if b in self.rank:
                pairs.append((a, b) if self.rank[a] <= self.rank[b] else (b, a))
        return min(pairs, key=lambda pair: self.rank[pair[0]], default=None)
