"""The module beside the network that was read from it, on a few inputs: a module that was misread is refused.

A `forward` may do what no graph shows: count its calls, draw random numbers, look at the size of the batch, round. So a
copy of the module, in eval mode, is run row by row, twice, and as one batch, in float64 and in its own precision.
"""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.targets import Network

ROWS = 3
SIZES = (1.0, 0.1, 0.001)  # of the inputs; smaller ones where values overflow
SAME = 1e-6  # relative: what float64 may differ by, ill-conditioned nets too
COARSE = 1e-2  # what a module in its own precision may differ by before a note says so


def trial(torch: Any, module: Any, network: Network, shape: tuple[int, ...], dtype: Any) -> list[str]:
    """Raises SourceError if module and network disagree; notes where they could not be compared closely."""
    try:
        native = copy.deepcopy(module).eval()
        double = copy.deepcopy(native).double()
    except Exception:  # whatever a user's class does when it is copied
        return ["the module cannot be copied, so it was not run beside the network"]
    for size in SIZES:
        x = size * np.random.default_rng(0).uniform(0.1, 1.0, (ROWS, network.inputs))
        x = torch.tensor(x).to(dtype).double().numpy()  # what the module's own precision holds
        wanted = network(x.reshape(ROWS, -1))
        outputs = _run(torch, double, x, shape, torch.float64)
        if outputs is not None and np.isfinite(outputs).all():
            _agree(outputs, wanted, "gives", module)
            _agree(_run(torch, double, x, shape, torch.float64), outputs, "was called twice and gives", module)
            _batch(torch, double, x, shape, outputs)
            return _rounded(_run(torch, native, x, shape, dtype), wanted)
        outputs = _run(torch, native, x, shape, dtype)
        if outputs is not None and np.isfinite(outputs).all():  # it does not run in float64
            _agree(outputs, wanted, "gives", module, COARSE)
            _agree(_run(torch, native, x, shape, dtype), outputs, "was called twice and gives", module)
            return []
    return ["the module gives no finite values, or fails, where it was tried: it was not compared with the network"]


def _run(torch: Any, module: Any, x: Floats, shape: tuple[int, ...], dtype: Any) -> Floats | None:
    """One row after the other, (rows, outputs); None if the module fails."""
    with contextlib.suppress(Exception):
        rows = [module(torch.tensor(row, dtype=dtype).reshape(shape)) for row in x]
        return np.stack([row.detach().double().reshape(-1).numpy() for row in rows])
    return None


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


def _batch(torch: Any, module: Any, x: Floats, shape: tuple[int, ...], rows: Floats) -> None:
    """Rows of a batch must not see each other. A module that takes single rows only has no batch."""
    outputs = None
    with contextlib.suppress(Exception):
        outputs = module(torch.tensor(x)).detach().double().numpy() if len(shape) == 2 else None
    if outputs is None:
        return
    if outputs.size != rows.size or not np.allclose(outputs.reshape(rows.shape), rows, rtol=SAME, atol=SAME):
        raise SourceError(
            f"{type(module).__name__} gives other values for {ROWS} inputs at once, shape {x.shape}, than one by one: "
            "rows of a batch see each other, or the module takes one point without a batch axis"
        )


def _rounded(outputs: Floats | None, wanted: Floats) -> list[str]:
    if outputs is None or not np.abs(outputs - wanted).max() <= COARSE * (1.0 + np.abs(wanted).max()):
        return ["in its own precision the module gives other values, by more than a hundredth: rounding matters there"]
    return []
