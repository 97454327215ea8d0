"""The module beside what was read from it, on a few inputs: a module that was misread is refused.

A `forward` may do what no graph shows: count its calls, draw random numbers, look at the size of the batch, round. So a
copy of the module, in eval mode, is run row by row, twice, and as one batch, in float64 and in its own precision.
"""

from __future__ import annotations

import contextlib
import copy
import math
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.torch.input_shapes import Shapes, shown
from integraph.numbers.arrays import Floats
from integraph.targets import Network
from integraph.targets.graph import Graph

ROWS = 3
SIZES = (1.0, 0.1, 0.001)  # of the inputs; smaller ones where values overflow
SAME = 1e-6  # relative: what float64 may differ by, ill-conditioned nets too
COARSE = 1e-2  # what a module in its own precision may differ by before a note says so


class BatchError(SourceError):
    """The rows of a batch see each other."""


def trial(torch: Any, module: Any, read: Network | Graph, shapes: Shapes, batch: bool, dtype: Any) -> list[str]:
    """Raises SourceError if the module disagrees with what was read from it; notes where they could not be compared
    closely."""
    try:
        native = copy.deepcopy(module).eval()
        double = copy.deepcopy(native).double()
    except Exception:  # whatever a user's class does when it is copied
        return ["the module cannot be copied, so it was not run beside the network"]
    values = read if isinstance(read, Network) else read.values
    for size in SIZES:
        x = size * np.random.default_rng(0).uniform(0.1, 1.0, (ROWS, read.inputs))
        x = torch.tensor(x).to(dtype).double().numpy()  # what the module's own precision holds
        outputs = _run(torch, double, x, shapes, torch.float64)
        if outputs is not None and np.isfinite(outputs).all():
            wanted = values(x)
            _agree(outputs, wanted, "gives", module)
            _agree(_run(torch, double, x, shapes, torch.float64), outputs, "was called twice and gives", module)
            if batch:
                _batch(torch, double, x, shapes, outputs)
            return _rounded(_run(torch, native, x, shapes, dtype), wanted)
        outputs = _run(torch, native, x, shapes, dtype)
        if outputs is not None and np.isfinite(outputs).all():  # it does not run in float64
            _agree(outputs, values(x), "gives", module, COARSE)
            _agree(_run(torch, native, x, shapes, dtype), outputs, "was called twice and gives", module)
            return []
    return ["the module gives no finite values, or fails, where it was tried: it was not compared with the network"]


def _run(torch: Any, module: Any, x: Floats, shapes: Shapes, dtype: Any) -> Floats | None:
    """One row after the other, (rows, outputs); None if the module fails."""
    with contextlib.suppress(Exception):
        rows = []
        for row in x:
            parts = _arguments(row, shapes)
            given = [torch.tensor(part, dtype=dtype).reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
            rows.append(np.concatenate([part.reshape(-1) for part in _tensors(torch, module(*given))]))
        return np.stack(rows)
    return None


def _arguments(x: Floats, shapes: Shapes) -> list[Floats]:
    """The part of each argument of forward, along the last axis."""
    return np.split(x, np.cumsum([math.prod(shape) for shape in shapes])[:-1], -1)


def _tensors(torch: Any, outputs: Any) -> list[Floats]:
    """All tensors of a result, in the order of torch.export."""
    leaves = torch.utils._pytree.tree_leaves(outputs)
    return [leaf.detach().double().numpy() for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _agree(outputs: Floats | None, wanted: Floats, what: str, module: Any, tolerance: float = SAME) -> None:
    if outputs is None or outputs.shape != wanted.shape:
        raise SourceError(f"{type(module).__name__} {what} another number of values, or fails: it is no fixed function")
    difference = np.abs(outputs - wanted)
    if not (difference <= tolerance * (1.0 + np.abs(wanted).max())).all():
        row, output = np.unravel_index(np.argmax(np.where(np.isnan(difference), np.inf, difference)), outputs.shape)
        values = f"{outputs[row, output]:.6g} at output {output}, not {wanted[row, output]:.6g} as was read from it"
        raise SourceError(
            f"{type(module).__name__} {what} {values}: its forward does something that its graph does not show (calls "
            "counted, random numbers, the size of the batch, custom tensors); write it as a function of its input alone"
        )


def _batch(torch: Any, module: Any, x: Floats, shapes: Shapes, rows: Floats) -> None:
    """Rows of a batch must not see each other. A module that fails takes single rows only."""
    outputs = None
    with contextlib.suppress(Exception):
        parts = zip(_arguments(x, shapes), shapes, strict=True)
        given = [torch.tensor(part).reshape(ROWS, *shape[1:]) for part, shape in parts]
        outputs = _tensors(torch, module(*given))
    if outputs is None:
        return
    same = sum(part.size for part in outputs) == rows.size and all(part.size % ROWS == 0 for part in outputs)
    together = np.concatenate([part.reshape(ROWS, -1) for part in outputs], 1) if same else rows
    if not same or not np.allclose(together, rows, rtol=SAME, atol=SAME):
        raise BatchError(
            f"{type(module).__name__} gives other values for {ROWS} inputs of shape {shown(shapes)} at once than one "
            "by one: rows of a batch see each other, or the module takes one point without a batch axis"
        )


def _rounded(outputs: Floats | None, wanted: Floats) -> list[str]:
    if outputs is None or not np.abs(outputs - wanted).max() <= COARSE * (1.0 + np.abs(wanted).max()):
        return ["in its own precision the module gives other values, by more than a hundredth: rounding matters there"]
    return []
