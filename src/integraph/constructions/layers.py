"""A network on a box, ready to be built: each layer as a map of registers, with its recipe and its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from integraph.bounds import intervals
from integraph.bounds.deviation import largest_singular_value
from integraph.bounds.intervals import Interval, U
from integraph.constructions.recipes import RECIPES, Recipe, rectifier, switches
from integraph.errors import SourceError
from integraph.program import Budget, Index, Probe, Program, Registers, Segment, View, build, tensor
from integraph.program.views import Floats
from integraph.targets import Activation, Layer, Network, activation


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
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
    steepness: Floats  # |k| of units that switch, else 0

    @property
    def units(self) -> int:
        return len(self.A)

    def probe(self, segment: int, out: View) -> Probe:
        """Where the layer's values can be seen."""
        return Probe(f"layer {self.number}", segment, out, self.recipe.gain, self.recipe.offset)


@dataclass(frozen=True, slots=True, eq=False)
class Readout:
    """Outputs C z + b of the last registers."""

    C: Floats
    b: Floats
    lost: Floats
    norm: float


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What both constructions build from."""

    network: Network
    box: Interval
    stretches: tuple[Stretch, ...]
    readout: Readout


def plan(network: Network, box: Interval, k: float = 1.0) -> Plan:
    """`k` is the steepness of rectifiers that can switch."""
    z, gain, offset = box, 1.0, 0.0
    stretches = []
    hidden = network.layers if network.layers[-1].activation != "identity" else network.layers[:-1]
    for number, layer in enumerate(hidden, 1):
        A, b, lost = _folded(layer.A, layer.b, gain, offset)
        stretch = _stretch(number, layer, A, b, lost, z, k)
        stretches.append(stretch)
        z, gain, offset = stretch.values, stretch.recipe.gain, stretch.recipe.offset
    last = network.layers[-1]
    C, b = (last.A, last.b) if hidden is not network.layers else (np.eye(network.outputs), np.zeros(network.outputs))
    C, b, lost = _folded(C, b, gain, offset)
    return Plan(network, box, tuple(stretches), Readout(C, b, lost, largest_singular_value(C)))


def _stretch(number: int, layer: Layer, A: Floats, b: Floats, lost: Floats, z: Interval, k: float) -> Stretch:
    argument = intervals.affine(A, b, z).widened(lost)
    f = activation(layer.activation, layer.slope)
    recipe, steepness = _flow(layer, argument, k)
    if layer.activation == "sigmoid":  # in the registers it is tanh(x/2)
        f, A, b, lost = activation("tanh"), tensor(0.5 * A), 0.5 * b, 0.5 * lost
        argument = Interval(0.5 * argument.low, 0.5 * argument.high)
    values = intervals.values(f, argument)
    worst = np.maximum(np.square(argument.size), values.size)  # squares of arguments are registers too
    if not np.isfinite(worst).all():
        unit = int(np.flatnonzero(~np.isfinite(worst))[0])
        raise SourceError(
            f"layer {number} ({layer.activation}), unit {unit}: on the box its argument reaches "
            f"{argument.size[unit]:.3g} and a register leaves float64: use a smaller box or rescale the net"
        )
    norm = largest_singular_value(A)
    return Stretch(number, layer.activation, A, b, lost, norm, f, recipe, argument, values, steepness)


def steeper(chosen: Plan, k: float) -> Plan:
    """The same with another steepness of rectifiers."""
    layers = chosen.network.layers
    found = []
    for s in chosen.stretches:
        recipe, steepness = _flow(layers[s.number - 1], s.argument, k)
        found.append(replace(s, recipe=recipe, steepness=steepness))
    return replace(chosen, stretches=tuple(found))


def _flow(layer: Layer, x: Interval, k: float) -> tuple[Recipe, Floats]:
    """The recipe of a layer whose arguments are in x, and |k| of each unit."""
    if layer.activation in RECIPES:
        return RECIPES[layer.activation], np.zeros(len(layer.A))
    slope = np.broadcast_to(np.asarray(layer.slope if layer.activation == "leaky_relu" else 0.0), (len(layer.A),))
    return rectifier(slope, x.low, x.high, k), np.where(switches(slope, x.low, x.high), k, 0.0)


def _folded(A: Floats, b: Floats, gain: float, offset: float) -> tuple[Floats, Floats, Floats]:
    """A(gain·z + offset) + b as a map of z, and a bound of how much b was rounded. Gains are powers of 2."""
    if offset == 0.0:
        return tensor(A if gain == 1.0 else gain * A), b, np.zeros(len(b))
    total = np.sum(A.astype(np.longdouble), 1) * np.longdouble(offset) + b
    size = np.abs(A).sum(1) * abs(offset) + np.abs(b)
    lost = (4 * U + A.shape[1] * float(np.finfo(np.longdouble).eps)) * size
    return tensor(gain * A), total.astype(np.float64), lost


def finish(
    plan: Plan,
    registers: Registers,
    segments: Sequence[Segment],
    out: View,
    one: View,
    probes: Sequence[Probe],
    parts: tuple[float, float, float],
) -> Program:
    """The program whose outputs are C·out + b, b carried by the register `one` that holds 1."""
    C, b = plan.readout.C, plan.readout.b
    columns, matrix = out.indices(), C
    if b.any():
        columns, matrix = np.append(columns, one.indices()), np.column_stack([C, b])
    built = build(registers, segments, Index(columns), matrix, source=_source(plan.network))
    return replace(built, budget=Budget(plan.box.low, plan.box.high, *parts), probes=tuple(probes))


def _source(network: Network) -> str:
    return repr(network).removeprefix("Network ")
