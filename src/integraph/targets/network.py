"""The target of Theorem 2: a feedforward net z ← f(A z + b), layer after layer, weights exactly as they were given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import SourceError, UsageError
from integraph.numbers.arrays import Floats, numbers
from integraph.numbers.intervals import Interval
from integraph.program import tensor
from integraph.targets.activations import activation, activation_name
from integraph.text import clean, counted, joined

SHOWN = 24  # layers that are named one by one
LEAK = 0.01  # of leaky_relu, where nothing is said


@dataclass(frozen=True, eq=False)
class Layer:
    """f(A z + b). `slope` is that of leaky_relu below 0, a number or one for each unit."""

    A: Floats
    b: Any  # a number for all units, or one for each; kept as an array
    activation: str = "identity"
    slope: float | Floats = 0.0

    def __post_init__(self) -> None:
        A, b = (numbers(given, what, SourceError) for given, what in ((self.A, "weights"), (self.b, "biases")))
        if A.ndim != 2 or min(A.shape) < 1:
            raise SourceError(f"weights have shape {A.shape}: a layer needs (units, inputs), both at least 1")
        if b.shape not in ((), (len(A),)):
            raise SourceError(f"weights of shape {A.shape} need {len(A)} biases, got shape {b.shape}")
        for array, what in ((A, "weight"), (b, "bias")):
            if not np.isfinite(array).all():
                where = tuple(int(n) for n in np.argwhere(~np.isfinite(array))[0])
                raise SourceError(f"{what} {list(where)} is {array[where]}: weights and biases must be finite")
        object.__setattr__(self, "A", tensor(A))
        object.__setattr__(self, "b", tensor(np.broadcast_to(b, (len(A),))))
        object.__setattr__(self, "activation", activation_name(self.activation))
        object.__setattr__(self, "slope", self._slope())

    def _slope(self) -> float | Floats:
        slope = numbers(self.slope, "the slope of leaky_relu", SourceError)
        if slope.shape not in ((), (1,), (len(self.A),)) or not np.isfinite(slope).all():
            raise SourceError(
                f"the slope of leaky_relu must be finite, one number or {len(self.A)}, got {self.slope!r}"
            )
        return float(slope.reshape(())) if slope.size == 1 else tensor(slope)

    def apply(self, x: Floats) -> Floats:
        """f at pre-activations (…, units)."""
        return activation(self.activation, self.slope).value(x)

    def __repr__(self) -> str:
        m, n = self.A.shape
        return f"Layer {n} → {m} {self.activation}"


@dataclass(frozen=True, eq=False)
class Network:
    """Layers in order; call it to evaluate in float64. `notes` says what was rounded or assumed when it was read, `box`
    is the input domain that its file names, if it names one."""

    layers: tuple[Layer, ...]
    source: str = "layers"
    notes: tuple[str, ...] = ()
    box: Interval | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "source", clean(self.source))
        object.__setattr__(self, "notes", tuple(map(clean, self.notes)))
        if not self.layers or not all(isinstance(layer, Layer) for layer in self.layers):
            raise SourceError(f"a network is one or more layers, got {list(self.layers)!r}")
        for number, (first, second) in enumerate(zip(self.layers, self.layers[1:], strict=False), 1):
            if first.A.shape[0] != second.A.shape[1]:
                raise SourceError(
                    f"layer {number} has {first.A.shape[0]} units, layer {number + 1} takes {second.A.shape[1]} "
                    "inputs: they must agree"
                )

        if self.box is not None and self.box.low.shape != (self.inputs,):
            raise SourceError(
                f"the box has {counted(self.box.low.size, 'side')}, the network {counted(self.inputs, 'input')}: "
                "they must agree"
            )

    @property
    def inputs(self) -> int:
        return int(self.layers[0].A.shape[1])

    @property
    def outputs(self) -> int:
        return len(self.layers[-1].A)

    @property
    def sizes(self) -> tuple[int, ...]:
        """d, the width of each layer, the outputs last."""
        return (self.inputs, *(len(layer.A) for layer in self.layers))

    @property
    def parameters(self) -> int:
        return sum(layer.A.size + layer.b.size for layer in self.layers)

    def values(self, x: ArrayLike) -> list[Floats]:
        """The values of each layer, (B, units) each."""
        z = numbers(x, "inputs")
        z = z.reshape(-1, 1) if z.ndim <= 1 and self.inputs == 1 else np.atleast_2d(z)
        if z.ndim != 2 or z.shape[1] != self.inputs:
            raise UsageError(
                f"inputs have shape {np.shape(x)}: the network takes ({self.inputs},) or (batch, {self.inputs})"
            )
        values = []
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for layer in self.layers:
                z = layer.apply(z @ layer.A.T + layer.b)
                values.append(z)
        return values

    def __call__(self, x: ArrayLike) -> Floats:
        """Outputs (B, outputs) of a batch (B, d), or (outputs,) of one point (d,)."""
        values = self.values(x)[-1]
        one = np.ndim(x) == 0 or (np.ndim(x) == 1 and (self.inputs > 1 or np.shape(x) == (1,)))
        return values[0] if one else values

    @property
    def description(self) -> str:
        """Sizes, activations and where it comes from, in a line."""
        kinds = [layer.activation for layer in self.layers]
        same = kinds[:-1].count(kinds[0]) == len(kinds[:-1])
        how = f"{kinds[0]}, {kinds[-1]} output" if len(kinds) > 1 and same else joined(kinds, ", ", SHOWN)
        sizes = joined(map(str, self.sizes), "-", SHOWN)
        return f"{sizes} ({how}), {counted(self.parameters, 'parameter')}, from {self.source}"

    def __repr__(self) -> str:
        return f"Network {self.description}"


def from_layers(layers: Iterable[Any], source: str = "layers", notes: Sequence[str] = ()) -> Network:
    """A network from (A, b, activation) triples; (A, b) is linear, ("leaky_relu", 0.1) has its slope with it."""
    chain: list[Layer] = []
    for number, part in enumerate(layers, 1):
        if isinstance(part, Layer):
            chain.append(part)
            continue
        if not isinstance(part, Sequence) or isinstance(part, str) or len(part) not in (2, 3):
            raise SourceError(f"layer {number} is {type(part).__name__}: needs (A, b, activation), or (A, b) if linear")
        A, b, name = (*part, None)[:3]
        slope = None
        if isinstance(name, tuple) and len(name) == 2:
            name, slope = name
        try:
            leaks = activation_name(name) == "leaky_relu"
            if slope is not None and not leaks:
                raise SourceError(f"({name!r}, {slope!r}): only leaky_relu has a slope")
            chain.append(Layer(A, 0.0 if b is None else b, name, (LEAK if slope is None else slope) if leaks else 0.0))
        except SourceError as error:
            raise SourceError(f"layer {number}: {error}") from None
    return Network(tuple(chain), source, tuple(notes))
