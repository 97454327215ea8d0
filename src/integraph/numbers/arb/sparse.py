"""Polynomials of which few coefficients are not 0, with what `jets` needs of flint's dense ones."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ZERO


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """{exponent: coefficient}."""

    terms: dict[int, arb]

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __getitem__(self, exponent: int) -> arb:
        return self.terms.get(exponent, ZERO)

    def __neg__(self) -> Sparse:
        return Sparse({exponent: -x for exponent, x in self.terms.items()})

    def __add__(self, other: Sparse) -> Sparse:
        terms = dict(self.terms)
        for exponent, x in other.terms.items():
            terms[exponent] = terms[exponent] + x if exponent in terms else x
        return Sparse(terms)

    def __mul__(self, other: Sparse) -> Sparse:
        terms: dict[int, arb] = {}
        for i, x in self.terms.items():
            check_deadline()
            for j, y in other.terms.items():
                if i + j in terms:
                    terms[i + j] += x * y
                else:
                    terms[i + j] = x * y
        return Sparse(terms)
