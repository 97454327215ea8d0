"""What a case is at a point, how far rounding may move that, and where a flow has an excuse to fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.onnx.case import Array, Case
from fuzz.onnx.runtime import flat, run

RELATIVE, ULP, TRIALS, FACTOR = 1e-13, 1e-16, 4, 20.0
TAILS = ("Softplus", "Gelu", "FastGelu")  # whose flows lose digits of their argument where they are tiny
BASES = ("Sqrt", "Log", "Pow", "Reciprocal", "Div", "ReduceL2")
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
    rng, reach = np.random.default_rng(case.seed), _reach(case)
    ends = {node.outputs[0]: node.inputs[0] for node in case.nodes if node.op in TAILS}

    def noisy(name: str, op: str, value: Array) -> Array:
        off = RELATIVE * np.abs(value)
        if name in ends:
            off = off + ULP * np.maximum(np.abs(values[ends[name]]), 1.0)
        if name in reach:  # a base p enters as p/s − 1, with s up to 1/32 of the largest |p| where p² is the base
            s = reach[name] / 32.0
            off = off + ULP * s * np.maximum(1.0, s / np.maximum(np.abs(value), ULP * s))
        return value + np.where(np.isfinite(off), off, 0.0) * rng.uniform(-1.0, 1.0, value.shape)

    rows = []
    with np.errstate(all="ignore"):
        for row in x:
            values = run(case, row)
            plain = flat(case, values)
            moved = [np.abs(flat(case, run(case, row, noisy)) - plain) for _ in range(TRIALS)]
            rows.append(FACTOR * np.max(moved, 0))
    return np.array(rows)


def _reach(case: Case) -> dict[str, float]:
    """The largest size, at some points of the box, of tensors that powers and logarithms are taken of."""
    ends = np.array(case.low), np.array(case.high), 0.5 * (np.array(case.low) + np.array(case.high))
    runs = [run(case, end) for end in ends]
    bases = {node.inputs[1 if node.op == "Div" else 0] for node in case.nodes if node.op in BASES}
    return {name: max(float(np.max(np.abs(values[name]))) for values in runs) for name in bases}


def excuse(case: Case, x: Array) -> str:
    """Why a flow may fail where the outputs have values: a function has one and no derivative (kinks apart), as roots
    at 0 have; a negative base has powers only at whole exponents, and the exponent varies; or an entry on the way has
    none, which is cut off later."""
    stored = {name for name, _ in case.tensors}
    with np.errstate(all="ignore"):
        values = run(case, x)
        for node in case.nodes:
            given = [values[name] for name in node.inputs if name]
            if node.op in EDGES and (np.abs(EDGES[node.op](given[0])) <= NEAR).any():
                return "a root of 0"
            if node.op == "Pow" and node.inputs[1] not in stored and (given[0] <= 0).any():
                return "a power of a negative base with an exponent that varies"
            finite = all(np.isfinite(part).all() for part in given)
            if finite and not all(np.isfinite(values[name]).all() for name in node.outputs):
                return "what has no value is cut off"
    return ""
