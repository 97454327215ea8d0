"""Linear bounds of a network, backwards: what the checker uses where inputs are too many for polynomials of degree 2.

Over the range of its argument each unit lies between two lines. A form λ·y of the units of a layer is therefore at
least a form of their arguments, with the lower line where λ ≥ 0 and the upper one elsewhere, and that is a form of the
layer before; at the inputs, the least value is at a corner of the box. The ranges of arguments come from such forms,
layer by layer. The coefficients that are carried are exact numbers: what is dropped of a ball, times the size of what
it multiplies, goes into the constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from integraph.certify.problem import Box
from integraph.certify.properties.replay.functions import FUNCTIONS, fit
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, box, column, intersection, matrix, size
from integraph.numbers.arrays import Floats
from integraph.targets.network import Layer, Network


@dataclass(frozen=True, slots=True)
class Lines:
    """low_slope·x + low ≤ f(x) ≤ high_slope·x + high over a range; the slopes are exact, low and high exact ends."""

    low_slope: arb
    low: arb
    high_slope: arb
    high: arb


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """A layer whose arguments are known: its map, the lines of its units, and how large arguments and values are."""

    A: arb_mat
    b: arb_mat
    lines: list[Lines]
    arguments: Balls
    values: Balls

    def pull(self, form: Balls, rows: int) -> tuple[arb_mat, Balls]:
        """The form of the values before, and the constants, such that the forms of the units are at least both."""
        slopes: Balls = []
        least = [ZERO] * rows
        n = len(self.lines)
        for row in range(rows):
            total = ZERO
            for ball, line, argument, value in zip(
                form[row * n : (row + 1) * n], self.lines, self.arguments, self.values, strict=True
            ):
                exact = ball.mid()
                slope, shift = (line.low_slope, line.low) if exact >= 0 else (line.high_slope, line.high)
                product = exact * slope
                slopes.append(product.mid())
                total += exact * shift - (ball.rad() * value + product.rad() * argument)
            least[row] = total
        carried = arb_mat(rows, n, slopes)
        shifts = (carried * self.b).entries()
        return carried * self.A, [a + b for a, b in zip(least, shifts, strict=True)]


def ranges(network: Network, region: Box, of_outputs: Floats, of_inputs: Floats) -> Balls:
    """What each row of of_outputs·y + of_inputs·x is between, for every x of the box."""
    x = box(region.low, region.high)
    units: list[Units] = []
    values = x
    for layer in network.layers:
        known = _between(units, x, layer.A, np.zeros((len(layer.A), len(x))), layer.b, values)
        lines, values = _lines(layer, known)
        units.append(Units(matrix(layer.A), column([arb(b) for b in layer.b.tolist()]), lines,
                           [size(ball) for ball in known], [size(ball) for ball in values]))  # fmt: skip
    return _between(units, x, of_outputs, of_inputs, np.zeros(len(of_outputs)), values)


def _between(units: Sequence[Units], x: Balls, form: Floats, inputs: Floats, shift: Floats, values: Balls) -> Balls:
    """The ranges of form·(values of the last units) + inputs·x + shift."""
    check_deadline()
    plain = (matrix(form) * column(values) + matrix(inputs) * column(x)).entries()
    made = [ball + b for ball, b in zip(plain, shift.tolist(), strict=True)]
    if not units or not all(ball.is_finite() for ball in values):
        return made
    m = len(form)
    both = matrix(np.concatenate([form, -form]))
    total = [ZERO] * (2 * m)
    for layer in reversed(units):
        check_deadline()
        both, least = layer.pull(both.entries(), 2 * m)
        total = [a + b for a, b in zip(total, least, strict=True)]
    corner = _corners(both + matrix(np.concatenate([inputs, -inputs])), x)
    ends = [(a + b).lower() for a, b in zip(total, corner, strict=True)]
    by_lines = [(ends[n] + b).lower().union((b - ends[m + n]).upper()) for n, b in enumerate(shift.tolist())]
    return [intersection(a, b) for a, b in zip(made, by_lines, strict=True)]


def _corners(form: arb_mat, x: Balls) -> Balls:
    """Lower bounds of form·x."""
    sizes = arb_mat(form.nrows(), form.ncols(), [abs(ball) for ball in form.entries()])
    spread = (sizes * column([ball.rad() for ball in x])).entries()
    return [a - b for a, b in zip((form * column([ball.mid() for ball in x])).entries(), spread, strict=True)]


def _lines(layer: Layer, known: Balls) -> tuple[list[Lines], Balls]:
    """Of every unit of a layer the lines, and the range of its values."""
    if layer.activation == "identity":
        return [Lines(ONE, ZERO, ONE, ZERO)] * len(known), known
    if layer.activation in ("relu", "leaky_relu"):
        below = np.broadcast_to(layer.slope if layer.activation == "leaky_relu" else 0.0, (len(known),)).tolist()
        drawn = [_kinked(arb(slope), ball) for slope, ball in zip(below, known, strict=True)]
    else:
        drawn = [_curved(layer.activation, ball) for ball in known]
    return [lines for lines, _ in drawn], [value for _, value in drawn]


def _flat(value: arb) -> Lines:
    return Lines(ZERO, value.lower(), ZERO, value.upper())


def _curved(name: str, known: arb) -> tuple[Lines, arb]:
    """Parallel lines around the interpolant of degree 1."""
    value = FUNCTIONS[name](known, 0)[0]
    fitted = fit(FUNCTIONS[name], known, 1)
    if fitted is None or len(fitted.q) < 2:
        return _flat(value), value
    slope = (fitted.q[1] / fitted.rho).mid()
    # f(x) − slope·x = q₀ − slope·c + (q₁ − slope·ρ)·u + [−remainder, remainder]
    middle = fitted.q[0] - slope * fitted.c
    off = abs(fitted.q[1] - slope * fitted.rho) + fitted.remainder
    return Lines(slope, (middle - off).lower(), slope, (middle + off).upper()), value


def _kinked(below: arb, known: arb) -> tuple[Lines, arb]:
    """x where x ≥ 0 and below·x elsewhere: one line, or the chord and the branch that is nearer on the wider side."""
    if not known.is_finite():
        return _flat(known), known
    low, high = known.lower(), known.upper()
    if low >= 0:
        return Lines(ONE, ZERO, ONE, ZERO), known
    if high <= 0:
        return Lines(below, ZERO, below, ZERO), below * known
    chord = ((high - below * low) / (high - low)).mid()
    shift = (below * low - chord * low).union(high - chord * high).union(ZERO)
    branch = ONE if high > -low else below
    value = (below * low).union(high).union(ZERO)
    if below <= 1:
        return Lines(branch, ZERO, chord, shift.upper()), value
    return Lines(chord, shift.lower(), branch, ZERO), value
