"""Proofs of programs of lifted systems: mpmath's difference is inside, and what was altered is refuted or unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf

import integraph
from integraph import Program
from integraph.api.flow_maps import flow_map
from integraph.certify.flow_maps.difference import FlowDifference
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.errors import UsageError
from law import examples
from mp_taylor import flow as mp_flow

pytestmark = pytest.mark.slow  # kernels take long to compile

MODELS: dict[str, Any] = {  # equations, options, the same in mpmath, start (states, inputs), radius
    "pendulum": ("x' = v; v' = -9.81*sin(x)", {}, lambda x, v: [v, -mpf(981) / 100 * mp.sin(x)], [1.0, 0.0], 0.1),
    "FitzHugh–Nagumo": (
        "v' = v - v^3/3 - w + 0.5; w' = 0.08*(v + 0.7 - 0.8*w)", {},
        lambda v, w: [v - v**3 / 3 - w + mpf(1) / 2, (v + mpf(7) / 10 - mpf(8) / 10 * w) * 8 / 100], [0.5, 0.2], 0.1,
    ),
    "Hill": (
        "x' = 1.1*x^2/(1 + x^2) - x*y; y' = x - 0.3*y", {},
        lambda x, y: [mpf(11) / 10 * x**2 / (1 + x**2) - x * y, x - mpf(3) / 10 * y], [1.0, 0.5], 0.1,
    ),
    "driven": (
        "x' = v; v' = -0.3*x + u*tanh(x)", {"inputs": "u"},
        lambda x, v, u: [v, -mpf(3) / 10 * x + u * mp.tanh(x)], [0.5, 0.1, 0.7], 0.05,
    ),
    "logarithm": ("x' = 0.1*ln(x) + 0.7", {"positive": "x"}, lambda x: [mp.log(x) / 10 + mpf(7) / 10], [1.3], 0.1),
}  # fmt: skip


def made(name: str, **options: Any) -> tuple[QuadraticSystem, Program, np.ndarray]:
    text, lifting, _, start, radius = MODELS[name]
    system = integraph.lift(text, **lifting)
    box = np.add.outer(np.array(start), [-radius, radius])
    return system, system.program(1.0, box, **options), box


def truth(field: Callable[..., Sequence[mpf]], start: Sequence[float], states: int) -> list[mpf]:
    """x(1) in 40 digits."""
    with mp.workdps(40):
        held = [mpf(u) for u in start[states:]]
        solution = mpmath.odefun(lambda t, x: field(*x, *held), 0, [mpf(x) for x in start[:states]], tol=mpf(10) ** -32)
        return list(solution(1))


@pytest.mark.parametrize("project", [True, 0.3])
@pytest.mark.parametrize("name", MODELS)
def test_what_mpmath_computes_is_between(name: str, project: float | bool) -> None:
    """The exact flow of the stored controls beside the original equations, both in 40 digits and more."""
    system, program, box = made(name, project=project)
    proof = integraph.certify(program, system, 1e-12, progress=False)
    assert proof.status == "proved", proof
    assert proof.upper < 1e-14
    difference = FlowDifference(program, flow_map(program, system))
    count = len(system.source.states)
    for point in (box[:, 0], box.mean(1)):
        right = truth(MODELS[name][2], point.tolist(), count)
        left = mp_flow(program, [*point, *[0.0] * (program.width - program.inputs)])
        apart = float(max(abs(a - b) for a, b in zip(left, right, strict=False)))
        ((low, high),) = difference.at(tuple(point.tolist()), 64)
        assert low * (1 - 1e-6) - 1e-25 <= apart <= high * (1 + 1e-6) + 1e-25
        assert apart <= proof.upper * (1 + 1e-6) + 1e-25


@examples(20)
@given(st.lists(st.integers(-99, 99), min_size=5, max_size=5), st.sampled_from([True, 0.4]))
def test_random_systems(digits: list[int], project: float | bool) -> None:
    """Cubic systems with two decimals in each coefficient: mpmath's difference at a corner is below the bound."""
    assume(any(digits))  # else nothing moves, and there is no flow
    a, b, c, d, e = (f"({n}/100)" for n in digits)
    text = f"x' = {a}*x + {b}*y^3 + {c}; y' = {d}*x*y + {e}*x^2*y"
    system = integraph.lift(text)
    box = np.add.outer(np.array([0.3, -0.2]), [-0.1, 0.1])
    program = system.program(1.0, box, project=project)
    proof = integraph.certify(program, system, 1e-12, progress=False)
    assert proof.status == "proved"

    def field(x: mpf, y: mpf) -> list[mpf]:
        a, b, c, d, e = (mpf(n) / 100 for n in digits)
        return [a * x + b * y**3 + c, d * x * y + e * x**2 * y]

    right = truth(field, box[:, 1].tolist(), 2)
    left = mp_flow(program, [*box[:, 1], *[0.0] * (program.width - 2)])
    assert float(max(abs(p - q) for p, q in zip(left, right, strict=False))) <= proof.upper * (1 + 1e-6) + 1e-28


