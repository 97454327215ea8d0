"""The monomials of degree ≤ k in d variables, and the table of their products."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from integraph.numbers.arrays import Indices
from integraph.numbers.multi_index import below, rank


@dataclass(frozen=True, slots=True, eq=False)
class Monomials:
    """Exponents (M, d) in graded order: the constant, then ξ_1 … ξ_d, then the rest.

    Monomial `first[t]` times monomial `second[t]` is monomial `product[t]`: all pairs whose product has degree ≤ k.
    """

    d: int
    k: int
    exponents: Indices
    degrees: Indices
    first: Indices
    second: Indices
    product: Indices
    squares: Indices  # the place of each ξ_i², or −1 if k < 2
    kinds: Indices  # 0: even in every variable, 1: otherwise, 2: the constant, ξ_i and ξ_i²

    @property
    def count(self) -> int:
        return len(self.degrees)


@lru_cache(maxsize=64)
def monomials(d: int, k: int) -> Monomials:
    small = d == 0 or k <= 1
    exponents = np.eye(1 + d * min(k, 1), d, -1, np.int64) if small else below(d, k + 1)
    degrees = exponents.sum(1)
    ends = np.searchsorted(degrees, np.arange(k + 2))
    first = np.concatenate([np.repeat(np.arange(ends[i], ends[i + 1]), ends[k - i + 1]) for i in range(k + 1)])
    second = np.concatenate([np.tile(np.arange(ends[k - i + 1]), ends[i + 1] - ends[i]) for i in range(k + 1)])
    product = first + second if small else rank(exponents[first] + exponents[second])
    squares = rank(2 * np.eye(d, dtype=np.int64)) if k >= 2 and d else np.full(d, -1)
    kinds = (exponents % 2 != 0).any(1).astype(np.int64)
    kinds[: 1 + (d if k else 0)] = 2
    kinds[squares[squares >= 0]] = 2
    return Monomials(d, k, exponents, degrees, first, second, product, squares, kinds)
