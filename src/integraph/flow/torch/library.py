"""PyTorch behind the interpreter of closed forms."""

from __future__ import annotations

from functools import partial

import torch

from integraph.flow.closed_forms.interpreter import Library

LIBRARY = Library(
    torch,
    {"equal": torch.eq, "power": torch.pow, "erf": torch.erf},
    {"sum": partial(torch.sum, dim=-1), "product": partial(torch.prod, dim=-1), "largest": partial(torch.amax, dim=-1)},
    torch.permute,
    torch.einsum,
    torch.matmul,
    torch.detach,
)
