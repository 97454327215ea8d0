"""Polynomials of which few coefficients are not 0, with what `jets` needs of flint's dense ones."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from integraph.clock import look
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
        found = dict(self.terms)
        for exponent, x in other.terms.items():
            found[exponent] = found[exponent] + x if exponent in found else x
        return Sparse(found)

    def __mul__(self, other: Sparse) -> Sparse:
        found: dict[int, arb] = {}
        for i, x in self.terms.items():
            look()
            for j, y in other.terms.items():
                if i + j in found:
                    found[i + j] += x * y
                else:
                    found[i + j] = x * y
        return Sparse(found)
