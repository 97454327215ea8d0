"""The proof of a closed loop as data: how the starts were divided, and of each cell the steps of its tube.

A cell has the degree of its polynomials. A step is its share of the period, its order, and a box that solutions do not
leave; no set of states is in it: `replay` computes them again, in Arb. A refutation is the start that fails. Numbers
are exact, the text is canonical and carries a seal, as those of other certificates.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from integraph.certify.certificate import storage
from integraph.certify.certificate.exact_numbers import number, pair
from integraph.certify.certificate.tree import Leaf, Split, leaves
from integraph.certify.loops.controller import Controller, ControllerGroup
from integraph.certify.problem import Box
from integraph.certify.statement import digest, of_program
from integraph.files import FilePath
from integraph.program import Program
from integraph.program.notebook import table
from integraph.program.summary import at_point, inputs_in
from integraph.text import clean, counted

if TYPE_CHECKING:
    from integraph.certify.loops.loop import Loop

FORMAT, VERSION = "integraph loop certificate", 1
FIELDS = (
    "format",
    "version",
    "loop",
    "states",
    "spec",
    "status",
    "low",
    "high",
    "tree",
    "degrees",
    "cells",
    "disturbance",
)
LONGEST, FINEST, HIGHEST, STEEPEST = 10_000, 16, 24, 8  # characters; halvings of a period; order; degree
PROVED, REFUTED = "proved", "refuted"

Parts = tuple[Split | None, ...]  # in preorder; None is a cell


@dataclass(frozen=True, slots=True)
class CertifiedStep:
    """A step of 2^−halvings of a period, and the box of the states that solutions do not leave."""

    halvings: int
    order: int
    box: Box


Path = tuple[tuple[CertifiedStep, ...], ...]  # the steps of every period


@dataclass(frozen=True, slots=True)
class LoopCertificate:
    """Every start in the box meets the specification, as the cells prove; or the box is one start, which does not."""

    loop: str  # a hash
    states: tuple[str, ...]
    spec: str
    status: str
    box: Box
    tree: Parts
    degrees: tuple[int, ...]
    cells: tuple[Path, ...]
    disturbance: tuple[float, ...] = ()  # constants with which the start fails; none if it does with all
    seal: str = ""

    @property
    def parts(self) -> list[Box]:
        """The cells, which cover the box; a ValueError where the tree does not divide it."""
        tree = tuple(Leaf(0, ()) if node is None else node for node in self.tree)
        return [box for box, _ in leaves(tree, self.box)]

    @property
    def assumed(self) -> tuple[str, ...]:
        """Nothing: formulas and nets are computed as they are."""
        return ()

    def sealed(self) -> LoopCertificate:
        return replace(self, seal=hashlib.sha256(_text(self, "").encode()).hexdigest())

    @property
    def intact(self) -> bool:
        """Whether the seal matches the contents."""
        return self.seal == self.sealed().seal

    def claim(self) -> str:
        """What is proved, in words."""
        if self.status == REFUTED:
            held = ", ".join(f"{value:.6g}" for value in self.disturbance)
            return f"{self.spec}: this fails{at_point(self.box.low, self.states)}" + (
                f", with the disturbance {held} at all times" if held else ""
            )
        where = inputs_in(np.array(self.box.low), np.array(self.box.high), self.states)
        return f"{self.spec}, for all starts {where}"

    def __str__(self) -> str:
        return _text(self, self.seal)

    def _repr_html_(self) -> str:
        if wrong := fault(self):
            return table("Loop certificate", [("status", f"unknown: {wrong}")])
        rows = [
            ("status", self.status), ("claim", self.claim()), ("cells", f"{len(self.cells):,}"), ("loop", self.loop),
            ("seal", self.seal if self.intact else f"{self.seal or 'none'}: it does NOT match the contents"),
        ]  # fmt: skip
        return table("Loop certificate", rows)

    @staticmethod
    def load(path: FilePath) -> LoopCertificate:
        """From a file that `save` wrote; a FileError if a byte of it was altered."""
        return storage.load(path, parse)

    def save(self, path: FilePath) -> None:
        """Write the JSON file, whole or not at all."""
        storage.save(path, str(self))


def parse(data: bytes) -> LoopCertificate:
    """Parse exactly what `str` writes, or raise a ValueError."""
    given = storage.document(data, FORMAT, VERSION, FIELDS)
    try:
        certificate = _decoded(given)
    except (TypeError, KeyError, IndexError, OverflowError, RecursionError, ValueError) as error:
        raise ValueError(f"it is malformed: {error}") from None
    if str(certificate).encode() != data or not certificate.intact:
        raise ValueError("its checksum does not match its contents: it was altered")
    if wrong := fault(certificate):
        raise ValueError(wrong)
    return certificate


def fault(certificate: LoopCertificate) -> str:
    """What is wrong with the certificate itself, whatever loop it is about; "" if nothing is."""
    try:
        _check(certificate)
    except ValueError as error:
        return str(error)
    return ""


def _check(certificate: LoopCertificate) -> None:
    _need(certificate.status in (PROVED, REFUTED), "its status is neither proved nor refuted")
    _need(len(certificate.spec) <= LONGEST, f"its specification has more than {LONGEST} characters")
    n = len(certificate.states)
    _box(certificate.box, n)
    _need(len(certificate.parts) == len(certificate.cells), "it does not have one tube for each cell")
    _need(len(certificate.degrees) == len(certificate.cells), "it does not have one degree for each cell")
    _need(all(1 <= k <= STEEPEST for k in certificate.degrees), f"a degree is not one of 1 to {STEEPEST}")
    if certificate.status == REFUTED:
        _need(len(certificate.cells) == 1, "a refutation has one start")
        _need(certificate.box.low == certificate.box.high, "a refutation has one start, not a box")
    else:
        _need(not certificate.disturbance, "a proof is about all disturbances")
    for path in certificate.cells:
        for steps in path:
            for step in steps:
                _need(0 <= step.halvings <= FINEST, f"a step is not one of 1 to 2^−{FINEST} of a period")
                _need(1 <= step.order <= HIGHEST, f"an order is not one of 1 to {HIGHEST}")
                _box(step.box, n)


def _box(box: Box, n: int) -> None:
    _need(len(box.low) == len(box.high) == n, f"a box does not have {counted(n, 'state')}")
    sides = zip(box.low, box.high, strict=True)
    _need(all(a <= b and math.isfinite(b - a) for a, b in sides), "a box is empty or infinite")


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _text(certificate: LoopCertificate, seal: str) -> str:
    values = (
        FORMAT, VERSION, certificate.loop, list(certificate.states), certificate.spec, certificate.status,
        *_ends(certificate.box), [0 if node is None else [node.axis, pair(node.at)] for node in certificate.tree],
        list(certificate.degrees),
        [[[_step(step) for step in steps] for steps in path] for path in certificate.cells],
        [pair(x) for x in certificate.disturbance],
    )  # fmt: skip
    return json.dumps({**dict(zip(FIELDS, values, strict=True)), "seal": seal}, separators=(",", ":"))


def _step(step: CertifiedStep) -> list[Any]:
    return [step.halvings, step.order, *_ends(step.box)]


def _ends(box: Box) -> list[Any]:
    return [[pair(x) for x in side] for side in (box.low, box.high)]


def _decoded(given: dict[str, Any]) -> LoopCertificate:
    texts = [given[name] for name in ("loop", "spec", "status", "seal")] + given["states"]
    _need(all(isinstance(text, str) and text == clean(text) for text in texts), "one of its texts is malformed")
    tree = tuple(None if node == 0 else Split(_whole(node[0]), number(node[1])) for node in given["tree"])
    cells = tuple(tuple(tuple(map(_read_step, steps)) for steps in path) for path in given["cells"])
    box, degrees = _read_box(given["low"], given["high"]), tuple(map(_whole, given["degrees"]))
    held = tuple(map(number, given["disturbance"]))
    return LoopCertificate(
        given["loop"], tuple(given["states"]), given["spec"], given["status"], box, tree, degrees, cells, held,
        given["seal"],
    )  # fmt: skip


def _read_step(given: Any) -> CertifiedStep:
    halvings, order, low, high = given
    return CertifiedStep(_whole(halvings), _whole(order), _read_box(low, high))


def _read_box(low: Any, high: Any) -> Box:
    return Box(tuple(map(number, low)), tuple(map(number, high)))


def _whole(given: Any) -> int:
    _need(type(given) is int, f"{given!r:.60} is not an integer")
    return int(given)


def loop_digest(loop: Loop) -> str:
    """SHA-256 over plant, controller, period, number of periods and disturbances."""
    acts, w = loop.controller, loop.disturbance
    noise = [] if w is None else [list(w.names), *([pair(x) for x in side.tolist()] for side in (w.low, w.high))]
    parts = acts.parts if isinstance(acts, ControllerGroup) else (acts,)
    head = [
        list(loop.states), list(loop.inputs), digest(loop.expression), [_controller(part) for part in parts],
        pair(loop.period), loop.steps, loop.discrete, noise,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(["loop", head]).encode()).hexdigest()


def _controller(acts: Controller) -> list[Any]:
    source = of_program(acts.source) if isinstance(acts.source, Program) else digest(acts.source)
    ends = () if acts.limits is None else (acts.limits.low, acts.limits.high)
    limits = [[pair(x) for x in side.tolist()] for side in ends]
    readings = None if acts.readings is None else digest(acts.readings)
    scaling = [[pair(x) for x in side.tolist()] for side in (acts.scale, acts.offset)]
    return [source, scaling, limits, readings]
