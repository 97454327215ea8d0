"""A program of Theorem 2 as it is stored, read as steps: what is loaded, which activations run, what is forgotten.

Nothing is taken from the plan the program was made by. The network says which layers there should be, the program's
probes say where their values are; both are only hints, because the difference is bounded from the stored controls:
wrong hints give large bounds. A block that no rule covers makes the program unprovable this way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from integraph.certify import stored
from integraph.certify.problem import Unprovable
from integraph.constructions.recipes import RECIPES, Recipe
from integraph.gadgets.drain import drain
from integraph.program import Block, Program, Segment
from integraph.program.views import Floats, Indices
from integraph.targets import Layer, Network

RECTIFIERS = ("relu", "leaky_relu")
Time = tuple[float, float]  # duration and rate, whose product is τ


@dataclass(frozen=True, slots=True, eq=False)
class Ramp:
    """y gains b·τ."""

    registers: Indices
    b: Floats
    time: Time


@dataclass(frozen=True, slots=True, eq=False)
class Relax:
    """y goes to v + (y − v) e^(−r τ); a decay goes to 0."""

    registers: Indices
    r: Floats
    v: Floats
    time: Time


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """The rows gain w·z + b for the values z of the layer before, in the registers `source`: exactly τ(w·z + b) if the
    source is frozen (r = 0), else the source decays, w' = r/(1 − e^(−r))·w is what is stored, and the rows gain
    w'(1 − e^(−rτ))/r·z + τb."""

    source: Indices
    registers: Indices
    w: Floats
    b: Floats
    r: float
    time: Time


@dataclass(frozen=True, slots=True, eq=False)
class Activate:
    """An activation of `units` units of layer `number` (from 0): the registers of each role, and its parameters."""

    number: int
    name: str
    recipe: Recipe
    units: Indices
    roles: Mapping[str, Indices]
    out: Indices  # of all units of the layer
    slopes: Floats  # below 0, of a rectifier
    parameters: Mapping[str, Floats]


Step = Ramp | Relax | Load | Activate


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The steps in order, and the registers that hold the last layer's values."""

    steps: tuple[Step, ...]
    hidden: tuple[Layer, ...]


def read(program: Program, network: Network) -> Form:
    """The steps of a program that should be this network."""
    if (program.inputs, program.outputs) != (network.inputs, network.outputs):
        sizes = f"{program.inputs} → {program.outputs}, the network {network.inputs} → {network.outputs}"
        raise Unprovable(f"the program maps {sizes}: it was not compiled from it")
    if program.scales is not None:
        raise Unprovable("the states are rescaled, which rounds controls: prove the program before rescale_states")
    hidden = network.layers if network.layers[-1].activation != "identity" else network.layers[:-1]
    if len(program.probes) != len(hidden):
        raise Unprovable(f"the program shows {len(program.probes)} layers, the network has {len(hidden)}")
    reader = _Reader(program, hidden)
    for number, segment in enumerate(program.segments):
        reader.segment(number, segment)
    if reader.layer != len(hidden):
        raise Unprovable(f"the program ends before layer {reader.layer + 1} is done")
    return Form(tuple(reader.steps), tuple(hidden))


class _Reader:
    def __init__(self, program: Program, hidden: tuple[Layer, ...]) -> None:
        self.program, self.hidden = program, hidden
        self.steps: list[Step] = []
        self.layer = 0  # that comes next
        self.held = np.arange(program.inputs)  # registers with the values of the layer before
        self.busy = self.held  # registers that only the next step may touch
        self.stages: list[Block] = []

    def segment(self, number: int, segment: Segment) -> None:
        loads, stage = self._expected(number)
        feeding: list[Block] = []
        for block in segment.blocks:
            stored.exact(segment, block)
            kind = block.op.name
            if kind in ("decay", "relax", "ramp"):
                self._simple(block, segment)
            elif loads and kind in ("affine", "drain"):
                feeding.append(block)
            elif stage:
                if Fraction(segment.duration) * Fraction(segment.rate) != 1:
                    raise Unprovable(f"segment {segment.label!r} runs {kind} for {segment.tau!r} units of time, not 1")
                self.stages.append(block)
            else:
                raise Unprovable(f"segment {segment.label!r}: {kind} is no step of layer {self.layer + 1}")
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

        def lanes(name: str) -> Floats:
            return np.broadcast_to(block.tensors[name], block.targets[0].shape).reshape(-1)

        if block.op.name == "ramp":
            self.steps.append(Ramp(registers, lanes("b"), _time(segment)))
        else:
            r = lanes("r")
            v = lanes("v") if block.op.name == "relax" else np.zeros_like(r)
            self.steps.append(Relax(registers, r, v, _time(segment)))

    def _load(self, blocks: list[Block], segment: Segment) -> Load:
        """One map of the held values from all blocks; every register is written by one of them."""
        registers, rows, shifts, rates = [], [], [], []
        for block in blocks:
            z = block.targets[0].indices().reshape(-1)
            w, r = self._weights(block)
            b = np.broadcast_to(block.tensors.get("b", np.zeros(())), block.targets[0].shape).reshape(-1)
            for parts, part in ((registers, z), (rows, w), (shifts, b), (rates, r)):
                parts.append(part)
        where = f"segment {segment.label!r}"
        if not registers:
            raise Unprovable(f"{where}: nothing loads layer {self.layer + 1}")
        written = np.concatenate(registers)
        if len(np.unique(written)) < len(written) or len(set(rates)) > 1:
            raise Unprovable(f"{where}: a register is loaded twice, or at two rates")
        self.busy = written
        return Load(self.held, written, np.concatenate(rows), np.concatenate(shifts), rates[0], _time(segment))

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
            found = np.zeros((z.size, len(self.held)))
            np.put_along_axis(found, columns, w, 1)
            return found, r
        raise Unprovable(f"layer {self.layer + 1} reads a register twice")

    def _activate(self) -> Activate:
        """From the blocks of the stages: which registers have which role."""
        layer, blocks, probe = self.hidden[self.layer], self.stages, self.program.probes[self.layer]
        out = probe.ref.indices().reshape(-1)
        if len(out) != len(layer.A):
            raise Unprovable(f"layer {self.layer + 1} has {len(layer.A)} units, the program shows {len(out)}")
        name = "tanh" if layer.activation == "sigmoid" else layer.activation
        if name == "identity":
            roles, parameters, units, recipe = {"x": out}, {}, np.arange(len(out)), RECIPES["identity"]
        elif name in RECTIFIERS:
            roles, parameters, units, recipe = _rectifier(blocks, out, layer)
        elif name == "gelu_tanh":
            roles, parameters, units, recipe = _gelu_tanh(blocks, out)
        else:
            recipe = RECIPES[layer.activation]
            roles, parameters, units = _plain(blocks, name, recipe, out)
        found = Activate(self.layer, name, recipe, units, roles, out, slopes(layer), parameters)
        self.held = self.busy = out
        self.stages = []
        self.layer += 1
        return found


