"""A network on a box, ready to be built: each layer as a map of registers, with its recipe and its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from integraph.bounds.perturbation.activation_errors import RELU
from integraph.bounds.perturbation.deviation import largest_singular_value
from integraph.constructions.recipes import RECIPES, Recipe, bend, rectifier, switches
from integraph.errors import SourceError
from integraph.numbers import intervals
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import U, sum_error
from integraph.program import Budget, Probe, Program, Ref, Registers, Segment, View, build, tensor
from integraph.targets import Activation, Layer, Network, activation
from integraph.targets.activations import value_range


@dataclass(frozen=True, slots=True, eq=False)
class LayerPlan:
    """x = A z + b of the registers z of the layer before, then the flow of `recipe`; `lost` bounds b's rounding."""

    number: int  # of the layer in the network, from 1
    name: str  # of its activation
    A: Floats
    b: Floats
    lost: Floats
    norm: float  # at least the largest singular value of A
    f: Activation  # of x, as the registers have it: before gain and offset
    recipe: Recipe
    argument: Interval  # the range of x
    values: Interval  # the range of f(x)
    steepness: Floats  # |k| of units of a rectifier that switch, else 0
    near: Floats  # how far from f the flow of a unit is by itself
    slope: Floats  # of leaky_relu below 0

    @property
    def units(self) -> int:
        return len(self.A)

    def probe(self, segment: int, out: Ref) -> Probe:
        """Where the layer's values can be seen."""
        return Probe(f"layer {self.number}", segment, out, self.recipe.gain, self.recipe.offset, self.number)


@dataclass(frozen=True, slots=True, eq=False)
class Readout:
    """Outputs C z + b of the last registers. C is a matrix, or one factor for each output."""

    C: Floats
    b: Floats
    lost: Floats
    norm: float


@dataclass(frozen=True, slots=True, eq=False)
class NetworkPlan:
    """What both constructions build from."""

    network: Network
    box: Interval
    stretches: tuple[LayerPlan, ...]
    readout: Readout


@np.errstate(over="ignore", invalid="ignore")  # what leaves float64 is refused
def plan(network: Network, box: Interval, k: float = 1.0) -> NetworkPlan:
    """`k` is the steepness of rectifiers that can switch."""
    z, gain, offset = box, 1.0, 0.0
    stretches = []
    hidden = network.layers if network.layers[-1].activation != "identity" else network.layers[:-1]
    for number, layer in enumerate(hidden, 1):
        A, b, lost = _folded(layer.A, layer.b, gain, offset)
        stretch = _stretch(number, layer, A, b, lost, z, k)
        stretches.append(stretch)
        z, gain, offset = stretch.values, stretch.recipe.gain, stretch.recipe.offset
    return NetworkPlan(network, box, tuple(stretches), _readout(network, hidden, gain, offset))


def _readout(network: Network, hidden: tuple[Layer, ...], gain: float, offset: float) -> Readout:
    """The last layer, if it is linear, else the values of the one before as they are."""
    n = network.outputs
    if hidden is network.layers:
        return Readout(np.full(n, gain), np.full(n, offset), np.full(n, U * offset), gain)
    C, b, lost = _folded(network.layers[-1].A, network.layers[-1].b, gain, offset)
    return Readout(C, b, lost, largest_singular_value(C))


