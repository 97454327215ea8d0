"""Numbers near the ends of float64 on their way: engine `exact` says so, or gets them right."""

from __future__ import annotations

import numpy as np
import pytest

from gadget_cases import CASES, Case
from integraph import Program, Registers, Segment, build, compile, gadgets
from integraph.errors import SourceError
from integraph.flow.exact.engine import EXACT
from integraph.flow.precise import PRECISE
from integraph.numbers.arrays import Floats
from integraph.program import Options
from integraph.program.views import dense
from slow import mostly_slow


def _program(case: Case, t: float, huge: str, target: str) -> Program:
    """The case with one of its registers started at 1e-150·x·v, where x·v is infinite; one target is read."""
    r = Registers()
    x, v = r.inputs("x_0", 1), r.inputs("v_0", 1)
    roles = case.gadget.targets + case.gadget.operands
    shapes = {role: case.shapes.get(role, (1,)) for role in roles}
    views = {role: dense(0, shape) if 0 in shape else r.inputs(role, *shape) for role, shape in shapes.items()}
    first = views[huge].reshape(views[huge].size)[:1]
    start = Segment("start", (gadgets.product(first, x, v, w=1e-150),), 1.0)
    step = Segment(case.name, (case.gadget(*views.values(), **case.tensors),), t)
    return build(r, [start, step], views[target])


def _inputs(case: Case) -> Floats:
    """Three points whose register becomes ±1e160 or more, and one that is left alone."""
    ordinary = case.inputs(case.draw(np.random.default_rng(3), 1.0, 4))
    factors = np.array([[1e160, 1e150], [1e160, 1e298], [-1e160, 1e298], [0.0, 0.0]])
    return np.concatenate([factors, ordinary], 1)


ANGLES = [("sin_cos", "x"), ("spiral", "t"), ("power_spiral", "t")]  # no digit of 1e160 modulo 2π is known
ROLES = [
    (case, role)
    for case in CASES
    for role in case.gadget.targets + case.gadget.operands
    if 0 not in case.shapes.get(role, (1,)) and (case.name, role) not in ANGLES
]


@mostly_slow(("case", "role"), ROLES, quick=1, ids=[f"{case.name}, {role}" for case, role in ROLES])
def test_a_fast_step_that_overflows_is_not_believed(case: Case, role: str) -> None:
    """Its product is infinite, that of the closed form, which multiplies in another order, is not."""
    x = _inputs(case)
    for target in case.gadget.targets:
        program = _program(case, 1.0, role, target)
        one_by_one = np.concatenate([EXACT.run(program, row[None], Options()).outputs for row in x])
        for found in (one_by_one, EXACT.run(program, x, Options()).outputs):
            done = np.isfinite(found).all(1)
            assert done[3]
            truth = PRECISE.run(program, x[done], Options()).outputs
            np.testing.assert_allclose(found[done], truth, 1e-9, 1e-300, err_msg=target)


@pytest.mark.parametrize(
    ("formula", "box", "x", "truth"),
    [
        ("1e160/sqrt(1+x*x)", (1e150, 1e160), [1e160], 1.0),
        ("y*(1+x^4)^-0.25", (1e75, 1e80), [1e80, 1e80], 1.0),
        ("1e5*x/(1+x*x)*1e155", (1e100, 1e156), [1e156], 1e4),
        ("x/(1+x*x)", (1e100, 1e156), [1e156], 1e-156),
    ],
)
def test_formulas_of_huge_numbers(formula: str, box: tuple[float, float], x: list[float], truth: float) -> None:
    np.testing.assert_allclose(compile(formula, box=box)(x), [truth], 1e-12)


@pytest.mark.parametrize(
    ("formula", "box", "x", "truth"),
    [
        ("ln(x)", (1e-150, 1e170), 1e165, 165 * np.log(10.0)),
        ("1/x", (1e-300, 2e-300), 1.6e-300, 6.25e299),
        ("x^-2", (1e-140, 1e-130), 1e-135, 1e270),
        ("x^-3", (1e-100, 1e-99), 5e-100, 8e297),
        ("x^-1.5", (0, 1e-150), 1e-150, 1e225),
    ],
)
def test_scales_of_bases_at_the_ends_of_float64(formula: str, box: tuple[float, float], x: float, truth: float) -> None:
    np.testing.assert_allclose(compile(formula, box=box)([x]), [truth], 1e-12)


def test_a_base_without_a_scale_is_refused() -> None:
    with pytest.raises(SourceError, match=r"x is in \[1e-100, 1e-99\] on the box"):
        compile("x^-40", box=(1e-100, 1e-99))