def altered(program: Program, label: str, tensor: str, change: Callable[[np.ndarray], np.ndarray]) -> Program:
    """The program with other numbers in the last segment of this name."""
    number = max(n for n, s in enumerate(program.segments) if s.label.startswith(label))
    segment = program.segments[number]
    blocks = tuple(
        replace(block, tensors=dict(block.tensors) | {tensor: change(block.tensors[tensor].copy())})
        for block in segment.blocks
    )
    segments = (*program.segments[:number], replace(segment, blocks=blocks), *program.segments[number + 1 :])
    return replace(program, segments=segments)


def test_altered_controls_are_refuted() -> None:
    system, program, _ = made("pendulum", project=0.5)
    for label, tensor, status in (("flow", "value", "refuted"), ("load", "w", "unknown")):
        wrong = altered(program, label, tensor, lambda numbers: numbers * (1 + 1e-9))
        assert integraph.certify(wrong, system, 1e-12, seconds=10, progress=False).status == status
        assert integraph.certify(wrong, system, 1e-6, progress=False).status == "proved"
    dirty = altered(program, "clear", "r", lambda rates: 20.0 + 0.0 * rates)
    proof = integraph.certify(dirty, system, 1e-12, seconds=10, progress=False)
    assert proof.status != "proved"
    assert proof.upper > 1e-10


def test_other_systems_are_no_proof() -> None:
    _, program, _ = made("pendulum")
    for text in ("x' = v; v' = -9.82*sin(x)", "x' = v; v' = -9.81*x", "x' = v; v' = -9.81*sin(x) - 1e-6*v"):
        assert integraph.certify(program, integraph.lift(text), progress=False).status in ("refuted", "unknown")
    with pytest.raises(UsageError, match="2 → 2, the source 1 → 1"):
        integraph.certify(program, integraph.lift("x' = -x"))


def test_a_wrong_lift_is_seen() -> None:
    """Terms that do not follow from the equations, though program and system agree."""
    system, _, box = made("pendulum")
    terms = tuple(term._replace(value=term.value * Fraction(11, 10)) for term in system.terms)
    wrong = replace(system, terms=terms)
    proof = integraph.certify(wrong.program(1.0, box), wrong, progress=False)
    assert proof.status == "unknown"
    assert "are not those of" in proof.reason


def test_new_variables_must_be_computed_first() -> None:
    """Without its first segments the flow starts at 0 in place of sin(x) and cos(x)."""
    system, program, _ = made("pendulum")
    proof = integraph.certify(replace(program, segments=program.segments[-1:]), system, progress=False)
    assert proof.status == "unknown"
    assert "does not compute the new variables" in proof.reason


def test_another_time_is_no_proof() -> None:
    system, program, _ = made("pendulum")
    later = replace(program, segments=(*program.segments[:-1], replace(program.segments[-1], duration=1.0 + 2**-30)))
    proof = integraph.certify(later, system, progress=False)
    assert proof.status == "unknown"
    assert "not T = 1" in proof.reason