def _stretch(number: int, layer: Layer, A: Floats, b: Floats, lost: Floats, z: Interval, k: float) -> LayerPlan:
    argument = intervals.affine(A, b, z).widened(lost)
    f = activation(layer.activation, layer.slope)
    flow = _flow(layer, argument, k)
    if layer.activation == "sigmoid":  # in the registers it is tanh(x/2)
        f, A, b, lost = activation("tanh"), tensor(0.5 * A), 0.5 * b, 0.5 * lost
        argument = Interval(0.5 * argument.low, 0.5 * argument.high)
    values = value_range(f, argument)
    if layer.activation == "softplus":  # without its ln 2
        offset = flow["recipe"].offset
        values = Interval(values.low - offset, values.high - offset).widened(4 * U * (1.0 + values.size))
    power = 3 if layer.activation == "gelu_tanh" else 2  # of arguments that are registers too
    worst = np.maximum(argument.size**power, values.size)
    if not np.isfinite(worst).all():
        unit = int(np.flatnonzero(~np.isfinite(worst))[0])
        raise SourceError(
            f"layer {number} ({layer.activation}), unit {unit}: on the box its argument reaches "
            f"{argument.size[unit]:.3g} and a register leaves float64: use a smaller box or rescale the net"
        )
    norm = largest_singular_value(A)
    return LayerPlan(number, layer.activation, A, b, lost, norm, f, argument=argument, values=values, **flow)


def steeper(chosen: NetworkPlan, k: float) -> NetworkPlan:
    """The same with another steepness of rectifiers."""
    layers = chosen.network.layers
    stretches = (replace(s, **_flow(layers[s.number - 1], s.argument, k)) for s in chosen.stretches)
    return replace(chosen, stretches=tuple(stretches))


def _flow(layer: Layer, x: Interval, k: float) -> dict[str, Any]:
    """What runs after the affine map: the fields of a stretch that depend on the steepness of rectifiers."""
    zero = np.zeros(len(layer.A))
    if layer.activation in RECIPES:
        return {"recipe": RECIPES[layer.activation], "steepness": zero, "near": zero, "slope": zero}
    slope = zero + (layer.slope if layer.activation == "leaky_relu" else 0.0)
    run = switches(slope, x.low, x.high, k)
    return {
        "recipe": rectifier(slope, x.low, x.high, k),
        "steepness": np.where(run, k, 0.0),
        "near": np.where(run, RELU / k, bend(slope, x.low, x.high)),
        "slope": slope,
    }


def _folded(A: Floats, b: Floats, gain: float, offset: float) -> tuple[Floats, Floats, Floats]:
    """A(gain·z + offset) + b as a map of z, and a bound of how much b was rounded. Gains are powers of 2."""
    if offset == 0.0:
        return tensor(A if gain == 1.0 else gain * A), b, np.zeros(len(b))
    size = np.abs(A).sum(1) * abs(offset) + np.abs(b)
    return tensor(gain * A), offset * _row_sums(A) + b, 8 * U * size


def _row_sums(A: Floats) -> Floats:
    """Sums with their rounding errors added up beside them: as good as rounded once, and the same on every machine."""
    total, errors = np.zeros(len(A)), np.zeros(len(A))
    for column in A.T:
        added = total + column
        errors += sum_error(total, column, added)
        total = added
    return total + errors


def finish(
    plan: NetworkPlan,
    how: str,
    registers: Registers,
    segments: Sequence[Segment],
    out: View,
    one: View,
    probes: Sequence[Probe],
    parts: tuple[float, float, float],
) -> Program:
    """The program whose outputs are C·out + b, b carried by the register `one` that holds 1; `how` names the method."""
    C, b = plan.readout.C, plan.readout.b
    rows, columns = np.nonzero(C) if C.ndim == 2 else (np.arange(len(C)),) * 2
    biased = np.flatnonzero(b)
    matrix = scipy.sparse.csr_array(
        (
            np.append(C[rows, columns] if C.ndim == 2 else C, b[biased]),
            (np.append(rows, biased), np.append(out.indices()[columns], np.full(len(biased), one.offset))),
        ),
        shape=(len(b), registers.width),
    )
    return build(
        registers, segments, matrix, source=source_text(plan, how), budget=error_budget(plan, parts), probes=probes
    )  # fmt: skip


def source_text(plan: NetworkPlan, how: str) -> str:
    """The source of a program: the network, and how it was built."""
    return f"{plan.network.description}, {how}"


def error_budget(plan: NetworkPlan, parts: tuple[float, float, float]) -> Budget:
    """What is known of the error on the box of the plan."""
    return Budget(plan.box.low, plan.box.high, *parts)
