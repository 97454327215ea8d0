"""Which side of a part is cut: the one that decides, however wide another is."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from integraph.certify.properties import search
from integraph.certify.properties.proof import PropertyProof
from integraph.certify.properties.search import Parts, cuts, divisible
from integraph.numbers.arrays import Floats, Indices

BOX = [(0, 1), (0, 4)]
WAVE, BOUND = "(sin(9*x) + cos(5*x))/2 + z/10^5", "y <= 0.9"


def proof() -> PropertyProof:
    made = integraph.prove(BOUND, WAVE, BOX, workers=1, progress=False)
    assert made.status == "proved"
    return made


def divided(made: PropertyProof) -> set[int]:
    assert made.certificate is not None
    return {node.axis for node in made.certificate.cases[0].tree if node is not None}


def widest(parts: Parts) -> tuple[Indices, Floats]:
    axes = np.where(divisible(parts), parts.high - parts.low, -1.0).argmax(1)
    return axes, (0.5 * parts.low + 0.5 * parts.high)[np.arange(len(parts)), axes]


@pytest.mark.slow
def test_the_side_that_helps_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is not known comes from x, whose side is the shorter one."""
    chosen = proof()
    assert divided(chosen) == {0}
    monkeypatch.setattr(search, "cuts", widest)
    other = proof()
    assert 1 in divided(other)
    assert other.cells > 2 * chosen.cells


def test_a_side_without_numbers_between_its_ends_is_not_cut() -> None:
    low, high = np.array([[1.0, 0.0]]), np.array([[np.nextafter(1.0, 2.0), 1.0]])
    parts = Parts(low, high, np.zeros(1, np.int64), np.zeros(1), np.array([[1.0, 0.0]]))
    axes, at = cuts(parts)
    assert axes.tolist() == [1]
    assert at.tolist() == [0.5]
