"""What is asked of a closed loop, and whether a certificate answers that, and not another question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.certify.loops.certificate import REFUTED, LoopCertificate
from integraph.certify.loops.loop import Loop
from integraph.certify.loops.result import LoopResult
from integraph.certify.loops.spec import Specification
from integraph.numbers.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class LoopQuestion:
    """Whether all starts from low to high meet a specification; the last ones are constants of the plant."""

    loop: Loop
    spec: Specification
    low: Floats
    high: Floats

    def other(self, certificate: LoopCertificate) -> str:
        """Why a certificate of this loop answers another question; empty if it answers this one."""
        text = "; ".join(clause.text for clause in self.spec.clauses)
        if certificate.spec != text:
            return f"it is about {certificate.spec}, and {text} is asked"
        ends = zip(self.low, self.high, certificate.box.low, certificate.box.high, strict=True)
        refuted = certificate.status == REFUTED
        wrong = [not (a <= c and d <= b if refuted else c <= a and b <= d) for a, b, c, d in ends]
        if not any(wrong):
            return ""
        names = ", ".join(name for name, one in zip(self.loop.states, wrong, strict=True) if one)
        return f"it is about other starts than those that are asked about: see {names}"


def question_of(result: LoopResult) -> LoopQuestion:
    """What the result answers."""
    cells = result.proved + result.open
    low, high = np.min([cell.low for cell in cells], 0), np.max([cell.high for cell in cells], 0)
    return LoopQuestion(result.loop, result.spec, low, high)
