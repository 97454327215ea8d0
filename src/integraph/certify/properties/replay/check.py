"""Check a certificate of a property: prove it again on every leaf, or refute it again at its point, in Arb.

No code of the search is used, and nothing that the search computed: only the property, the boxes and the point. The
leaves are jobs, which others may do; the result is the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from integraph.certify.certificate.certificate import parse as parse_closeness
from integraph.certify.certificate.replay import CertificateFault, Checked, Run
from integraph.certify.certificate.replay import check as check_closeness
from integraph.certify.problem import Box, Unprovable
from integraph.certify.properties.certificate import PropertyCertificate, fault
from integraph.certify.properties.replay.leaf import fails, holds
from integraph.certify.properties.statement import assumptions
from integraph.certify.statement import Target, digest, of_program
from integraph.program import Program
from integraph.targets import Network
from integraph.targets.graph import Graph
from integraph.targets.property import Property


@dataclass(frozen=True, slots=True, eq=False)
class LeafWork:
    """Whether the property of a case is proved on a leaf, a function of both."""

    source: Network | Graph
    stated: tuple[Property, ...]
    degree: int
    delta: float

    def __call__(self, job: tuple[int, Box]) -> bool:
        case, box = job
        return holds(self.source, self.stated[case], box, self.degree, self.delta)


def check(
    certificate: PropertyCertificate,
    source: Network | Graph,
    program: Program | None = None,
    target: Target | None = None,
    run: Run = map,
) -> Checked:
    """Whether it proves what it claims of this source; or of a program, which was compiled from this target."""
    begun, count = time.monotonic(), [0]
    if wrong := fault(certificate):
        return Checked(False, "unknown", "nothing that can be understood", wrong, 0, time.monotonic() - begun)
    try:
        _check(certificate, source, program, target, run, count)
        reason = ""
    except (CertificateFault, Unprovable, ArithmeticError, MemoryError) as broken:
        reason = str(broken) or type(broken).__name__
    names = source.variables if isinstance(source, Graph) else ()
    status = "unknown" if reason else certificate.status
    return Checked(not reason, status, certificate.claim(names), reason, count[0], time.monotonic() - begun)


def _check(
    certificate: PropertyCertificate,
    source: Network | Graph,
    program: Program | None,
    target: Target | None,
    run: Run,
    count: list[int],
) -> None:
    _need(certificate.intact, "its checksum does not match its contents")
    _need(certificate.source == digest(source), "it is about another source")
    _need(certificate.assumed == assumptions(source, program), "its assumptions are not those of such a proof")
    outputs = source.outputs if isinstance(source, Network) else source.sizes
    for one in certificate.cases:
        shape = one.stated.inputs, one.stated.outputs
        _need(shape == (source.inputs, outputs), "its property has other inputs or outputs than the source")
    _need(bool(certificate.program) == (program is not None), _whose(certificate))
    if program is not None:
        assert target is not None
        _distance(certificate, program, target, run)
    delta = certificate.delta
    if certificate.point is not None:
        count[0] = 1
        stated = certificate.cases[certificate.case].stated
        _need(fails(source, stated, certificate.point, delta), "its point is not shown to be a counterexample")
        return
    work = LeafWork(source, tuple(one.stated for one in certificate.cases), certificate.degree, delta)
    jobs = [(case, box) for case, one in enumerate(certificate.cases) for box in one.parts]
    for count[0], proved in enumerate(run(work, jobs), 1):
        _need(proved, f"on leaf {count[0]} the property is not proved")
    _need(count[0] == len(jobs), "not every leaf was checked")


def _whose(certificate: PropertyCertificate) -> str:
    return "it is about a program: give that" if certificate.program else "it is about a source, not about a program"


def _distance(certificate: PropertyCertificate, program: Program, target: Target, run: Run) -> None:
    """Every output of the program is within delta of the target, on all boxes."""
    _need(certificate.program == of_program(program), "it is about another program")
    try:
        closeness = parse_closeness(certificate.closeness.encode())
    except (ValueError, UnicodeEncodeError) as error:
        raise CertificateFault(f"its proof of the distance from the source is none: {error}") from None
    checked = check_closeness(closeness, program, target, run)
    _need(checked.holds, f"its proof of the distance from the source does not hold: {checked.reason}")
    _need(closeness.upper <= certificate.delta, "the distance from the source is proved to be larger")
    for one in certificate.cases:
        outer = closeness.box
        sides = zip(outer.low, one.box.low, one.box.high, outer.high, strict=True)
        _need(all(a <= b and c <= d for a, b, c, d in sides), "the distance from the source is proved on another box")


def _need(good: bool, otherwise: str) -> None:
    if not good:
        raise CertificateFault(otherwise)
