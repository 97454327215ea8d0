"""The quantities of a property of a program itself, as a learned one: bounds by polynomial models of its flow.

Inputs are rows of the models too: what quantities of outputs and inputs have in common cancels. The bounds are proofs,
at points and on boxes. No other implementation checks them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.certify.bounds.cells import Cells, batch_size, batches, cells_of, degree_for, joined
from integraph.certify.bounds.program_models import program_models
from integraph.certify.properties.truth import Decision
from integraph.numbers.arrays import Floats
from integraph.numbers.models import models
from integraph.numbers.models.models import Models, of_cells
from integraph.program import Program
from integraph.targets.property import Property


@dataclass(frozen=True, slots=True, eq=False)
class ProgramMargins:
    """`weights` (quantities, outputs + inputs) of the outputs of `source`, and of its inputs: whole numbers."""

    source: Program
    weights: Floats

    def cells(self, low: Floats, high: Floats, degree: int) -> Cells:
        """Bounds of all quantities on cells."""
        most = batch_size(self.source, int((high > low).any(0).sum()), degree)
        return joined(cells_of(self._models(*ends, degree), *ends) for ends in batches(low, high, most))

    def _models(self, low: Floats, high: Floats, degree: int) -> Models:
        x = of_cells(low, high, degree)
        rows = models.joined([program_models(self.source, x), x])
        return rows.affine(self.weights, np.zeros(len(self.weights)), fresh=False)

    def degree(self, wide: int) -> int:
        return degree_for(self.source, wide)

    def values(self, x: Floats) -> Floats:
        """All quantities at points (B, inputs), in float64: (B, quantities). NaN where a solution ends."""
        values: Floats = np.concatenate([self.source.flow(x).outputs, x], 1) @ self.weights.T
        return values


def program_margins(source: Program, stated: Property) -> ProgramMargins:
    """The quantities of a property, all linear."""
    weights = np.zeros((len(stated.quantities), stated.outputs + stated.inputs))
    for row, one in zip(weights, stated.quantities, strict=True):
        for first, terms in ((0, one.outputs), (stated.outputs, one.inputs)):
            for n, a in terms:
                row[first + n] = a
    return ProgramMargins(source, weights)


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The checker of a search that has no other: a part that bounds have proved is proved."""

    margins: ProgramMargins
    decision: Decision

    def holds(self, low: Floats, high: Floats) -> bool:
        return True

    def fails(self, x: Floats) -> bool:
        at = self.margins.cells(x[None], x[None], 0)
        return bool(self.decision.holds(at.least, at.most)[1][0])
