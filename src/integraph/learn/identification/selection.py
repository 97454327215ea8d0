"""Which coefficients are needed: the selection of columns of a linear least-squares problem."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from integraph.numbers.arrays import Floats, Indices

Mask = NDArray[np.bool_]
DEPENDENT = 1e-9  # of a column's norm: what is left of it beside the columns before it


def independent(matrix: Floats) -> Mask:
    """The columns that are no combination of columns before them."""
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0.0] = 1.0
    left = np.abs(np.diag(np.linalg.qr(matrix / scale, mode="r")))
    keep = np.zeros(matrix.shape[1], bool)
    keep[: len(left)] = left > DEPENDENT
    if keep.all():
        return keep
    chosen = np.zeros((len(matrix), 0))
    for column in range(matrix.shape[1]):  # one by one: a dependent column spoils the diagonal after it
        one = matrix[:, column] / scale[column]
        for _ in range(2):
            one = one - chosen @ (chosen.T @ one)
        size = np.linalg.norm(one)
        keep[column] = size > DEPENDENT
        if keep[column]:
            chosen = np.concatenate([chosen, one[:, None] / size], 1)
    return keep


def selections(
    matrix: Floats, side: Floats, least: Floats, freedom: int, errors: float, floor: float = 0.0
) -> list[Mask]:
    """The columns that a sparse solution of matrix·θ ≈ side needs, the best choice first.

    A column costs `errors`² times the variance of the noise, and is worth what it takes from the sum of squares; one
    whose coefficient is below its entry of `least` goes. Selection backward from all columns and forward from none may
    differ where columns are nearly dependent. `freedom` is the number of observations less that
    of unknowns, `floor` a variance that the noise has at least.
    """
    keep = independent(matrix)
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0.0] = 1.0
    q, columns = np.linalg.qr((matrix / scale)[:, keep])
    target = q.T @ side
    variance = max(float(side @ side - target @ target), 0.0) / max(freedom, 1) + floor
    price, sizes = errors**2 * variance, (least * scale)[keep]
    every = np.arange(columns.shape[1])
    choices = [_dropped(columns, target, start, sizes, price) for start in (every, _added(columns, target, price))]
    choices.sort(key=lambda places: price * len(places) + _left(columns[:, places], target))
    masks = np.zeros((len(choices), matrix.shape[1]), bool)
    for mask, places in zip(masks, choices, strict=True):
        mask[np.flatnonzero(keep)[places]] = True
    return list(masks)


def _left(columns: Floats, target: Floats) -> float:
    """The sum of squares that these columns leave."""
    q, _ = np.linalg.qr(columns)
    return float(np.sum((target - q @ (q.T @ target)) ** 2))


def _dropped(columns: Floats, target: Floats, places: Indices, sizes: Floats, price: float) -> Indices:
    """What is left when the least worthy column is dropped as long as it is not worth its price."""
    while len(places):
        q, r = np.linalg.qr(columns[:, places])
        inverse = scipy.linalg.solve_triangular(r, np.eye(len(places)))
        theta = inverse @ (q.T @ target)
        ratio = np.abs(theta) / np.maximum(np.sqrt(price) * np.linalg.norm(inverse, axis=1), sizes[places])
        worst = int(np.argmin(ratio))
        if ratio[worst] > 1.0:
            break
        places = np.delete(places, worst)
    return places


def _added(columns: Floats, target: Floats, price: float) -> Indices:
    """The columns that are worth their price one after the other, the worthiest first."""
    rest, residual, chosen = columns.copy(), target.copy(), np.zeros(columns.shape[1], bool)
    while not chosen.all():
        size = np.linalg.norm(rest, axis=0)
        usable = ~chosen & (size > DEPENDENT)
        worth = np.where(usable, (residual @ rest) ** 2 / np.where(usable, size, 1.0) ** 2, -1.0)
        best = int(np.argmax(worth))
        if worth[best] <= price:
            break
        chosen[best] = True
        unit = rest[:, best] / size[best]
        residual = residual - unit * (unit @ residual)
        rest = rest - np.outer(unit, unit @ rest)
    return np.flatnonzero(chosen)
