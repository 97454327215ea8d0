"""Theorem 2 without approximation: two segments a layer, on fresh registers or on registers that had time to decay."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from integraph.bounds.perturbation.deviation import no_deviation
from integraph.constructions.graph.allocation import CLEAN, DECAY, KEEP
from integraph.constructions.graph.forms import inserted, scaled, shifted, summed
from integraph.constructions.graph.gadget_runs import LEFT, flow
from integraph.constructions.graph.layout import layout, program
from integraph.constructions.graph.runs import RunTape
from integraph.constructions.theorem2.budget import Parts, outputs, through
from integraph.constructions.theorem2.network_plan import NetworkPlan, error_budget, source_text
from integraph.numbers.roundoff import UP
from integraph.program import Program


@np.errstate(over="ignore", invalid="ignore")  # infinite is an answer
def error(plan: NetworkPlan, r: float) -> Parts:
    """The error budget of the construction; r = ∞ keeps all registers, and then nothing has to decay."""
    residue = 0.0
    for _ in range(4):  # what is left depends on the largest register, that a little on what is left
        budget, largest = _walk(plan, residue)
        left = largest * math.exp(-r) / -math.expm1(-r) if math.isfinite(r) else 0.0
        if left <= residue:
            return budget
        residue = 1.5 * left
    return _walk(plan, math.inf)[0]


def _walk(plan: NetworkPlan, residue: float) -> tuple[Parts, float]:
    """The budget if every register may start with `residue` in it, and the size of the largest register."""
    z, e = plan.box, no_deviation(plan.network.inputs)
    largest = float(z.size.max()) + 1.0
    for layer in plan.stretches:
        passed = through(layer, z, e, dict.fromkeys(layer.recipe.starts, np.full(layer.units, residue)))
        z, e = layer.values, passed.e
        sizes = [z.size + e.total, *passed.ends.values()]
        largest = float(np.max([largest, *(UP * size.max() + residue for size in sizes)]))  # NaN stays NaN
    return outputs(plan.readout, e, residue), largest


def construct(plan: NetworkPlan, r: float, free: str, parts: Parts) -> Program:
    """The program, within `parts`; the graph is a chain, and what an activation starts from comes with its argument."""
    tape = RunTape()
    value = tape.input("x", (plan.network.inputs,))
    tape.known[0] = plan.box
    ends: list[int] = []
    for layer in plan.stretches:
        tag = str(layer.number)
        argument = shifted(summed(scaled(inserted(value, 0), layer.A)), layer.b)
        if layer.recipe.stages:
            flow_of = replace(layer.recipe, gain=1.0, offset=0.0)  # they are part of the next layer's A and b
            value = flow(tape, flow_of, argument, f"{layer.name} {tag}", LEFT.get(layer.name, {}), tag)
        else:
            value = tape.sum(argument, f"affine {tag}", f"mu{tag}")
        ends += value.atoms
        tape.known[ends[-1]] = layer.values
    C = plan.readout.C
    outputs = shifted(summed(scaled(inserted(value, 0), C)) if C.ndim == 2 else scaled(value, C), plan.readout.b)
    how = {KEEP: "wide", CLEAN: "wide, cleaned", DECAY: "wide with decay"}[free]
    chosen = layout(tape, [outputs], free)
    probes = [  # not of a layer that nobody reads, because all weights after it are 0
        layer.probe(chosen.ready(atom), chosen.where(atom, None))
        for layer, atom in zip(plan.stretches, ends, strict=True)
        if chosen.ready(atom) >= 0
    ]
    return program(chosen, r, source_text(plan, how), budget=error_budget(plan, parts), probes=probes)
