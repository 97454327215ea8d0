"""What a proof of a property takes for granted."""

from __future__ import annotations

from integraph.certify.statement import ARB, FLOAT, REAL
from integraph.program import Program
from integraph.targets.graph import Graph
from integraph.targets.network import Network

EXACT = "the source is computed in real arithmetic, with its numbers as they are stored"


def assumptions(source: Network | Graph | Program, program: Program | None) -> tuple[str, ...]:
    """Arb, real arithmetic, and what the reader of the source noted."""
    if isinstance(source, Program):
        return (ARB, FLOAT, REAL)
    return (ARB, EXACT if program is None else REAL, *(f"the source as it was read: {note}" for note in source.notes))
