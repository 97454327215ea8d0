"""How fast p + n -> nothing has to be in a reaction network.

The sum s = p + n of the two concentrations of a register obeys s' <= sum |c| s_j s_k - lambda/2 (s^2 - y^2), where a
term that has the register itself as a factor enters as c s y_k, with its sign. This majorant is integrated for the
sampled ranges of y. If lambda is too small, s runs away; if it is large, the network is stiff.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import solve_ivp

from integraph.errors import UsageError
from integraph.export.amplitude import ranges
from integraph.numbers.arrays import Floats
from integraph.program.terms import concatenate

if TYPE_CHECKING:
    from integraph.program import Program

RATES = (100.0, 300.0, 1000.0, 3000.0)  # from 1e4 on, integrators need minutes
GROWTH = 8.0  # s may exceed the largest |y| of all registers by this factor


def annihilation_rate(program: Program, wish: float | None) -> tuple[float, str]:
    """The rate, in units of 1/(concentration x segment), and a sentence that says why."""
    if wish is not None:
        if isinstance(wish, bool) or not isinstance(wish, int | float) or not 0 <= wish < np.inf:
            raise UsageError("annihilation is a rate, a number from 0", argument="annihilation", value=wish)
        return float(wish), "Annihilation: its rate was given."
    low, high = ranges(program)
    most = GROWTH * max(1.0, float(np.maximum(high, -low).max()))
    for rate in RATES:
        largest = _largest_sum(program, rate, low, high, most)
        if largest < most:
            return rate, (
                f"Annihilation: at rate {rate!r} no p + n exceeds {largest:.3g}, by the ranges of the registers on "
                "sampled trajectories (a sample, not a proof); a smaller rate lets them grow, a larger one is stiff."
            )
    raise UsageError(
        f"at annihilation rates up to {RATES[-1]:g}, p + n exceeds {most:.3g}, {GROWTH:g} times the largest register, "
        "by sampled ranges: give a rate, annihilation=, and compare the result, or rescale the states"
    )


def _largest_sum(program: Program, rate: float, low: Floats, high: Floats, most: float) -> float:
    """The largest s of the majorant, infinite if it exceeds `most`."""

    def runaway(_: float, s: Floats) -> float:
        return most - float(s.max())

    runaway.terminal = True  # type: ignore[attr-defined]
    largest = 0.0
    sums = np.maximum(high, -low)[0] * (np.arange(program.width) < program.inputs)
    for number in range(program.depth):
        slope = _majorant(program, number, rate, low[number], high[number])
        path = solve_ivp(slope, (0.0, 1.0), sums, method="LSODA", rtol=1e-4, atol=1e-6, events=runaway)
        if path.status != 0:
            return math.inf
        sums, largest = path.y[:, -1], max(largest, float(path.y.max()))
    return largest


def _majorant(
    program: Program, number: int, rate: float, low: Floats, high: Floats
) -> Callable[[float, Floats], Floats]:
    terms = concatenate(list(program.segment_terms(number)))
    above, below = np.append(high, 1.0), np.append(low, 1.0)  # index -1 is the constant 1
    other = np.where(terms.i == terms.j, terms.k, terms.j)
    own = (terms.i == terms.j) | (terms.i == terms.k)
    growth = np.maximum(terms.value * above[other], terms.value * below[other])
    squares = np.maximum(high, -low) ** 2
    duration = program.segments[number].duration

    def slope(_: float, s: Floats) -> Floats:
        full = np.append(s, 1.0)
        gain = np.where(own, growth * full[terms.i], np.abs(terms.value) * full[terms.j] * full[terms.k])
        made = duration * np.bincount(terms.i, gain, program.width)
        return np.asarray(made - rate / 2 * np.maximum(s * s - squares, 0.0), np.float64)

    return slope
