"""A proof as data: what is claimed, of which program and target, and for each part of the box by how much.

Numbers are exact: integers m, e for m·2^e. A bound is rounded up to 24 bits, so that another machine, whose linear
algebra estimates the norm of a matrix slightly differently, confirms it. The text is canonical and carries a seal, so
that a certificate altered in any byte is refused; `replay` detects false numbers under a new seal.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from integraph.certify.certificate.exact_numbers import number, pair
from integraph.certify.certificate.tree import Leaf, Split, Tree
from integraph.certify.certificate.validity import fault
from integraph.certify.problem import Box, Point
from integraph.errors import FileError
from integraph.files import FilePath, atomic, check_path
from integraph.program.notebook import table
from integraph.program.summary import above, inputs_in
from integraph.text import clean, counted

FORMAT, VERSION = "integraph certificate", 1
BITS = 24  # of a bound
NAME, SHOWN = 200, 60  # characters of a path, and of a value, in a message
LARGEST = 1 << 27  # bytes of a certificate, which has four million leaves then
FIELDS = ("format", "version", "program", "target", "low", "high", "eps", "upper", "lower", "point", "assumed", "tree")


@dataclass(frozen=True, slots=True)
class Certificate:
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
    seal: str = ""

    def sealed(self) -> Certificate:
        return replace(self, seal=hashlib.sha256(_text(self, "").encode()).hexdigest())

    @property
    def intact(self) -> bool:
        """Whether the seal matches the contents."""
        return self.seal == self.sealed().seal

    @property
    def status(self) -> str:
        """What it proves of `eps`."""
        if self.eps is None:
            return "proved" if self.upper < math.inf else "unknown"
        return "proved" if self.upper <= self.eps else "refuted" if self.lower > self.eps else "unknown"

    def __str__(self) -> str:
        return _text(self, self.seal)

    def _repr_html_(self) -> str:
        if wrong := fault(self):
            return table("Certificate", [("status", f"unknown: {wrong}")])
        box = inputs_in(np.array(self.box.low), np.array(self.box.high))
        leaves = sum(isinstance(part, Leaf) for part in self.tree)
        known = f"≤ {above(self.upper)}" if self.upper < math.inf else "nothing"
        rows = [
            ("status", self.status if self.eps is None else f"{self.status}: error ≤ {above(self.eps)}"),
            ("box", box),
            ("proven", f"{known}, in {counted(leaves, 'box')}"),
            ("attained", "nothing" if self.point is None else f"≥ {self.lower:.4g}"),
            *(("assumed", text) for text in self.assumed),
            ("program", self.program),
            ("target", self.target),
            ("seal", self.seal if self.intact else f"{self.seal or 'none'}: it does NOT match the contents"),
        ]
        return table("Certificate", rows)

    @staticmethod
    def load(path: FilePath) -> Certificate:
        """From a file that `save` wrote; a FileError if a byte of it was altered."""
        return load_certificate(path)

    def save(self, path: FilePath) -> None:
        """Write the JSON file, whole or not at all."""
        check_path(path)
        data = str(self).encode()
        if len(data) > LARGEST:
            raise FileError(f"the certificate has {len(data)} bytes, more than the limit of {LARGEST}: use fewer boxes")
        with atomic(path) as file:
            file.write(data)


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


def load_certificate(source: FilePath | str) -> Certificate:
    """Read a certificate from a file."""
    check_path(source)
    try:
        path = Path(source)
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it has {path.stat().st_size} bytes, more than the limit of {LARGEST}")
        return parse(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"cannot read the certificate {os.fspath(source)[:NAME]}: {reason}") from None


def parse(data: bytes) -> Certificate:
    """Parse exactly what `str` writes, or raise a ValueError."""
    try:
        given = json.loads(data.decode(), parse_float=_refuse, parse_constant=_refuse)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, ValueError):
        raise ValueError("it is not the JSON of a certificate") from None
    if not isinstance(given, dict) or list(given) != [*FIELDS, "seal"]:
        raise ValueError(f"a certificate has the fields {', '.join(FIELDS)} and seal")
    if given["format"] != FORMAT or given["version"] != VERSION:
        named = ", ".join(f"{name} {given[name]!r:.{SHOWN}}" for name in ("format", "version"))
        raise ValueError(f"{named}: this reads {FORMAT!r}, {VERSION}")
    try:
        certificate = _decoded(given)
    except (TypeError, KeyError, IndexError, OverflowError, ValueError) as error:
        raise ValueError(f"its numbers are malformed: {error}") from None
    if str(certificate).encode() != data:
        raise ValueError("it is not in canonical form: it was altered")
    if not certificate.intact:
        raise ValueError("its checksum does not match its contents: it was altered")
    if wrong := fault(certificate):
        raise ValueError(wrong)
    return certificate


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _text(certificate: Certificate, seal: str) -> str:
    point = None if certificate.point is None else [pair(x) for x in certificate.point]
    document = dict(
        zip(
            FIELDS,
            (
                FORMAT, VERSION, certificate.program, certificate.target,
                [pair(x) for x in certificate.box.low], [pair(x) for x in certificate.box.high],
                None if certificate.eps is None else pair(certificate.eps),
                pair(certificate.upper), pair(certificate.lower), point, list(certificate.assumed),
                [_node(node) for node in certificate.tree],
            ),
            strict=True,
        )
    )  # fmt: skip
    return json.dumps({**document, "seal": seal}, separators=(",", ":"))


def _node(node: Split | Leaf) -> list[Any]:
    if isinstance(node, Split):
        return ["split", node.axis, pair(node.at)]
    return ["leaf", node.bits, [pair(x) for x in node.uppers]]


def _point(pairs: Iterable[Any]) -> Point:
    return tuple(map(number, pairs))


def texts(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise ValueError("its assumptions must be a list of texts")
    if any(text != clean(text) for text in given):
        raise ValueError("one of its texts holds control characters")
    return tuple(given)


def _decoded(given: dict[str, Any]) -> Certificate:
    return Certificate(
        texts([given["program"]])[0],
        texts([given["target"]])[0],
        Box(_point(given["low"]), _point(given["high"])),
        None if given["eps"] is None else number(given["eps"]),
        number(given["upper"]),
        number(given["lower"]),
        None if given["point"] is None else _point(given["point"]),
        texts(given["assumed"]),
        tuple(_read_node(node) for node in given["tree"]),
        texts([given["seal"]])[0],
    )


def _read_node(node: Any) -> Split | Leaf:
    kind, whole, rest = node
    if type(whole) is not int:
        raise ValueError(f"{whole!r:.{SHOWN}} is not an integer")
    return Split(whole, number(rest)) if kind == "split" else Leaf(whole, _point(rest))
