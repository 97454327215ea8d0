"""A graph as atoms: sums and products of its nodes are names for polynomials, all else is a function of atoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.polynomials import Polynomials, constant, of_atoms, scaled, total
from integraph.certify.problem import Box, PrecisionTooLow
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.targets.graph import Graph, Node

Value = Any  # atoms, as integers, or numbers, as floats


class Source:
    """`values[n]` are the atoms of node n, in its shape, or its numbers."""

    def __init__(self, graph: Graph, box: Box, ranges: list[Interval]) -> None:
        self.graph, self.atoms, self.ranges = graph, Atoms(), ranges
        self.inputs = self.atoms.base(Interval(np.array(box.low), np.array(box.high)))
        self.values: list[Value] = []

    @property
    def outputs(self) -> Indices:
        return np.concatenate([np.ravel(self.atoms_of(self.values[n])) for n in self.graph.outputs])

    def text(self, number: int) -> str:
        return self.graph.nodes[number].text or f"{self.graph.nodes[number].op} {number}"

    def rounded(self, value: Floats) -> Indices:
        """Numbers that are only known to an ulp."""
        flat = np.ravel(value)
        return self.atoms.name(constant(flat, np.spacing(np.abs(flat)))).reshape(np.shape(value))

    def atoms_of(self, value: Value) -> Indices:
        return self.atoms.numbers(value) if value.dtype.kind == "f" else value

    def name(self, number: int, p: Polynomials) -> Indices:
        return self.know(number, self.exactly(p))

    def exactly(self, p: Polynomials) -> Indices:
        """Atoms that are these polynomials, not only up to rounding."""
        atoms, off = self.atoms.resolve(p)
        near = np.flatnonzero(off > 0)
        if len(near):
            atoms[near] = self.atoms.name(p.of_rows(near))
        return atoms

    def know(self, number: int, atoms: Indices) -> Indices:
        """Atoms that hold a node have its range."""
        flat, span = np.ravel(atoms), self.ranges[number]
        self.atoms.low[flat] = np.maximum(self.atoms.low[flat], np.ravel(span.low))
        self.atoms.high[flat] = np.minimum(self.atoms.high[flat], np.ravel(span.high))
        return atoms

    def combined(self, node: Node, args: Sequence[Value], weights: Sequence[float]) -> Polynomials:
        """Σ weight·operand, broadcast."""
        parts = [self.flat(x, node.shape) for x in args]
        return total(
            *(scaled(part, weight) if weight != 1 else part for part, weight in zip(parts, weights, strict=True))
        )

    def flat(self, value: Value, shape: tuple[int, ...]) -> Polynomials:
        """A value, broadcast, as polynomials."""
        spread = np.broadcast_to(value, shape).reshape(-1)
        return constant(spread) if value.dtype.kind == "f" else of_atoms(spread)

    def positive(self, number: int, argument: int, low: float = 0.0) -> None:
        """What a power or logarithm is taken of must be positive."""
        least = float(np.min(self.ranges[argument].low, initial=np.inf))
        if not least > low:
            raise PrecisionTooLow(
                f"{self.text(number)}: {self.text(argument)} may reach {low:g} on the box, where it has no bound "
                f"(it is at least {least:.3g}): choose a smaller box"
            )
