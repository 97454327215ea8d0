"""From the weights of a network to the tensors of its program, as a function that can be differentiated.

Every entry of a tensor is a number, or a multiple of one entry of A or of b + c·(row sums of A), where c is the offset
that the activation before leaves to this layer. Which one it is, and how many times, is found by compiling the network
again with weights that differ a little: an entry that changes by m·δ in one trial and by m·δ' in another belongs to the
weight whose trials were δ and δ'. Three copies of a layer, as a GELU needs them, so stay copies of one layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from integraph.constructions.recipes import RECIPES
from integraph.constructions.theorem2.construction import feedforward
from integraph.errors import UsageError
from integraph.flow.closed_forms.parameters import READOUT, Parameters
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Block, Domain, Program, tensor
from integraph.program.origin import NETWORK
from integraph.targets import Layer, Network

WEIGHTS = ("w", "b", READOUT)  # tensors that hold weights; all others are rates and steepnesses
TRIALS = (1e-4, 1e-6)  # relative changes of the weights; a smaller one where a rectifier switches
SAME = 1e-7  # relative difference of two changes that are one
Weights = dict[str, Any]  # A1, b1, A2, …: arrays of numpy or of jax


@dataclass(frozen=True, slots=True, eq=False)
class Tied:
    """Entry e of a tensor is its value in the program plus `factor[e]` times the change of feature `index[e]`."""

    network: Network
    features: Floats
    index: Mapping[str, Indices]
    factor: Mapping[str, Floats]
    tensors: Mapping[str, Floats]

    @property
    def weights(self) -> Weights:
        return weights_of(self.network)

    def __call__(self, weights: Weights) -> dict[str, Any]:
        """The tensors of the program by name; those that hold no weights are the program's own arrays."""
        moved = features(self.network, weights) - self.features
        tied = {
            name: self.tensors[name] + self.factor[name] * moved[index]
            for name, index in self.index.items()
            if self.factor[name].any()
        }
        return {**self.tensors, **tied}

    def trained(self, weights: Mapping[str, Floats]) -> Network:
        """The network with other weights."""
        return with_weights(self.network, weights)


def weights_of(network: Network) -> Weights:
    """A1, b1, A2, b2, … of the layers."""
    named = {}
    for number, layer in enumerate(network.layers, 1):
        named[f"A{number}"], named[f"b{number}"] = layer.A, layer.b
    return named


def with_weights(network: Network, weights: Mapping[str, Floats]) -> Network:
    layers = [
        Layer(np.asarray(weights[f"A{n}"]), np.asarray(weights[f"b{n}"]), layer.activation, layer.slope)
        for n, layer in enumerate(network.layers, 1)
    ]
    return Network(tuple(layers), network.source, network.notes, network.box)


def features(network: Network, weights: Weights) -> Any:
    """All entries of A, and of b with what the layer before leaves to it, in a row."""
    parts, offset = [], 0.0
    for number, layer in enumerate(network.layers, 1):
        A, b = weights[f"A{number}"], weights[f"b{number}"]
        parts += [A.reshape(-1), b + offset * A.sum(1) if offset else b]
        offset = RECIPES[layer.activation].offset if layer.activation in RECIPES else 0.0
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    import jax.numpy as jnp

    return jnp.concatenate(parts)


def tied(program: Program, network: Network) -> Tied:
    """The map of a program that was compiled from this network."""
    if _compiled(program, network).digest != program.digest:
        raise UsageError(
            "the program was not compiled from this network, or was changed since, as by rescale_time: give the "
            "network of this program, or train its tensors as they are with untied=True",
            argument="source",
        )
    values = Parameters(program).values
    for size in TRIALS:
        found = _tied(program, network, values, size)
        if found is not None:
            return found
    raise UsageError(
        "the tensors of this program are no multiples of the network's weights one by one: train them as they are with "
        "untied=True"
    )


