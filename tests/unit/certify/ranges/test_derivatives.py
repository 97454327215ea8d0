"""Partial derivatives of the functions of closed forms, against differences in many digits."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

from integraph.certify.ranges.derivatives import PARTIALS
from integraph.certify.ranges.gradients import GradientBall, lifted, variable
from integraph.certify.ranges.logistic import _sigma, _softplus
from integraph.certify.ranges.riccati import _kappa, _sech, _tanh, tanhc
from integraph.gadgets.functions.arb import SCALARS
from integraph.numbers.arb.conversion import precision

H = 2.0**-60
ARGUMENTS = {  # away from poles, and near the points where a formula changes
    "exactly": [(0.3,)],
    "abs": [(0.3,), (-2.0,)],
    "sign": [(0.3,), (-2.0,)],
    "relu": [(0.3,), (-2.0,)],
    "exp": [(1.5,), (-2.0,)],
    "grow": [(1.5, -0.7), (-2.0, 3.0)],
    "expm1": [(1.5,), (-2.0,)],
    "expm1c": [(1.5,), (-20.0,), (1e-6,), (0.0,)],
    "log": [(1.5,), (0.01,)],
    "log1p": [(1.5,), (-0.9,)],
    "log1pc": [(1.5,), (-0.9,), (1e-5,), (0.0,), (3e-4,)],
    "sin": [(1.5,), (-2.0,)],
    "cos": [(1.5,), (-2.0,)],
    "hypot": [(1.5, 2.0), (-2.0, 0.1)],
    "atan2": [(1.5, 2.0), (-2.0, 0.1)],
    "power": [(1.5, 0.7, 2.5), (-1.0, -0.5, -1.0)],
    "log_cosh": [(1.5, 0.3), (-2.0, 0.0), (1e-5, 0.7), (0.0, 0.2), (3e-4, -0.4)],
    "fall": [(1.5, 0.2, 0.7, 1.0), (-1.0, 0.0, -2.0, 2.0)],
    "gauss": [(1.5, 0.2, 0.7, 1.0), (-1.0, 0.0, -2.0, 2.0), (1.0, 0.5, 1e-5, 1.0), (1.0, -0.3, 0.0, 1.0)],
}


@pytest.mark.parametrize("name", PARTIALS)
def test_partials(name: str) -> None:
    function = SCALARS[name][0]
    for point in ARGUMENTS[name]:
        for n, rule in enumerate(PARTIALS[name]):
            if rule is None:
                continue
            with precision(300):
                there = [arb(x) for x in point]
                ahead, behind = list(there), list(there)
                ahead[n], behind[n] = ahead[n] + H, behind[n] - H
                slope = (function(*ahead) - function(*behind)) / (2 * H)
            with precision(64):
                value = rule(*(arb(x) for x in point))
            assert abs(float(value.mid()) - float(slope.mid())) < 1e-9 * max(1.0, abs(float(slope.mid()))), (name, n)


@pytest.mark.parametrize("name", PARTIALS)
def test_mean_value_form(name: str) -> None:
    """On a cell around each point it holds the function at random points of the cell."""
    rng = np.random.default_rng(2)
    function = SCALARS[name][0]
    gradient = lifted(function, PARTIALS[name])
    for point in ARGUMENTS[name]:
        check(function, gradient, point, rng)


@pytest.mark.parametrize("gradient", [_sigma, _softplus, _tanh, tanhc, _sech, _kappa])
def test_forms(gradient: object) -> None:
    rng = np.random.default_rng(4)
    for x in (-3.0, -0.2, 0.0, 1e-4, 0.8, 5.0):
        check(lambda v: gradient(v), gradient, (x,), rng)  # type: ignore[operator]


def check(function: object, gradient: object, point: tuple[float, ...], rng: np.random.Generator) -> None:
    offsets = [arb(0, 0.01) for _ in point]
    with precision(64):
        cell = [variable(arb(x, 0.01), arb(x), n, offsets) for n, x in enumerate(point)]
        result = gradient(*cell)  # type: ignore[operator]
        for _ in range(20):
            inside = [arb(x + d) for x, d in zip(point, rng.uniform(-0.0099, 0.0099, len(point)), strict=True)]
            value = function(*inside)  # type: ignore[operator]
            ball = result.value if isinstance(result, GradientBall) else result
            if ball.is_finite() and value.is_finite():
                assert ball.overlaps(value), (point, ball, value)
