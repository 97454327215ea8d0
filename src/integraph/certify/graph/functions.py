"""Functions of atoms, as graph and program both have them: the same function of the same atoms is the same atom."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from integraph.bounds.ranges.interval_functions import FUNCTIONS, ROWS
from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.polynomials import ONE
from integraph.numbers import intervals
from integraph.numbers.arrays import Indices
from integraph.numbers.intervals import Interval


def applied(atoms: Atoms, name: str, x: Indices) -> Indices:
    """A function of one number."""
    flat = np.ravel(x)

    def span(new: Indices) -> Interval:
        return FUNCTIONS[name](atoms.span(flat[new]))

    return atoms.function(name, flat[:, None], span).reshape(np.shape(x))


def rectified(atoms: Atoms, x: Indices) -> Indices:
    """max(x, 0), which is x or 0 where the sign of x is known."""
    flat = np.ravel(x)
    result = np.where(atoms.low[flat] >= 0, flat, atoms.zero)
    either = (atoms.low[flat] < 0) & (atoms.high[flat] > 0)
    if either.any():
        result[either] = applied(atoms, "relu", flat[either])
    return result.reshape(np.shape(x))


def raised(atoms: Atoms, x: Indices, a: Fraction) -> Indices:
    """x^a for positive x; (x^b)^a is x^(ab)."""
    flat = np.ravel(x)
    result = np.full(len(flat), -1)
    for b in atoms.exponents():
        bases, powers = atoms.known(("power", b))
        order = np.argsort(powers)
        place = np.minimum(np.searchsorted(powers[order], flat), len(order) - 1)
        inner = (result < 0) & (powers[order][place] == flat)
        if inner.any():
            result[inner] = raised(atoms, bases[order][place[inner], 0], a * b)
    left = np.flatnonzero(result < 0)
    keys = flat[left]

    def span(new: Indices) -> Interval:
        return intervals.power(atoms.span(keys[new]), a)

    if a == 1:
        result[left] = keys
    elif len(left):
        result[left] = atoms.function(("power", a), keys[:, None], span)
    return result.reshape(np.shape(x))


def of_rows(atoms: Atoms, name: str, scores: Indices, taking: Any) -> Indices:
    """The softmax of rows (rows, n), its logarithm, or ln Σ exp (rows,); 0 for entries that take no part. Of a single
    entry they are 1, 0 and the entry."""
    rows, n = scores.shape
    alone = taking.sum(1) == 1
    keys = np.where(taking, scores, -1)
    own = f"{name} of {n}"  # rows of another length are another function
    if name == "logsumexp":
        total = atoms.function(own, keys, lambda new: ROWS[name](atoms.span(scores[new]), taking[new]))
        return np.where(alone, np.where(taking, scores, 0).sum(1), total)

    def span(new: Indices) -> Interval:
        whole = ROWS[name](atoms.span(scores[new // n]), taking[new // n])
        at = np.arange(len(new)), new % n
        return Interval(whole.low[at], whole.high[at])

    places = np.tile(-2 - np.arange(n), rows)[:, None]
    result = atoms.function(own, np.concatenate([np.repeat(keys, n, 0), places], 1), span)
    share = np.where(alone[:, None], ONE if name == "softmax" else atoms.zero, result.reshape(rows, n))
    return np.where(taking, share, atoms.zero)


def opaque(atoms: Atoms, name: str, x: Indices, span: Interval) -> Indices:
    """A function of which only the range is known."""
    low, high = (np.broadcast_to(end, x.shape).reshape(-1) for end in (span.low, span.high))
    keys = np.ravel(x)[:, None]
    return atoms.function(name, keys, lambda new: Interval(low[new], high[new])).reshape(x.shape)
