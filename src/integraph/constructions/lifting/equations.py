"""A selection of new variables as equations: every monomial of a derivative is a product of two linear forms."""

from __future__ import annotations

from fractions import Fraction

from integraph.constructions.lifting.formulas import expression_of, monomial_text
from integraph.constructions.lifting.polynomials import Monomial, Polynomial
from integraph.constructions.lifting.quadratic_system import QuadraticSystem, Term
from integraph.constructions.lifting.variants import Variant
from integraph.targets.dynamical_system import DynamicalSystem

ONE = -1  # the index of the constant 1
Form = dict[int, Fraction]  # register, or ONE, → coefficient


def equations(system: DynamicalSystem, variant: Variant, new: list[int], minimal: bool, among: str) -> QuadraticSystem:
    """The quadratic system of a variant and its new variables."""
    ring, problem = variant.ring, variant.problem
    chosen: list[Monomial] = [*(((n, 1),) for n in variant.forced), *map(problem.monomial, new)]
    registers: list[Monomial] = [*(((n, 1),) for n in range(ring.states)), *chosen]
    forms: dict[int, Form] = {0: {ONE: Fraction(1)}}
    forms |= {problem.pack(m): {place: Fraction(1)} for place, m in enumerate(registers)}
    places = {m[0][0]: place for place, m in enumerate(registers) if len(m) == 1 and m[0][1] == 1}
    for number in variant.free:
        p = ring.generators[number].argument or {}
        forms[problem.pack(((number, 1),))] = {places[m[0][0]] if m else ONE: value for m, value in p.items()}
    pairs: dict[int, tuple[int, int]] = {}
    order = list(forms)
    for rank, a in enumerate(order):  # the constant first, then states: linear terms and known factors are preferred
        for b in order[rank:]:
            pairs.setdefault(a + b, (a, b))
    rows: list[Term] = []
    for place, m in enumerate(registers):
        terms: dict[tuple[int, int], Fraction] = {}
        for monomial, value in variant.derivation(m).items():
            for key, part in _products(variant, forms, pairs, monomial):
                terms[key] = terms.get(key, Fraction(0)) + value * part
        rows += [Term(place, *key, value) for key, value in sorted(terms.items()) if value]
    formulas = tuple(monomial_text(ring, m) for m in chosen)
    definitions = expression_of(ring, system.variables, chosen) if chosen else None
    return QuadraticSystem(system, _names(system, len(chosen)), formulas, definitions, tuple(rows), minimal, among)


def _products(
    variant: Variant, forms: dict[int, Form], pairs: dict[int, tuple[int, int]], monomial: Monomial
) -> list[tuple[tuple[int, int], Fraction]]:
    packed = variant.problem.pack(monomial)
    if packed in pairs:
        a, b = (forms[each] for each in pairs[packed])
        return [((min(i, j), max(i, j)), u * v) for i, u in a.items() for j, v in b.items()]
    number = monomial[0][0]
    assert monomial == ((number, 1),)
    assert number in variant.quadratic, "the search left a monomial without a product"
    p: Polynomial = variant.ring.generators[number].argument or {}
    return [(_pair(m), value) for m, value in p.items()]


def _pair(m: Monomial) -> tuple[int, int]:
    """The two registers of a monomial in states, of degree 2 at most."""
    registers = [n for n, e in m for _ in range(int(e))]
    first, second = ([ONE] * (2 - len(registers)) + registers)[:2]
    return first, second


def _names(system: DynamicalSystem, count: int) -> tuple[str, ...]:
    taken = {name.lower() for name in system.variables}
    numbered = (f"{letter}{{}}" for letter in ("w", "z", "q", *("w" + "_" * n for n in range(1, len(taken) + 2))))
    pattern = next(each for each in numbered if not any(each.format(n + 1) in taken for n in range(count)))
    return tuple(pattern.format(n + 1) for n in range(count))