def test_read_outs_and_repetitions() -> None:
    system, program, box = made("pendulum", output="v^2/2 - 9.81*cos(x)", project=0.5)
    assert integraph.certify(program, system, 1e-12, progress=False).status == "proved"
    other = replace(flow_map(program, system), output=integraph.function("v^2/2", variables="x, v").expression)
    assert integraph.certify(program, other, 1e-12, progress=False).status != "proved"
    step = system.program(0.25, np.add.outer(np.array([0.0, 0.0]), [-4, 4]))
    proof = integraph.certify(step.repeat(4), system, 1e-12, box=box, progress=False)
    assert proof.status == "proved"
    assert integraph.check(proof, step.repeat(4), system).holds


def test_wide_boxes_are_divided() -> None:
    system = integraph.lift("x' = y; y' = 1.1*(1 - x^2)*y - x")
    program = system.program(2.0, [[0.5, 2], [0.5, 2]])
    proof = integraph.certify(program, system, progress=False)
    assert proof.status == "proved"
    assert proof.boxes > 1
    assert integraph.check(proof, program, system).holds


def test_certificates(tmp_path: Any) -> None:
    """Saved, loaded, checked with the equations as text; forged bounds are seen."""
    system, program, _ = made("pendulum")
    proof = integraph.certify(program, system, progress=False)
    assert proof.certificate is not None
    program.save(tmp_path / "p.integraph")
    proof.certificate.save(tmp_path / "p.json")
    text = MODELS["pendulum"][0]
    checked = integraph.check(tmp_path / "p.json", tmp_path / "p.integraph", text)
    assert checked.holds
    assert "|x(1) − program|" in checked.claim
    assert not integraph.check(proof, program, integraph.lift("x' = v; v' = -9.8*sin(x)")).holds
    (leaf,) = proof.certificate.tree
    forged = replace(leaf, uppers=(leaf.uppers[0] / 2,))
    less = replace(proof.certificate, tree=(forged,), upper=forged.uppers[0]).sealed()
    assert "on leaf 1 the bound is" in integraph.check(less, program, system).reason


def test_equations_are_lifted_as_they_were() -> None:
    """Inputs, positive states and the read-out are those that the program names."""
    text = "x' = v; v' = -sqrt(x*h)*u; h' = -h/10"
    system = integraph.lift(text, inputs="u", positive="x, h")
    box = [[1.0, 1.1], [0.0, 0.1], [0.5, 0.6], [0.2, 0.3]]
    program = system.program(0.5, box, output="x*h - exp(-v), v", project=0.2)
    proof = integraph.certify(program, text, progress=False)
    assert proof.status == "proved"
    assert proof.upper < 1e-14
    assert integraph.check(proof, program, system).holds


def test_sentences() -> None:
    _, program, box = made("pendulum")
    with pytest.raises(UsageError, match="give its equations after the program"):
        integraph.certify(program)
    with pytest.raises(UsageError, match="bound proves between which numbers"):
        integraph.prove("y0 > 0", program, box)
    plant = integraph.lift("x' = v; v' = -sin(x) + u", inputs="u")
    brake = integraph.compile("-2*tanh(x) - v", variables="x, v", box=[[-1, 1], [-1, 1]])
    with pytest.raises(UsageError, match="2 → 2, the source 3 → 2"):
        integraph.certify(plant.program(0.1, [[-1, 1], [-1, 1]], controller=brake), plant)
    gone = integraph.lift("x' = x^2").program(0.9, [[0.9, 1.0]])
    proof = integraph.certify(gone, integraph.lift("x' = x^2"), box=[[0.9, 1.2]], seconds=2, progress=False)
    assert proof.status == "unknown"
    assert "solutions may end before T" in proof.reason


def test_repeated_and_relaxed_programs_are_proved_from_their_equations() -> None:
    text, *_ = MODELS["FitzHugh–Nagumo"]
    step = integraph.lift(text, progress=False).relax(10.0).program(0.25, [[0.4, 0.6], [0.1, 0.3]])
    repeated = step.repeat(2).repeat(2)
    assert repeated.box is not None
    assert np.array_equal(repeated.box.high, [0.6, 0.3])
    assert repeated.origin is not None
    assert dict(repeated.origin.options) | {"relax": 10.0, "rounds": 4} == dict(repeated.origin.options)
    proof = integraph.certify(repeated, text, progress=False)
    assert proof.status == "proved"
    assert proof.proven < 1e-14
