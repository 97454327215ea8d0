"""A program beside the network that it was compiled from: how far apart they are, layer by layer.

Layer k of the network is looked at where the program has a probe called `layer k`. The program runs from probe to probe
with all its registers, so no clock has to tell its segments apart, and what is held at once does not grow with depth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.program import Flow, Probe, Program
from integraph.program.dynamics import switches
from integraph.program.engine import batch_of
from integraph.program.summary import above
from integraph.program.views import Floats
from integraph.targets import Layer, Network

MEMORY = 50_000_000  # numbers held at once: 400 MB
EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 1e-12  # of evaluating network and flow, which no promise speaks of
OTHER = "compare a program with the network that it was compiled from"
HEADER = ("where", "after segment", "difference", "input", "neuron", "network", "program")


@dataclass(frozen=True, slots=True)
class Row:
    """The largest difference in one layer, or at the outputs: one neuron at one input. NaN is larger than any other."""

    label: str
    segment: int  # after which the program was looked at
    segment_label: str
    difference: float
    input: int
    neuron: int
    network: float
    program: float

    @property
    def size(self) -> tuple[bool, float]:
        """To compare rows by: NaN last."""
        lost = math.isnan(self.difference)
        return lost, 0.0 if lost else self.difference


@dataclass(frozen=True, repr=False)
class Comparison:
    """A row for each layer that can be seen, the outputs last."""

    rows: tuple[Row, ...]
    inputs: int
    notes: tuple[str, ...] = ()
    promised: float = 0.0  # the program's own bound of its error at the outputs, 0 if it has none

    @property
    def worst(self) -> Row:
        """Where network and program are farthest apart."""
        return max(self.rows, key=lambda row: row.size)

    @property
    def largest(self) -> float:
        """The largest difference anywhere; NaN if there is one."""
        return self.worst.difference

    @property
    def origin(self) -> Row:
        """Where the difference grows most, from row to row and from what is promised: the first place to look at."""
        if not math.isfinite(self.largest):
            return self.worst  # the first of its kind
        before = [0.0, *(row.difference for row in self.rows)]
        least = max(EPSILON, self.promised)
        floors = [max(last, least, EPSILON * abs(row.network)) for last, row in zip(before, self.rows, strict=False)]
        growths = [row.difference / floor for row, floor in zip(self.rows, floors, strict=True)]
        return self.rows[growths.index(max(growths))]

    def __repr__(self) -> str:
        lines = [HEADER, *(_cells(row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        many = f"{self.inputs:,} input{'s' * (self.inputs != 1)}"
        found = f"{many}: the largest difference is {self.largest:.3g}, at {self.worst.label}"
        usual = max(self.promised, EPSILON * max(1.0, abs(self.worst.network)) * 1e3)
        begins = "" if self.largest <= usual else f"; it grows most at {self.origin.label}"
        return "\n".join([found + begins, *table, *self.notes])


def _cells(row: Row) -> tuple[str, ...]:
    where = f"{row.segment} {row.segment_label!r}" if row.segment >= 0 else "none"
    values = (f"{value:.10g}" for value in (row.network, row.program))
    return (row.label, where, f"{row.difference:.3g}", str(row.input), str(row.neuron), *values)


def compare(program: Program, source: Any, X: ArrayLike, engine: str | None = None) -> Comparison:
    """The largest difference between a program and its source at the inputs X, for each layer and at the outputs.

    `source` is a `Network`, or anything that `network` reads. X is what the network takes; a program in other units of
    state (`rescale_states`) is given X in its own. Neurons, inputs and segments count from 0, layers from 1.
    """
    if not isinstance(program, Program):
        raise UsageError(f"compare(program, source, X) takes a program, got {type(program).__name__}: compile it first")
    net = _network(source)
    if (program.inputs, program.outputs) != (net.inputs, net.outputs):
        raise UsageError(
            f"the program is {program.inputs} → {program.outputs}, the network {net.inputs} → {net.outputs}: {OTHER}"
        )
    x = batch_of(X, program.inputs)
    if not len(x):
        raise UsageError("there is no input to compare at: X is empty")
    with np.errstate(all="ignore"):  # the program refuses what is not finite
        given = x if program.scales is None else x / program.scales[: program.inputs]
    flow = program.flow(given, engine).check()
    probes = _probes(program, net)
    stages = list(_stages(program, probes))
    found: list[Row] = []
    noise = 1.0  # the largest terms that are summed up anywhere
    size = max(1, MEMORY // (3 * program.width + 2 * sum(net.sizes)))
    for first in range(0, len(x), size):
        part = slice(first, first + size)
        with np.errstate(all="ignore"):  # what is not finite is shown
            layers = net.values(x[part])
            noise = max(noise, *(_terms(layer, z) for layer, z in zip(net.layers, [x[part], *layers], strict=False)))
            rows = [
                _row(program, probe.label, probe.segment, layers[layer], got, first)
                for (probe, layer), got in _seen(program, stages, given[part], first, flow.engine)
            ]
            rows.append(_row(program, "output", program.depth - 1, layers[-1], flow.outputs[part], first))
        found = [max(pair, key=lambda row: row.size) for pair in zip(found, rows, strict=True)] if found else rows
    promised = 0.0 if program.budget is None else program.budget.total
    return Comparison(
        tuple(found), len(x), tuple(_notes(program, net, probes, x, found[-1], ROUNDING * noise)), promised
    )


def _network(source: Any) -> Network:
    if isinstance(source, Network):
        return source
    from integraph.frontends import is_network, network

    if not is_network(source):
        raise UsageError(
            "compare shows a network layer by layer; a formula or a graph has values: graph(source).values(X)"
        )
    return network(source)


Seen = tuple[Probe, int]  # a probe, and the layer of the network that it shows


def _probes(program: Program, net: Network) -> list[Seen]:
    """The probes that show layers, in the order in which the program reaches them."""
    numbers = {f"layer {n}": n - 1 for n in range(1, len(net.layers) + 1)}
    found = []
    for probe in sorted(program.probes, key=lambda probe: probe.segment):
        layer = numbers.get(probe.label)
        if layer is not None:
            units = len(net.layers[layer].A)
            if probe.ref.size != units:
                raise UsageError(
                    f"{probe.label} has {probe.ref.size} neurons in the program, {units} in the network: {OTHER}"
                )
            found.append((probe, layer))
        elif re.fullmatch("layer [0-9]+", probe.label):
            raise UsageError(f"the program has a probe of {probe.label}, the network {len(net.layers)} layers: {OTHER}")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Stage:
    """A piece of the program, from all registers to all registers."""

    first: int  # of its segments
    piece: Program
    probes: list[Seen]  # to be read at its end


def _stages(program: Program, probes: list[Seen]) -> Iterator[_Stage]:
    everything = scipy.sparse.csr_array(scipy.sparse.identity(program.width, format="csr"))
    first = 0
    for end in sorted({probe.segment for probe, _ in probes}):
        piece = Program(
            program.registers.copy(inputs=program.width), program.segments[first : end + 1], everything, program.scales
        )
        yield _Stage(first, piece, [seen for seen in probes if seen[0].segment == end])
        first = end + 1


def _seen(program: Program, stages: list[_Stage], x: Floats, first: int, engine: str) -> Iterator[tuple[Seen, Floats]]:
    """What the probes show, (B, neurons) each."""
    y = np.zeros((len(x), program.width))
    y[:, : program.inputs] = x
    for stage in stages:
        y = _check(program, stage.piece.flow(y, engine), stage.first, first)
        for probe, layer in stage.probes:
            registers = probe.ref.of(y.T).reshape(probe.ref.size, len(y)).T
            yield (probe, layer), probe.scale * registers + probe.shift


def _check(program: Program, flow: Flow, segment: int, first: int) -> Floats:
    """The outputs of a piece, or the error that the whole program would give."""
    begin = float(switches(program)[segment])
    failures = (
        replace(f, input=f.input + first, segment=f.segment + segment, time=f.time + begin) for f in flow.failures
    )
    return replace(flow, failures=tuple(failures)).check().outputs


def _row(program: Program, label: str, segment: int, wanted: Floats, got: Floats, first: int) -> Row:
    """The largest of |wanted − got|, (B, neurons) each; the inputs begin at number `first`."""
    difference = np.abs(wanted - got)
    n, neuron = (int(k) for k in np.unravel_index(np.argmax(difference), difference.shape))  # a NaN, if there is one
    name = program.segments[segment].label if segment >= 0 else ""
    size, net, own = (float(array[n, neuron]) for array in (difference, wanted, got))
    return Row(label, segment, name, size, n + first, neuron, net, own)


def _terms(layer: Layer, z: Floats) -> float:
    """The size of what a layer sums up: rounding is relative to that, not to what is left after cancelling."""
    return float((np.abs(layer.A) @ np.abs(z).max(0) + np.abs(layer.b)).max())


def _notes(program: Program, net: Network, probes: list[Seen], x: Floats, output: Row, noise: float) -> Iterator[str]:
    if not program.probes:
        yield "the program has no probes: only its outputs are compared"
    else:
        shown = {layer for _, layer in probes}
        hidden = [str(n + 1) for n in range(len(net.layers) - 1) if n not in shown]
        if hidden:
            yield f"no probe shows layer {', '.join(hidden)}"
        others = [repr(probe.label) for probe in program.probes if all(probe is not p for p, _ in probes)]
        if others:
            yield f"not a layer of the network, so not compared: {', '.join(others)}"
    if program.budget is not None:
        outside = np.count_nonzero(((x < program.budget.low) | (x > program.budget.high)).any(1))
        where = f", but {outside:,} of the inputs {'is' if outside == 1 else 'are'} outside its box" if outside else ""
        kept = output.difference <= program.budget.total + noise
        verdict = "" if kept or outside else ": they differ by MORE, this is not the network that was compiled"
        yield f"promised error of the outputs ≤ {above(program.budget.total)}{where}{verdict}"
    yield from (f"when the network was read: {note}" for note in net.notes)
