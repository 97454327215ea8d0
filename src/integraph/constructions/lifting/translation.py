"""Right-hand sides as polynomials in the generators of a ring: steps of a formula, one rule for each operation."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from integraph.constructions.lifting.polynomials import ONE, Polynomial, add, constant, generator, multiply, scale
from integraph.constructions.lifting.ring import HALF, Ring
from integraph.errors import SourceError
from integraph.targets.constants import constants
from integraph.targets.expression import CHOICES, CONDITION, CONSTANTS, NUMBER, VARIABLE, Expression, Step
from integraph.targets.float_arithmetic import OPERATIONS

KINKS = {  # and what is smooth
    CHOICES[0]: "u - softplus(k*(u - v))/k for min(u, v)",
    CHOICES[1]: "v + softplus(k*(u - v))/k for max(u, v)",
    CONDITION: "v + (u - v)*sigmoid(-k*g) for u where g < 0, else v",
    "abs": "sqrt(x^2 + 1/k^2) for |x|",
}
THIRD = Fraction(1, 3)


def translate(expression: Expression, ring: Ring) -> list[Polynomial]:
    """The outputs of an expression whose variables are the states of the ring, in order."""
    fixed = constants(expression)
    places = {name: place for place, name in enumerate(expression.variables)}
    values: list[Polynomial] = []
    for number, step in enumerate(expression.steps):
        args = [values[n] for n in step.args]
        if step.op == NUMBER:
            value = (
                constant(Fraction(math.pi if step.text == CONSTANTS[0] else math.e))
                if step.text in CONSTANTS
                else constant(Fraction(step.text))
            )
        elif step.op == VARIABLE:
            value = generator(places[step.text])
        elif step.op in RATIONAL:
            value = RATIONAL[step.op](ring, *args)
        elif number in fixed and not (step.op == "power" and step.text):
            value = _fixed(fixed[number][0], step, expression)
        elif step.op in OPERATIONS and all(p.keys() <= {ONE} for p in args):  # x - x + 1
            value = _fixed(_value(step.op, args), step, expression)
        elif step.op in KINKS:
            raise SourceError(
                f"{_words(step, expression)} has a kink or a jump, and a lift needs smooth functions: write "
                f"{KINKS[step.op]}, with a large k"
            )
        elif step.op == "power":
            value = _power(ring, args, step)
        elif step.op in FUNCTIONS:
            value = FUNCTIONS[step.op](ring, args[0])
        else:
            value = ring.function(step.op, args[0])
        values.append(value)
    return [values[n] for n in expression.outputs]


def _value(op: str, args: list[Polynomial]) -> float:
    with np.errstate(all="ignore"):
        return float(OPERATIONS[op](*(float(p.get(ONE, 0)) for p in args)))


def _fixed(value: float, step: Step, expression: Expression) -> Polynomial:
    if not math.isfinite(value):
        raise SourceError(f"{_words(step, expression)} is not finite: correct it, or the parameters in it")
    return constant(Fraction(value))


def _words(step: Step, expression: Expression) -> str:
    return expression.source[slice(*step.where)] or step.op


def _power(ring: Ring, args: list[Polynomial], step: Step) -> Polynomial:
    if step.text:
        return ring.raised(args[0], Fraction(step.text))
    return ring.function("exp", multiply(args[1], _logarithm(ring, args[0])))


def _logarithm(ring: Ring, p: Polynomial) -> Polynomial:
    if set(p) == {ONE} and p[ONE] > 0:
        return constant(Fraction(math.log(p[ONE])))
    return ring.function("ln", p)


def _hyperbolic(sign: int) -> Callable[[Ring, Polynomial], Polynomial]:
    return lambda ring, p: scale(add(ring.function("exp", p), scale(ring.function("exp", scale(p, -1)), sign)), HALF)


RATIONAL: dict[str, Callable[..., Polynomial]] = {
    "add": lambda ring, p, q: add(p, q),
    "sub": lambda ring, p, q: add(p, scale(q, -1)),
    "neg": lambda ring, p: scale(p, -1),
    "mul": lambda ring, p, q: multiply(p, q),
    "div": lambda ring, p, q: multiply(p, ring.raised(q, Fraction(-1))),
}
FUNCTIONS: dict[str, Callable[[Ring, Polynomial], Polynomial]] = {
    "sqrt": lambda ring, p: ring.raised(p, HALF),
    "cbrt": lambda ring, p: ring.raised(p, THIRD),
    "expm1": lambda ring, p: add(ring.function("exp", p), constant(-1)),
    "log1p": lambda ring, p: ring.function("ln", add(constant(1), p)),
    "log2": lambda ring, p: scale(ring.function("ln", p), Fraction(1 / math.log(2))),
    "log10": lambda ring, p: scale(ring.function("ln", p), Fraction(1 / math.log(10))),
    "sinh": _hyperbolic(-1),
    "cosh": _hyperbolic(1),
}
