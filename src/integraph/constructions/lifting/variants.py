"""The ways to write one system over generators: which powers are multiplied out, which sums are generators, which
monomials of a sum are replaced by it and where, and whether squares of sines are written by cosines. None is always the
best; the search tries all, and keeps the smallest result.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from integraph.constructions.lifting.derivation import (
    CircularRulesError,
    Derivation,
    Rule,
    derived_sums,
    is_affine,
    rule_of,
    square_rules,
    sums,
)
from integraph.constructions.lifting.polynomials import ONE, Monomial
from integraph.constructions.lifting.problem import Problem
from integraph.constructions.lifting.ring import SUM, Ring
from integraph.constructions.lifting.translation import translate
from integraph.targets.dynamical_system import DynamicalSystem

DEPTH = 3  # rounds in which derivatives of sums give new sums
SUMS = 8  # derived sums at most


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """One way, as a search problem. `forced` are generators that are variables in any case; `free` are sums that are
    affine in these and the states, and cost no register; `quadratic` are sums that cost none where they stand
    alone."""

    ring: Ring
    derivation: Derivation
    free: tuple[int, ...]
    forced: tuple[int, ...]
    quadratic: tuple[int, ...]
    problem: Problem


def variants(system: DynamicalSystem) -> Iterator[Variant]:
    """All ways that differ, plain ones first."""
    for expand, complement, rates in itertools.product((False, True), repeat=3):
        plain = ring_of(system, expand=expand, complement=complement, rates=rates)
        if expand > bool(plain.expansions) or complement > bool(plain.complements) or rates > bool(plain.rates):
            continue
        yield from _rewritten(system, expand, complement, rates)


def _rewritten(system: DynamicalSystem, expand: bool, complement: bool, rates: bool) -> Iterator[Variant]:
    """One ring, with and without derived sums, with all rules."""
    seen = set()
    for derived in (False, True):
        ring = ring_of(system, expand=expand, complement=complement, rates=rates)
        own = sums(ring)
        try:
            added = _derive_sums(ring) if derived else []
        except CircularRulesError:
            continue
        if derived > bool(added):
            continue
        for shallow, choice, square in itertools.product((False, True), (None, 0, 1), (None, "cos", "sin")):
            rules = _rules(ring, own, added, choice) | (square_rules(ring, square) if square else {})
            key = (derived, shallow and bool(rules) and _has_denominators(ring), _key(rules))
            if key not in seen:
                seen.add(key)
                try:
                    yield _variant(ring, rules, shallow)
                except CircularRulesError:
                    continue


def _key(rules: dict[int, Rule]) -> tuple[tuple[int, Monomial], ...]:
    return tuple((number, rule.t) for number, rule in rules.items())


def _has_denominators(ring: Ring) -> bool:
    """Whether a derivative has a negative power of a sum."""
    return any(e < 0 and ring.generators[n].op == SUM for p in ring.derivatives for m in p for n, e in m)


def ring_of(system: DynamicalSystem, *, expand: bool, complement: bool = False, rates: bool = False) -> Ring:
    """The generators of a system, closed under derivatives."""
    ring = Ring(system.variables, system.positive, expand=expand, complement=complement, rates=rates)
    ring.close([*translate(system.expression, ring), *({} for _ in system.inputs)])
    return ring


def _derive_sums(ring: Ring) -> list[int]:
    """Add generators for sums in the derivatives of sums, and in theirs."""
    added: list[int] = []
    round_ = [n for n in sums(ring) if not is_affine(ring, n)]
    for _ in range(DEPTH):
        following = []
        for number in round_:
            rules = _rules(ring, sums(ring), added, 0)
            derivative = Derivation(ring, rules).normal(ring.derivatives[number])
            for p in derived_sums(ring, derivative):
                if len(added) == SUMS:
                    return added
                before = len(ring.generators)
                new = ring.sum_generator(p)
                if new == before:
                    ring.close(ring.derivatives)
                    following.append(new)
                    added.append(new)
        round_ = following
    return added


def _rules(ring: Ring, own: list[int], added: list[int], choice: int | None) -> dict[int, Rule]:
    rules = {}
    for number in (*added, *own):
        if number in (ring.rates or ()):
            continue
        always = number in added or ring.is_complement(number)
        if choice is not None or always:
            rule = rule_of(ring, number, choice or 0, always=always)
            if rule is not None:
                rules[number] = rule
    return rules


def forced_by_rates(ring: Ring) -> list[int]:
    """The generators that have to be variables, so that rates are affine in variables."""
    return sorted({n for rate in ring.rates or () for n in _atoms_of_affine(ring, rate)})


def _variant(ring: Ring, rules: dict[int, Rule], shallow: bool) -> Variant:
    derivation = Derivation(ring, rules, shallow=shallow)
    forced = forced_by_rates(ring)
    free = tuple(n for n in sums(ring) if is_affine(ring, n, forced))
    states: list[Monomial] = [((n, 1),) for n in range(ring.states)]
    known = [ONE, *states, *(((n, 1),) for n in free), *(((n, 1),) for n in forced)]
    quadratic = tuple(n for n in sums(ring) if n not in free and _is_quadratic(ring, n))
    signed = [n for n, one in enumerate(ring.generators) if one.op == "exp"]
    problem = Problem(len(ring.generators), derivation, known, [((n, 1),) for n in quadratic], signed, ring.states)
    return Variant(ring, derivation, free, tuple(forced), quadratic, problem)


def _is_quadratic(ring: Ring, number: int) -> bool:
    """Whether a sum is quadratic in the states."""
    p = ring.generators[number].argument
    return p is not None and all(
        all(n < ring.states and e in (1, 2) for n, e in m) and sum(e for _, e in m) <= 2 for m in p
    )


def _atoms_of_affine(ring: Ring, number: int) -> set[int]:
    """The generators besides states in a sum that is affine in generators, none elsewhere."""
    p = ring.generators[number].argument or {}
    if any(len(m) > 1 or (m and m[0][1] != 1) for m in p):
        return set()
    return {m[0][0] for m in p if m and m[0][0] >= ring.states}
