"""The tape without functions says the same as the one with them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from integraph.certify.loops.tape import FUNCTION, operations
from integraph.certify.solutions.function_free import function_free, functions, point_values
from solution_truth import unlifted

SYSTEMS = {  # equations, the same in mpmath, a point; u is held
    "x' = v; v' = -sin(x) + cos(x)*u": (lambda x, v, u: [v, -mpmath.sin(x) + mpmath.cos(x) * u], (0.7, -0.3, 0.4)),
    "x' = exp(-x*v)/(1 + v^2); v' = tanh(x) - sqrt(2 + v)": (
        lambda x, v, u: [mpmath.exp(-x * v) / (1 + v**2), mpmath.tanh(x) - mpmath.sqrt(2 + v)],
        (0.7, -0.3, 0.4),
    ),
    "x' = ln(2 + x)*atan(v) - tan(u); v' = asin(x) + acos(v) + sigmoid(x)": (
        lambda x, v, u: [
            mpmath.log(2 + x) * mpmath.atan(v) - mpmath.tan(u),
            mpmath.asin(x) + mpmath.acos(v) + 1 / (1 + mpmath.exp(-x)),
        ],
        (0.7, -0.3, 0.4),
    ),
    "x' = asinh(x) - acosh(2 + v); v' = atanh(x*v) - pi*x^(1/3) + 2^u": (
        lambda x, v, u: [
            mpmath.asinh(x) - mpmath.acosh(2 + v),
            mpmath.atanh(x * v) - mpmath.pi * mpmath.cbrt(x) + mpmath.power(2, u),
        ],
        (0.7, -0.3, 0.4),
    ),
}


@pytest.mark.parametrize("text", SYSTEMS)
def test_values_and_rates(text: str) -> None:
    """The derivative of each function is that of its value along the solution, by central differences."""
    field, point = SYSTEMS[text]
    tape = operations(unlifted(text, inputs=["u"]).source.expression, ("x", "v"))
    free, (changing, held) = function_free(tape), functions(tape)
    assert FUNCTION not in free.code[:, 0]
    assert changing
    with mpmath.workdps(30):
        slope = field(*point)
        before, here, after = (
            np.array(
                point_values(tape, np.array([*(p + h * float(s) for p, s in zip(point, slope, strict=False)), 0.4]))
            )
            for h in (-1e-5, 0.0, 1e-5)
        )
    values = here.mean(1)
    inputs = np.concatenate([point[:2], values[changing], point[2:], values[held]])
    rates = np.array(point_values(free, inputs)).mean(1)[free.outputs]
    assert rates[:2] == pytest.approx([float(s) for s in slope], rel=1e-13)
    assert rates[2:] == pytest.approx((after - before)[changing].mean(1) / 2e-5, rel=1e-7, abs=1e-8)
    assert np.ptp(here, axis=1).max() < 1e-14


def test_a_value_that_does_not_exist_is_infinite() -> None:
    tape = operations(unlifted("x' = ln(x)").source.expression, ("x",))
    assert point_values(tape, np.array([-1.0]))[tape.outputs[0]] == (-np.inf, np.inf)
