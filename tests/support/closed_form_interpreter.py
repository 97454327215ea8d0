"""The operations of closed forms, run by numpy: the inputs are the first axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from integraph.flow.closed_forms import ClosedForms, Operation

ELEMENTWISE: dict[str, Any] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "negate": np.negative,
    "abs": np.abs, "sqrt": np.sqrt, "maximum": np.maximum, "minimum": np.minimum, "exp": np.exp, "expm1": np.expm1,
    "log": np.log, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "arcsinh": np.arcsinh,
    "arctan2": np.arctan2, "hypot": np.hypot, "power": np.power, "erf": scipy.special.erf, "less": np.less,
    "equal": np.equal, "both": np.logical_and, "either": np.logical_or, "where": np.where,
}  # fmt: skip
REDUCTIONS: dict[str, Any] = {"sum": np.sum, "product": np.prod, "largest": np.max}


def run(forms: ClosedForms, x: np.ndarray) -> np.ndarray:
    """Outputs (B, outputs), NaN where a guard fails."""
    values: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        for operation in forms.operations:
            value = _value(operation, [values[a] if isinstance(a, int) else a[None] for a in operation.arguments], x)
            assert value.shape == (len(x), *operation.lanes), operation
            values.append(value)
    outputs = values[forms.outputs]
    fine = np.isfinite(outputs).all(1)
    for number in forms.finite:
        fine &= np.isfinite(values[number]).reshape(len(x), -1).all(1)
    for number in forms.positive:
        fine &= (values[number] > 0).reshape(len(x), -1).all(1)
    return np.where(fine[:, None], outputs, np.nan)


def _value(own: Operation, given: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    if own.op in ELEMENTWISE:
        assert all(one.ndim == len(own.lanes) + 1 for one in given), own
        return ELEMENTWISE[own.op](*given)
    if own.op in REDUCTIONS:
        return REDUCTIONS[own.op](given[0], axis=-1)
    if own.op == "input":
        return x
    if own.op == "reshape":
        return given[0].reshape(len(x), *own.lanes)
    if own.op == "broadcast":
        return np.broadcast_to(given[0], (len(x), *own.lanes))
    if own.op == "gather":
        return given[0][:, own.indices]
    if own.op == "concatenate":
        return np.concatenate([np.broadcast_to(one, (len(x), one.shape[1])) for one in given], 1)
    assert own.op == "matmul", own
    return given[0] @ given[1][0]
