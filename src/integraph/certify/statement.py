"""What a proof states: the problem it solves, by what the program was compiled from, its assumptions, and hashes."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from fractions import Fraction

import numpy as np

from integraph.bounds.conditions import conditions, decided
from integraph.certify.flow_maps.difference import FlowDifference
from integraph.certify.formula.difference import FormulaDifference
from integraph.certify.graph.difference import GraphDifference, of_network
from integraph.certify.network.difference import NetworkDifference
from integraph.certify.problem import Box, Problem, Unprovable
from integraph.certify.theorem1.difference import Theorem1Difference
from integraph.constructions.lifting.flow_map import FlowMap
from integraph.program import Program
from integraph.program.engine import DOUBLE
from integraph.program.origin import EXACT
from integraph.targets import Function, Network
from integraph.targets.expression import Expression
from integraph.targets.graph import Graph

Target = Network | Function | Graph | FlowMap
ARB = "Arb's interval arithmetic is correct"
VERSION_0_1 = {"the balls of Arb enclose what they should": ARB}  # how certificates of version 0.1 say it
BUMPS = ("partition", "log_cosh")  # which make a partition of unity
FLOAT = "float64 rounds as IEEE 754 says, and numpy's and scipy's functions are good to 4 units in the last place"
LIFTED = "the lifted equations are those of the system: `lift` derives them in fractions, and at points they agree"
REAL = "the flow is that of the stored controls in real arithmetic; evaluating it in float64 adds rounding of its own"


def problem(program: Program, target: Target, box: Box) -> Problem:
    """|target − program| on the box and its parts, as data."""
    if isinstance(target, FlowMap):
        return FlowDifference(program, target)
    if isinstance(target, Graph):
        return GraphDifference(program, target)
    if isinstance(target, Network):
        return of_network(program, target) if as_graph(program) else NetworkDifference(program, target)
    if target.expression is None:
        kind = "a table" if target.table is not None else "a Python function"
        raise Unprovable(f"{target.name} is {kind}, which is known only at points: give a formula")
    expression = decided(target.expression, np.array(box.low), np.array(box.high))
    if conditions(expression):
        raise Unprovable("a condition of the formula changes on the box, and is smoothed: prove parts of the box")
    return _of_formula(program, expression, box)


def _of_formula(program: Program, expression: Expression, box: Box) -> Problem:
    """A program of Theorem 1 is read as its polynomials and bumps, any other one as a formula. Polynomials alone can
    be either: they are read as a formula if they match this one."""
    if any(block.op.name in BUMPS for segment in program.segments for block in segment.blocks):
        return Theorem1Difference(program, expression, box)
    try:
        written = FormulaDifference(program, expression, box)
    except Unprovable as why:
        with suppress(Unprovable):
            return Theorem1Difference(program, expression, box)
        raise why
    if not written.alike:
        with suppress(Unprovable):
            return Theorem1Difference(program, expression, box)
    return written


def assumptions(program: Program, target: Target) -> tuple[str, ...]:
    """What a proof takes for granted."""
    assumptions = [ARB, REAL]
    if program.bits > DOUBLE:
        assumptions.append(
            f"the controls of the partition are those of {program.bits} bits, not as float64 stores them"
        )
    if isinstance(target, Graph | FlowMap) or (isinstance(target, Network) and as_graph(program)):
        assumptions.append(FLOAT)
    if isinstance(target, FlowMap):
        assumptions.append(LIFTED)
    if isinstance(target, Network | Graph) and target.notes:
        kind = "network" if isinstance(target, Network) else "graph"
        assumptions += [f"the {kind} as it was read: {note}" for note in target.notes]
    return tuple(assumptions)


def as_graph(program: Program) -> bool:
    """Whether the program of a network was compiled as that of a graph: one that does not say where its layers are."""
    return program.origin is not None and program.origin.method == EXACT and not program.probes


def current_wording(assumed: tuple[str, ...]) -> tuple[str, ...]:
    """Assumptions as this version words them."""
    return tuple(VERSION_0_1.get(text, text) for text in assumed)


def digests(program: Program, target: Target) -> tuple[str, str]:
    """The hashes of the program and of the target."""
    if isinstance(target, Function):
        if target.expression is None:
            raise Unprovable(f"{target.name} has no formula")
        return of_program(program), digest(target.expression)
    if isinstance(target, FlowMap):
        return of_program(program), _of_flow(target)
    return of_program(program), digest(target)


def of_program(program: Program) -> str:
    """The hash of a program, and the precision of its controls in bits."""
    return f"{program.digest}-{program.bits}"


def _of_flow(flow: FlowMap) -> str:
    """SHA-256 over the equations, the time and the read-out; how they are lifted is no part of what is claimed."""
    output = "" if flow.output is None else digest(flow.output)
    parts = [digest(flow.system.source.expression), len(flow.system.source.states), str(flow.T), output]
    return hashlib.sha256(json.dumps(["flow", *parts]).encode()).hexdigest()


def digest(target: Network | Expression | Graph) -> str:
    """SHA-256 over weights, biases and activations in order, over the steps of a formula, or over the nodes of a graph:
    two targets have the same one exactly if they are the same function by definition."""
    state = hashlib.sha256()
    if isinstance(target, Graph):
        state.update(json.dumps(["graph", target.inputs, list(target.outputs)]).encode())
        for node in target.nodes:
            head = ["node", node.op, list(node.args), list(node.shape), _plain(node.data), node.value is not None]
            state.update(json.dumps(head).encode())
            if node.value is not None:
                state.update(json.dumps([list(node.value.shape), node.value.dtype.kind]).encode())
                state.update(np.ascontiguousarray(node.value, "<f8").data)
        return state.hexdigest()
    if isinstance(target, Expression):
        steps = [[step.op, list(step.args), step.text] for step in target.steps]
        state.update(json.dumps(["formula", list(target.variables), steps, list(target.outputs)]).encode())
        return state.hexdigest()
    for layer in target.layers:
        leaks = layer.activation == "leaky_relu"
        slope = np.broadcast_to(layer.slope if leaks else 0.0, (len(layer.A),))
        state.update(json.dumps(["layer", list(layer.A.shape), layer.activation]).encode())
        for array in (layer.A, layer.b, slope):
            state.update(np.ascontiguousarray(array, "<f8").data)
    return state.hexdigest()


def _plain(data: object) -> object:
    """What a node carries, as JSON."""
    if isinstance(data, tuple | list | np.ndarray):
        return [_plain(part) for part in data]
    if isinstance(data, Fraction):
        return f"{data.numerator}/{data.denominator}"
    if isinstance(data, np.generic):
        data = data.item()
    return data.hex() if isinstance(data, float) else data
