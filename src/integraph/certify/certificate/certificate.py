"""A proof as data: what is claimed, of which program and target, and for each part of the box by how much.

Numbers are exact: integers m, e for m·2^e. A bound is rounded up to 24 bits, so that another machine, whose linear
algebra estimates the norm of a matrix slightly differently, confirms it. The text is canonical and carries a seal, so
that a certificate altered in any byte is refused; `replay` detects false numbers under a new seal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.certify.certificate import sealed_document
from integraph.certify.certificate.exact_values import box, ends, number, numbers, pair, pairs, text, texts, whole
from integraph.certify.certificate.sealed_document import SealedDocument
from integraph.certify.certificate.tree import Leaf, Split, Tree
from integraph.certify.certificate.validity import fault
from integraph.certify.problem import Box, Point
from integraph.files import FilePath
from integraph.program.notebook import table
from integraph.program.summary import above, inputs_in
from integraph.text import counted

FORMAT, VERSION = "integraph certificate", 1
BITS = 24  # of a bound
FIELDS = ("format", "version", "program", "target", "low", "high", "eps", "upper", "lower", "point", "assumed", "tree")


@dataclass(frozen=True, slots=True)
class Certificate(SealedDocument):
    """sup |target − program| ≤ upper on the box, leaf by leaf; |target − program| ≥ lower at the point."""

    program: str  # digests
    target: str
    box: Box
    eps: float | None  # what was asked
    upper: float
    lower: float
    point: Point | None
    assumed: tuple[str, ...]
    tree: Tree

    @property
    def status(self) -> str:
        """What it proves of `eps`."""
        if self.eps is None:
            return "proved" if self.upper < math.inf else "unknown"
        return "proved" if self.upper <= self.eps else "refuted" if self.lower > self.eps else "unknown"

    def _repr_html_(self) -> str:
        if wrong := fault(self):
            return table("Certificate", [("status", f"unknown: {wrong}")])
        leaves = sum(isinstance(part, Leaf) for part in self.tree)
        known = f"≤ {above(self.upper)}" if self.upper < math.inf else "nothing"
        rows = [
            ("status", self.status if self.eps is None else f"{self.status}: error ≤ {above(self.eps)}"),
            ("box", inputs_in(np.array(self.box.low), np.array(self.box.high))),
            ("proven", f"{known}, in {counted(leaves, 'box')}"),
            ("attained", "nothing" if self.point is None else f"≥ {self.lower:.4g}"),
            *(("assumed", text) for text in self.assumed),
            ("program", self.program),
            ("target", self.target),
            self._seal_row,
        ]
        return table("Certificate", rows)

    @staticmethod
    def load(path: FilePath) -> Certificate:
        """From a file that `save` wrote; a FileError if a byte of it was altered."""
        return sealed_document.load(path, parse)

    def _contents(self) -> dict[str, Any]:
        values = (
            FORMAT, VERSION, self.program, self.target, *ends(self.box), None if self.eps is None else pair(self.eps),
            pair(self.upper), pair(self.lower), None if self.point is None else pairs(self.point), list(self.assumed),
            [_node(node) for node in self.tree],
        )  # fmt: skip
        return dict(zip(FIELDS, values, strict=True))


def rounded_up(bound: float) -> float:
    """The bound rounded up to BITS bits."""
    if not 0 < bound < math.inf:
        return bound
    fraction, exponent = math.frexp(bound)
    try:
        return math.ldexp(math.ceil(math.ldexp(fraction, BITS)), exponent - BITS)
    except OverflowError:
        return math.inf


def rounded(tree: Tree, eps: float | None) -> Tree:
    """The bounds of all leaves rounded up, but not beyond eps."""

    def up(bound: float) -> float:
        return eps if eps is not None and bound <= eps < rounded_up(bound) else rounded_up(bound)

    return tuple(Leaf(node.bits, tuple(map(up, node.uppers))) if isinstance(node, Leaf) else node for node in tree)


def _node(node: Split | Leaf) -> list[Any]:
    if isinstance(node, Split):
        return ["split", node.axis, pair(node.at)]
    return ["leaf", node.bits, pairs(node.uppers)]


def parse(data: bytes) -> Certificate:
    """Parse exactly what `str` writes, or raise a ValueError."""
    return sealed_document.parsed(data, FORMAT, VERSION, FIELDS, _decoded, fault)


def _decoded(given: dict[str, Any]) -> Certificate:
    return Certificate(
        text(given["program"]), text(given["target"]), box(given["low"], given["high"]),
        None if given["eps"] is None else number(given["eps"]), number(given["upper"]), number(given["lower"]),
        None if given["point"] is None else numbers(given["point"]), texts(given["assumed"]),
        tuple(map(_read_node, given["tree"])), seal=text(given["seal"]),
    )  # fmt: skip


def _read_node(node: Any) -> Split | Leaf:
    kind, first, rest = node
    return Split(whole(first), number(rest)) if kind == "split" else Leaf(whole(first), numbers(rest))
