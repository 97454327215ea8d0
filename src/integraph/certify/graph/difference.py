"""The difference of a graph and its program: the atoms of both, and how far each output can be from its node.

At a point both are evaluated on balls, as long as that does not take too long.
"""

from __future__ import annotations

import numpy as np

from integraph.bounds.ranges.deviations import row_ranges
from integraph.bounds.ranges.patterns import row_norm
from integraph.certify.bounds.point_values import graph_values
from integraph.certify.controls import exact_gadgets
from integraph.certify.enclosure.closed_forms import closed
from integraph.certify.graph.flow import Registers
from integraph.certify.graph.model_ranges import model_ranges
from integraph.certify.graph.node_rules import read
from integraph.certify.graph.polynomials import most_by_row, polynomials
from integraph.certify.problem import Box, Mismatch, Point, PrecisionTooLow, Unprovable
from integraph.numbers.arb.conversion import above, below, box, precision
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP
from integraph.program import Program
from integraph.targets.graph import Graph
from integraph.targets.graph_conversion import network_graph
from integraph.targets.network import Network

LARGEST = 10_000_000  # terms
KINKS = ("relu", "leaky_relu", "abs", "min", "max")  # what may be an affine map on a part of a box
TERMS = 20_000  # of a program that is evaluated on balls


class GraphDifference:
    """sup |graph − program| over all outputs."""

    quantities = 1

    def __init__(self, program: Program, graph: Graph) -> None:
        shapes = [f"{program.inputs} → {program.outputs}", f"{graph.inputs} → {graph.sizes}"]
        if shapes[0] != shapes[1]:
            raise Unprovable(f"the program maps {shapes[0]}, the graph {shapes[1]}: it was not compiled from it")
        if program.scales is not None:
            raise Unprovable("the states are rescaled, which rounds controls: prove the program before rescale_states")
        if program.terms > LARGEST:
            raise Unprovable(f"the program has {program.terms:,} terms, and graphs are proved up to {LARGEST:,}")
        exact_gadgets(program)
        self.program, self.graph = program, graph
        self._known: dict[Box, float] = {}  # of both halves of the last box: more bits tell no more

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        if box not in self._known:
            self._known = dict([*self._known.items()][-1:]) | {box: self._distance(box)}
        return (self._known[box],)

    def _distance(self, box: Box) -> float:
        """From ranges by deviations, and where these say nothing of a graph with row norms, by models."""
        ranges = row_ranges(self.graph, np.array(box.low), np.array(box.high))
        distance = self._apart(box, ranges)
        if distance < np.inf or not any(row_norm(self.graph.nodes, node) for node in self.graph.nodes):
            return distance
        return self._apart(box, model_ranges(self.graph, box, ranges))

    @quiet
    def _apart(self, box: Box, ranges: list[Interval]) -> float:
        source = read(self.graph, box, ranges)
        registers = Registers(self.program, source.atoms, source.inputs)
        registers.run()
        matrix = self.program.readout.tocoo()
        weight = matrix.data
        atoms, row = registers.atom[matrix.col], matrix.row.astype(np.int64)
        outputs = polynomials(len(source.outputs), row, (atoms,), weight)
        distance, alike = source.atoms.distance(outputs, source.outputs)
        if not alike.all():
            kinked = any(node.op in KINKS for node in self.graph.nodes)
            raise (PrecisionTooLow if kinked else Mismatch)(
                f"output {int(np.argmin(alike))} of the program is not seen to be that of the graph"
                f"{registers.strange()}"
            )
        moved = most_by_row(row, np.abs(weight) * registers.off[matrix.col], outputs.count)
        largest = float(np.max(UP * (distance + moved), initial=0.0))
        return largest if largest >= 0 else np.inf

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        if self.program.terms > TERMS:
            return ((0.0, np.inf),)
        with precision(bits):
            x = box(point, point)
            values, right = closed(self.program, x), graph_values(self.graph, x)
            apart = [abs(a - b) for a, b in zip(values, right, strict=True)]
            return ((max(map(below, apart), default=0.0), max(map(above, apart), default=0.0)),)


def of_network(program: Program, network: Network) -> GraphDifference:
    """A network as the graph that it is compiled as. A leaky rectifier has the slope 1 − c there, which must be a
    float64."""
    for layer in network.layers:
        slope = np.asarray(layer.slope)
        if layer.activation == "leaky_relu" and (1.0 - (1.0 - slope) != slope).any():
            raise Unprovable("1 − the slope of leaky_relu is rounded: compile the network with method='wide'")
    return GraphDifference(program, network_graph(network))
