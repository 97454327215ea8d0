"""What is known of the error: promised, proven and found at points, side by side, each with what it means."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context
from typing import TYPE_CHECKING, Any

import numpy as np

from integraph.plot.subject import Subject
from integraph.program.engine import DOUBLE
from integraph.program.origin import DATA
from integraph.program.summary import above, at_point, inputs_in, measured
from integraph.report.markup import Html, facts, tag
from integraph.report.page import Section
from integraph.targets import Function

if TYPE_CHECKING:
    from integraph.certify.certificate.certificate import Certificate
    from integraph.certify.proof import Proof

FOUND = "Largest difference found"
CANNOT = "cannot: it proves formulas, networks and graphs. integraph.bound bounds the outputs."


def error_section(subject: Subject, proof: Proof | Certificate | None) -> Section:
    """Three cards, and the proof if there is one."""
    cards = tag("div", _promised(subject), _proven(subject, proof), _seen(subject), class_="cards wide")
    return Section("Error bounds", [cards] if proof is None else [cards, _proof(proof, subject.input_names)])


def card(name: str, value: str | None, says: str, look: str = "") -> Html:
    """A number with its name, and what it means; None is shown as a word."""
    number = tag("p", "unknown", class_="value none") if value is None else tag("p", value, class_="value")
    meaning = tag("p", says, class_="says") if says else Html()
    return tag("div", tag("p", name, class_="name"), number, meaning, class_=f"card {look}".strip())


def _promised(subject: Subject) -> Html:
    budget = subject.program.budget
    if budget is None:
        return card("Promised error", None, "The construction gives no error bound.")
    where = inputs_in(budget.low, budget.high, subject.input_names)
    if subject.promised is None:
        return card("Promised error", None, f"The promise, ≤ {above(budget.total)}, is for {where} only.")
    parts = {"approximation": budget.approximation, "residue": budget.residue, "rounding of controls": budget.rounding}
    summands = " + ".join(f"{above(part)} {name}" for name, part in parts.items() if part) or "nothing approximated"
    bound = f"≤ {above(budget.total)}"
    return card("Promised error", bound, f"The construction guarantees this for all {where}: {summands}.")


def _proven(subject: Subject, proof: Proof | Certificate | None) -> Html:
    if proof is None:
        stored = subject.program.proven
        if stored is None:
            says = "Nobody has proved a bound for this program yet; integraph.certify "
            return card("Proven error", None, says + ("can." if _provable(subject) else CANNOT))
        if subject.proven is None:
            box = subject.program.box
            where = "a box that it does not name"
            if box is not None:
                where = f"{inputs_in(box.low, box.high, subject.input_names)} only"
            says = f"The file states that ≤ {above(stored)} was proved, but for {where}."
            return card("Proven error", None, says)
        says = "The file states that this bound was proved. The proof is not part of this report."
        return card("Proven error", f"≤ {above(stored)}", says)
    where = inputs_in(np.array(proof.box.low), np.array(proof.box.high), subject.input_names)
    means = f"Computed with ball arithmetic for all {where}, for the exact flow of the stored controls."
    if math.isfinite(proof.upper) and subject.proven is None:
        return card("Proven error", None, f"The proof, ≤ {above(proof.upper)}, is for {where} only.")
    value = f"≤ {above(proof.upper)}" if math.isfinite(proof.upper) else None
    if proof.status == "refuted":
        means += f" More than the {above(proof.eps or 0.0)} that was asked for."
    elif value is None:
        means = f"The proof ended without a bound: {getattr(proof, 'reason', '') or 'nothing is proved'}."
    return card("Proven error", value, means, proof.status)


def _provable(subject: Subject) -> bool:
    """Whether there are proofs of such a source: all but functions that are known at points."""
    return not isinstance(subject.target, Function) or subject.target.expression is not None


def _seen(subject: Subject) -> Html:
    stored = subject.program.seen
    if stored is not None and subject.program.origin is not None and subject.program.origin.kind == DATA:
        says = "Measured when it was fitted, on rows that the fit had not used. Between the rows it can be larger."
        return card(FOUND, measured(subject.program), says)
    carried = "" if stored is None else f" The program carries {stored:.3g} from when it was compiled."
    if subject.seen is None:
        why = "no source was given" if subject.target is None else "the source has no values to compare with"
        value = None if stored is None else f"{stored:.3g}"
        return card(FOUND, value, f"Not measured for this report: {why}.{carried}")
    points, lost = len(subject.seen.points), subject.seen.lost
    holes = f" At {lost:,} of them the source or the flow has no value." if lost else ""
    if lost == points:
        return card(FOUND, None, f"At none of {points:,} points do both source and flow have a value.{carried}")
    bits = subject.program.bits
    how = "in float64, rounding included" if bits <= DOUBLE else f"the flow in {bits} bits, the source in float64"
    says = f"The largest difference |source − program| found at {points:,} points in the box, {how}."
    largest, promised = subject.seen.largest, subject.promised
    more, look = " Elsewhere it can be larger.", ""
    if promised is not None and largest > promised:
        look = "refuted" if subject.broken else ""
        more = " This exceeds the promised error: "
        more += (
            "is this the source that was compiled?" if look else "the promise does not cover the rounding of float64."
        )
    return card(FOUND, f"{largest:.3g}", f"{says}{more}{holes}{carried}", look)


def _proof(proof: Proof | Certificate, names: tuple[str, ...]) -> Html:
    certificate: Any = getattr(proof, "certificate", proof)
    rows: list[tuple[object, object]] = [
        ("status of the proof", proof.status),
        ("box", inputs_in(np.array(proof.box.low), np.array(proof.box.high), names)),
        ("asked", "a bound" if proof.eps is None else f"≤ {above(proof.eps)}"),
        ("proven upper bound", f"≤ {above(proof.upper)}" if math.isfinite(proof.upper) else "nothing"),
        ("proven lower bound", f"≥ {below(proof.lower)}{at_point(proof.point, names)}"),
    ]
    reason = getattr(proof, "reason", "")
    rows += [("reason", reason)] if reason else []
    rows += [("assumption", text) for text in proof.assumed] or [("assumptions", "none")]
    if certificate is not None:
        rows += [("certificate", tag("code", certificate.seal)), ("of the source", tag("code", certificate.target))]
    if certificate is proof:
        rows.append(("checked", "not for this report; integraph.check computes every box again"))
    return facts(rows)


def below(bound: float) -> str:
    """Three digits, rounded down: nothing is claimed that is not there."""
    return f"{float(Context(prec=3, rounding=ROUND_FLOOR).create_decimal_from_float(bound)):.3g}"
