"""Python functions → functions on a box: how they are called, at many points or at one, and what they give back.

A function of several parameters gets one array for each input. One with a single parameter gets an array (B,) if d = 1
and (B, d) if d > 1. It gives back (B,), (B, m), or m arrays. What cannot do that is called point by point.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from integraph.errors import UsageError
from integraph.frontends.input_names import names, numbered
from integraph.frontends.python.derivatives import Derivatives
from integraph.frontends.python.pointwise import PointwiseFunction
from integraph.numbers.arrays import Floats
from integraph.targets.function import Function

MOST = 1000  # inputs
ARGUMENT = {"the box": "box"}  # by the name of what says how many inputs there are, where that is another

Derivative = Mapping[Any, Callable[..., Any]] | Callable[..., Any]


def read(
    f: Callable[..., Any],
    low: Floats | None = None,
    high: Floats | None = None,
    *,
    inputs: int | None = None,
    variables: str | Sequence[object] | None = None,
    derivatives: Derivative | None = None,
) -> Function:
    """The function that f is on the box [low, high], by default the unit cube.

    `derivatives` is {α: callable}, or one callable g(α, …) with the arguments of f behind; for d = 1, α is an integer.
    """
    named = None if variables is None else names(variables)
    sizes = {
        "the box": None if low is None else len(low),
        "inputs": inputs,
        "variables": None if named is None else len(named),
    }
    d, parameters = inputs_of(f, sizes)
    called = named or (parameters if len(parameters) == d else numbered(d))
    box = np.stack([np.zeros(d), np.ones(d)] if low is None or high is None else [low, high])
    apart = len(parameters) != 1
    values = PointwiseFunction(f, _name(f), called, apart, box)
    derivative = None if derivatives is None else Derivatives(derivatives, values)
    return Function(
        d, values.outputs, f"{values.name}()", called, values=values, derivative=derivative, meter=values.meter
    )


def inputs_of(f: Callable[..., Any], sizes: dict[str, int | None]) -> tuple[int, tuple[str, ...]]:
    """d, from the parameters of f and from what else is known, and the names of the parameters, none for *args."""
    parameters = _parameters(f)
    for what, size in sizes.items():
        if size is not None and (isinstance(size, bool) or not isinstance(size, int | np.integer) or size > MOST):
            raise UsageError(f"needs an integer from 1 to {MOST}", argument=ARGUMENT.get(what, what), value=size)
    known = {what: size for what, size in sizes.items() if size is not None}
    owner = getattr(f, "__self__", None)  # predict of a fitted estimator of scikit-learn
    if isinstance(features := getattr(owner, "n_features_in_", None), int):
        known[type(owner).__name__] = features
    if parameters is None and not known:
        raise UsageError(f"{_name(f)} takes any number of arguments: say how many inputs it has", argument="inputs")
    if parameters is not None and len(parameters) > 1:
        known = {f"{_name(f)}({', '.join(parameters)})": len(parameters)} | known
    if len(set(known.values())) > 1:
        raise UsageError("different numbers of inputs: " + ", ".join(f"{what} has {n}" for what, n in known.items()))
    d = next(iter(known.values()), 1)
    if d < 1:
        raise UsageError("a function needs at least one", argument="inputs", value=d)
    return d, parameters or ()


def _parameters(f: Callable[..., Any]) -> tuple[str, ...] | None:
    """The positional parameters without default; None for *args, none where they cannot be known."""
    if isinstance(f, np.ufunc):
        return tuple(f"x{n + 1}" for n in range(f.nin)) if f.nin > 1 else ("x",)
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):  # some functions written in C do not tell
        return ()
    wanted = [p for p in parameters if p.kind == p.KEYWORD_ONLY and p.default is p.empty]
    if wanted:
        raise UsageError(
            f"{_name(f)} needs the keyword {wanted[0].name}: wrap it, as in lambda x: f(x, {wanted[0].name}=…)"
        )
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = tuple(p.name for p in positional if p.default is p.empty) or tuple(p.name for p in positional[:1])
    if any(p.kind == p.VAR_POSITIONAL for p in parameters) and len(needed) < 2:
        return None
    if not needed:
        raise UsageError(f"{_name(f)} takes no arguments: a function needs at least one input")
    return needed


def _name(f: Callable[..., Any]) -> str:
    return str(getattr(f, "__name__", type(f).__name__))
