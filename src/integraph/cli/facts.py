"""What there is to say of a program and its segments, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from integraph import Origin, Program


def program_facts(program: Program) -> dict[str, Any]:
    """Sizes, what is known of the error, and the hash of eq. (1)."""
    budget = program.budget
    promised = None if budget is None else {
        "total": budget.total, "approximation": budget.approximation, "residue": budget.residue,
        "rounding": budget.rounding, "low": budget.low, "high": budget.high,
    }  # fmt: skip
    return {
        "source": program.source,
        "origin": None if program.origin is None else _origin(program.origin),
        "inputs": program.inputs,
        "outputs": program.outputs,
        "width": program.width,
        "depth": program.depth,
        "horizon": program.horizon,
        "terms": program.terms,
        "rate": program.rate,
        "bits": program.bits,
        "promised": promised,
        "proven": program.proven,
        "seen": program.seen,
        "digest": program.digest,
    }


def _origin(origin: Origin) -> dict[str, Any]:
    return {
        "source": origin.source,
        "kind": origin.kind,
        "variables": origin.variables,
        "method": origin.method,
        "eps": origin.eps,
        "options": dict(origin.options),
        "low": None if origin.box is None else origin.box.low,
        "high": None if origin.box is None else origin.box.high,
        "version": origin.version,
    }


def segment_facts(program: Program, number: int, spelled: int) -> dict[str, Any]:
    """A segment: its blocks in words, its equations if there are at most so many terms."""
    from integraph.program.lowering import count_segment
    from integraph.program.summary import equations

    segment = program.segments[number]
    return {
        "number": number,
        "label": segment.label,
        "duration": segment.duration,
        "terms": count_segment(segment, program),
        "blocks": [block.op.words(block) for block in segment.blocks],
        "equations": equations(program, number, spelled),
    }
