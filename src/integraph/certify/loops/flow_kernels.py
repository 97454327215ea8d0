"""The flow of a plant on rows of polynomial models: Taylor coefficients in time, and their sum, compiled."""

from __future__ import annotations

import numpy as np

from integraph.certify.loops.row_kernels import add_product, add_scaled, finish, function_of_row, row_range, size
from integraph.certify.loops.tape import ADD, CONSTANT, FUNCTION, INPUT, MUL, NEG, SCALE, SUB
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import TINY
from integraph.numbers.jit import cached_njit
from integraph.numbers.roundoff import UP, U

Table = tuple[int, Indices, Indices, Indices, Indices, tuple[Floats, Floats, Floats]]


@cached_njit(error_model="numpy")
def evaluate_rows(
    code: Indices, numbers: Floats, held: Indices, x: Floats, nx: Floats, c: Floats, n: Floats, j: int, table: Table
) -> int:
    """Coefficient j of every operation into c (S, J, L), from those of the inputs x (V, J, L), with their norms. The
    number of an operation that is not defined, or −1."""
    d, degrees, pairs, squares, kinds, chebyshev = table
    gamma = (len(degrees) * (j + 1) + 100) * U
    for s in range(len(code)):
        op, a, b, f = code[s]
        if op == INPUT:
            c[s, j], n[s, j] = x[a, j], nx[a, j]
            continue
        out = c[s, j]
        out[:] = 0.0
        if held[s] and j > 0:
            n[s, j] = 0.0
            continue
        if op == CONSTANT:
            out[0], out[-1] = numbers[s, 0], numbers[s, 1]
        elif op in (ADD, SUB):
            add_scaled(out, 1.0, 0.0, c[a, j], n[a, j])
            add_scaled(out, 1.0 if op == ADD else -1.0, 0.0, c[b, j], n[b, j])
        elif op == NEG:
            out[:-1] = -c[a, j, :-1]
            out[-1] = c[a, j, -1]
        elif op == SCALE:
            add_scaled(out, numbers[s, 0], numbers[s, 1], c[a, j], n[a, j])
        elif op == FUNCTION and j == 0:
            low, high = row_range(c[a, 0], n[a, 0], degrees, d, squares, kinds)
            if not function_of_row(out, f, numbers[s, 0], c[a, 0], n[a, 0], low, high, degrees, pairs, chebyshev):
                return s
        else:
            for i in range(0 if op == MUL else 1, j + 1):  # coefficient j of a derivative may not be known yet
                w = 1.0 if op == MUL else i / j
                add_product(out, w, c[a, i], n[a, i], c[b, j - i], n[b, j - i], degrees, pairs, gamma)
        finish(out, n[s, j], degrees)
    return -1


@cached_njit(error_model="numpy")
def row_norms(x: Floats, degrees: Indices, k: int) -> Floats:
    """The norms of rows (V, L)."""
    norms = np.empty((len(x), k + 2))
    for i in range(len(x)):
        row = x[i].copy()
        finish(row, norms[i], degrees)
    return norms


@cached_njit(error_model="numpy")
def row_ranges(x: Floats, table: Table) -> Floats:
    """The ranges of rows (V, L)."""
    d, degrees, _, squares, kinds, chebyshev = table
    norms = row_norms(x, degrees, len(chebyshev[0]) - 1)
    ends = np.empty((len(x), 2))
    for i in range(len(x)):
        ends[i] = row_range(x[i], norms[i], degrees, d, squares, kinds)
    return ends


@cached_njit(error_model="numpy")
def row_values(
    code: Indices, numbers: Floats, held: Indices, outputs: Indices, rows: Floats, table: Table
) -> tuple[int, Floats]:
    """The outputs of a tape on rows (V, L), without time. The number of an operation that is not defined, or −1."""
    degrees, k = table[1], len(table[5][0]) - 1
    shape = (len(code), 1, rows.shape[1])
    c, n = np.empty(shape), np.empty((len(code), 1, k + 2))
    x = rows.reshape(len(rows), 1, rows.shape[1])
    norms = row_norms(rows, degrees, k).reshape(len(rows), 1, k + 2)
    failed = evaluate_rows(code, numbers, held, x, norms, c, n, 0, table)
    out = np.empty((len(outputs), rows.shape[1]))
    for i in range(len(outputs)):
        out[i] = c[outputs[i], 0]
    return failed, out


