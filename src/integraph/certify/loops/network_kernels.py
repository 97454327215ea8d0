"""A feedforward network on rows, compiled: one matrix product a layer, a symbol for the radius of each neuron."""

from __future__ import annotations

import numpy as np

from integraph.certify.loops.flow_kernels import Table
from integraph.certify.loops.interval_kernels import TANH
from integraph.certify.loops.row_kernels import copy, finish, function_of_row, kink_of_row, row_range
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import TINY
from integraph.numbers.jit import cached_njit
from integraph.numbers.roundoff import UP, U
from integraph.targets.network import Network

CODES = {"identity": 0, "tanh": 1, "sigmoid": 2, "relu": 3, "leaky_relu": 3}
IDENTITY, SIGMOID, KINK = 0, 2, 3


def compilable(network: Network) -> bool:
    """Whether there is a kernel for all its activations."""
    return all(layer.activation in CODES for layer in network.layers)


def network_rows(network: Network, rows: Floats, table: Table) -> Floats:
    """The outputs (m, L), from the inputs (n, L); symbols of neurons become part of the radii."""
    values, length = rows, rows.shape[1]
    for layer in network.layers:
        slopes = np.broadcast_to(np.asarray(layer.slope, np.float64), (len(layer.A),)).copy()
        code = CODES[layer.activation]
        factor = 0.5 if code == SIGMOID else 1.0
        values = affine_rows(values, factor * layer.A, factor * layer.b)
        if code != IDENTITY:
            activate_rows(values, code, slopes, table)
    out = np.empty((len(values), length))
    out[:, :-1] = values[:, : length - 1]
    out[:, -1] = (values[:, -1] + np.abs(values[:, length - 1 : -1]).sum(1) * UP) * UP
    return out


def affine_rows(rows: Floats, A: Floats, b: Floats) -> Floats:
    """A x + b; every radius becomes a symbol of its own, after the others."""
    n, length = rows.shape
    own = np.flatnonzero(rows[:, -1])
    out = np.empty((len(A), length + len(own)))
    np.matmul(A, rows[:, :-1], out=out[:, : length - 1])
    out[:, 0] += b
    out[:, length - 1 : -1] = A[:, own] * rows[own, -1]
    lost = np.abs(A) @ np.abs(rows).sum(1) + np.abs(b)
    out[:, -1] = (n + 100) * U * lost * UP + TINY
    return out


@cached_njit(error_model="numpy")
def activate_rows(x: Floats, code: int, slopes: Floats, table: Table) -> None:
    """f(x) in place; of a sigmoid, which is ½ + ½ tanh(x/2), x is half its argument. Where a function is not defined,
    the radius is infinite."""
    d, degrees, pairs, squares, kinds, chebyshev = table
    norms, y = np.empty(len(chebyshev[0]) + 1), np.empty(x.shape[1])
    for i in range(len(x)):
        finish(x[i], norms, degrees)
        low, high = row_range(x[i], norms, degrees, d, squares, kinds)
        if code == KINK:
            kink_of_row(x[i], norms, slopes[i], low, high, degrees, pairs)
            continue
        if not function_of_row(y, TANH, 0.0, x[i], norms, low, high, degrees, pairs, chebyshev):
            y[-1] = np.inf
        if code == SIGMOID:
            total = 0.5
            for m in range(len(y) - 1):
                y[m] *= 0.5
                total += abs(y[m])
            y[0] += 0.5
            y[-1] = 0.5 * y[-1] + 2 * U * total
        copy(y, x[i])
