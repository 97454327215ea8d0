"""Two formulas of which tests draw pictures, and what is in a picture."""

from __future__ import annotations

from integraph.plot.picture import Curve, Panel, Picture

WAVE = "exp(-x)*sin(9*x)"
SKEW = "sin(3*x)*exp(-y)/(1+x*y)"


def drawn(found: Picture | str) -> Picture:
    assert isinstance(found, Picture), found
    return found


def curves(panel: Panel) -> dict[str, Curve]:
    return {mark.name: mark for mark in panel.marks if isinstance(mark, Curve)}
