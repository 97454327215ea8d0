"""A program as a module of PyTorch: parameters are its controls, in the names of `to_jax`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from integraph.errors import UsageError
from integraph.flow.closed_forms.interpreter import Interpreter
from integraph.flow.closed_forms.operations import DIFFERENTIABLE
from integraph.flow.closed_forms.parameters import Parameters
from integraph.flow.closed_forms.trace import trace
from integraph.flow.torch.library import LIBRARY

if TYPE_CHECKING:
    from integraph.program import Program

KINDS = {torch.float64: np.float64, torch.float32: np.float32}


class ProgramModule(torch.nn.Module):  # type: ignore[misc]
    """`module(x)`: outputs (B, outputs) for x of shape (B, d), (outputs,) for (d,). It is made in float64; `float()`
    and `to()` move it. A row whose solution ends too early is NaN."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program, self._tensors = program, Parameters(program)
        self.controls = torch.nn.ParameterDict(
            {name: torch.nn.Parameter(torch.tensor(value)) for name, value in self._tensors.values.items()}
        )
        self._prepare()

    def _prepare(self) -> None:
        """Trace for the numbers of the parameters, whose range closed forms must know."""
        like = next(iter(self.controls.values()))
        if like.dtype not in KINDS:
            raise UsageError("closed forms need the digits of float32 or float64", argument="dtype", value=like.dtype)
        self._kind = like.dtype
        self._interpreter = self._traced()
        constants = dict(self._interpreter.constants())
        self._keys = {key: f"constant_{number}" for number, key in enumerate(constants)}
        for name in [name for name in self._buffers if name not in self._keys.values()]:
            del self._buffers[name]
        for key, value in constants.items():
            kind = self._kind if value.dtype == np.float64 else None
            self.register_buffer(self._keys[key], torch.tensor(value, dtype=kind, device=like.device), persistent=False)

    def _traced(self) -> Interpreter:
        names = self._tensors.values.keys()
        return Interpreter(trace(self._program, DIFFERENTIABLE, KINDS[self._kind], self._tensors, names), LIBRARY)

    def __getstate__(self) -> dict[str, Any]:
        """What `copy.deepcopy`, `pickle` and `torch.save` store: the interpreter holds modules, and is made again."""
        return {name: value for name, value in vars(self).items() if name != "_interpreter"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._interpreter = self._traced()

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        """What `to`, `float`, `double` and `cuda` come to."""
        super()._apply(fn, recurse)
        if next(iter(self.controls.values())).dtype != self._kind:
            self._prepare()
        return self

    def forward(self, x: Any) -> Any:
        d = self._program.inputs
        if not isinstance(x, torch.Tensor):
            raise UsageError(
                f"needs a tensor of {self._kind}, as torch.tensor(x) is", argument="x", value=type(x).__name__
            )
        if x.ndim not in (1, 2) or x.shape[-1] != d:
            raise UsageError(f"x has shape {tuple(x.shape)}: the program takes ({d},) or (batch, {d})", argument="x")
        if x.dtype != self._kind:
            raise UsageError(
                f"x is {x.dtype} and the module {self._kind}: convert one of them, as by module.to(x.dtype)",
                argument="x",
            )
        constants = {key: getattr(self, name) for key, name in self._keys.items()}
        outputs = self._interpreter.run(constants, self.controls, x.reshape(-1, d))
        return outputs[0] if x.ndim == 1 else outputs
