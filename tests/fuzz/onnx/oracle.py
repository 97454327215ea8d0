"""What a case is at a point, how far rounding may move that, and whether it depends on what has no value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.onnx.case import Array, Case
from fuzz.onnx.runtime import flat, run

RELATIVE, TRIALS, FACTOR = 1e-13, 4, 20.0
STAND_INS = (0.37, -1.9)
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


def indifferent(case: Case, x: Array, found: Array) -> bool:
    """Whether the outputs are `found` whatever stands where a node has no finite value: then these entries were
    multiplied by 0, or cancelled."""
    close = []
    with np.errstate(all="ignore"):
        for number in STAND_INS:

            def replaced(_: int, value: Array, number: float = number) -> Array:
                return np.where(np.isfinite(value) | np.isneginf(value), value, number)

            other = flat(case, run(case, x, replaced))
            close.append(np.allclose(other, found, rtol=1e-9, atol=1e-9))
    return all(close)


def singular(case: Case, x: Array) -> bool:
    """Whether a function is asked for where it has a value and no derivative, kinks apart: a root of 0, asin 1."""
    with np.errstate(all="ignore"):
        values = run(case, x)
        return any(
            bool((np.abs(EDGES[node.op](values[node.inputs[0]])) <= NEAR).any())
            for node in case.nodes
            if node.op in EDGES
        )
