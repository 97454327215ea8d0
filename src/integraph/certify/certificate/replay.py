"""Check a certificate: compute everything it claims again, without any code of the search.

It must be a certificate at all (`validity`: its tree divides the box, its claim is the largest bound of a leaf);
program and target must be those whose hashes are written; on every leaf the bound, computed anew with the bits the leaf
names, must be what is written or less; at the point the difference must be as large as claimed. The leaves are jobs,
which others may do; the result is the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.certify.certificate.certificate import Certificate
from integraph.certify.certificate.tree import leaves
from integraph.certify.certificate.validity import fault
from integraph.certify.problem import Box, Problem, Unprovable
from integraph.certify.statement import Target, assumptions, current_wording, digests, problem
from integraph.constructions.lifting.flow_map import FlowMap
from integraph.numbers.arb.conversion import FIRST, MOST
from integraph.program import Program
from integraph.program.summary import above, inputs_in
from integraph.targets import Function
from integraph.text import counted

Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]  # has jobs done, as `map` does


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check, true if the certificate is valid; `status` says what it proves: proved, refuted or
    unknown.

    If it does not hold, the status is unknown and `reason` says what is wrong.
    """

    holds: bool
    status: str
    claim: str
    reason: str
    boxes: int
    seconds: float

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        verdict = f"holds: {self.claim}" if self.holds else f"does not hold: {self.reason}"
        return f"the certificate {verdict} ({counted(self.boxes, 'box')}, {self.seconds:.2g} s)"


@dataclass(frozen=True, slots=True, eq=False)
class LeafWork:
    """The bound on a leaf, a function of its box and its bits."""

    solved: Problem

    def __call__(self, job: tuple[Box, int]) -> float:
        (bound,) = self.solved.upper(*job)
        return bound


class CertificateFault(Exception):
    """The part of a certificate that does not hold."""


def check(certificate: Certificate, program: Program, target: Target, run: Run = map) -> Checked:
    """Whether it is a proof of what it claims of this program and this target."""
    begun = time.monotonic()
    count = [0]
    if wrong := fault(certificate):
        return Checked(False, "unknown", "nothing that can be understood", wrong, 0, time.monotonic() - begun)
    try:
        _check(certificate, program, target, run, count)
        reason = ""
    except (CertificateFault, Unprovable, ArithmeticError, MemoryError) as broken:
        reason = str(broken) or type(broken).__name__
    status = "unknown" if reason else certificate.status
    return Checked(not reason, status, claim(certificate, target), reason, count[0], time.monotonic() - begun)


def claim(certificate: Certificate, target: Target) -> str:
    """What is proved, in words."""
    low, high = (np.array(ends) for ends in (certificate.box.low, certificate.box.high))
    where = inputs_in(low, high, target.variables if isinstance(target, Function | FlowMap) else ())
    what = f"x({float(target.T):g})" if isinstance(target, FlowMap) else "target"
    sentence = f"|{what} − program| ≤ {above(certificate.upper)} for {where}"
    if certificate.eps is None or certificate.status == "proved":
        return sentence
    asked = f"{certificate.eps:.3g} was asked for"
    return f"{sentence}; {asked}, which is {certificate.status}"


def _check(certificate: Certificate, program: Program, target: Target, run: Run, count: list[int]) -> None:
    _need(certificate.intact, "its checksum does not match its contents")
    of_program, of_target = digests(program, target)
    _need(certificate.program == of_program, "it is about another program")
    _need(certificate.target == of_target, "it is about another target")
    assumed = current_wording(certificate.assumed)
    _need(assumed == assumptions(program, target), "its assumptions are not those of such a proof")
    box = certificate.box
    _need(len(box.low) == program.inputs, f"its box does not have {program.inputs} inputs")
    solved = problem(program, target, box)
    parts = list(leaves(certificate.tree, box))
    claims = [(part, leaf.bits) for part, leaf in parts if leaf.uppers[0] < math.inf]  # others claim nothing
    bounds = run(LeafWork(solved), claims)
    for count[0], (_, leaf) in enumerate(parts, 1):
        bound = next(bounds) if leaf.uppers[0] < math.inf else math.inf
        _need(bound <= leaf.uppers[0], f"on leaf {count[0]} the bound is {bound!r}, not {leaf.uppers[0]!r}")
    _point(certificate, solved)


def _point(certificate: Certificate, solved: Problem) -> None:
    """The lower bound, which says how good the upper one is, or refutes."""
    if certificate.point is None:
        return
    bits = FIRST
    while bits <= MOST:
        ((low, _),) = solved.at(certificate.point, bits)
        if certificate.lower <= low:
            return
        bits *= 2
    raise CertificateFault(f"at its point the difference is not shown to be {certificate.lower!r}")


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CertificateFault(otherwise)