def _tied(program: Program, network: Network, values: dict[str, Floats], size: float) -> Tied | None:
    """None where a trial has other blocks, or an entry belongs to no weight."""
    base, rng = features(network, weights_of(network)), np.random.default_rng(0)
    moves, changes = list[Floats](), list[dict[str, Floats]]()
    for _ in range(3):
        weights = {
            name: value * (1.0 + size * rng.uniform(0.5, 1.0, value.shape) * rng.choice([-1.0, 1.0], value.shape))
            for name, value in weights_of(network).items()
        }
        trial = Parameters(_compiled(program, with_weights(network, weights))).values
        if {name: value.shape for name, value in trial.items()} != {name: v.shape for name, v in values.items()}:
            return None
        moves.append(features(network, weights) - base)
        changes.append({name: trial[name] - value for name, value in values.items() if holds_weights(name)})
    index, factor = {}, {}
    for name in changes[0]:
        entry = _matched(moves, [change[name] for change in changes])
        if entry is None:
            return None
        index[name], rough = entry
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = values[name] / base[index[name]]  # to the last bit, where nothing is added
        factor[name] = np.where(np.abs(whole - rough) <= SAME * np.abs(rough), whole, rough)
    return Tied(network, base, index, factor, values)


def _matched(moves: list[Floats], changes: list[Floats]) -> tuple[Indices, Floats] | None:
    """To which feature each entry belongs, and how many times; a third trial must agree."""
    first, second, third = moves
    known = np.flatnonzero(first)
    ratios = second[known] / first[known]
    order = np.argsort(ratios)
    known, ratios = known[order], ratios[order]
    change, again, check = changes
    moved = change != 0
    index, factor = np.zeros(change.shape, np.int64), np.zeros(change.shape)
    if moved.any():
        ratio = again[moved] / change[moved]
        right = np.minimum(np.searchsorted(ratios, ratio), len(ratios) - 1)
        left = np.maximum(right - 1, 0)
        near = np.where(np.abs(ratios[left] - ratio) <= np.abs(ratios[right] - ratio), left, right)
        index[moved] = known[near]
        factor[moved] = change[moved] / first[index[moved]]
    agree = np.abs(factor * third[index] - check) <= SAME * np.abs(check) + 1e-14
    return (index, factor) if agree.all() else None


def holds_weights(name: str) -> bool:
    return name.rpartition("_")[2] in WEIGHTS


def _compiled(program: Program, network: Network) -> Program:
    """The network, compiled as the program was."""
    origin, box = program.origin, program.box
    if origin is None or origin.kind != NETWORK or origin.eps is None or box is None:
        raise UsageError(
            "the program was not compiled from a network by method 'wide' or 'narrow', so its tensors are tied to no "
            "weights: train them as they are with untied=True"
        )
    sides = np.stack([box.low, box.high], 1)
    options = {name: str(value) for name, value in origin.options.items() if name in ("free", "bound")}
    return feedforward(network, origin.eps, method=origin.method, box=sides, **options)


def rebuilt(program: Program, tensors: Mapping[str, Floats]) -> Program:
    """The program with other tensors: the same registers and segments. What was known of its error is not."""
    names, box = Parameters(program).names, program.box
    stored = {name: tensor(np.asarray(value, np.float64)) for name, value in tensors.items()}  # shared ones stay shared

    def changed(number: int, place: int, block: Block) -> Block:
        own = {name: stored[names[number, place, name]] for name in block.tensors if name not in block.op.integers}
        return replace(block, tensors={**block.tensors, **own})

    segments = tuple(
        replace(segment, blocks=tuple(changed(number, place, block) for place, block in enumerate(segment.blocks)))
        for number, segment in enumerate(program.segments)
    )
    readout = program.readout.copy()
    readout.data = stored[READOUT]
    return replace(
        program, segments=segments, readout=readout, source=f"{program.source}, fine-tuned", proven=None, seen=None,
        budget=None, domain=None if box is None else Domain(box.low, box.high), origin=None,
    )  # fmt: skip
