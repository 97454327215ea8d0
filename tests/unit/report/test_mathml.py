"""Formulas as MathML: well formed whatever the text, and the structure that one would draw by hand."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integraph.paper import ITEMS
from integraph.paper.rows import Item
from integraph.report.mathml import equations, math, plain, prose

BARE = {"math", "mrow"}


def drawn(element: ElementTree.Element) -> str:
    """A formula with brackets for its structure, rows left out."""
    inside = "".join(drawn(part) for part in element)
    text = (element.text or "") + inside
    return (
        text
        if element.tag in {*BARE, "mi", "mn", "mo"}
        else ""
        if element.tag == "mspace"
        else f"{element.tag}[{text}]"
    )


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("u1' = −3·x·u1", "msub[u1]′=−3·x·msub[u1]"),
        ("lam2_1²", "msubsup[λ2,12]"),
        ("r/(1 − e^(−r))·w", "mfrac[r1−msup[e−r]]·w"),
        ("a·b/c/d", "a·mfrac[mfrac[bc]d]"),
        ("(x + 1)/2", "mfrac[x+12]"),
        ("ln(1 + p)/2", "mfrac[ln(1+p)2]"),
        ("Σ_k ψ_k", "munder[∑k]msub[ψk]"),
        ("x_{j,k}^2", "msubsup[xj,k2]"),
        ("ξ₁^w₁", "msubsup[ξ1msub[w1]]"),
        ("√(2π)", "msqrt[2π]"),
        ("1.5e-07", "1.5·msup[10−7]"),
        ("ẏ_i", "msub[mover[y˙]i]"),
        ("n!/d^n", "mfrac[n!msup[dn]]"),
    ],
)
def test_structure(text: str, shape: str) -> None:
    assert drawn(ElementTree.fromstring(math(text))) == shape


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab12_^(){}[]/'²₁ ·−√Σ<&!|."), max_size=15) | st.text(max_size=12))
def test_any_text_is_well_formed(text: str) -> None:
    """And nothing of it is lost but spaces, underscores and the like."""
    element = ElementTree.fromstring(math(text))
    assert element.tag == "math"
    ElementTree.fromstring(equations([text]))


def test_prose() -> None:
    text = "for $x < 1$ & <all>"
    assert plain(text) == "for x < 1 & <all>"
    element = ElementTree.fromstring(f"<p>{prose(text)}</p>")
    assert [part.tag for part in element] == ["math"]
    assert "".join(element.itertext()) == "for x<1 & <all>"


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_what_the_paper_says(item: Item) -> None:
    assert item.says.count("$") % 2 == 0
    ElementTree.fromstring(f"<p>{prose(item.says)}</p>")
