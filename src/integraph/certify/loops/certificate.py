"""The proof of a closed loop as data: how the starts were divided, and of each cell the steps of its tube.

A cell has the degree of its polynomials. A step is its share of the period, its order, and a box that solutions do not
leave; no set of states is in it: `replay` computes them again, in Arb. A refutation is the start that fails. Numbers
are exact, the text is canonical and carries a seal, as those of other certificates.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from integraph.certify.certificate import sealed_document
from integraph.certify.certificate.exact_values import (
    box,
    division,
    ends,
    nodes,
    numbers,
    pair,
    pairs,
    text,
    texts,
    whole,
)
from integraph.certify.certificate.sealed_document import SealedDocument
from integraph.certify.certificate.tree import Division, parts
from integraph.certify.loops.controller import Controller, ControllerGroup
from integraph.certify.problem import Box
from integraph.certify.statement import digest, of_program
from integraph.files import FilePath
from integraph.program import Program
from integraph.program.notebook import table
from integraph.program.summary import at_point, inputs_in
from integraph.text import counted

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


@dataclass(frozen=True, slots=True)
class CertifiedStep:
    """A step of 2^−halvings of a period, and the box of the states that solutions do not leave."""

    halvings: int
    order: int
    box: Box


Path = tuple[tuple[CertifiedStep, ...], ...]  # the steps of every period


@dataclass(frozen=True, slots=True)
class LoopCertificate(SealedDocument):
    """Every start in the box meets the specification, as the cells prove; or the box is one start, which does not."""

    loop: str  # a hash
    states: tuple[str, ...]
    spec: str
    status: str
    box: Box
    tree: Division
    degrees: tuple[int, ...]
    cells: tuple[Path, ...]
    disturbance: tuple[float, ...] = ()  # constants with which the start fails; none if it does with all

    @property
    def parts(self) -> list[Box]:
        """The cells, which cover the box; a ValueError where the tree does not divide it."""
        return parts(self.tree, self.box)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Nothing: formulas and nets are computed as they are."""
        return ()

    def claim(self) -> str:
        """What is proved, in words."""
        if self.status == REFUTED:
            held = ", ".join(f"{value:.6g}" for value in self.disturbance)
            return f"{self.spec}: this fails{at_point(self.box.low, self.states)}" + (
                f", with the disturbance {held} at all times" if held else ""
            )
        return f"{self.spec}, for all starts {', '.join(map(_side, self.states, self.box.low, self.box.high))}"

    def _repr_html_(self) -> str:
        if wrong := fault(self):
            return table("Loop certificate", [("status", f"unknown: {wrong}")])
        rows = [
            ("status", self.status), ("claim", self.claim()), ("cells", f"{len(self.cells):,}"), ("loop", self.loop),
            self._seal_row,
        ]  # fmt: skip
        return table("Loop certificate", rows)

    @staticmethod
    def load(path: FilePath) -> LoopCertificate:
        """From a file that `save` wrote; a FileError if a byte of it was altered."""
        return sealed_document.load(path, parse)

    def _contents(self) -> dict[str, Any]:
        values = (
            FORMAT, VERSION, self.loop, list(self.states), self.spec, self.status, *ends(self.box), nodes(self.tree),
            list(self.degrees), [[[_step(step) for step in steps] for steps in path] for path in self.cells],
            pairs(self.disturbance),
        )  # fmt: skip
        return dict(zip(FIELDS, values, strict=True))


def parse(data: bytes) -> LoopCertificate:
    """Parse exactly what `str` writes, or raise a ValueError."""
    return sealed_document.parsed(data, FORMAT, VERSION, FIELDS, _decoded, fault)


def _side(name: str, low: float, high: float) -> str:
    return inputs_in(np.array([low]), np.array([high]), [name])


def fault(certificate: LoopCertificate) -> str:
    """What is wrong with the certificate itself, whatever loop it is about; "" if nothing is."""
    try:
        _check(certificate)
    except ValueError as error:
        return str(error)
    except (TypeError, AttributeError, OverflowError) as error:
        return f"its contents are not what a certificate has: {error}"
    return ""


def _check(certificate: LoopCertificate) -> None:
    _need(certificate.status in (PROVED, REFUTED), "its status is neither proved nor refuted")
    _need(len(certificate.spec) <= LONGEST, f"its specification has more than {LONGEST} characters")
    n = len(certificate.states)
    _box(certificate.box, n)
    _need(len(certificate.parts) == len(certificate.cells), "it does not have one tube for each cell")
    _need(len(certificate.degrees) == len(certificate.cells), "it does not have one degree for each cell")
    known = all(type(k) is int and 1 <= k <= STEEPEST for k in certificate.degrees)
    _need(known, f"a degree is not one of 1 to {STEEPEST}")
    if certificate.status == REFUTED:
        _need(len(certificate.cells) == 1, "a refutation has one start")
        _need(certificate.box.low == certificate.box.high, "a refutation has one start, not a box")
    else:
        _need(not certificate.disturbance, "a proof is about all disturbances")
    for path in certificate.cells:
        for steps in path:
            for step in steps:
                _need(type(step.halvings) is type(step.order) is int, "halvings and orders are integers")
                _need(0 <= step.halvings <= FINEST, f"a step is not one of 1 to 2^−{FINEST} of a period")
                _need(1 <= step.order <= HIGHEST, f"an order is not one of 1 to {HIGHEST}")
                _box(step.box, n)
    _need(certificate.intact, "its checksum does not match its contents")


def _box(box: Box, n: int) -> None:
    _need(len(box.low) == len(box.high) == n, f"a box does not have {counted(n, 'state')}")
    sides = zip(box.low, box.high, strict=True)
    _need(all(a <= b and math.isfinite(b - a) for a, b in sides), "a box is empty or infinite")


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _step(step: CertifiedStep) -> list[Any]:
    return [step.halvings, step.order, *ends(step.box)]


def _decoded(given: dict[str, Any]) -> LoopCertificate:
    cells = tuple(tuple(tuple(map(_read_step, steps)) for steps in path) for path in given["cells"])
    return LoopCertificate(
        text(given["loop"]), texts(given["states"]), text(given["spec"]), text(given["status"]),
        box(given["low"], given["high"]), division(given["tree"]), tuple(map(whole, given["degrees"])), cells,
        numbers(given["disturbance"]), seal=text(given["seal"]),
    )  # fmt: skip


def _read_step(given: Any) -> CertifiedStep:
    halvings, order, low, high = given
    return CertifiedStep(whole(halvings), whole(order), box(low, high))


def loop_digest(loop: Loop) -> str:
    """SHA-256 over plant, controller, period, number of periods and disturbances."""
    acts, w = loop.controller, loop.disturbance
    noise = [] if w is None else [list(w.names), *(pairs(side.tolist()) for side in (w.low, w.high))]
    parts = acts.parts if isinstance(acts, ControllerGroup) else (acts,)
    head = [
        list(loop.states), list(loop.inputs), digest(loop.expression), [_controller(part) for part in parts],
        pair(loop.period), loop.steps, loop.discrete, noise,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(["loop", head]).encode()).hexdigest()


def _controller(acts: Controller) -> list[Any]:
    source = of_program(acts.source) if isinstance(acts.source, Program) else digest(acts.source)
    clipped = () if acts.limits is None else (acts.limits.low, acts.limits.high)
    limits = [pairs(side.tolist()) for side in clipped]
    readings = None if acts.readings is None else digest(acts.readings)
    scaling = [pairs(side.tolist()) for side in (acts.scale, acts.offset)]
    return [source, scaling, limits, readings]
