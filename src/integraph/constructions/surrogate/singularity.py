"""Where a function of one variable is not smooth, and how: by zooming in on the largest change of its slope.

Over a distance h the slope of a function changes by about h^q: q = 1 where it is smooth, 0 at a kink, between 0 and −1
at a root or a cusp, −1 at a jump, −2 and below at a pole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import U

FIRST, NEXT = 33, 2  # points on the whole line, and more in every half of it that is looked at closely
ROUNDS = 18
LAST = 8  # rounds that decide
CALLS = FIRST + ROUNDS * NEXT
ROUNDED = 4096 * U  # a change of the slope below so much of the scale/h may be rounding
KINDS = {  # and the q above which a place is one; below all of them it is a pole
    "": 0.5,
    "a kink": -0.25,
    "a cusp or a root, where its slope is infinite,": -0.75,
    "a jump or a logarithm": -1.4,
}
POLE = "a pole"
ENDLESS = ("a jump or a logarithm", POLE)  # what no polynomial comes close to


@dataclass(frozen=True, slots=True)
class Singularity:
    kind: str
    place: float  # in [0, 1]


def singularity(f: Callable[[Floats], Floats], scale: float) -> Singularity | None:
    """The place on [0, 1] where f: (B,) → (B, outputs) is least smooth; None if it is smooth there. `scale` is what its
    rounding errors are relative to."""
    t = np.linspace(0.0, 1.0, FIRST)
    v = f(t)
    distances, changes = [], []
    for _ in range(ROUNDS):
        change = _changes(t, v)
        at = int(change.argmax())
        h = float(t[at + 2] - t[at])
        if not change[at] > ROUNDED * scale / h:
            break
        distances.append(h)
        changes.append(float(change[at]))
        t, v = t[at : at + 3], v[at : at + 3]
        middle = 0.5 * (t[:-1] + t[1:])
        t, v = np.insert(t, [1, 2], middle), np.insert(v, [1, 2], f(middle), axis=0)
    if len(distances) < LAST:
        return None
    q = float(np.polyfit(np.log(distances[-LAST:]), np.log(changes[-LAST:]), 1)[0])
    kind = next((name for name, least in KINDS.items() if q > least), POLE)
    place = 0.0 if t[0] == 0.0 else 1.0 if t[-1] == 1.0 else float(0.5 * (t[0] + t[-1]))
    return Singularity(kind, place) if kind else None


def _changes(t: Floats, v: Floats) -> Floats:
    """How much the slope changes at each inner point, the largest over the outputs."""
    slopes = np.diff(v, axis=0) / np.diff(t)[:, None]
    result: Floats = np.abs(np.diff(slopes, axis=0)).max(1)
    return result
