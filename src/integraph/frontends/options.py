"""How a source is read: what a call or a command says besides the source itself, as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.frontends.formula.parameters import Parameters
from integraph.frontends.python.callables import Derivative
from integraph.targets import Function, Network
from integraph.targets.graph import Graph

Target = Network | Graph | Function
Variables = str | Sequence[object] | None
Inputs = int | Sequence[int] | Sequence[Sequence[int]] | None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """`variables` names the inputs in order. `parameters` gives names in a formula values. `inputs` is how many numbers
    a single parameter holds, or, for a function that jax traces, the shapes of all arguments; for a torch module how
    many numbers it takes, the shape of one input without the batch axis, or the shapes of all; of data, how many of the
    first columns are inputs. `derivatives` is what is
    known of f^(α). A Python function is tried on the `box`. `into` is what the caller needs of a source that can be
    read as more than one thing: an ONNX file, a Keras model or a torch module is a network where it is one, else a
    graph, and a Python function is a function unless it is traced into a graph. With `tracing` it is traced if it is
    written in jax and can be."""

    variables: Variables = None
    inputs: Inputs = None
    derivatives: Derivative | None = None
    box: ArrayLike | None = None
    into: type[Network] | type[Graph] | None = None
    parameters: Parameters = None
    tracing: bool = False

    def refuse(self, kind: str, *names: str) -> None:
        """A UsageError for any of these options that is given: sources of this kind have no use for it."""
        for name in names:
            value: Any = getattr(self, name)
            if value is not None:
                whose = "a formula as text" if name == "parameters" else "a function"
                said = f"this is for {whose}, and the source is {kind}: leave it out"
                raise UsageError(said, argument=name, value=value)

    @property
    def count(self) -> int | None:
        """How many inputs there are, where shapes of arguments have no meaning."""
        if self.inputs is not None and not isinstance(self.inputs, int):
            raise UsageError(
                "shapes of arguments are for torch modules and functions written in jax; else say how many",
                argument="inputs",
                value=self.inputs,
            )
        return self.inputs


def domain(target: Target, box: ArrayLike | None) -> ArrayLike | None:
    """The box that is given, or else the one that the source names; where neither is, None."""
    if isinstance(target, Function) and target.rows is not None and box is None:
        return target.rows.x.min(0), target.rows.x.max(0)
    own = target.box if isinstance(target, Network) else None
    return box if box is not None or own is None else (own.low, own.high)


DEFAULTS = ReadOptions()
