"""The box as users write it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.numbers.arrays import numbers
from integraph.numbers.intervals import Interval
from integraph.program import Program
from integraph.text import counted

PAIRS = (tuple, list, int, float)  # what pairs are written as, or the ends of all sides; anything else is an array


def where(program: Program, box: ArrayLike | None = None) -> Interval:
    """The box that is given, or else the one that the program was made for, or else [0, 1]^d."""
    own = program.box
    return interval(box, program.inputs) if box is not None or own is None else Interval(own.low, own.high)


def interval(box: ArrayLike | None, inputs: int) -> Interval:
    """[0, 1]^d, or one pair (low, high) for all inputs, or one for each, or two arrays (low, high)."""
    if box is None:
        return Interval(np.zeros(inputs), np.ones(inputs))
    if isinstance(box, str):
        raise UsageError(
            "the box must be numbers, (low, high) or a list of such pairs; a text such as [-1,1]^2 is for the command",
            argument="box",
            value=box,
        )
    given = numbers(box, "the box")
    if given.shape not in ((2,), (inputs, 2), (2, inputs)):
        pairs = given.ndim == 2 and given.shape[1] == 2
        held = f"the box has {counted(given.shape[0], 'pair')}" if pairs else f"the box has shape {given.shape}"
        raise UsageError(
            f"{held} for {counted(inputs, 'input')}: give (low, high) for all inputs, one such pair for each "
            "input, or two arrays, the lows and the highs",
            argument="box",
        )
    arrays = isinstance(box, tuple) and any(not isinstance(part, PAIRS) for part in box)  # (X.min(0), X.max(0))
    if isinstance(box, tuple) and given.shape == (2, 2) and not arrays and (given[:, 0] == given[:, 1]).all():
        raise UsageError(
            f"the box {box} has sides of width 0 only: for lows and highs give a tuple of two arrays, for pairs "
            "a list of (low, high)",
            argument="box",
        )
    sides = np.broadcast_to(given.T if given.shape == (2, inputs) and (inputs != 2 or arrays) else given, (inputs, 2))
    for n, (low, high) in enumerate(sides.tolist()):
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise UsageError(f"side {n} of the box is [{low}, {high}]: needs finite low ≤ high", argument="box")
    return Interval(sides[:, 0].copy(), sides[:, 1].copy())


def count_sides(box: ArrayLike | None) -> int | None:
    """How many inputs a box is for; one pair is for any number."""
    shape = () if box is None else numbers(box, "the box").shape
    if len(shape) != 2:
        return None
    pairs = shape[1] == 2 and not (shape[0] == 2 and isinstance(box, tuple))
    return int(shape[0] if pairs else shape[1])
