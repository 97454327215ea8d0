"""What a case is at a point, how far rounding may move that, and where a flow has an excuse to fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.onnx.case import Array, Case
from fuzz.onnx.runtime import flat, run

RELATIVE, TRIALS, FACTOR = 1e-13, 4, 20.0
NEAR = 1e-13
EDGES: dict[str, Callable[[Array], Array]] = {  # 0 where a function has no derivative
    **dict.fromkeys(("Sqrt", "Pow", "ReduceL2"), lambda x: x),
    **dict.fromkeys(("Asin", "Acos", "Acosh"), lambda x: 1.0 - np.abs(x)),
}


def truth(case: Case, x: Array) -> Array:
    """(B, inputs) → (B, outputs)."""
    with np.errstate(all="ignore"):
        return np.array([flat(case, run(case, row)) for row in x])


def slack(case: Case, x: Array) -> Array:
    """How far the outputs move if every tensor on the way is a little off: FACTOR times the most of some trials."""
    rng = np.random.default_rng(case.seed)

    def noisy(number: int, value: Array) -> Array:
        return value * (1.0 + RELATIVE * rng.uniform(-1.0, 1.0, value.shape))

    rows = []
    with np.errstate(all="ignore"):
        for row in x:
            plain = flat(case, run(case, row))
            moved = [np.abs(flat(case, run(case, row, noisy)) - plain) for _ in range(TRIALS)]
            rows.append(FACTOR * np.max(moved, 0))
    return np.array(rows)


def excuse(case: Case, x: Array) -> str:
    """Why a flow may fail where the outputs have values: a function has one and no derivative (kinks apart), as roots
    at 0 have; or an entry on the way has none, which is cut off later."""
    with np.errstate(all="ignore"):
        values = run(case, x)
        for node in case.nodes:
            given = [values[name] for name in node.inputs if name]
            if node.op in EDGES and (np.abs(EDGES[node.op](given[0])) <= NEAR).any():
                return "a root of 0"
            finite = all(np.isfinite(part).all() for part in given)
            if finite and not all(np.isfinite(values[name]).all() for name in node.outputs):
                return "what has no value is cut off"
    return ""
