"""PyTorch behind the interpreter of closed forms."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from integraph.errors import UsageError
from integraph.flow.closed_forms.interpreter import Library
from integraph.flow.closed_forms.taylor_steps import Field, advance

STEPS = 4096


def unit_flow(library: Library, field: Field, y: Any) -> Any:
    """y(1) (B, W) from y(0) = y. Rows that blow up, overflow, or need more steps are NaN."""
    if torch.compiler.is_exporting():
        raise UsageError(
            "torch.export cannot record steps that depend on the inputs, and blocks without a closed form need them: "
            "export with jax, as program.export('program.jaxexport') does"
        )
    t = torch.zeros_like(y[:, 0])
    for _ in range(STEPS):
        if not bool((t < 1.0).any()):
            break
        t, y = advance(library, field, t, y)
    return torch.where((t < 1.0)[:, None], float("nan"), y)


LIBRARY = Library(
    torch,
    {"equal": torch.eq, "power": torch.pow, "erf": torch.erf},
    {"sum": partial(torch.sum, dim=-1), "product": partial(torch.prod, dim=-1), "largest": partial(torch.amax, dim=-1)},
    torch.permute,
    torch.einsum,
    torch.matmul,
    torch.detach,
    unit_flow,
)
