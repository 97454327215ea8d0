"""A feedforward network on rows, compiled: one matrix product a layer, a symbol for the radius of each neuron."""

from __future__ import annotations

import numpy as np

from integraph.certify.loops.flow_kernels import Table
from integraph.certify.loops.interval_kernels import TANH
from integraph.certify.loops.row_kernels import finish, function_of_row, kink_of_row, row_range
from integraph.numbers.arrays import Floats, Indices
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
        values = layer_rows(values, layer.A, layer.b, CODES[layer.activation], slopes, table)
    out = np.empty((len(values), length))
    out[:, :-1] = values[:, : length - 1]
    out[:, -1] = (values[:, -1] + np.abs(values[:, length - 1 : -1]).sum(1) * UP) * UP
    return out


@cached_njit(error_model="numpy")
def affine_rows(rows: Floats, A: Floats, b: Floats, degrees: Indices) -> Floats:
    """A x + b; every radius becomes a symbol of its own, after the others."""
    n, length = rows.shape
    own = np.flatnonzero(rows[:, -1] != 0.0)
    out = np.zeros((len(A), length + len(own)))
    out[:, : length - 1] = np.dot(A, np.ascontiguousarray(rows[:, :-1]))
    sizes = np.empty(n)
    for i in range(n):
        total = 0.0
        for m in range(length):
            total += abs(rows[i, m])
        sizes[i] = total
    gamma = (n + 100) * U
    for i in range(len(A)):
        out[i, 0] += b[i]
        lost = abs(b[i])
        for m in range(n):
            lost += abs(A[i, m]) * sizes[m]
        for m in range(len(own)):
            out[i, length - 1 + m] = A[i, own[m]] * rows[own[m], -1]
        out[i, -1] = gamma * lost * UP + TINY
    return out


@cached_njit(error_model="numpy")
def layer_rows(rows: Floats, A: Floats, b: Floats, code: int, slopes: Floats, table: Table) -> Floats:
    """f(A x + b). A sigmoid is ½ + ½ tanh(x/2); where a function is not defined, the radius is infinite."""
    d, degrees, pairs, squares, kinds, chebyshev = table
    factor = 0.5 if code == SIGMOID else 1.0
    x = affine_rows(rows, factor * A, factor * b, degrees)
    if code == IDENTITY:
        return x
    norms, y = np.empty(len(chebyshev[0]) + 1), np.empty(x.shape[1])
    for i in range(len(x)):
        finish(x[i], norms, degrees)
        low, high = row_range(x[i], norms, degrees, d, squares, kinds)
        if code == KINK:
            kink_of_row(x[i], slopes[i], low, high)
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
        x[i] = y
    return x
