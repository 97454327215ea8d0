"""Taylor steps in jax: values against scipy, gradients against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lazy import Lazy, needs

jax = Lazy("jax")
jnp = Lazy("jax.numpy")
taylor = Lazy("integraph.flow.jax.taylor")
pytestmark = [pytest.mark.slow, needs("jax")]


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def problem(D: int = 2, W: int = 3, R: int = 2, B: int = 4) -> tuple[Any, np.ndarray]:
    random = np.random.default_rng(0)
    shapes = ((D, W), (D, W, W), (D, W, R), (D, R, W), (D, R, W))
    return taylor.Controls(*(0.5 * random.normal(size=shape) for shape in shapes)), 0.5 * random.normal(size=(B, W))


def by_scipy(controls: Any, y: np.ndarray) -> np.ndarray:
    for b, A, U, V1, V2 in zip(*controls, strict=True):
        ends = [
            solve_ivp(lambda t, z: b + A @ z + U @ ((V1 @ z) * (V2 @ z)), (0, 1), row, "DOP853", rtol=1e-13, atol=1e-14)  # noqa: B023
            for row in y
        ]
        y = np.stack([end.y[:, -1] for end in ends])
    return y


def test_both_flows_are_those_of_scipy() -> None:
    controls, y = problem()
    truth = by_scipy(controls, y)
    steps, last = taylor.flow(controls, jnp.asarray(y), order=16, steps=8)
    np.testing.assert_allclose(steps, truth, rtol=0, atol=1e-11)
    np.testing.assert_allclose(taylor.solution(controls, jnp.asarray(y)), truth, rtol=0, atol=1e-11)
    assert last.shape == (len(y),)
    assert float(jnp.max(last)) < 1e-16


def test_the_last_term_tells_how_far_short_series_are_off() -> None:
    controls, y = problem()
    rough, last = taylor.flow(controls, jnp.asarray(y), order=3, steps=1)
    off = np.abs(np.asarray(rough) - by_scipy(controls, y)).max(1)
    assert (off > 1e-3).all()
    assert (np.sqrt(np.asarray(last)) > 1e-3).all()


def test_gradients_are_those_of_differences() -> None:
    controls, y = problem(B=2)

    def end(controls: Any, y: Any) -> Any:
        return jnp.sum(jnp.sin(taylor.flow(controls, y, order=5, steps=2)[0]))

    slopes = jax.grad(end, (0, 1))((taylor.Controls(*map(jnp.asarray, controls))), jnp.asarray(y))
    run = jax.jit(end)
    for place, array in enumerate((*controls, y)):
        slope = np.asarray((*slopes[0], slopes[1])[place])
        for where in list(np.ndindex(array.shape))[::7]:
            parts = []
            for sign in (1, -1):
                moved = [np.array(one) for one in (*controls, y)]
                moved[place][where] += sign * 1e-5
                parts.append(float(run(taylor.Controls(*moved[:5]), moved[5])))
            assert slope[where] == pytest.approx((parts[0] - parts[1]) / 2e-5, abs=1e-8)


def test_a_row_that_blows_up_is_lost_alone() -> None:
    one = np.ones((1, 1, 1))
    controls = taylor.Controls(np.zeros((1, 1)), 0 * one, one, one, one)  # y' = y², y = y0/(1 − y0 t)
    ends = np.asarray(taylor.solution(controls, jnp.array([[0.5], [2.0], [-3.0], [0.0], [np.nan]])))[:, 0]
    np.testing.assert_allclose(ends[[0, 2, 3]], [1.0, -0.75, 0.0], rtol=1e-12)
    assert np.isnan(ends[[1, 4]]).all()


def test_float32_stays_float32() -> None:
    controls, y = problem()
    single = taylor.Controls(*(one.astype(np.float32) for one in controls))
    end, _ = taylor.flow(single, jnp.asarray(y, jnp.float32), order=8, steps=4)
    assert end.dtype == jnp.float32
    np.testing.assert_allclose(end, by_scipy(controls, y), rtol=1e-4, atol=1e-4)
