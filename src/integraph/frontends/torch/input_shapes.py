"""The shape of what a module takes: as the user gives it, or as weights tell."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.errors import SourceError, UsageError
from integraph.frontends.tracer import MOST

TRIES = 8  # sizes of parameters that the input is tried with
FIX = "give inputs=, their number or the shape of one input without the batch axis, such as inputs=(1, 28, 28)"

Shape = tuple[int, ...]
Shapes = tuple[Shape, ...]  # of the arguments of forward


@dataclass(frozen=True, slots=True)
class Requested:
    """Shapes of all arguments, without a batch axis, which is tried first."""

    shapes: Shapes
    batch: bool = True

    @property
    def tries(self) -> tuple[Shapes, ...]:
        return (*(() if not self.batch else (tuple((1, *shape) for shape in self.shapes),)), self.shapes)

    @property
    def count(self) -> int | None:
        """How many numbers there are, if the input is one vector."""
        return self.shapes[0][0] if len(self.shapes) == 1 == len(self.shapes[0]) else None

    @property
    def sequences(self) -> bool:
        """Whether an argument has several axes, of which the first could be meant where a batch would be."""
        return any(len(shape) > 1 for shape in self.shapes)

    def alone(self) -> Requested:
        """Without a batch axis only."""
        return Requested(self.shapes, batch=False)


def requested(inputs: Any) -> Requested | None:
    """What a user says as `Inputs`: a number, a shape, or a list of shapes."""
    if inputs is None:
        return None
    wrong = UsageError(
        "the inputs are their number, an integer ≥ 1, or the shape of one input without the batch axis, such as "
        "(1, 28, 28), or a list of such shapes",
        argument="inputs",
        value=inputs,
    )
    if _is_size(inputs):
        shapes: Shapes = ((int(inputs),),)
    elif not isinstance(inputs, list | tuple) or not inputs:
        raise wrong
    elif all(map(_is_size, inputs)):
        shapes = (tuple(int(n) for n in inputs),)
    elif all(isinstance(shape, list | tuple) and all(map(_is_size, shape)) for shape in inputs):
        shapes = tuple(tuple(int(n) for n in shape) for shape in inputs)
    else:
        raise wrong
    if sum(map(math.prod, shapes)) > MOST:
        raise UsageError(f"a graph takes at most {MOST} numbers", argument="inputs", value=inputs)
    return Requested(shapes)


def _is_size(n: Any) -> bool:
    return isinstance(n, int | np.integer) and not isinstance(n, bool) and int(n) >= 1


def shown(shapes: Shapes) -> str:
    return ", ".join(map(str, shapes))


def guesses(torch: Any, module: Any) -> tuple[Shapes, ...]:
    """One input of each size that weights suggest, likeliest first; none where they cannot tell."""
    name, first = type(module).__name__, None
    for path, part in module.named_modules():
        first = part.in_features if first is None and isinstance(part, torch.nn.Linear) else first
        wanted = _shape_of(torch, part, first)
        if wanted is not None:
            layer = f", for {path} {type(part).__name__}" * bool(path)
            raise SourceError(
                f"the weights of {name} do not tell the shape of its input{layer}: give inputs={wanted}, the shape of "
                "one input without the batch axis",
                argument="inputs",
            )
    sizes = _sizes(module)
    if not sizes:
        raise SourceError(f"{name} has no weights that would tell how many inputs it takes: {FIX}", argument="inputs")
    return tuple(((*lead, d),) for d in sizes for lead in ((1,), ()))


def _shape_of(torch: Any, part: Any, first: int | None) -> str | None:
    """How the input of a module is written that has a layer whose weights do not tell all of its shape; a sequence may
    come to a dense layer `first`."""
    nn = torch.nn
    if isinstance(part, nn.modules.conv._ConvNd):
        return f"({', '.join(map(str, (part.in_channels, *'DHW'[-len(part.kernel_size) :])))})"
    if isinstance(part, nn.modules.pooling._AvgPoolNd | nn.modules.pooling._MaxPoolNd):
        return "(C, H, W)"
    if isinstance(part, nn.RNNBase):
        return f"(T, {first or part.input_size})"
    return f"(T, {first or part.embed_dim})" if isinstance(part, nn.MultiheadAttention) else None


def _sizes(module: Any) -> list[int]:
    """What layers say they take, then the axes of parameters and buffers."""
    said = [getattr(m, name, None) for m in module.modules() for name in ("in_features", "num_features")]
    tensors = [*module.parameters(), *module.buffers()]
    axes = [n for t in tensors for n in (*t.shape[:0:-1], *t.shape[:1])]
    sizes = list(dict.fromkeys(n for n in (*said, *axes) if isinstance(n, int) and n > 0))
    # one input broadcasts against any number of weights: that it works proves nothing, so 1 is tried last
    return [n for n in sizes if n > 1][:TRIES] + [1] * (1 in sizes)


def check_signature(module: Any, given: Requested | None) -> None:
    """Whether forward takes as many tensors as are given, one unless it is said."""
    try:
        parameters = list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        return
    name, count = type(module).__name__, 1 if given is None else len(given.shapes)
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if all(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters):
        raise SourceError(f"forward of {name} takes no input")
    most = math.inf if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(plain)
    if not len(needed) <= count <= most:
        raise SourceError(
            f"forward of {name} takes {', '.join(needed) or most}, and {count} input{'s' * (count != 1)} came: give "
            "the shapes of all in a list, such as inputs=[(16, 32), (16, 32)], or put the constant ones into buffers",
            argument="inputs",
        )
