"""A selection of new variables as equations: every monomial of a derivative is a product of two linear forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from integraph.constructions.lifting.derivation import Derivation
from integraph.constructions.lifting.formulas import expression_of, monomial_text
from integraph.constructions.lifting.polynomials import ONE, Monomial, Polynomial
from integraph.constructions.lifting.products import Products
from integraph.constructions.lifting.quadratic_system import QuadraticSystem, Term
from integraph.constructions.lifting.ring import Ring
from integraph.targets.dynamical_system import DynamicalSystem

CONSTANT = -1  # the index of the constant 1
Form = dict[int, Fraction]  # register, or CONSTANT, → coefficient


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The monomials that become new variables; `free` sums are affine in these and the states, `quadratic` ones are so
    in the states."""

    ring: Ring
    derivation: Derivation
    chosen: Sequence[Monomial]
    free: Sequence[int] = ()
    quadratic: Sequence[int] = ()


def equations(system: DynamicalSystem, selection: Selection, minimal: bool, among: str) -> QuadraticSystem:
    """The quadratic system of a selection of new variables."""
    ring, chosen = selection.ring, selection.chosen
    registers: list[Monomial] = [*(((n, 1),) for n in range(ring.states)), *chosen]
    forms: dict[Monomial, Form] = {ONE: {CONSTANT: Fraction(1)}}
    forms |= {m: {place: Fraction(1)} for place, m in enumerate(registers)}
    places = {m[0][0]: place for place, m in enumerate(registers) if len(m) == 1 and m[0][1] == 1}
    for number in selection.free:
        p = ring.generators[number].argument or {}
        forms[((number, 1),)] = {places[m[0][0]] if m else CONSTANT: value for m, value in p.items()}
    products = Products(forms)  # the constant first, then states: linear terms and known factors are preferred
    rows: list[Term] = []
    for place, m in enumerate(registers):
        terms: dict[tuple[int, int], Fraction] = {}
        for monomial, value in selection.derivation(m).items():
            for key, part in _terms(selection, forms, products, monomial):
                terms[key] = terms.get(key, Fraction(0)) + value * part
        rows += [Term(place, *key, value) for key, value in sorted(terms.items()) if value]
    formulas = tuple(monomial_text(ring, m) for m in chosen)
    definitions = expression_of(ring, system.variables, chosen) if chosen else None
    return QuadraticSystem(system, _names(system, len(chosen)), formulas, definitions, tuple(rows), minimal, among)


def _terms(
    selection: Selection, forms: dict[Monomial, Form], products: Products, monomial: Monomial
) -> list[tuple[tuple[int, int], Fraction]]:
    pair = products.pair(monomial)
    if pair is not None:
        a, b = (forms[each] for each in pair)
        return [((min(i, j), max(i, j)), u * v) for i, u in a.items() for j, v in b.items()]
    number = monomial[0][0]
    assert monomial == ((number, 1),)
    assert number in selection.quadratic, "the search left a monomial without a product"
    p: Polynomial = selection.ring.generators[number].argument or {}
    return [(_pair(m), value) for m, value in p.items()]


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
