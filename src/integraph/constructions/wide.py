"""Theorem 2 without approximation: two segments a layer, on fresh registers or on registers that had time to decay."""

from __future__ import annotations

import math

import numpy as np

from integraph.bounds.deviation import none
from integraph.bounds.intervals import UP
from integraph.constructions.budget import Parts, outputs, through
from integraph.constructions.graph_old import Affine, Apply, Node, schedule
from integraph.constructions.layers import Plan, finish
from integraph.program import Program


@np.errstate(over="ignore", invalid="ignore")  # infinite is an answer
def error(plan: Plan, r: float) -> Parts:
    """What the construction promises; r = ∞ keeps all registers, and then nothing is left to forget."""
    residue = 0.0
    for _ in range(4):  # what is left depends on the largest register, that a little on what is left
        budget, largest = _walk(plan, residue)
        left = largest * math.exp(-r) / -math.expm1(-r) if math.isfinite(r) else 0.0
        if left <= residue:
            return budget
        residue = 1.5 * left
    return _walk(plan, math.inf)[0]


def _walk(plan: Plan, residue: float) -> tuple[Parts, float]:
    """The budget if every register may start with `residue` in it, and the size of the largest register."""
    z, e = plan.box, none(plan.network.inputs)
    largest = float(z.size.max()) + 1.0
    for layer in plan.stretches:
        passed = through(layer, z, e, dict.fromkeys(layer.recipe.starts, np.full(layer.units, residue)))
        z, e = layer.values, passed.e
        sizes = [z.size + e.total, *passed.ends.values()]
        largest = float(np.max([largest, *(UP * size.max() + residue for size in sizes)]))  # NaN stays NaN
    return outputs(plan.readout, e, residue), largest


def construct(plan: Plan, r: float) -> Program:
    """The program; the graph is a chain."""
    nodes: list[Node] = []
    value = 0
    for layer in plan.stretches:
        tag = str(layer.number)
        nodes.append(Affine(f"affine {tag}", value, layer.A, layer.b, tag))
        if layer.recipe.stages:
            nodes.append(Apply(f"{layer.name} {tag}", len(nodes), layer.recipe, tag))
        value = len(nodes)
    built = schedule(plan.network.inputs, nodes, value, constant=bool(plan.readout.b.any()), r=r)
    probes = []
    ends = [n for n, node in enumerate(nodes, 1) if n == len(nodes) or isinstance(nodes[n], Affine)]
    for layer, n in zip(plan.stretches, ends, strict=True):
        probes.append(layer.probe(built.ready[n], built.values[n]))
    how, out = "wide with decay" if math.isfinite(r) else "wide", built.values[value]
    return finish(plan, how, built.registers, built.segments, out, built.one, probes, error(plan, r))
