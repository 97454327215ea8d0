"""A tanh that starts at small rests: values and derivatives beside mpmath, at 0, far out, and in every mode."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from lazy import Lazy, needs
from slow import mostly_slow

jax = Lazy("jax")
jnp = Lazy("jax.numpy")
decayed_tanh = Lazy("integraph.flow.jax.decayed_tanh")
pytestmark = needs("jax")
LAMBDAS = (3e-4, None, 0.0, -1e-5, 0.3)
PLACES = (0.0, 1e-130, -1e-20, 1e-5, -0.1, 0.4999, -0.5001, 2.0, -30.0, 500.0)


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def exact(v: Any, alpha: Any, lam: Any) -> tuple[Any, Any]:
    """Lemma 1 from any start, by cosh and sinh."""
    sinhc = mpmath.sinh(v) / v if v else mpmath.mpf(1)
    rise = (mpmath.cosh(v) - 1) / v if v else mpmath.mpf(0)
    u = mpmath.cosh(v) + lam * sinhc
    return (alpha + mpmath.sinh(v) + lam * rise) / u, (v * mpmath.sinh(v) + lam * mpmath.cosh(v)) / u


@mostly_slow("lam", LAMBDAS, quick=1)
def test_values_and_slopes(lam: float | None) -> None:
    alpha, v = 2e-4, np.array(PLACES)
    start = (v, np.full(len(v), alpha), None if lam is None else np.full(len(v), lam))
    ends = decayed_tanh.decayed_tanh(*start)
    rates = [jax.vmap(jax.grad(lambda *given, k=k: decayed_tanh.decayed_tanh(*given)[k], 0))(*start) for k in (0, 1)]
    with mpmath.workdps(60):
        given = [(mpmath.mpf(one), mpmath.mpf(alpha), mpmath.mpf(lam or 0.0)) for one in PLACES]
        for k, name in enumerate(("alpha", "lam")):
            values = [float(exact(*one)[k]) for one in given]
            slopes = [
                float(mpmath.diff(lambda t, one=one, k=k: exact(t, *one[1:])[k], one[0], h=mpmath.mpf("1e-20")))
                for one in given
            ]
            assert np.allclose(ends[k], values, rtol=4e-15, atol=1e-101), name
            assert np.allclose(rates[k], slopes, rtol=1e-13, atol=1e-15), name


@pytest.mark.slow
def test_all_slopes_in_both_modes_and_second_derivatives_at_0() -> None:
    """Of a function with all three arguments, beside mpmath."""

    def ours(z: Any) -> Any:
        a, b = decayed_tanh.decayed_tanh(*z)
        return jnp.sin(a) + a * b + b

    def truth(*z: Any) -> Any:
        a, b = exact(*z)
        return mpmath.sin(a) + a * b + b

    for point in ((0.0, 1e-4, 2e-4), (0.7, -1e-3, 5e-4), (-0.49999, 1e-3, 1e-3)):
        z = np.array(point)
        forward, reverse, hessian = jax.jacfwd(ours)(z), jax.jacrev(ours)(z), jax.hessian(ours)(z)
        with mpmath.workdps(60):
            exactly = [mpmath.mpf(one) for one in point]
            orders = np.eye(3, dtype=int)
            slopes = [float(mpmath.diff(truth, exactly, tuple(map(int, n)))) for n in orders]
            second = [[float(mpmath.diff(truth, exactly, tuple(map(int, n + m)))) for m in orders] for n in orders]
        assert np.allclose(forward, slopes, rtol=1e-13, atol=1e-16)
        assert np.allclose(reverse, slopes, rtol=1e-13, atol=1e-16)
        assert np.allclose(hessian, second, rtol=1e-11, atol=1e-12)


def test_a_start_that_is_not_sure_is_nan_and_the_largest_numbers_are_not() -> None:
    a, b = decayed_tanh.decayed_tanh(np.array([1e-3, 1e300, -1e300]), np.zeros(3), np.array([-0.9, 1e-3, 1e-3]))
    assert np.isnan([a[0], b[0]]).all()
    assert list(a[1:]) == [1.0, -1.0]
    assert list(b[1:]) == [1e300, 1e300]


def test_single_precision_at_0() -> None:
    v = np.array([0.0, 1e-30, 1e-6, 3.0], np.float32)
    start = v, np.full(4, 1e-4, np.float32), np.full(4, 1e-4, np.float32)
    a, b = decayed_tanh.decayed_tanh(*start)
    wanted = [exact(*map(mpmath.mpf, map(float, one))) for one in zip(*start, strict=True)]
    assert a.dtype == np.float32
    assert np.allclose(a, [float(one[0]) for one in wanted], rtol=1e-6, atol=1e-14)
    assert np.allclose(b, [float(one[1]) for one in wanted], rtol=1e-6, atol=1e-14)
