"""A time beyond which no solution exists, from the quadratic equations.

Let z = ±y count each variable in the direction in which it grows, and z = a + s with a the least of z over the set. If
the derivatives of some s have no negative coefficient and contain no other variables, these s stay ≥ 0. The least u of
some of them grows at least like u' = β + αu + κu² ≥ κ(u + m)², m = min(α/2κ, √(β/κ)), with the least sums of
coefficients of their derivatives, and is infinite at 1/(κm) or before. All numbers are fractions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from integraph.certify.loops.flow_kernels import row_values
from integraph.certify.loops.rows import of_box
from integraph.certify.loops.tape import operations
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.numbers.arrays import Floats
from integraph.targets.expression import CONSTANTS, NUMBER, VARIABLE, Expression

MOST = 10_000  # terms
TRIES = 256  # steps from which a proof is tried
RATIONAL = {NUMBER, VARIABLE, "add", "sub", "neg", "mul", "div"}
SINGLE = {"exp", "ln", "sin", "cos", "tan", "tanh", "sigmoid", "atan"}
ONE = -1

Derivative = dict[tuple[int, int], Fraction]  # (j, k), j ≤ k, −1 being 1 → the coefficient of s_j·s_k


def exact(expression: Expression) -> bool:
    """Whether no coefficient of the quadratic system was rounded, and its variables are infinite only where the
    equations have no value: only rational operations, integer powers, and functions of single variables. Not roots:
    1/√x is infinite at x = 0, where √x is 0 and a solution may stay (x' = −√x)."""
    steps = expression.steps
    for step in steps:
        if step.op == NUMBER and step.text in CONSTANTS:
            return False
        whole = step.op == "power" and bool(step.text) and Fraction(step.text).denominator == 1
        single = step.op in SINGLE and steps[step.args[0]].op == VARIABLE
        if not (step.op in RATIONAL or whole or single):
            return False
    return True


def latest_existence(
    system: QuadraticSystem, start: Floats, steps: Sequence[float], over: Sequence[Floats]
) -> float | None:
    """The earliest time that is proved to be beyond every solution, from boxes over steps. That states stay positive
    is not proved, so a system that was lifted on this condition is left out."""
    if not exact(system.source.expression) or system.source.positive or len(system.terms) > MOST:
        return None
    held, times = start[len(system.source.states) :], []
    for number in np.unique(np.linspace(0, len(over) - 1, TRIES).astype(int)) if over else ():
        ranges = _lifted_ranges(system, np.concatenate([over[number][0], held]))
        wait = None if ranges is None else time_to_blow_up(system, ranges)
        if wait is not None:
            times.append(math.nextafter(steps[number] + wait, math.inf))
    return min(times, default=None)


def _lifted_ranges(system: QuadraticSystem, box: Floats) -> Floats | None:
    """The ranges of all variables of the quadratic system, if its formulas are defined."""
    if system.definitions is None:
        return box
    rows = of_box(box[:, 0], box[:, 1]).fresh()
    tape = operations(system.definitions, system.source.variables)
    failed, new = row_values(tape.code, tape.numbers, tape.held, tape.outputs, rows.values, rows.table)
    return None if failed >= 0 else np.concatenate([box, rows.with_values(new).ranges()])


def time_to_blow_up(system: QuadraticSystem, box: Floats) -> float | None:
    """A time before which all solutions from a box (width, 2) of variables cease to exist, if there is a proof."""
    held = range(len(system.source.states), len(system.source.variables))
    flat = all(box[n, 0] == box[n, 1] for n in held)
    if not flat or not np.isfinite(box).all():
        return None
    sign = np.where(_slopes(system, 0.5 * box[:, 0] + 0.5 * box[:, 1]) < 0, -1, 1).tolist()
    least = [Fraction(low) if s > 0 else -Fraction(high) for s, (low, high) in zip(sign, box.tolist(), strict=True)]
    derivatives = _shifted(system, sign, least, set(held))
    cone = set(range(system.width))
    while out := {i for i in cone if not _monotone(derivatives[i], cone)}:
        cone -= out
    together = set(cone)
    while out := {i for i in together if not _sums(derivatives[i], together)[2] > 0}:
        together -= out
    bounds = [_bound(derivatives, some) for some in (*({i} for i in cone), together) if some]
    return min((bound for bound in bounds if bound is not None), default=None)


def _slopes(system: QuadraticSystem, y: Floats) -> Floats:
    slopes: Floats = system.b + system.A @ y + system.Q @ np.outer(y, y).ravel()
    return slopes


def _shifted(system: QuadraticSystem, sign: list[int], least: list[Fraction], held: set[int]) -> list[Derivative]:
    """The derivatives of s, from y = ±(a + s); s = 0 of what is held."""
    derivatives: list[Derivative] = [defaultdict(Fraction) for _ in range(system.width)]
    for i, j, k, value in system.terms:
        factors = [(n, least[n]) for n in (j, k) if n >= 0]
        weight = sign[i] * value * math.prod(sign[n] for n in (j, k) if n >= 0)
        terms: Derivative = {(ONE, ONE): weight * math.prod(a for _, a in factors)}
        for place, (n, _) in enumerate(factors):
            others = math.prod(a for other, (_, a) in enumerate(factors) if other != place)
            terms[ONE, n] = terms.get((ONE, n), Fraction(0)) + weight * others
        if len(factors) == 2:
            terms[j, k] = weight
        for powers, by in terms.items():
            if held.isdisjoint(powers):
                derivatives[i][powers] += by
    return derivatives


def _monotone(derivative: Derivative, cone: set[int]) -> bool:
    return all(value >= 0 and all(n in cone for n in place if n >= 0) for place, value in derivative.items() if value)


def _sums(derivative: Derivative, some: set[int]) -> tuple[Fraction, Fraction, Fraction]:
    """Its coefficients of 1, of `some`, and of products of two of them."""
    linear = sum((value for (j, k), value in derivative.items() if j == ONE and k in some), Fraction(0))
    square = sum((value for (j, k), value in derivative.items() if j in some and k in some), Fraction(0))
    return derivative.get((ONE, ONE), Fraction(0)), linear, square


def _bound(derivatives: list[Derivative], some: set[int]) -> float | None:
    """When the least of `some` is infinite."""
    sums = [_sums(derivatives[i], some) for i in some]
    constant, linear, square = (float(min(column)) for column in zip(*sums, strict=True))
    if not square > 0:
        return None
    m = min(linear / (2.0 * square), math.sqrt(constant / square))
    bound = 1.0 / (square * m) * (1.0 + 1e-12) if square * m > 0 else math.inf
    return bound if math.isfinite(bound) else None
