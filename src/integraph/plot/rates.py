"""How fast things go, segment by segment: the largest control, the fastest decay, and the stiffness."""

from __future__ import annotations

import numpy as np

from integraph.errors import FlowError, UsageError
from integraph.numbers.arrays import Floats
from integraph.plot.picture import DASHED, Curve, Panel, Picture, Span, alone
from integraph.plot.sparsity import no_terms
from integraph.plot.subject import Subject
from integraph.program.dynamics import stiffness_by_segment
from integraph.program.engine import DOUBLE
from integraph.program.summary import MANY_TERMS, MAX_PATH
from integraph.program.terms import ONE

FEW_TERMS = 100_000  # up to which eigenvalues of several inputs do not take long
POINTS = 5  # times in a segment at which eigenvalues are looked at


def rates(s: Subject) -> Picture | str:
    """A step for each segment; logarithmic, because they are far apart."""
    program = s.program
    missing = no_terms(program)
    if missing:
        return missing
    largest, decay = np.zeros(program.depth), np.zeros(program.depth)
    for number, terms in program.stream():
        largest[number] = max(largest[number], float(np.abs(terms.value).max()))
        own = terms.value[(terms.j == ONE) & (terms.k == terms.i)]
        decay[number] = max(decay[number], float(np.abs(own).max(initial=0.0)))
    stiff = _stiffness(s)
    known = [("largest control", largest, 0, "line"), ("fastest decay", decay, 1, DASHED)]
    if not isinstance(stiff, str):
        known.append(("stiffness", stiff, 2, "line"))
    known = [row for row in known if (row[1] > 0).any()]
    if not known:
        return "all of its rates are zero: nothing moves"
    curves = tuple(Curve(_edges(values), _steps(values), name, n, style) for name, values, n, style in known)
    spans = tuple(Span(float(n), n + 1.0, segment.label) for n, segment in enumerate(program.segments))
    says = "In each segment the largest |control| of eq. (1), the largest r of all y_i' = −r·y_i + …, and the stiffness"
    inputs = "the centre and corners" if len(_inputs(s)) > 1 else "the centre"
    how = f", the largest |eigenvalue| at {POINTS} times on the way of {inputs} of the box"
    says += f", which is not computed: {stiff}." if isinstance(stiff, str) else f"{how}."
    says += " Gaps are zeros, and what is not drawn is zero everywhere."
    panel = Panel("", "segment", "rate", curves, spans, log_y=True)
    return alone("rates", "Rates of each segment", says, panel, stacked=True)


def _edges(values: Floats) -> Floats:
    return np.repeat(np.arange(len(values) + 1.0), 2)[1:-1]


def _steps(values: Floats) -> Floats:
    """Twice each; zeros are gaps on a logarithmic axis."""
    return np.repeat(np.where(values > 0, values, np.nan), 2)


def _inputs(s: Subject) -> Floats:
    """Where the stiffness is looked at."""
    return s.landmarks if s.program.terms <= FEW_TERMS else s.landmarks[:1]


def _stiffness(s: Subject) -> Floats | str:
    """In each segment, or why it is not known; bounded in cost as the summary's."""
    program = s.program
    if program.bits > DOUBLE:
        return f"the flow needs {program.bits} bits"
    if program.terms > MANY_TERMS:
        return f"more than {MANY_TERMS:,} terms"
    if POINTS * program.depth * program.width > MAX_PATH:
        return "the program is too large"
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite has no eigenvalues: LinAlgError
            stiffness = [stiffness_by_segment(program, s.units(x[None]), POINTS) for x in _inputs(s)]  # one at a time
    except (UsageError, FlowError, np.linalg.LinAlgError) as error:
        return str(error)
    largest: Floats = np.max(stiffness, 0)
    return largest
