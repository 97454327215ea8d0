"""A program beside what it was compiled from: how far apart they are, for networks layer by layer.

A layer of a network is looked at where the program has a probe of it. The program runs from probe to probe
with all its registers, so no clock has to tell its segments apart, and what is held at once does not grow with depth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from integraph.api.arguments import opened
from integraph.api.data_rows import placed
from integraph.api.origin import outputs, recalled, target_of, values
from integraph.bounds.conditions import conditions
from integraph.errors import UsageError
from integraph.files import FilePath
from integraph.frontends import Inputs, Parameters, ReadOptions, Target, Variables
from integraph.numbers.arrays import Floats
from integraph.program import Flow, Probe, Program
from integraph.program.dynamics import switches
from integraph.program.summary import above
from integraph.targets import Function, Layer, Network
from integraph.targets.graph import Graph
from integraph.targets.graph_conversion import to_graph
from integraph.text import counted

MEMORY = 50_000_000  # numbers held at once: 400 MB
EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 1e-12  # of evaluating source and flow, which no promise speaks of
NETWORK, SOURCE = "network", "source"
NEURON = {NETWORK: "neuron", SOURCE: "output"}


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The largest difference in one layer, or at the outputs: one neuron at one input. NaN is larger than any other.

    `network` is the value of the source, whatever it is; where it is no network, `neuron` counts its outputs.
    """

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
    """A row for each layer that can be seen, the outputs last; of anything but a network the outputs alone."""

    rows: tuple[ComparisonRow, ...]
    inputs: int
    notes: tuple[str, ...] = ()
    promised: float = 0.0  # the program's own bound of its error at the outputs, 0 if it has none
    broken: bool = False  # the promise: at an input inside its box the outputs differ by more
    kind: str = NETWORK  # of the source

    @property
    def worst(self) -> ComparisonRow:
        """Where source and program are farthest apart."""
        return max(self.rows, key=lambda row: row.size)

    @property
    def largest(self) -> float:
        """The largest difference anywhere; NaN if there is one."""
        return self.worst.difference

    @property
    def origin(self) -> ComparisonRow:
        """Where the difference grows most, from row to row and from what is promised: the first place to look at."""
        if not math.isfinite(self.largest):
            return self.worst  # the first of its kind
        before = [0.0, *(row.difference for row in self.rows)]
        least = max(EPSILON, self.promised)
        floors = [max(last, least, EPSILON * abs(row.network)) for last, row in zip(before, self.rows, strict=False)]
        growths = [row.difference / floor for row, floor in zip(self.rows, floors, strict=True)]
        return self.rows[growths.index(max(growths))]

    def __repr__(self) -> str:
        header = ("where", "after segment", "difference", "input", NEURON[self.kind], self.kind, "program")
        lines = [header, *(_cells(row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        many = counted(self.inputs, "input")
        sentence = f"{many}: the largest difference is {self.largest:.3g}, at {self.worst.label}"
        usual = max(self.promised, EPSILON * max(1.0, abs(self.worst.network)) * 1e3)
        begins = "" if self.largest <= usual else f"; it grows most at {self.origin.label}"
        return "\n".join([sentence + begins, *table, *self.notes])


def _cells(row: ComparisonRow) -> tuple[str, ...]:
    where = f"{row.segment} {row.segment_label!r}" if row.segment >= 0 else "none"
    values = (f"{value:.10g}" for value in (row.network, row.program))
    return (row.label, where, f"{row.difference:.3g}", str(row.input), str(row.neuron), *values)


def compare(
    program: Program | FilePath,
    source: Any,
    X: ArrayLike | None = None,
    engine: str | None = None,
    *,
    variables: Variables = None,
    inputs: Inputs = None,
    parameters: Parameters = None,
) -> Comparison:
    """The largest difference between a program and its source at the inputs X, for a network also layer by layer.

    `source` is anything that `compile` takes, with the `variables`, `inputs` and `parameters` that say how it is read;
    None is the formula that the program was compiled from. X is what the source takes; a program in other units of
    state (`rescale_states`) is given X in its own. Data are compared at their own rows, without X.
    Neurons, outputs, inputs and segments count from 0, layers from 1.
    """
    program = opened(program)
    if not isinstance(program, Program):
        raise UsageError(f"compare(program, source, X) takes a program, got {type(program).__name__}: compile it first")
    target = target_of(program, source, ReadOptions(variables, inputs, parameters=parameters))
    kind = NETWORK if isinstance(target, Network) else SOURCE
    if (program.inputs, program.outputs) != (target.inputs, outputs(target)):
        raise UsageError(
            f"the program is {program.inputs} → {program.outputs}, the {kind} {target.inputs} → {outputs(target)}: "
            f"{_other(kind)}"
        )
    target, x, placing = placed(program, target, X)
    if not len(x):
        raise UsageError("there is no input to compare at: X is empty")
    with np.errstate(all="ignore"):  # the program refuses what is not finite
        given = x if program.scales is None else x / program.scales[: program.inputs]
    flow = program.flow(given, engine).check()
    if isinstance(target, Network):
        rows, judged, notes = _layers(program, target, x, given, flow)
    else:
        rows, judged, notes = _values(program, target, x, flow)
    broken, promise = _promise(program, kind, x, judged)
    read = [f"when the {kind} was read: {note}" for note in getattr(target, "notes", ())]
    promised = 0.0 if program.budget is None else program.budget.total
    return Comparison(tuple(rows), len(x), (*notes, *placing, *promise, *read), promised, broken, kind)


def _other(kind: str) -> str:
    return f"compare a program with the {kind} that it was compiled from"


@dataclass(frozen=True, slots=True)
class _Discrepancy:
    """What the promise is held against: the largest difference of the outputs inside its box, and rounding there."""

    difference: float
    noise: float


Found = tuple[list[ComparisonRow], _Discrepancy | None, list[str]]  # rows, what is judged if anything is, notes


def _inside(program: Program, x: Floats) -> NDArray[np.bool_]:
    """Which inputs the promise speaks of."""
    budget = program.budget
    if budget is None:
        return np.zeros(len(x), np.bool_)
    inside: NDArray[np.bool_] = np.all((x >= budget.low) & (x <= budget.high), axis=1)
    return inside


def _values(program: Program, target: Target, x: Floats, flow: Flow) -> Found:
    """The outputs alone."""
    of = values(target)
    if of is None:
        raise UsageError("a table of derivatives has no values between its nodes: there is nothing to compare with")
    wanted, inside = of(x), np.flatnonzero(_inside(program, x))
    judged = None
    with np.errstate(all="ignore"):  # what is not finite is shown
        row = _row(program, "output", program.depth - 1, wanted, flow.outputs, 0)
        if len(inside):
            worst = _row(program, "output", program.depth - 1, wanted[inside], flow.outputs[inside], 0)
            parts = _parts(_way(program, target), x[inside[worst.input]], abs(worst.network))
            judged = _Discrepancy(worst.difference, ROUNDING * parts)
    return [row], judged, []


def _way(program: Program, target: Target) -> Target:
    """What shows how the outputs are reached: of a Python function nothing, but the program may name a formula."""
    unknown = isinstance(target, Function) and target.expression is None
    return (recalled(program) or target) if unknown else target


def _parts(target: Target, x: Floats, size: float) -> float:
    """The largest number on the way to the outputs at x, as far as the way is known."""
    if isinstance(target, Function) and target.expression is not None and not conditions(target.expression):
        target = to_graph(target.expression, target.name)
    sizes = [1.0, size]
    if isinstance(target, Graph):
        with np.errstate(all="ignore"):
            sizes += [float(np.max(np.abs(node), initial=0.0)) for node in target.nodes_at(x)]
    return max(filter(math.isfinite, sizes))


def _layers(program: Program, net: Network, x: Floats, given: Floats, flow: Flow) -> Found:
    """Every layer that a probe shows, and the outputs."""
    probes = _probes(program, net)
    stages = list(_stages(program, probes))
    worst_rows: list[ComparisonRow] = []
    inside, differences, noise = _inside(program, x), [], 1.0
    size = max(1, MEMORY // (3 * program.width + 2 * sum(net.sizes)))
    for first in range(0, len(x), size):
        part = slice(first, first + size)
        with np.errstate(all="ignore"):  # what is not finite is shown
            layers = net.values(x[part])
            kept = inside[part]
            if kept.any():
                before = zip(net.layers, [x[part], *layers], strict=False)
                noise = max(noise, *(_terms(layer, z[kept]) for layer, z in before))
                differences.append(np.abs(layers[-1] - flow.outputs[part])[kept].max())
            rows = [
                _row(program, probe.label, probe.segment, layers[layer], got, first)
                for (probe, layer), got in _seen(program, stages, given[part], first, flow.engine)
            ]
            rows.append(_row(program, "output", program.depth - 1, layers[-1], flow.outputs[part], first))
        worst_rows = (
            [max(pair, key=lambda row: row.size) for pair in zip(worst_rows, rows, strict=True)] if worst_rows else rows
        )
    judged = _Discrepancy(float(np.max(differences)), ROUNDING * noise) if differences else None
    return worst_rows, judged, list(_hidden(program, net, probes))


Seen = tuple[Probe, int]  # a probe, and the layer of the network that it shows


def _probes(program: Program, net: Network) -> list[Seen]:
    """The probes that show layers, in the order in which the program reaches them."""
    probes, other = [], _other(NETWORK)
    for probe in sorted(program.probes, key=lambda probe: probe.segment):
        if probe.layer is None:
            continue
        if probe.layer > len(net.layers):
            raise UsageError(
                f"the program has a probe of layer {probe.layer}, the network {counted(len(net.layers), 'layer')}: "
                f"{other}"
            )
        layer = probe.layer - 1
        units = len(net.layers[layer].A)
        if probe.ref.size != units:
            raise UsageError(
                f"layer {probe.layer} has {probe.ref.size} neurons in the program, {units} in the network: {other}"
            )
        probes.append((probe, layer))
    return probes


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


def _row(program: Program, label: str, segment: int, wanted: Floats, got: Floats, first: int) -> ComparisonRow:
    """The largest of |wanted − got|, (B, neurons) each; the inputs begin at number `first`."""
    difference = np.abs(wanted - got)
    n, neuron = (int(k) for k in np.unravel_index(np.argmax(difference), difference.shape))  # a NaN, if there is one
    name = program.segments[segment].label if segment >= 0 else ""
    size, net, own = (float(array[n, neuron]) for array in (difference, wanted, got))
    return ComparisonRow(label, segment, name, size, n + first, neuron, net, own)


def _terms(layer: Layer, z: Floats) -> float:
    """The size of what a layer sums up: rounding is relative to that, not to what is left after cancelling."""
    return float((np.abs(layer.A) @ np.abs(z).max(0) + np.abs(layer.b)).max())


def _hidden(program: Program, net: Network, probes: list[Seen]) -> Iterator[str]:
    """What the table does not show."""
    if not program.probes:
        yield "the program has no probes: only its outputs are compared"
        return
    shown = {layer for _, layer in probes}
    hidden = [str(n + 1) for n in range(len(net.layers) - 1) if n not in shown]
    if hidden:
        yield f"no probe shows layer {', '.join(hidden)}"
    others = [repr(probe.label) for probe in program.probes if all(probe is not p for p, _ in probes)]
    if others:
        yield f"not a layer of the network, so not compared: {', '.join(others)}"


def _promise(program: Program, kind: str, x: Floats, judged: _Discrepancy | None) -> tuple[bool, list[str]]:
    """Whether the promise is broken, and how that is said."""
    budget = program.budget
    if budget is None:
        return False, []
    outside = np.count_nonzero(~_inside(program, x))
    where = f", but {outside:,} of the inputs {'is' if outside == 1 else 'are'} outside its box" if outside else ""
    broken = judged is not None and not judged.difference <= budget.total + judged.noise
    verdict = ""
    if judged is not None and broken:
        amount = f" inside, by {judged.difference:.3g}" if outside else ""
        verdict = f": they differ by MORE{amount}, this is not the {kind} that was compiled"
    return broken, [f"promised error of the outputs ≤ {above(budget.total)}{where}{verdict}"]