def slopes(layer: Layer) -> Floats:
    """Below 0, of each unit of a rectifier."""
    leak = layer.slope if layer.activation == "leaky_relu" else 0.0
    return np.broadcast_to(leak, (len(layer.A),)).astype(np.float64)


def _time(segment: Segment) -> Time:
    return segment.duration, segment.rate


Read = tuple[dict[str, Indices], dict[str, Floats], Indices]


def _plain(blocks: list[Block], name: str, recipe: Recipe, out: Indices) -> Read:
    gadget = {"sin": "sin_cos"}.get(name, name)
    if len(blocks) != 1 or blocks[0].op.name != gadget or blocks[0].tensors:
        raise Unprovable(f"a layer of {name} runs {', '.join(b.op.name for b in blocks) or 'nothing'}")
    roles = _roles(blocks[0])
    if not np.array_equal(roles[recipe.out], out):
        raise Unprovable(f"the result of {name} is not where the program shows it")
    return roles, {}, np.arange(len(out))


def _rectifier(blocks: list[Block], out: Indices, layer: Layer) -> tuple[dict[str, Indices], dict[str, Floats], Indices, Recipe]:
    """Units that switch run s' = p x s − k s² − l x²; the others have no block, and keep what was loaded."""
    slope = slopes(layer)
    recipe = Recipe({"x": (1.0, 0.0), "s": (0.5 * (1.0 + slope), 0.0)}, (), "s")
    if not blocks:
        return {"s": out[:0], "x": out[:0]}, {}, np.arange(0), recipe
    block = blocks[0]
    if len(blocks) != 1 or block.op.name not in RECTIFIERS or {"a", "b"} & set(block.tensors):
        raise Unprovable(f"a layer of rectifiers runs {', '.join(b.op.name for b in blocks)}")
    roles = _roles(block)
    places = {int(register): unit for unit, register in enumerate(out)}
    if not all(int(register) in places for register in roles["s"]):
        raise Unprovable("the result of a rectifier is not where the program shows it")
    lanes = block.targets[0].shape
    k = np.broadcast_to(block.tensors["k"], lanes).reshape(-1)
    c = np.broadcast_to(block.tensors.get("c", np.zeros(())), lanes).reshape(-1)
    l = k * c  # as lowering rounds them: the two terms in x s are added up
    units = np.array([places[int(r)] for r in roles["s"]])
    return roles, {"k": k, "p": k + l, "l": l, "c": slope[units]}, units, recipe


def _gelu_tanh(blocks: list[Block], out: Indices) -> tuple[dict[str, Indices], dict[str, Floats], Indices, Recipe]:
    """q = x², u = c₁x + c₃xq, tanh, z = c₅x + c₆xα, with one weight each."""
    ops = [block.op.name for block in blocks]
    if ops != ["product", "affine", "product", "tanh", "affine", "product"]:
        raise Unprovable(f"GELU's tanh form runs {', '.join(ops) or 'nothing'}")
    square, linear, cubic, tanh, half, last = blocks
    roles = {**{f: r for f, r in _roles(tanh).items() if f != "x"}, "u": _roles(tanh)["x"]}
    roles["q"], roles["x"], roles["z"] = (_flat(r) for r in (square.targets[0], square.operands[0], last.targets[0]))
    expected = [
        (square, "q", "x", "x"), (linear, "u", "x"), (cubic, "u", "x", "q"), (half, "z", "x"), (last, "z", "x", "alpha"),
    ]  # fmt: skip
    for block, *names in expected:
        refs = [_flat(ref) for ref in block.refs()]
        same = len(refs) == len(names) and all(
            np.array_equal(ref, roles[name]) for ref, name in zip(refs, names, strict=True)
        )
        if not same or block.tensors["w"].size != 1 or "b" in block.tensors:
            raise Unprovable("GELU's tanh form is not wired as its recipe")
    if not np.array_equal(roles["z"], out):
        raise Unprovable("the result of GELU's tanh form is not where the program shows it")
    names = ("square", "linear", "cubic", "half", "last")
    weights = {name: block.tensors["w"].reshape(1) for name, (block, *_) in zip(names, expected, strict=True)}
    return roles, weights, np.arange(len(out)), RECIPES["gelu_tanh"]


def _roles(block: Block) -> dict[str, Indices]:
    return dict(zip(block.op.targets + block.op.operands, map(_flat, block.refs()), strict=True))


def _flat(ref: object) -> Indices:
    found: Indices = ref.indices().reshape(-1)  # type: ignore[attr-defined]
    return found
