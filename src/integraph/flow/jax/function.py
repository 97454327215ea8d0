"""From a program to a function of jax and its parameters."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from integraph.errors import UsageError
from integraph.flow.closed_forms.interpreter import Interpreter
from integraph.flow.closed_forms.operations import DIFFERENTIABLE, ClosedForms
from integraph.flow.closed_forms.parameters import Parameters
from integraph.flow.closed_forms.trace import trace
from integraph.flow.jax.batch import batch_of
from integraph.flow.jax.library import backend, library

if TYPE_CHECKING:
    from integraph.program import Program

CHUNK = 1024  # inputs at a time on each processor, whose cache holds all registers then
NATIVE = DIFFERENTIABLE | {"decayed_tanh"}
Array = Any
Leaves = dict[str, NDArray[np.float64]]
Run = Callable[[dict[str, Array], Array], Array]


class JaxFunction:
    """`function(params, x)`: outputs (B, outputs) for x of shape (B, d), (outputs,) for (d,), in the numbers of x.

    A parameter that is the very array that `to_jax` gave is a constant, and what is known of it, such as that it is 1
    or −½, makes the closed forms shorter. All others are variables.
    """

    def __init__(self, program: Program, precision: str) -> None:
        self.program, self.parameters = program, Parameters(program)
        self.library = library(precision)
        self._compiled: dict[tuple[str, frozenset[str]], tuple[Run, ClosedForms]] = {}

    def __call__(self, params: Mapping[str, Array], x: Array) -> Array:
        own = self.parameters.values
        _check(params, own)
        backend()
        batch = batch_of(x, self.program.inputs, "the program")
        free = frozenset(name for name, value in own.items() if params[name] is not value)
        variables = {name: jnp.asarray(params[name], batch.dtype) for name in free}
        run, made = self._run(batch.dtype.name, free)
        outputs = _scheduled(partial(run, variables), batch, {own.op for own in made.operations})
        return outputs[0] if jnp.ndim(x) == 1 else outputs

    def _run(self, kind: str, free: frozenset[str]) -> tuple[Run, ClosedForms]:
        """Compiled, because outside of `jax.jit` every single operation would be compiled alone."""
        if (kind, free) not in self._compiled:
            numbers = np.dtype(kind).type
            made = Interpreter(trace(self.program, NATIVE, numbers, self.parameters, free), self.library)
            constants = {key: one.astype(numbers) if one.dtype == np.float64 else one for key, one in made.constants()}
            self._compiled[kind, free] = jax.jit(partial(made.run, constants)), made.forms
        return self._compiled[kind, free]


def to_jax(program: Program, precision: str) -> tuple[Callable[[Mapping[str, Array], Array], Array], Leaves]:
    """The function, and the parameters that it takes first."""
    function = JaxFunction(program, precision)
    return function, dict(function.parameters.values)


def _scheduled(run: Callable[[Array], Array], batch: Array, ops: set[str]) -> Array:
    """The outputs of a batch. Between matrix products arrays must be stored, and memory is what takes time: on
    processors a long batch runs in chunks whose arrays stay in the cache; the last row fills the last chunk. The way
    back computes them again, which costs less than to store them."""
    rows, d = batch.shape
    most = CHUNK * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    whole = not isinstance(rows, int) or rows <= most or backend() != "cpu" or jax.device_count() > 1
    if whole or not ops & {"matmul", "contract", "free_flow"}:
        return run(batch)
    count = -(-rows // most)
    size = -(-rows // count)
    more = jnp.broadcast_to(batch[-1:], (count * size - rows, d))
    chunks = jnp.concatenate([batch, more]).reshape(count, size, d)
    return jax.lax.map(jax.checkpoint(run), chunks).reshape(count * size, -1)[:rows]


def _check(params: Mapping[str, Array], own: Leaves) -> None:
    if not isinstance(params, Mapping) or params.keys() != own.keys():
        names = sorted(set(own) ^ set(params)) if isinstance(params, Mapping) else type(params).__name__
        raise UsageError(
            "the first argument is the dictionary of parameters that to_jax gave, with all of its names",
            argument="params",
            value=names,
        )
    for name, value in own.items():
        if np.shape(params[name]) != value.shape:
            raise UsageError(
                f"the parameter {name!r} has shape {np.shape(params[name])}: it must keep its shape, {value.shape}",
                argument="params",
            )
