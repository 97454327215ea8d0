"""How large the numbers of a tape are: what cleaning leaves is rounding of the largest, and others may be small.

An atom counts as one number, an array by its largest. Where nothing is known, what is left may be anything, and what
starts may be tiny.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from integraph.bounds.perturbation.case import times
from integraph.constructions.graph.forms import GraphForm, Term
from integraph.constructions.graph.runs import INPUT, Run, RunTape
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet

Span = tuple[float, float]  # two numbers that all entries lie between
ANYTHING = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Magnitudes:
    """Of atoms: bounds of what they hold in the end, of the terms that are subtracted where they are cleaned, and of
    what they start with, or, from 0, end with."""

    end: dict[int, float] = field(default_factory=dict)
    cleaned: dict[int, float] = field(default_factory=dict)
    start: dict[int, float] = field(default_factory=dict)


def magnitude(form: GraphForm, sizes: Mapping[int, float]) -> float:
    """A bound of Σ |terms|; infinite where an atom is not known."""
    total = float(np.max(np.abs(form.b), initial=0.0))
    for term in form.terms:
        weight = float(np.max(_summed(np.abs(term.w), term), initial=0.0))
        total += weight * math.prod(sizes.get(atom, math.inf) for atom in term.atoms) if weight else 0.0
    return total if total >= 0 else math.inf  # 0·∞ is NaN


def magnitudes(tape: RunTape) -> Magnitudes:
    found, spans = Magnitudes(), dict[int, Span]()
    for number, atom in enumerate(tape.atoms):
        if atom.run == INPUT:
            spans[number] = _known(tape, number)
            found.end[number] = _size(spans[number])
    for run in tape.runs:
        _run(tape, run, found, spans)
    return found


def _run(tape: RunTape, run: Run, found: Magnitudes, spans: dict[int, Span]) -> None:
    for atom in run.atoms:
        parts = run.starts.get(atom, ())
        loaded = _around([_both(span(part.form, spans), part.known) for part in parts])
        spans[atom] = _known(tape, atom) if run.stages else _both(loaded, _known(tape, atom))
        found.end[atom] = _size(spans[atom])
        found.start[atom] = _size(loaded) if run.stages else found.end[atom]
        if not run.stages:
            found.cleaned[atom] = max((magnitude(part.form, found.end) for part in parts), default=0.0)
    for atom, form in run.after.items():
        found.cleaned[atom] = magnitude(form, found.end)
        spans[atom] = _both(spans[atom], span(form, spans))
        found.end[atom] = _size(spans[atom])
    for atom in run.atoms:
        start = found.start[atom] or found.end[atom]
        found.start[atom] = start if math.isfinite(start) else 0.0


@quiet
def span(form: GraphForm, spans: Mapping[int, Span]) -> Span:
    """Of all lanes."""
    low, high = float(np.min(form.b, initial=math.inf)), float(np.max(form.b, initial=-math.inf))
    for term in form.terms:
        ends = np.ones(1)
        for atom in term.atoms:
            ends = times(ends[:, None], np.array(spans.get(atom, ANYTHING))).ravel()
        weighted = times(term.w, ends.min()), times(term.w, ends.max())
        low += float(np.min(_summed(np.minimum(*weighted), term), initial=math.inf))
        high += float(np.max(_summed(np.maximum(*weighted), term), initial=-math.inf))
    return (low, high) if low <= high else ANYTHING  # ∞ − ∞ is NaN


def _summed(w: Floats, term: Term) -> Floats:
    """Over what a lane reads."""
    found: Floats = w.sum(-1) if w.shape[-1] == term.reads else w[..., 0] * term.reads
    return found


def _known(tape: RunTape, atom: int) -> Span:
    if atom not in tape.known:
        return ANYTHING
    known = tape.known[atom]
    return float(np.min(known.low, initial=math.inf)), float(np.max(known.high, initial=-math.inf))


def _around(parts: list[Span]) -> Span:
    """Of several parts, and of 0 where there is none."""
    return min((low for low, _ in parts), default=0.0), max((high for _, high in parts), default=0.0)


def _both(x: Span, y: Span) -> Span:
    return max(x[0], y[0]), min(x[1], y[1])


def _size(of: Span) -> float:
    return max(-of[0], of[1], 0.0)
