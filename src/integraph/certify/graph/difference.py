"""The difference of a graph and its program, as a problem: how far each output of the program is from its node."""

from __future__ import annotations

import numpy as np

from integraph.certify.controls import exact_program
from integraph.certify.graph.flow import Registers
from integraph.certify.graph.polynomials import of_atoms, polynomials, scaled, total
from integraph.certify.graph.source import Source
from integraph.certify.problem import Box, Point, PrecisionTooLow
from integraph.numbers.balls import quiet
from integraph.numbers.roundoff import UP
from integraph.program import Program
from integraph.targets.graph import Graph


class GraphDifference:
    """sup |graph − program| over all outputs."""

    quantities = 1

    def __init__(self, program: Program, graph: Graph) -> None:
        exact_program(program)
        self.program, self.graph = program, graph
        self._last: tuple[Box, float] | None = None

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        if self._last is None or self._last[0] != box:
            self._last = box, float(self.distances(box).max(initial=0.0))
        return (self._last[1],)

    @quiet
    def distances(self, box: Box):
        source = Source(self.graph, box)
        atoms = source.atoms
        registers = Registers(self.program, atoms, source.inputs)
        registers.run()
        matrix = self.program.readout.tocoo()
        weight = matrix.data
        if self.program.scales is not None:
            weight = weight / self.program.scales[matrix.col]
        outputs = polynomials(len(source.outputs), matrix.row.astype(np.int64), (registers.atom[matrix.col],), weight)
        distance, alike = atoms.distance(outputs, source.outputs)
        self.debug = registers, source, distance, alike
        moved = np.bincount(matrix.row, np.abs(weight) * registers.off[matrix.col], outputs.count)
        result = UP * (distance + moved)
        return np.where(result >= 0, result, np.inf)

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        return ((0.0, np.inf),)
