"""Proofs for users: `certify` a program, `check` a certificate.

The layer `certify`, and Arb with it, is loaded when one of them is called.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.api.arguments import check_workers, opened
from integraph.api.bounds import computable
from integraph.api.flow_maps import flow_map, is_lifted
from integraph.api.origin import is_exact, outputs, target_of
from integraph.certify.problem import Box  # and the package, before a function takes its name
from integraph.clock import DeadlineError, check_deadline
from integraph.constructions.lifting.flow_map import FlowMap
from integraph.errors import IntegraphError, UsageError
from integraph.files import FilePath, begins_with, check_path
from integraph.frontends import Inputs, Parameters, ReadOptions, Target, Variables, read
from integraph.frontends.files import file_kind
from integraph.numbers.arrays import Floats, real, whole
from integraph.numbers.intervals import Interval
from integraph.program import Program
from integraph.program.box import where
from integraph.program.engine import DOUBLE
from integraph.targets import Function, Network
from integraph.targets.graph import Graph
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.certify.certificate.certificate import Certificate
    from integraph.certify.certificate.replay import Checked
    from integraph.certify.loops.certificate import LoopCertificate
    from integraph.certify.loops.result import LoopResult
    from integraph.certify.proof import Proof
    from integraph.certify.properties.certificate import PropertyCertificate
    from integraph.certify.properties.proof import PropertyProof

    AnyCertificate = Certificate | Proof | PropertyCertificate | PropertyProof | LoopCertificate | LoopResult

POINTS, BEST, ZOOMS = 2000, 8, 6  # of the search in float64
FLOWS = 1e-10  # that is asked of programs of lifted systems, which promise nothing
LEAST = 1e-12  # that is asked of exact programs, most of which promise less
WORK, PART = 50_000_000, 5_000_000  # its points times terms, in all and at a time


def certify(
    program: Program | FilePath,
    source: Any = None,
    eps: float | None = None,
    *,
    box: ArrayLike | None = None,
    gap: float | None = None,
    boxes: int = 100_000,
    seconds: float = 60.0,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
    variables: Variables = None,
    inputs: Inputs = None,
    parameters: Parameters = None,
) -> Proof:
    """Prove sup |source − program| ≤ eps over the box, for the exact flow of the stored controls.

    `source` is what the program was compiled from, with the `variables`, `inputs` and `parameters` that `compile` was
    given; without one it is the formula that the program names. Of a program that `lift(…).program` made it is the
    system, or its equations with their `parameters`: then |x(T) − program| ≤ eps for every start. Without `eps` the
    program's own promise is to be proved (of an exact program 1e-12, if that is larger; of a lifted system 1e-10),
    without `box` on the promise's box. With `gap` the bound is tightened further, until it is within a factor 1 + gap
    of a difference that is really there. `boxes` and `seconds` limit the work: what is not proved by then is
    `unknown`. `workers` processes share it (one for each core, when it takes longer than a second), or the dask cluster
    of a `scheduler`.
    """
    from integraph.certify.proof import Work, prove

    program = _program(program)
    options = ReadOptions(variables, inputs, parameters=parameters)
    target, domain, promised = _target(source, program, options), _box(program, box), _promised(program, box)
    _fits(program, target)
    wanted = _default(program, target, promised) if eps is None and gap is None else eps
    whole("boxes", boxes, 1)
    check_workers(workers, scheduler)
    if isinstance(seconds, bool) or not real(seconds, "seconds") > 0:
        raise UsageError("it must be > 0", argument="seconds", value=seconds)
    for name, value in (("eps", wanted), ("gap", gap)):
        if value is not None and (isinstance(value, bool) or not 0 <= real(value, name) < math.inf):
            raise UsageError("it must be finite and ≥ 0", argument=name, value=value)
    return prove(
        program, target, domain, eps=None if wanted is None else float(wanted), gap=gap, promised=promised,
        work=Work(boxes, seconds, workers, scheduler, progress), starts=lambda: _starts(program, target, domain),
    )  # fmt: skip


def check(
    certificate: AnyCertificate | FilePath,
    program: Any,
    source: Any = None,
    *,
    workers: int | None = None,
    variables: Variables = None,
    inputs: Inputs = None,
    parameters: Parameters = None,
) -> Checked:
    """Whether a certificate, or the file of one, holds for this program and its source; `status` is what it shows.

    The source is given as to `certify`; the certificate of a property of a source, not of a program, takes that in
    place of the program, that of a closed loop takes the loop; or its result or .toml file, whose specification and
    starts it must answer. Everything that the certificate claims is
    computed again, by modules that share nothing with the search. `workers` processes share the parts of the box (one
    for each core, when it takes longer than a second).
    """
    from integraph.certify.certificate.replay import check as replay
    from integraph.certify.loops.certificate import LoopCertificate
    from integraph.certify.properties.certificate import PropertyCertificate
    from integraph.certify.properties.replay.check import check as replay_property
    from integraph.certify.search.work import shared

    if isinstance(certificate, Program):
        raise UsageError("the certificate comes first: check(certificate, program, source)", argument="certificate")
    check_workers(workers, None)
    parsed, options = parsed_certificate(certificate), ReadOptions(variables, inputs, parameters=parameters)
    if isinstance(parsed, LoopCertificate):
        asked = {"source": source, "variables": variables, "inputs": inputs, "parameters": parameters}
        for name in (name for name, value in asked.items() if value is not None):
            raise UsageError("the certificate is about a closed loop, which has no source: leave it out", argument=name)
        return _check_loop(parsed, program, workers)
    program = opened(program)
    if isinstance(parsed, PropertyCertificate):
        if not isinstance(program, Program):
            if source is not None:
                raise UsageError("a program comes before its source: check(certificate, source)", argument="source")
            return replay_property(parsed, _computed(read(program, options), parsed), run=shared(workers))
        target = _target(source, program, options)
        if isinstance(target, FlowMap):
            raise UsageError("the certificate is about a property of a source, and there is none of a lifted program")
        return replay_property(parsed, _computed(target, parsed), program, target, shared(workers))
    return replay(parsed, _program(program), _target(source, program, options), shared(workers))


def _check_loop(certificate: LoopCertificate, subject: Any, workers: int | None) -> Checked:
    from integraph.api.loop_file import SUFFIX, read_question
    from integraph.api.loop_questions import LoopQuestion, question_of
    from integraph.api.loop_specs import read_spec
    from integraph.certify.loops.loop import Loop
    from integraph.certify.loops.replay.check import check as replay
    from integraph.certify.loops.result import LoopResult
    from integraph.certify.search.work import shared

    asked: LoopQuestion | None = None
    if isinstance(subject, LoopResult):
        asked = question_of(subject)
    elif isinstance(subject, str | os.PathLike) and os.fspath(subject).lower().endswith(SUFFIX):
        asked = read_question(subject)
    closed = subject if asked is None else asked.loop
    if not isinstance(closed, Loop):
        raise UsageError(
            f"the certificate is about a closed loop, got {type(subject).__name__}: give what integraph.loop returned, "
            f"its loop, or its {SUFFIX} file",
            argument="program",
        )
    spec = read_spec(certificate.spec, closed.states, closed.period, closed.steps)
    checked = replay(certificate, closed, spec, shared(workers))
    if checked.holds and asked is not None and (other := asked.other(certificate)):
        return replace(checked, holds=False, status="unknown", reason=other)
    return checked


def parsed_certificate(certificate: AnyCertificate | FilePath) -> Certificate | PropertyCertificate | LoopCertificate:
    """The certificate of a proof, or in a file."""
    from integraph.certify.certificate.certificate import Certificate
    from integraph.certify.loops.certificate import FORMAT as LOOP
    from integraph.certify.loops.certificate import LoopCertificate
    from integraph.certify.loops.result import LoopResult
    from integraph.certify.proof import Proof
    from integraph.certify.properties.certificate import FORMAT as PROPERTY
    from integraph.certify.properties.certificate import PropertyCertificate
    from integraph.certify.properties.proof import PropertyProof

    if isinstance(certificate, Proof | PropertyProof):
        if certificate.certificate is None:
            reason = certificate.reason if isinstance(certificate, Proof) else certificate.ending.value
            raise UsageError(f"this proof has no certificate: {reason or 'nothing is proved'}")
        return certificate.certificate
    if isinstance(certificate, Certificate | PropertyCertificate | LoopCertificate):
        return certificate
    if isinstance(certificate, LoopResult):
        return certificate.certificate()
    check_path(certificate)
    if begins_with(certificate, f'{{"format":"{PROPERTY}"'.encode()):
        return PropertyCertificate.load(certificate)
    if begins_with(certificate, f'{{"format":"{LOOP}"'.encode()):
        return LoopCertificate.load(certificate)
    if kind := file_kind(certificate):
        raise UsageError(
            f"{os.fspath(certificate)} is {kind}: the proof comes first, a .json file that certify, prove or loop has "
            "written, then the program or the source that it is about"
        )
    return Certificate.load(certificate)


def _computed(target: Target, certificate: PropertyCertificate) -> Network | Graph:
    """The source as its property was proved of it: a formula on the box around all cases."""
    boxes = [one.box for one in certificate.cases]
    low, high = np.array([box.low for box in boxes]).min(0), np.array([box.high for box in boxes]).max(0)
    if len(low) != target.inputs:
        raise UsageError(f"the certificate is about {counted(len(low), 'input')}, the source has {target.inputs}")
    return computable(target, Interval(low, high), "prove")


def _program(given: Any) -> Program:
    program = opened(given)
    if not isinstance(program, Program):
        raise UsageError(f"a program is needed, got {type(program).__name__}: compile or load one")
    return program


def _target(source: Any, program: Program, options: ReadOptions) -> Target | FlowMap:
    """What there are proofs of."""
    if is_lifted(program, source):
        return flow_map(program, source, options.parameters)
    target = target_of(program, source, options)
    if isinstance(target, Function) and target.rows is not None:
        raise UsageError(
            f"{target.name} are data, which say nothing between their rows, so nothing can be proved of them: "
            "integraph.compare measures the difference on the rows, and a formula in place of the data can be proved"
        )
    return target


def _fits(program: Program, target: Target | FlowMap) -> None:
    shapes = [f"{program.inputs} → {program.outputs}", f"{target.inputs} → {outputs(target)}"]
    if shapes[0] != shapes[1]:
        raise UsageError(f"the program maps {shapes[0]}, the source {shapes[1]}: give what it was compiled from")


def _starts(program: Program, target: Target | FlowMap, box: Box) -> list[tuple[float, ...]]:
    """Where the difference looks largest in float64; none of it is believed, it only says where to look."""
    if isinstance(target, FlowMap):
        return [box.centre]  # float64 sees its own rounding, not that of the controls
    values = target if isinstance(target, Network) else target.values
    called = isinstance(target, Function) and target.expression is None  # there is no proof, and a call may cost much
    if values is None or called or program.bits > DOUBLE:
        return []
    rng = np.random.default_rng(0)
    low, high = np.array(box.low), np.array(box.high)
    terms = max(program.terms, 1)
    points = int(min(max(WORK // terms, 8 * BEST), POINTS))
    x = np.concatenate([rng.uniform(size=(points, len(low))), rng.integers(0, 2, (points // 8, len(low)))])
    starts: list[tuple[float, ...]] = []
    try:
        for zoom in range(ZOOMS):
            inside = np.clip(low * (1 - x) + high * x, low, high)
            off = np.concatenate([_off(program, values, rows) for rows in _parts(inside, PART // terms)])
            best = x[np.argsort(np.where(np.isfinite(off), -off, 0.0), kind="stable")[:BEST]]
            starts = [tuple(point) for point in np.clip(low * (1 - best) + high * best, low, high).tolist()]
            near = best[:, None] + 0.3 ** (zoom + 1) * rng.normal(size=(BEST, points // BEST, len(low)))
            x = np.concatenate([best, np.clip(near.reshape(-1, len(low)), 0.0, 1.0)])
    except IntegraphError:
        pass  # one of them does not exist somewhere: the proof will say so
    except DeadlineError:
        pass  # what was seen by now is where to look
    return starts


def _parts(points: Floats, most: int) -> list[Floats]:
    return np.array_split(points, -(-len(points) // max(most, 1)))


def _off(program: Program, values: Callable[[Floats], Floats], x: Floats) -> Floats:
    """By how much, in float64."""
    check_deadline()
    with np.errstate(all="ignore"):
        distances: Floats = np.abs(program(x) - values(x)).max(1)
    return distances


def _default(program: Program, target: Target | FlowMap, promised: float | None) -> float | None:
    """What is to be proved where nobody says: the promise; of an exact program no less than arithmetic can show, and of
    a graph that promises nothing whatever can be shown."""
    if isinstance(target, FlowMap):
        return FLOWS
    if isinstance(target, Graph) and promised is None:
        return None
    return max(LEAST, promised or 0.0) if is_exact(program) else promised


def _promised(program: Program, box: ArrayLike | None) -> float | None:
    """What the construction promises for this box."""
    budget = program.budget
    if budget is None:
        return None
    asked = where(program, box)
    inside = (asked.low >= budget.low).all() and (asked.high <= budget.high).all()
    return budget.total if inside else None


def _box(program: Program, box: ArrayLike | None) -> Box:
    cube = where(program, box)
    return Box(tuple(cube.low.tolist()), tuple(cube.high.tolist()))
