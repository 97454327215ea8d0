"""What a notebook shows of programs, proofs and certificates: true, escaped, and without scripts."""

from __future__ import annotations

import math
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import integraph
from integraph import Program, Registers, build, segment
from integraph.gadgets import affine

HOSTILE = "<script>alert(1)</script>\"'& <img src=x onerror=alert(2)>\x00"
WAVE = "exp(-x)*sin(9*x)"
KNOWN = {"div", "table", "caption", "tbody", "tr", "th", "td", "details", "summary", "pre"}


class Page(HTMLParser):
    """Tags and texts; every tag must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def shown(thing: object) -> Page:
    page = Page(thing._repr_html_())  # type: ignore[attr-defined]
    assert page.tags <= KNOWN
    assert page.attributes <= {"style", "scope"}
    return page


def hostile() -> Program:
    r = Registers()
    x, z = r.inputs(HOSTILE, 1), r.new("z", 1)
    return build(r, [segment(HOSTILE, affine(z, x, w=2.0))], z, source=HOSTILE)


@pytest.mark.slow
def test_a_program_says_what_it_is() -> None:
    program = integraph.compile(WAVE, 1e-6, method="lean")
    page = shown(program)
    for text in (program.source, "1 → 1", f"W = {program.width} registers, D = {program.depth} segments"):
        assert text in page.text
    assert f"{program.terms} terms" in page.text
    assert "promised error ≤" in page.text
    assert "difference found" in page.text
    assert program.describe() in page.text


def test_a_long_program_has_no_equations() -> None:
    net = integraph.network([(np.ones((40, 40)), None, "tanh"), (np.ones((1, 40)), None)])
    page = shown(integraph.compile(net, 1e-6))
    assert "details" not in page.tags
    assert f"W = {3 * 40}" in page.text


def test_precision_is_said_where_it_matters() -> None:
    program = integraph.compile("x/2", 1e-1, method="paper", order=1)
    assert f"needs {program.bits} bits" in shown(program).text


@pytest.mark.parametrize("name", ["program", "long label"])
def test_hostile_names_are_escaped(name: str) -> None:
    program = hostile() if name == "program" else replace(hostile(), source=HOSTILE * 20)
    page = shown(program)
    assert "<script>alert(1)</script>" in page.text  # as a text
    assert "\x00" not in page.text


@pytest.mark.slow
def test_proofs_and_certificates() -> None:
    program = integraph.compile(WAVE, 1e-6, method="lean")
    proof = integraph.certify(program, WAVE, progress=False)
    page = shown(proof)
    assert "proved" in page.text
    for text in (line[18:].strip() for line in repr(proof).splitlines()):
        assert text in page.text
    certificate = proof.certificate
    page = shown(certificate)
    for text in (certificate.program, certificate.target, certificate.seal, "x in [0, 1]", *certificate.assumed):
        assert text in page.text
    assert "NOT" not in page.text
    altered = replace(certificate, assumed=(HOSTILE,))
    page = shown(altered)
    assert "it does NOT match the contents" in page.text
    assert "<script>alert(1)</script>" in page.text


def test_what_is_unknown_is_said() -> None:
    proof = integraph.certify(integraph.compile(WAVE, 1e-3, method="lean"), WAVE, progress=False)
    unknown = replace(proof, status="unknown", upper=math.inf, certificate=None, reason=HOSTILE)
    page = shown(unknown)
    assert "unknown: <script>alert(1)</script>" in page.text
    assert "inf" not in page.text
