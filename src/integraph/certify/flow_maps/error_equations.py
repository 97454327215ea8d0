"""The equations of the error e = y − z of a stored quadratic flow y beside the exact lifted solution z = (x, φ(x)).

With terms c of the exact system and ĉ as stored, z' = Σ c z_j z_k and y' = Σ ĉ y_j y_k give

    e' = Σ ĉ (z_j e_k + e_j z_k + e_j e_k) + (ĉ − c) z_j z_k,

in which nothing is subtracted that is nearly equal: the last term has the rounding errors of the controls as factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from integraph.certify.loops.tape import Operations, operations
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.targets.expression import NUMBER, VARIABLE, Expression, Tape

Terms = Mapping[tuple[int, int, int], Fraction]  # (i, j, k), j ≤ k, −1 being the constant 1


def exact_terms(system: QuadraticSystem) -> dict[tuple[int, int, int], Fraction]:
    return {(i, j, k): value for i, j, k, value in system.terms}


def error_equations(system: QuadraticSystem, stored: Terms) -> Operations:
    """The derivatives of x and of e, of values of x, e, and the inputs, which are held and have no error."""
    source = system.source
    count, held = len(source.states), range(len(source.states), len(source.variables))
    errors = {i: f"error {i}" for i in range(system.width) if i not in held}
    tape = Tape((*source.states, *errors.values(), *source.inputs))
    rates = _added(tape, source.expression)
    z = [tape.add(VARIABLE, text=name) for name in source.variables]
    z += [] if system.definitions is None else _added(tape, system.definitions)
    e = {i: tape.add(VARIABLE, text=name) for i, name in errors.items()}
    exact, sums = exact_terms(system), dict.fromkeys(errors, -1)
    for place in sorted({*exact, *stored}):
        i, j, k = place
        kept, off = stored.get(place, Fraction(0)), stored.get(place, Fraction(0)) - exact.get(place, Fraction(0))
        parts: list[tuple[Fraction, tuple[int, ...]]] = []
        if kept:
            parts += [(kept, (z[a], e[b])) for a, b in ((j, k), (k, j)) if b in e and a >= 0]
            parts += [(kept, (e[k],))] if j < 0 and k in e else []
            parts += [(kept, (e[j], e[k]))] if j in e and k in e else []
        if off:
            parts.append((off, tuple(z[a] for a in (j, k) if a >= 0)))
        for weight, factors in parts:
            term = tape.add(NUMBER, text=str(weight))
            for factor in factors:
                term = tape.add("mul", term, factor)
            sums[i] = term if sums[i] < 0 else tape.add("add", sums[i], term)
    zero = tape.add(NUMBER, text="0")
    outputs = [*rates, *(zero if total < 0 else total for total in sums.values())]
    changing = (*source.states, *errors.values())
    assert len(outputs) == count + len(errors)
    return operations(tape.expression(outputs), changing)


def _added(tape: Tape, expression: Expression) -> list[int]:
    """The steps of an expression on another tape, and where its outputs are."""
    places: list[int] = []
    for step in expression.steps:
        places.append(tape.add(step.op, *(places[n] for n in step.args), text=step.text))
    return [places[n] for n in expression.outputs]
