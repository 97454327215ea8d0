"""`prove`: whether a property holds for every input of a box."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.api.arguments import check_workers, opened, positive
from integraph.api.bounds import computable, in_double
from integraph.api.certificates import certify, parsed_certificate
from integraph.api.flow_maps import is_lifted
from integraph.api.origin import check_options, is_learned, outputs, target_of
from integraph.clock import now
from integraph.errors import UsageError
from integraph.files import FilePath
from integraph.frontends import Inputs, Parameters, ReadOptions, Target, Variables, domain, read
from integraph.frontends.files import VNNLIB
from integraph.frontends.property import vnnlib
from integraph.frontends.property.names import Names, names_of
from integraph.frontends.property.sentence import is_property, parse
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.program import Program
from integraph.program.box import interval, where
from integraph.targets import Network
from integraph.targets.property import Case
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.certify.certificate.certificate import Certificate
    from integraph.certify.proof import Proof
    from integraph.certify.properties.proof import Closeness, PropertyProof

LAST = 0.1  # of the time that is left for the search, at least, once the distance of a program is proved


def prove(
    property: str | os.PathLike[str],
    source: Any,
    box: ArrayLike | None = None,
    *,
    compiled_from: Any = None,
    closeness: Proof | Certificate | FilePath | None = None,
    seconds: float = 60.0,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
    variables: Variables = None,
    inputs: Inputs = None,
    parameters: Parameters = None,
) -> PropertyProof:
    """Prove a property for every x of the box, or find a point where it does not hold.

    The property is a text such as "y0 <= 2 and y1 - y0 > 0.1" of outputs y0, y1, … and inputs, which have their own
    names or are x0, x1, …; or the path of a .vnnlib file, which states the box too, and what is
    unsafe: that nothing is.

    `source` is a network, a formula or a graph, given as to `compile`, or a program. Of a program the property is
    proved of what it was `compiled_from` (left out where that was a formula), with all outputs off by as much as the
    program may be: by the proof `closeness`, or a certificate of it, which is checked, or by a proof that `certify`
    makes now. A program that was learned has no source: the property is proved of its own flow, without a certificate.
    The search takes so many `seconds` at most, and Ctrl-C keeps what is proved: the result lists the boxes that are
    open. `workers` processes share the work (one for each core, when it takes longer than a second), or the dask
    cluster of a `scheduler`.
    """
    from integraph.certify.properties.proof import prove as search

    positive("seconds", seconds)
    check_workers(workers, scheduler)
    begun = now()
    if is_property(source) and not is_property(property):
        raise UsageError("the property comes first: prove(property, source, box)", argument="property")
    source = opened(source)
    program = source if isinstance(source, Program) else None
    if program is None and (compiled_from is not None or closeness is not None):
        given = "compiled_from" if compiled_from is not None else "closeness"
        raise UsageError("it is for programs, and the source is none: leave it out", argument=given)
    options = ReadOptions(variables, inputs, box=box, parameters=parameters)
    if program is not None and is_lifted(program, compiled_from):
        raise UsageError(
            "properties are proved of networks, formulas and graphs, and of programs compiled from these; of the "
            "program of a lifted system, bound proves between which numbers every output is",
            argument="source",
        )
    if program is not None:
        check_options(compiled_from, options)
    own = program is not None and compiled_from is None and is_learned(program)
    if program is not None and own:
        return _of_program(property, program, box, closeness, seconds, progress, workers, scheduler)
    target = read(source, options) if program is None else target_of(program, compiled_from, options)
    names = names_of(target.inputs, outputs(target), () if isinstance(target, Network) else target.variables)
    cases, text = _cases(property, target, names, _box(program, target, box), box is not None)
    whole = _only_finite(cases)
    computed = computable(target, whole, "prove")
    near = None
    if program is not None:
        _only_linear(cases)
        if closeness is None:
            sides = list(zip(whole.low.tolist(), whole.high.tolist(), strict=True))
            closeness = certify(
                program,
                target,
                box=sides,
                seconds=0.5 * seconds,
                progress=progress,
                workers=workers,
                scheduler=scheduler,
            )
        near = _closeness(program, target, whole, closeness, workers)
    left = max(seconds - (now() - begun), LAST * seconds)
    return search(computed, cases, text, near, left, progress, names.called, workers, scheduler)


def _of_program(
    property: Any,
    program: Program,
    box: ArrayLike | None,
    closeness: Proof | Certificate | FilePath | None,
    seconds: float,
    progress: bool,
    workers: int | None,
    scheduler: str | None,
) -> PropertyProof:
    """The proof of a property of the flow of a program that has no source."""
    from integraph.certify.properties.proof import prove as search

    if closeness is not None:
        raise UsageError("the program has no source that it could be close to: leave it out", argument="closeness")
    in_double(program)
    names = names_of(program.inputs, program.outputs, ())
    cases, text = _cases(property, program, names, where(program, box), box is not None)
    _only_linear(cases)
    _only_finite(cases)
    return search(program, cases, text, None, seconds, progress, names.called, workers, scheduler)


def _box(program: Program | None, target: Target, box: ArrayLike | None) -> Interval:
    return interval(domain(target, box), target.inputs) if program is None else where(program, box)


def _cases(
    property: Any, target: Target | Program, names: Names, box: Interval, given: bool
) -> tuple[tuple[Case, ...], str]:
    """What is to be proved, and as which text it is shown."""
    count = target.outputs if isinstance(target, Program) else outputs(target)
    if isinstance(property, os.PathLike) or str(property).strip().lower().endswith(VNNLIB):
        path = Path(str(property).strip() if isinstance(property, str) else os.fspath(property))
        if given:
            raise UsageError(f"{path.name} states the box: leave this one out", argument="box")
        cases = vnnlib.read(path)
        stated = cases[0].property
        if (stated.inputs, stated.outputs) != (target.inputs, count):
            raise UsageError(
                f"{path.name} is about {counted(stated.inputs, 'input')} and {counted(stated.outputs, 'output')}, the "
                f"source has {target.inputs} and {count}",
                argument="property",
            )
        return cases, f"no input is unsafe by {path.name}"
    text = parse(property, names)
    if not any(quantity.outputs or quantity.expression is not None for quantity in text.quantities):
        raise UsageError("it says nothing of the outputs y0, y1, …", argument="property", value=property)
    return (Case(tuple(box.low.tolist()), tuple(box.high.tolist()), text),), " ".join(str(property).split())


def _ends(cases: tuple[Case, ...], high: bool) -> Floats:
    """The lower or upper ends of the smallest box around all cases."""
    ends: Floats = np.array([case.high if high else case.low for case in cases])
    furthest: Floats = ends.max(0) if high else ends.min(0)
    return furthest


def _only_finite(cases: tuple[Case, ...]) -> Interval:
    """The box around all cases."""
    whole = Interval(*(_ends(cases, high) for high in (False, True)))
    if any(math.isinf(b - a) for a, b in zip(whole.low.tolist(), whole.high.tolist(), strict=True)):
        raise UsageError("a side of the box is longer than float64 holds: take a smaller box", argument="box")
    return whole


def _only_linear(cases: tuple[Case, ...]) -> None:
    if any(quantity.expression is not None for case in cases for quantity in case.property.quantities):
        raise UsageError(
            "of a program only linear quantities are proved: write max and abs as and and or of comparisons, or prove "
            "the property of the source",
            argument="property",
        )


def _closeness(
    program: Program, target: Target, box: Interval, given: Proof | Certificate | FilePath, workers: int | None
) -> Closeness:
    """How far the program is from its source, proved on the box. A certificate may come from anyone: it is checked."""
    from integraph.certify.certificate.certificate import Certificate
    from integraph.certify.certificate.replay import check
    from integraph.certify.proof import Proof
    from integraph.certify.properties.proof import Closeness
    from integraph.certify.search.work import shared
    from integraph.certify.statement import digests

    proof = given if isinstance(given, Proof) else None
    certificate = parsed_certificate(given) if proof is None else proof.certificate
    if certificate is None or (isinstance(certificate, Certificate) and not math.isfinite(certificate.upper)):
        why = "" if proof is None else f": {proof.reason or proof.status}"
        raise UsageError(f"how far the program is from its source is not proved{why}", argument="closeness")
    if not isinstance(certificate, Certificate):
        raise UsageError(
            "it is no proof of how far a program is from its source, which certify makes", argument="closeness"
        )
    for stated, own, what in zip(
        (certificate.program, certificate.target), digests(program, target), ("program", "source"), strict=True
    ):
        if stated != own:
            raise UsageError(f"it is a proof about another {what}: leave it out, and it is made", argument="closeness")
    low, high = (list(ends) for ends in (certificate.box.low, certificate.box.high))
    if len(low) != program.inputs or (box.low < low).any() or (box.high > high).any():
        raise UsageError(
            "the program is proved to be close to its source on another box: prove it on this one", argument="closeness"
        )
    if proof is None and not (checked := check(certificate, program, target, shared(workers))):
        raise UsageError(f"the certificate does not hold: {checked.reason}", argument="closeness")
    return Closeness(program, certificate)
