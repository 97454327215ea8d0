"""Theorem 2: W = 3·max(W̃, d) registers in three banks, three segments a layer.

1. z ← A α + b while α decays at rate r₁; 2. the activation; 3. all banks but the one with the result decay at rate r₃.
The result of tanh is where the last layer's was, as in the paper; for others it may be in another bank, and then the
banks change roles. Activations with a fourth register (erf, GELU) make four banks, GELU's tanh form six banks and six
segments; an affine layer without activation is step 1 alone. The bias of the outputs needs a register that holds 1: in
the last segment one of those that decay does not go to 0 but to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from integraph.bounds.perturbation.deviation import no_deviation
from integraph.bounds.perturbation.deviation import norm as euclidean
from integraph.constructions.recipes import Recipe
from integraph.constructions.theorem2.budget import Parts, outputs, through
from integraph.constructions.theorem2.network_plan import LayerPlan, NetworkPlan, finish
from integraph.gadgets import decay, drain, ramp, relax
from integraph.program import Block, Program, Registers, Segment, View, segment

NAMES = ("alpha", "lam", "mu", "nu", "omega", "rho")
Rate = tuple[float, float]  # r₁, r₃ of one layer


@dataclass(frozen=True, slots=True, eq=False)
class BankAssignment:
    """Which bank each role of a layer has, where the layer before is, and where the result will be."""

    source: int
    banks: dict[str, int]
    out: int


def seat(recipes: Sequence[Recipe]) -> tuple[int, tuple[BankAssignment, ...]]:
    """The number of banks, and the assignment of every layer. The source is always the first or the last bank, so
    that the banks to load, and those to clear by decay, are contiguous."""
    count = max([3, *(len(r.starts) + (r.drained is None) for r in recipes)])
    source, seatings = 0, []
    for recipe in recipes:
        free = list(range(count - 1, 0, -1)) if source == 0 else list(range(count - 1))
        banks = {} if recipe.drained is None else {recipe.drained: source}
        order = [recipe.out, *recipe.loaded, *recipe.starts]
        for role in order:
            if role not in banks:
                banks[role] = free.pop(0)
        seatings.append(BankAssignment(source, banks, banks[recipe.out]))
        source = banks[recipe.out]
    return count, tuple(seatings)


@np.errstate(over="ignore", invalid="ignore")  # infinite is an answer
def error(plan: NetworkPlan, rates: Sequence[Rate]) -> Parts:
    """What the construction promises with these rates."""
    count, seats = seat([s.recipe for s in plan.stretches])
    width = _width(plan)
    dirt = np.zeros((count, width))  # bounds of what registers hold that should be 0
    norms = np.full(count, np.inf)  # and of the norm of a bank, where more is known than the bounds of its registers
    z, e = plan.box, no_deviation(plan.network.inputs)
    constant = 0.0
    for layer, at, (r1, r3) in zip(plan.stretches, seats, rates, strict=True):
        dirt[at.source, : len(z.low)] = np.exp(-r1) * (z.size + e.total)
        n = layer.units
        rho = {role: dirt[bank, :n] for role, bank in at.banks.items()}
        passed = through(layer, z, e, rho, {role: norms[bank] for role, bank in at.banks.items()})
        dirt[at.out, :n] = 0.0
        norms[:] = np.inf
        if layer.recipe.stages:
            for role, end in passed.ends.items():
                dirt[at.banks[role], :n] = end
            for role, norm in passed.norms.items():
                bank = at.banks[role]
                norms[bank] = np.exp(-r3) * (norm + euclidean(dirt[bank, n:]))
            dirt[np.arange(count) != at.out] *= np.exp(-r3)
        constant = float(np.exp(-(r3 if layer.recipe.stages else r1))) + float(dirt.max())
        z, e = layer.values, passed.e
    return outputs(plan.readout, e, constant)


def construct(plan: NetworkPlan, rates: Sequence[Rate], parts: Parts) -> Program:
    """The program; `parts` says how far off it can be, by `error`."""
    if not plan.stretches:
        return _affine(plan, parts)
    count, seats = seat([s.recipe for s in plan.stretches])
    width = _width(plan)
    registers, banks = _registers(plan.network.inputs, width, count)
    segments: list[Segment] = []
    probes = []
    filled = plan.network.inputs  # registers of the source bank that hold the layer before
    for layer, at, (r1, r3) in zip(plan.stretches, seats, rates, strict=True):
        recipe = layer.recipe
        views = {role: banks[bank][: layer.units] for role, bank in at.banks.items()}
        last = layer is plan.stretches[-1] and bool(plan.readout.b.any())
        first = [_load(layer, at, banks, banks[at.source][:filled], r1), *_constants(recipe, views)]
        if last and not recipe.stages:
            first.append(relax(_spare(at, banks), r=r1, v=1.0))
        segments.append(segment(f"affine {layer.number}", *first))
        for stage in recipe.stages:
            segments.append(segment(f"{layer.name} {layer.number}", *stage(views)))
        probes.append(layer.probe(len(segments) - 1, views[recipe.out]))
        if recipe.stages:
            segments.append(segment(f"decay {layer.number}", *_decay(at, banks, r3, last)))
        filled = layer.units
    out = banks[seats[-1].out][:filled]
    return finish(plan, "narrow", registers, segments, out, _spare(seats[-1], banks), probes, parts)


def _width(plan: NetworkPlan) -> int:
    return max([plan.network.inputs, *(s.units for s in plan.stretches)])


def _registers(inputs: int, width: int, count: int) -> tuple[Registers, list[View]]:
    registers = Registers()
    registers.inputs("x", inputs)
    if width > inputs:
        registers.new(NAMES[0], width - inputs, label="the rest of bank 1, after the inputs")
    for bank, name in enumerate(NAMES[1:count], 2):
        registers.new(name, width, label=f"bank {bank} of registers, which the layers take in turn")
    return registers, [View(bank * width, (width,), (1,)) for bank in range(count)]


def _load(layer: LayerPlan, at: BankAssignment, banks: list[View], source: View, r1: float) -> Block:
    """Step 1: all roles that start at a multiple of x gain it, while the layer before decays."""
    roles = sorted(layer.recipe.loaded, key=lambda role: at.banks[role])
    first, n, width = at.banks[roles[0]], layer.units, banks[0].size
    if len(roles) == 1:
        return drain(banks[first][:n], source, w=layer.A, b=layer.b, r=r1)
    scales = [np.broadcast_to(layer.recipe.starts[role][0], (n,)) for role in roles]
    w = np.stack([scale[:, None] * layer.A for scale in scales])
    return drain(
        View(banks[first].offset, (len(roles), n), (width, 1)), source, w=w, b=np.stack(scales) * layer.b, r=r1
    )


def _constants(recipe: Recipe, views: dict[str, View]) -> list[Block]:
    return [ramp(views[role], b=shift) for role, (_, shift) in recipe.starts.items() if shift != 0.0]


def _spare(at: BankAssignment, banks: list[View]) -> View:
    """One register that is free when the layer is done."""
    bank = next(bank for bank in range(1, len(banks)) if bank not in (at.source, at.out))
    return banks[bank][:1]


def _decay(at: BankAssignment, banks: list[View], r3: float, constant: bool) -> list[Block]:
    """Step 3: everything but the result decays; in the last segment one register goes to 1 instead."""
    low = banks[1 if at.out == 0 else 0].offset
    high = low + (len(banks) - 1) * banks[0].size
    if not constant:
        return [decay(View(low, (high - low,), (1,)), r=r3)]
    one = _spare(at, banks).offset
    parts = [View(a, (b - a,), (1,)) for a, b in ((low, one), (one + 1, high)) if b > a]
    return [*(decay(part, r=r3) for part in parts), relax(View(one, (1,), (1,)), r=r3, v=1.0)]


def _affine(plan: NetworkPlan, parts: Parts) -> Program:
    """No activation at all: the read-out is the network, and one segment makes the constant for its bias."""
    registers = Registers()
    x = registers.inputs("x", plan.network.inputs)
    one = registers.new("k", label="the constant 1")
    return finish(plan, "narrow", registers, [segment("constant", ramp(one, b=1.0))], x, one, [], parts)
