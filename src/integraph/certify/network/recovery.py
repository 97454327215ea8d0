"""The network of a stored program of Theorem 2, read back from its controls, up to rounding.

It is a hint: `NetworkDifference` of it and the program bounds all that is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from integraph.certify.network.difference import NetworkDifference
from integraph.certify.network.form import LoadStep, read
from integraph.certify.network.roles import RECTIFIERS, ActivationStep, lanes
from integraph.certify.problem import Unprovable
from integraph.constructions.recipes import RECIPES
from integraph.numbers.arb.conversion import FIRST
from integraph.numbers.arrays import Floats
from integraph.program import Block, Program
from integraph.program.annotations import Probe
from integraph.targets.network import Layer, Network

GADGETS = {"sin_cos": "sin"}  # where gadget and activation have different names
SIGMOID = (0.5, 0.5)  # of a register that holds a tanh: what the layer is of it


def recovered(program: Program) -> Network:
    """A network near the program; Unprovable where it is no program of Theorem 2."""
    if not program.probes:
        raise Unprovable("the program does not say where its layers are, as those of Theorem 2 do")
    blank, units = [], program.inputs
    for probe in program.probes:
        blank.append(_blank(program, probe, units))
        units = probe.ref.size
    last = Layer(np.zeros((program.outputs, units)), np.zeros(program.outputs))
    form = read(program, Network((*blank, last)))
    loads = [step for step in form.steps if isinstance(step, LoadStep)]
    runs = [step for step in form.steps if isinstance(step, ActivationStep)]
    hidden = list(_layers(blank, loads, runs))
    gain, offset = _out(hidden[-1])
    A = program.readout[:, runs[-1].out].toarray() / gain
    near = Network((*hidden, Layer(A, -(A @ np.full(units, offset)))))
    origin = (0.0,) * program.inputs
    shift = [float(ball.mid()) for ball in NetworkDifference(program, near).outputs(origin, origin, FIRST)]
    b = near.layers[-1].b + np.array(shift)  # what other registers add
    if not np.isfinite(b).all():
        raise Unprovable("the program has no value at 0")
    return Network((*hidden, Layer(A, b)))


def _blank(program: Program, probe: Probe, before: int) -> Layer:
    """A layer with the activation that ends at a probe, its weights still 0."""
    blocks = [block for block in program.segments[probe.segment].blocks if block.op.name not in ("decay", "relax")]
    name = GADGETS.get(blocks[0].op.name, blocks[0].op.name) if blocks else "leaky_relu"
    if name == "tanh" and (probe.scale, probe.shift) == SIGMOID:
        name = "sigmoid"
    if name not in RECIPES and name not in RECTIFIERS:
        raise Unprovable(f"there is no network with {name} as its activation")
    A, b = np.zeros((probe.ref.size, before)), np.zeros(probe.ref.size)
    return Layer(A, b, "leaky_relu", _slopes(blocks, probe)) if name in RECTIFIERS else Layer(A, b, name)


def _slopes(blocks: list[Block], probe: Probe) -> Floats:
    """Below 0, of rectifiers; 1 of those that do not run: they keep what was loaded."""
    running: dict[int, float] = {}
    for block in blocks:
        c = lanes(block, "c") if "c" in block.tensors else np.zeros(block.targets[0].size)
        running |= dict(zip(block.targets[0].indices().reshape(-1).tolist(), c.tolist(), strict=True))
    return np.array([running.get(register, 1.0) for register in probe.ref.indices().reshape(-1).tolist()])


def _layers(blank: list[Layer], loads: list[LoadStep], runs: list[ActivationStep]) -> Iterator[Layer]:
    gain, offset = 1.0, 0.0
    for layer, load, run in zip(blank, loads, runs, strict=True):
        W, b = _loaded(load, run)
        if layer.activation == "sigmoid":
            W, b = 2.0 * W, 2.0 * b
        A = W / gain
        yield Layer(A, b - offset * A.sum(1), layer.activation, layer.slope)
        gain, offset = _out(layer)


def _loaded(load: LoadStep, run: ActivationStep) -> tuple[Floats, Floats]:
    """What the arguments of a layer are of the values before it."""
    argument = run.out.copy()
    argument[run.units] = run.roles[run.recipe.argument]
    row = {register: n for n, register in enumerate(load.registers.tolist())}
    if not all(register in row for register in argument.tolist()):
        raise Unprovable(f"the argument of layer {run.number + 1} is not loaded")
    rows = np.array([row[register] for register in argument.tolist()])
    tau = load.time[0] * load.time[1]
    reach = tau if load.r == 0 else -np.expm1(-load.r * tau) / load.r
    return load.w[rows] * reach, load.b[rows] * tau


def _out(layer: Layer) -> tuple[float, float]:
    """The layer is gain·register + offset."""
    if layer.activation == "sigmoid":
        return SIGMOID
    return 1.0, float(np.log(2.0)) if layer.activation == "softplus" else 0.0
