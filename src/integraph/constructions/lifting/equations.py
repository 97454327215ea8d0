"""A selection of new variables as equations: every monomial of a derivative is a product of two linear forms.

Where several products are the same monomial, an order decides. Off the manifold they differ: −w·w pulls w back, 2·w
pushes it away, and x·x does neither.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from integraph.constructions.lifting.derivation import Derivation
from integraph.constructions.lifting.formulas import expression_of, monomial_text
from integraph.constructions.lifting.polynomials import ONE, Monomial, Polynomial
from integraph.constructions.lifting.products import Products
from integraph.constructions.lifting.quadratic_system import QuadraticSystem, Term
from integraph.constructions.lifting.ring import Ring
from integraph.errors import SourceError
from integraph.targets.dynamical_system import DynamicalSystem

CONSTANT = -1  # the index of the constant 1
LARGEST = Fraction(sys.float_info.max)
POSITIVE = ("exp", "sigmoid", "softplus")
Form = dict[int, Fraction]  # register, or CONSTANT, → coefficient
Pair = tuple[Monomial, Monomial]


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The monomials that become new variables; `free` sums are affine in these and the states, `quadratic` ones are so
    in the states."""

    ring: Ring
    derivation: Derivation
    chosen: Sequence[Monomial]
    free: Sequence[int] = ()
    quadratic: Sequence[int] = ()


def equations(
    system: DynamicalSystem, selection: Selection, minimal: bool, among: str, orders: Iterable[str]
) -> list[QuadraticSystem]:
    """The quadratic systems of a selection of new variables, with some of `ORDERS`; those that are the same once."""
    ring, chosen = selection.ring, selection.chosen
    registers: list[Monomial] = [*(((n, 1),) for n in range(ring.states)), *chosen]
    forms: dict[Monomial, Form] = {ONE: {CONSTANT: Fraction(1)}}
    forms |= {m: {place: Fraction(1)} for place, m in enumerate(registers)}
    places = {m[0][0]: place for place, m in enumerate(registers) if len(m) == 1 and m[0][1] == 1}
    for number in selection.free:
        p = ring.generators[number].argument or {}
        forms[((number, 1),)] = {places[m[0][0]] if m else CONSTANT: value for m, value in p.items()}
    plain = {ONE, *registers[: ring.states]}  # 1 and the states stay as they are
    products = Products(forms)  # the constant first, then states: linear terms and known factors
    sides = [
        [
            (one, value, products.pairs(one)[: 1 if one in plain else None])
            for one, value in selection.derivation(m).items()
        ]
        for m in registers
    ]
    written: dict[tuple[tuple[Pair | None, ...], ...], tuple[Term, ...]] = {}
    for order in orders:
        choose = ORDERS[order]
        pairs = tuple(
            tuple(choose(ring, m, value, some) if some else None for _, value, some in side)
            for m, side in zip(registers, sides, strict=True)
        )
        if pairs not in written:
            written[pairs] = tuple(_rows(selection, forms, sides, pairs))
    formulas = tuple(monomial_text(ring, m) for m in chosen)
    definitions = expression_of(ring, system.variables, chosen) if chosen else None
    formed: list[Term] = []
    for place, m in enumerate(chosen, ring.states):
        pair = next((each for each in products.pairs(m) if m not in each), None)
        formed += [Term(place, *key, value) for key, value in (_terms(selection, forms, pair, m) if pair else ())]
    names = _names(system, len(chosen))
    return [
        QuadraticSystem(system, names, formulas, definitions, rows, minimal, among, tuple(formed))
        for rows in written.values()
    ]


def _rows(
    selection: Selection,
    forms: dict[Monomial, Form],
    sides: Sequence[Sequence[tuple[Monomial, Fraction, Sequence[Pair]]]],
    pairs: Sequence[Sequence[Pair | None]],
) -> Iterator[Term]:
    """The terms of all derivatives, where these products stand for their monomials."""
    for place, (side, chosen) in enumerate(zip(sides, pairs, strict=True)):
        terms: dict[tuple[int, int], Fraction] = {}
        for (monomial, value, _), pair in zip(side, chosen, strict=True):
            for key, part in _terms(selection, forms, pair, monomial):
                terms[key] = terms.get(key, Fraction(0)) + value * part
        if any(abs(value) > LARGEST for value in terms.values()):
            raise SourceError("a coefficient of the lifted equations is larger than 1.8e308: choose other units")
        yield from (Term(place, *key, value) for key, value in sorted(terms.items()) if value)


def _terms(
    selection: Selection, forms: dict[Monomial, Form], pair: Pair | None, monomial: Monomial
) -> list[tuple[tuple[int, int], Fraction]]:
    if pair is not None:
        a, b = (forms[each] for each in pair)
        return [((min(i, j), max(i, j)), u * v) for i, u in a.items() for j, v in b.items()]
    number = monomial[0][0]
    assert monomial == ((number, 1),)
    assert number in selection.quadratic, "the search left a monomial without a product"
    p: Polynomial = selection.ring.generators[number].argument or {}
    return [(_pair(m), value) for m, value in p.items()]


def _dissipative(ring: Ring, own: Monomial, value: Fraction, pairs: list[Pair]) -> Pair:
    """The product that contains the variable itself where that pulls it back, one that does not where it pushes."""

    def push(pair: Pair) -> int:
        if own not in pair:
            return 0
        other = pair[1] if pair[0] == own else pair[0]
        return (1 if value > 0 else -1) if _is_never_negative(ring, other) else 0

    return min(pairs, key=push)


def _is_never_negative(ring: Ring, m: Monomial) -> bool:
    return all(e % 2 == 0 or n in ring.positive or ring.generators[n].op in POSITIVE for n, e in m)


ORDERS: dict[str, Callable[[Ring, Monomial, Fraction, list[Pair]], Pair]] = {  # variable, coefficient, products → one
    "first": lambda ring, own, value, pairs: pairs[0],
    "last": lambda ring, own, value, pairs: pairs[-1],
    "dissipative": _dissipative,
}


def _pair(m: Monomial) -> tuple[int, int]:
    """The two registers of a monomial in states, of degree 2 at most."""
    registers = [n for n, e in m for _ in range(int(e))]
    first, second = ([CONSTANT] * (2 - len(registers)) + registers)[:2]
    return first, second


def _names(system: DynamicalSystem, count: int) -> tuple[str, ...]:
    taken = {name.lower() for name in system.variables}
    numbered = (f"{letter}{{}}" for letter in ("w", "z", "q", *("w" + "_" * n for n in range(1, len(taken) + 2))))
    pattern = next(each for each in numbered if not any(each.format(n + 1) in taken for n in range(count)))
    return tuple(pattern.format(n + 1) for n in range(count))
