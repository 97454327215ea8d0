"""Eq. (1) as chemical reactions with mass action: each register is the difference y = p - n of two concentrations.

A term c y_j y_k of y_i' with c > 0 makes p_i from (p_j, p_k) and (n_j, n_k), and n_i from (p_j, n_k) and (n_j, p_k), at
rate c; with c < 0, the other way round. Factors are catalysts, with one exception: what would make n_i from p_i takes
p_i away instead, and vice versa, which is the same for y_i and keeps p_i + n_i from growing. Annihilation,
p_i + n_i -> nothing at rate lambda, leaves y_i as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from integraph.export.equations import Equations

SIGNS = (1, -1)  # p and n

NETWORK = (
    "Reactions with mass action. A register y is y__p - y__n, two concentrations; inputs are parameters.",
    "A rate constant is the size of a coefficient, or twice that for the cross terms of a square.",
)


@dataclass(frozen=True, slots=True)
class Reaction:
    """Reactants become products, at a rate that is the number times the product of the reactants."""

    segment: int  # from 1; 0 for all segments
    reactants: tuple[str, ...]
    products: tuple[str, ...]
    rate: float


def rail(eq: Equations, register: int, sign: int) -> str:
    """`x__p` or `x__n`: no name of a register has two underscores."""
    return f"{eq.names[register]}__{'p' if sign > 0 else 'n'}"


def reactions(eq: Equations, annihilation: float) -> Iterator[Reaction]:
    """Those of the terms, where the cross terms of a square are one reaction at twice the rate; the annihilations."""
    for number, segment in enumerate(eq.segments, 1):
        for register, terms in segment:
            for value, factors in terms:
                square = len(factors) == 2 and factors[0] == factors[1]
                for signs in product(SIGNS, repeat=len(factors)):
                    if square and signs == (-1, 1):
                        continue
                    sign = prod(signs, start=1 if value > 0 else -1)
                    reactants = tuple(rail(eq, f, s) for f, s in zip(factors, signs, strict=True))
                    rate = abs(value) * (2 if square and signs == (1, -1) else 1)
                    yield Reaction(number, reactants, _products(eq, register, sign, reactants), rate)
    for register in range(len(eq.names)):
        yield Reaction(0, tuple(rail(eq, register, sign) for sign in SIGNS), (), annihilation)


def _products(eq: Equations, register: int, sign: int, reactants: tuple[str, ...]) -> tuple[str, ...]:
    opposite = rail(eq, register, -sign)
    if opposite not in reactants:
        return (*reactants, rail(eq, register, sign))
    kept = list(reactants)
    kept.remove(opposite)
    return tuple(kept)
