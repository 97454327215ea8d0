"""The proof of a property as data: the property, how each box was divided, or the point where it fails.

Nothing of the search is in it, and no bounds: `replay` computes them again, on every leaf, in Arb. Numbers are exact,
the text is canonical and carries a seal, as those of `certify.certificate`. For a program it holds the proof of how far
the program is from its source, too, as text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.certify.certificate import sealed_document
from integraph.certify.certificate.exact_values import (
    box,
    division,
    ends,
    nodes,
    number,
    numbers,
    pair,
    pairs,
    text,
    texts,
    whole,
)
from integraph.certify.certificate.sealed_document import SealedDocument
from integraph.certify.certificate.tree import Division, parts
from integraph.certify.problem import Box, Point
from integraph.certify.properties.encoding import decoded, encoded
from integraph.files import FilePath
from integraph.program.notebook import table
from integraph.program.summary import above, at_point, inputs_in
from integraph.targets.property import Property
from integraph.text import counted

FORMAT, VERSION = "integraph property certificate", 1
HASH = 200  # characters of a hash
DEGREES = (1, 2)  # of the checker's polynomials
FIELDS = ("format", "version", "source", "program", "delta", "closeness", "assumed", "degree", "cases", "case", "point")


@dataclass(frozen=True, slots=True)
class DividedCase:
    """A property on a box, and the parts on which it is proved; none where it is not."""

    box: Box
    stated: Property
    tree: Division

    @property
    def parts(self) -> list[Box]:
        """The leaves, which cover the box; a ValueError where the tree does not divide it."""
        return parts(self.tree, self.box)


@dataclass(frozen=True, slots=True)
class PropertyCertificate(SealedDocument):
    """Every case is proved on its leaves; or, with a point, case number `case` fails there. `program` is the hash of a
    program whose outputs are within `delta` of the source, as `closeness` proves; empty for a source itself."""

    source: str
    program: str
    delta: float
    closeness: str
    assumed: tuple[str, ...]
    degree: int
    cases: tuple[DividedCase, ...]
    case: int
    point: Point | None

    @property
    def status(self) -> str:
        return "proved" if self.point is None else "refuted"

    def claim(self, names: tuple[str, ...] = ()) -> str:
        """What is proved, in words."""
        one = self.cases[self.case]
        where = inputs_in(np.array(one.box.low), np.array(one.box.high), names)
        of = f" for all outputs within {above(self.delta)} of the source" if self.program else ""
        if self.point is not None:
            return f"{one.stated} does not hold{at_point(self.point, names)}{of}"
        more = f", and {counted(len(self.cases) - 1, 'more case')}" if len(self.cases) > 1 else ""
        return f"{one.stated} for {where}{more}{of}"

    def _repr_html_(self) -> str:
        if wrong := fault(self):
            return table("Property certificate", [("status", f"unknown: {wrong}")])
        count = sum(node is None for one in self.cases for node in one.tree)
        rows = [
            ("status", self.status), ("claim", self.claim()), ("boxes", f"{count:,}"),
            ("source", self.source), *([("program", self.program)] if self.program else []),
            self._seal_row,
        ]  # fmt: skip
        return table("Property certificate", rows)

    @staticmethod
    def load(path: FilePath) -> PropertyCertificate:
        """From a file that `save` wrote; a FileError if a byte of it was altered."""
        return sealed_document.load(path, parse)

    def _contents(self) -> dict[str, Any]:
        values = (
            FORMAT, VERSION, self.source, self.program, pair(self.delta), self.closeness, list(self.assumed),
            self.degree, [_case(one) for one in self.cases], self.case,
            None if self.point is None else pairs(self.point),
        )  # fmt: skip
        return dict(zip(FIELDS, values, strict=True))


def parse(data: bytes) -> PropertyCertificate:
    """Parse exactly what `str` writes, or raise a ValueError."""
    return sealed_document.parsed(data, FORMAT, VERSION, FIELDS, _decoded, fault)


def fault(certificate: PropertyCertificate) -> str:
    """What is wrong with the certificate itself, whatever source it is about; "" if nothing is."""
    try:
        _check(certificate)
        for one in certificate.cases if certificate.point is None else ():
            one.parts  # noqa: B018  (a tree that does not divide its box raises)
    except ValueError as error:
        return str(error)
    return ""


def _check(certificate: PropertyCertificate) -> None:
    texts = (certificate.source, certificate.program, certificate.seal)
    _need(all(len(text) <= HASH and text.isascii() and text.isprintable() for text in texts), "a hash is malformed")
    delta = certificate.delta
    _need(isinstance(delta, float) and 0 <= delta < math.inf, "its distance from the source is not a number ≥ 0")
    _need(bool(certificate.program) == bool(certificate.closeness), "a program and its distance belong together")
    _need(bool(certificate.program) or delta == 0, "it has a distance, but no program")
    _need(certificate.degree in DEGREES, "its degree is not 1 or 2")
    _need(0 <= certificate.case < len(certificate.cases), "it has no such case")
    for one in certificate.cases:
        low, high, d = one.box.low, one.box.high, one.stated.inputs
        _need(len(low) == len(high) == d, f"a box does not have {d} inputs")
        _need(
            all(a <= b and math.isfinite(b - a) for a, b in zip(low, high, strict=True)), "a box is empty or infinite"
        )
        general = any(quantity.expression is not None for quantity in one.stated.quantities)
        _need(not (general and certificate.program), "a formula of outputs is not proved of a program")
    point, box = certificate.point, certificate.cases[certificate.case].box
    if point is not None:
        inside = all(a <= x <= b for a, x, b in zip(box.low, point, box.high, strict=True))
        _need(inside, "its point is outside of its box")


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _case(one: DividedCase) -> list[Any]:
    return [*ends(one.box), encoded(one.stated), nodes(one.tree)]


def _decoded(given: dict[str, Any]) -> PropertyCertificate:
    for name in ("source", "program", "closeness"):
        _need(isinstance(given[name], str), f"{name} is not a text")
    point = given["point"]
    return PropertyCertificate(
        given["source"], given["program"], number(given["delta"]), given["closeness"], texts(given["assumed"]),
        whole(given["degree"]), tuple(map(_read_case, given["cases"])), whole(given["case"]),
        None if point is None else numbers(point), seal=text(given["seal"]),
    )  # fmt: skip


def _read_case(given: Any) -> DividedCase:
    low, high, stated, tree = given
    return DividedCase(box(low, high), decoded(stated), division(tree))
