"""A stored program of Theorem 2, read as steps: loads, activations, and decays.

The plan of the construction is not used. The network says which layers there should be, the program's probes where
their values are; both are only hints, because the difference is bounded from the stored controls: wrong hints give
large bounds. A block that no rule covers makes the program unprovable this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from integraph.certify import controls
from integraph.certify.network.roles import ActivationStep, activation, lanes
from integraph.certify.problem import Unprovable
from integraph.clock import check_deadline
from integraph.constructions.recipes import RECIPES
from integraph.gadgets.drain import drain
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Block, Program, Segment
from integraph.targets import Layer, Network

Time = tuple[float, float]  # duration and rate, whose product is τ


@dataclass(frozen=True, slots=True, eq=False)
class RampStep:
    """y gains b·τ."""

    registers: Indices
    b: Floats
    time: Time


@dataclass(frozen=True, slots=True, eq=False)
class RelaxStep:
    """y' = c − r y; a decay has c = 0. Stored is c = r·v, rounded."""

    registers: Indices
    r: Floats
    c: Floats
    time: Time


@dataclass(frozen=True, slots=True, eq=False)
class LoadStep:
    """The rows gain w·z + b for the values z of the layer before, in the registers `source`: exactly τ(w·z + b) if the
    source is frozen (r = 0), else the source decays, w' = r/(1 − e^(−r))·w is what is stored, and the rows gain
    w'(1 − e^(−rτ))/r·z + τb."""

    source: Indices
    registers: Indices
    w: Floats
    b: Floats
    r: float
    time: Time


Step = RampStep | RelaxStep | LoadStep | ActivationStep


@dataclass(frozen=True, slots=True, eq=False)
class NetworkForm:
    """The steps in order, and the registers that hold the last layer's values."""

    steps: tuple[Step, ...]
    hidden: tuple[Layer, ...]


def read(program: Program, network: Network) -> NetworkForm:
    """The steps of a program that should be this network."""
    if (program.inputs, program.outputs) != (network.inputs, network.outputs):
        sizes = f"{program.inputs} → {program.outputs}, the network {network.inputs} → {network.outputs}"
        raise Unprovable(f"the program maps {sizes}: it was not compiled from it")
    if program.scales is not None:
        raise Unprovable("the states are rescaled, which rounds controls: prove the program before rescale_states")
    hidden = network.layers if network.layers[-1].activation != "identity" else network.layers[:-1]
    if hidden and not program.probes:
        raise Unprovable(
            "the program does not say where its layers are, as those of Theorem 2 do: compile the network again"
        )
    if len(program.probes) != len(hidden):
        raise Unprovable(f"the program shows {len(program.probes)} layers, the network has {len(hidden)}")
    rows = np.repeat(np.arange(program.outputs), np.diff(program.readout.indptr))
    if len(np.unique(np.stack([rows, program.readout.indices]), axis=1).T) < program.readout.nnz:
        raise Unprovable("the read-out names a register twice")
    controls.exact_program(program)
    reader = _NetworkReader(program, hidden)
    for number, segment in enumerate(program.segments):
        check_deadline()
        reader.segment(number, segment)
    if reader.layer != len(hidden) or sum(isinstance(step, LoadStep) for step in reader.steps) != len(hidden):
        raise Unprovable("the program does not load and run every layer")
    return NetworkForm(tuple(reader.steps), tuple(hidden))