@cached_njit(error_model="numpy")
def row_series(
    code: Indices, numbers: Floats, held: Indices, outputs: Indices, rows: Floats, h: float, order: int, table: Table
) -> tuple[int, Floats, Floats]:
    """Coefficients x_0 … x_order of the states as rows (n, order + 1, L), x(τh) = Σ x_j τ^j, with their norms, from
    rows of states and inputs. The number of an operation that is not defined, or −1."""
    degrees, k = table[1], len(table[5][0]) - 1
    length = rows.shape[1]
    x, nx = np.zeros((len(rows), order + 1, length)), np.zeros((len(rows), order + 1, k + 2))
    x[:, 0], nx[:, 0] = rows, row_norms(rows, degrees, k)
    c, n = np.empty((len(code), order, length)), np.empty((len(code), order, k + 2))
    states = len(outputs)
    for j in range(order):
        failed = evaluate_rows(code, numbers, held, x, nx, c, n, j, table)
        if failed >= 0:
            return failed, x[:states], nx[:states]
        for i in range(states):
            s = outputs[i]
            add_scaled(x[i, j + 1], h / (j + 1), 0.0, c[s, j], n[s, j])
            finish(x[i, j + 1], nx[i, j + 1], degrees)
    return -1, x[:states], nx[:states]


@cached_njit(error_model="numpy")
def _add_at(out: Floats, series: Floats, norms: Floats, at: float, places: int) -> float:
    """out += Σ x_j at^j, with the first `places` entries of a row, radii into the last; and a bound of Σ ‖x_j‖ at^j."""
    order = len(series)
    power, total = 1.0, 0.0
    for j in range(order):
        for m in range(places):
            out[m] += power * series[j, m]
        out[-1] += power * series[j, -1]
        total += power * size(norms[j])
        power *= at
    out[-1] += (2 * order + 8) * U * total
    return total


@cached_njit(error_model="numpy")
def row_end(series: Floats, norms: Floats, rest: Floats) -> Floats:
    """The rows at the end of the step, Σ x_j + rest (n, 2)."""
    states, _, length = series.shape
    out = np.zeros((states, length))
    for i in range(states):
        _add_at(out[i], series[i], norms[i], 1.0, length - 1)
        least, most = rest[i]
        out[i, 0] += 0.5 * least + 0.5 * most
        lost = 4 * U * (abs(least) + abs(most) + abs(out[i, 0]))
        out[i, -1] = (out[i, -1] + (0.5 * most - 0.5 * least) + lost) * UP + TINY
    return out


@cached_njit(error_model="numpy")
def row_tube(series: Floats, norms: Floats, rest: Floats, start: float, end: float, table: Table) -> Floats:
    """Rows (n, L + 1) that contain Σ x_j τ^j + [0, 1]·rest for all τ in [start, end] ⊆ [0, 1]. With τ = c + ρθ, the
    speed at c is a row, the middle of its range the coefficient of a symbol θ that all rows share."""
    d, degrees, _, squares, kinds, _ = table
    states, order, length = series.shape
    out, speed, own = np.zeros((states, length + 1)), np.zeros(length), np.zeros(norms.shape[2])
    c, rho = 0.5 * start + 0.5 * end, 0.5 * (end - start) * UP
    for i in range(states):
        _add_at(out[i], series[i], norms[i], c, length - 1)
        speed[:] = 0.0
        power, bent, total, reach = 1.0, 0.0, 0.0, 1.0
        for j in range(1, order):
            for m in range(length - 1):
                speed[m] += (rho * j * power) * series[i, j, m]
            whole = size(norms[i, j]) + series[i, j, -1]
            speed[-1] += rho * j * power * series[i, j, -1]
            total += rho * j * power * whole
            bent += whole * 0.5 * j * (j - 1) * rho * rho * reach  # Taylor's remainder of τ^j
            reach = reach * (c + rho) if j > 1 else 1.0
            power *= c
        finish(speed, own, degrees)
        low, high = row_range(speed, own, degrees, d, squares, kinds)
        lost = (2 * order + 8) * U * total
        out[i, length - 1] = 0.5 * low + 0.5 * high
        least, most = min(rest[i, 0], 0.0), max(rest[i, 1], 0.0)
        lost += 4 * U * (abs(least) + abs(most) + abs(low) + abs(high))
        out[i, -1] = (out[i, -1] + (0.5 * high - 0.5 * low) + bent + max(-least, most) + lost) * UP + TINY
    return out
