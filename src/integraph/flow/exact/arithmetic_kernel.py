"""The exact operations of a tape in one compiled pass: + − · / √, with the same bits as numpy's. Imported lazily, with
numba.

A tile of the rows stays in the first-level cache while all instructions of a run pass over it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from integraph.numbers.jit import cached_njit

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

TILE = 256  # inputs
ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, COPYSIGN, ABSOLUTE, SQRT, MULTIPLY_ADD = range(9)
KERNEL = {
    "add": ADD, "subtract": SUBTRACT, "multiply": MULTIPLY, "divide": DIVIDE, "maximum": MAXIMUM,
    "copysign": COPYSIGN, "absolute": ABSOLUTE, "sqrt": SQRT, "multiply_add": MULTIPLY_ADD,
}  # fmt: skip


@cached_njit(nogil=True, error_model="numpy")
def arithmetic(memory: Floats, constants: Floats, code: Numbers, bounds: Floats) -> bool:
    """Run instructions (operation, three operands, result), (n, 5), on rows of memory; an operand −1 − k is row k of
    the constants. False if a result is not inside its bounds, (n, 2), where they are numbers."""
    for first in range(0, memory.shape[1], TILE):
        last = min(first + TILE, memory.shape[1])
        size = last - first
        for k in range(len(code)):
            op, left, right, third = code[k, 0], code[k, 1], code[k, 2], code[k, 3]
            x = memory[left, first:last] if left >= 0 else constants[-1 - left, :size]
            y = memory[right, first:last] if right >= 0 else constants[-1 - right, :size]
            z = memory[code[k, 4], first:last]
            if op == ADD:
                for n in range(size):
                    z[n] = x[n] + y[n]
            elif op == SUBTRACT:
                for n in range(size):
                    z[n] = x[n] - y[n]
            elif op == MULTIPLY:
                for n in range(size):
                    z[n] = x[n] * y[n]
            elif op == MULTIPLY_ADD:
                w = memory[third, first:last] if third >= 0 else constants[-1 - third, :size]
                for n in range(size):
                    z[n] = x[n] * y[n] + w[n]
            elif op == DIVIDE:
                for n in range(size):
                    z[n] = x[n] / y[n]
            elif op == MAXIMUM:
                for n in range(size):
                    z[n] = y[n] if x[n] < y[n] else x[n]
            elif op == COPYSIGN:
                for n in range(size):
                    z[n] = math.copysign(x[n], y[n])
            elif op == ABSOLUTE:
                for n in range(size):
                    z[n] = abs(x[n])
            else:
                for n in range(size):
                    z[n] = math.sqrt(x[n])
            low, high = bounds[k, 0], bounds[k, 1]
            if low < high:
                fine = 0
                for n in range(size):
                    fine += (low < z[n]) & (z[n] < high)
                if fine < size:
                    return False
    return True