class _NetworkReader:
    def __init__(self, program: Program, hidden: tuple[Layer, ...]) -> None:
        self.program, self.hidden = program, hidden
        self.steps: list[Step] = []
        self.layer = 0  # that comes next
        self.held = np.arange(program.inputs)  # registers with the values of the layer before
        self.busy = self.held  # registers that only the next step may touch
        self.stages: list[Block] = []
        self.touched: list[Indices] = []  # by simple blocks while the stages run

    def segment(self, number: int, segment: Segment) -> None:
        loads, stage = self._expected(number)
        feeding: list[Block] = []
        for block in segment.blocks:
            kind = block.op.name
            if kind in ("decay", "relax", "ramp"):
                self._simple(block, segment)
                if stage:
                    self.touched.append(block.targets[0].indices().reshape(-1))
            elif loads and kind in ("affine", "drain"):
                feeding.append(block)
            elif stage:
                if Fraction(segment.duration) * Fraction(segment.rate) != 1:
                    raise Unprovable(f"segment {segment.label!r} runs {kind} for {segment.tau!r} units of time, not 1")
                self.stages.append(block)
            else:
                raise Unprovable(f"segment {segment.label!r}: {kind} is not a step of layer {self.layer + 1}")
        if loads:
            self.steps.append(self._load(feeding, segment))
        if self.layer < len(self.hidden) and self.program.probes[self.layer].segment == number:
            self.steps.append(self._activate())

    def _expected(self, number: int) -> tuple[bool, bool]:
        """Whether this segment loads the next layer, or runs its activation."""
        if self.layer == len(self.hidden):
            return False, False
        end, name = self.program.probes[self.layer].segment, self.hidden[self.layer].activation
        count = len(RECIPES[name].stages) if name in RECIPES else 1
        return number == end - count, end - count < number <= end

    def _simple(self, block: Block, segment: Segment) -> None:
        registers = block.targets[0].indices().reshape(-1)
        if np.isin(registers, self.busy).any():
            raise Unprovable(f"segment {segment.label!r}: {block.op.name} changes a value that is still needed")

        if block.op.name == "ramp":
            self.steps.append(RampStep(registers, lanes(block, "b"), _time(segment)))
        else:
            r = lanes(block, "r")
            c = r * lanes(block, "v") if block.op.name == "relax" else np.zeros_like(r)
            self.steps.append(RelaxStep(registers, r, c, _time(segment)))

    def _load(self, blocks: list[Block], segment: Segment) -> LoadStep:
        """One map of the held values from all blocks; every register is written by one of them."""
        where = f"segment {segment.label!r}"
        if not blocks:
            raise Unprovable(f"{where}: nothing loads layer {self.layer + 1}")
        targets = [block.targets[0] for block in blocks]
        weights = [self._weights(block) for block in blocks]
        written = np.concatenate([z.indices().reshape(-1) for z in targets])
        if len(np.unique(written)) < len(written) or len({r for _, r in weights}) > 1:
            raise Unprovable(f"{where}: a register is loaded twice, or at two rates")
        if np.isin(written, self.held).any():
            raise Unprovable(f"{where}: layer {self.layer + 1} is loaded over the one before")
        b = np.concatenate(
            [lanes(block, "b") if "b" in block.tensors else np.zeros(block.targets[0].size) for block in blocks]
        )
        self.busy = written
        return LoadStep(self.held, written, np.concatenate([w for w, _ in weights]), b, weights[0][1], _time(segment))

    def _weights(self, block: Block) -> tuple[Floats, float]:
        """Rows of weights of the held registers, in their order."""
        z = block.targets[0]
        if block.op.name == "drain":
            reads, w = np.broadcast_to(block.targets[1].indices(), (z.size, block.targets[1].size)), drain.gain(block)
            r = float(block.tensors["r"])
        else:
            x = block.operands[0]
            reads = x.indices().reshape(z.size, -1)
            w, r = np.broadcast_to(block.tensors["w"], x.shape).reshape(z.size, -1), 0.0
        place = np.full(self.program.width, -1)
        place[self.held] = np.arange(len(self.held))
        columns = place[reads]
        if (columns < 0).any() or (block.op.name == "drain" and reads.shape[1] != len(self.held)):
            raise Unprovable(f"layer {self.layer + 1} reads registers that do not hold the layer before")
        if all(len(np.unique(row)) == len(row) for row in columns[: 1 if (columns == columns[:1]).all() else None]):
            weights = np.zeros((z.size, len(self.held)))
            np.put_along_axis(weights, columns, w, 1)
            return weights, r
        raise Unprovable(f"layer {self.layer + 1} reads a register twice")

    def _activate(self) -> ActivationStep:
        """From the blocks of the stages: which registers have which role."""
        layer, probe = self.hidden[self.layer], self.program.probes[self.layer]
        out = probe.ref.indices().reshape(-1)
        if len(out) != len(layer.A):
            raise Unprovable(f"layer {self.layer + 1} has {len(layer.A)} units, the program shows {len(out)}")
        if len(np.unique(out)) < len(out):
            raise Unprovable(f"the program shows a register of layer {self.layer + 1} twice")
        step = activation(self.layer, layer, self.stages, out)
        roles = np.concatenate([out, *step.roles.values()])
        if self.touched and np.isin(np.concatenate(self.touched), roles).any():
            raise Unprovable(f"a register of layer {self.layer + 1} is changed while its activation runs")
        self.touched = []
        self.held = self.busy = out
        self.stages = []
        self.layer += 1
        return step


def _time(segment: Segment) -> Time:
    return segment.duration, segment.rate
