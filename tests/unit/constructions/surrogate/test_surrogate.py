"""How often a black box is called, how good the result is, and what is said of one that is not smooth."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp

import integraph
from integraph.constructions.surrogate.surrogate import surrogate
from integraph.errors import SourceError, UsageError
from integraph.numbers.intervals import Interval
from slow import mostly_slow


class Box:
    """A function of (B, d) that counts the points at which it is called."""

    def __init__(self, f: Callable[[np.ndarray], np.ndarray]) -> None:
        self.f, self.calls, self.times = f, 0, 0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.calls += len(x)
        self.times += 1
        return self.f(x)


def compiled(f: Callable[[np.ndarray], np.ndarray], d: int, eps: float, most: int, **more: Any) -> integraph.Program:
    """The program, compared with f at random points; f was not called more often than that."""
    box = Box(f)
    program = integraph.compile(box, eps, box=[(0.0, 1.0)] * d, inputs=d, **more)
    assert box.calls <= most
    assert program.origin is not None
    assert program.origin.options["calls"] == box.calls
    assert box.times <= 40, "arrays, not points"
    x = np.random.default_rng(7).random((2000, d))
    error = np.abs(program(x) - f(x).reshape(len(x), -1)).max()
    assert program.budget is None
    assert program.seen is not None
    assert error <= eps
    assert error <= 1.5 * program.seen <= 1.5 * eps, "not promised, but honest"
    return program


@pytest.mark.parametrize(("eps", "most"), [(1e-3, 100), (1e-6, 100), (1e-10, 200)])
def test_a_sine_takes_few_calls(eps: float, most: int) -> None:
    program = compiled(lambda x: np.sin(3.0 * x.reshape(-1)), 1, eps, most)
    x = np.random.default_rng(1).random(20)
    with mp.workdps(30):
        wanted = [float(mp.sin(3 * mp.mpf(t))) for t in x]
    np.testing.assert_allclose(program(x)[:, 0], wanted, atol=eps)


def test_a_norm_saves_no_thousands_of_calls() -> None:
    box = Box(lambda x: np.sin(3.0 * x.reshape(-1)))
    program = integraph.compile(box, 1e-3, inputs=1, norm=81.0, order=4)
    assert program.budget is not None
    assert box.calls <= 120


TWO: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "product": lambda x, y: np.cos(x * y),
    "resonance": lambda x, y: 1.0 / ((x - 0.5) ** 2 + 1.0 + y),
    "oblique wave": lambda x, y: np.sin(12.0 * x + 6.0 * y),
    "waves": lambda x, y: np.sin(20.0 * x) * np.cos(20.0 * y),
    "hills": lambda x, y: (
        0.75 * np.exp(-((9 * x - 2) ** 2 + (9 * y - 2) ** 2) / 4)
        + 0.5 * np.exp(-((9 * x - 7) ** 2 + (9 * y - 3) ** 2) / 4)
    ),
}
THREE: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "product": lambda x, y, z: np.sin(3 * x) * np.cos(2 * y) * np.exp(z),
    "Ishigami": lambda x, y, z: (
        np.sin(6 * x - 3) + 7 * np.sin(6 * y - 3) ** 2 + 0.1 * (6 * z - 3) ** 4 * np.sin(6 * x - 3)
    ),
    "Gaussian": lambda x, y, z: np.exp(-10.0 * ((x - 0.4) ** 2 + (y - 0.4) ** 2 + (z - 0.4) ** 2)),
}


@mostly_slow("name", TWO, quick=1)
def test_two_inputs(name: str) -> None:
    compiled(lambda x: TWO[name](*x.T), 2, 1e-3, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("name", THREE)
def test_three_inputs(name: str) -> None:
    compiled(lambda x: THREE[name](*x.T), 3, 1e-3, 10_000)


@pytest.mark.slow
def test_several_outputs_and_a_box() -> None:
    program = integraph.compile(lambda x, y: (np.exp(x - y), np.sin(x * y)), 1e-4, box=[(-1, 2), (3, 4)])
    x = np.random.default_rng(0).uniform([-1, 3], [2, 4], (1000, 2))
    wanted = np.stack([np.exp(x[:, 0] - x[:, 1]), np.sin(x[:, 0] * x[:, 1])], 1)
    assert np.abs(program(x) - wanted).max() <= 1e-4


def test_methods_with_derivatives_do_with_those_of_the_polynomial() -> None:
    program = integraph.compile(lambda x: np.sin(2.0 * x), 5e-2, method="remark", order=3)
    assert program.seen is not None
    x = np.linspace(0.0, 1.0, 101)
    assert np.abs(program(x)[:, 0] - np.sin(2.0 * x)).max() <= 1.1 * program.seen <= 5e-2


def rounded(x: np.ndarray) -> np.ndarray:
    return np.round(np.sin(3.0 * x), 3)


def noise(x: np.ndarray) -> np.ndarray:
    return np.sin(3.0 * x) + 1e-4 * np.random.default_rng().standard_normal(np.shape(x))


ODD: dict[str, tuple[Callable[..., np.ndarray], float, str, int]] = {
    "kink": (lambda x: np.abs(x - 0.3), 1e-6, r"a kink near x = 0\.3: split the box at x = 0\.3, ask", 400),
    "small kink": (lambda x: np.sin(3 * x) + 0.01 * np.abs(x - 0.7), 1e-6, r"a kink near x = 0\.7: split", 600),
    "kink in y": (lambda x, y: np.sin(x) * np.abs(y - 0.4), 1e-5, r"a kink near y = 0\.4 where x = ", 1600),
    "jump": (lambda x: (3 * x).astype(int), 1e-3, r"a jump or a logarithm near x = 0\.(333|666)", 400),
    "pole": (lambda x: 1.0 / (x - 0.3), 1e-3, r"a pole near x = 0\.3: leave it out of the box", 400),
    "double pole": (lambda x, y: 1.0 / (x - 0.3 + 0.1 * y) ** 2, 1e-3, r"a pole near x = 0\.2", 1600),
    "root": (np.sqrt, 1e-5, r"a cusp or a root.* near x = 0: take a box that ends before x = 0", 500),
    "random": (noise, 1e-4, r"noise of about (0\.000|\d\.?\d*e-05).*: ask for eps ≥ 0\.0", 120),
    "rounding": (rounded, 1e-3, r"noise of about 9\.9e-05: ask for eps ≥ 0\.01", 120),
    "single precision": (lambda x: np.sin(3 * x).astype(np.float32), 1e-8, r"noise of about [1-5]\.?\d*e-08: ask", 120),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_is_not_smooth_is_recognised(name: str) -> None:
    f, eps, look, most = ODD[name]
    message = rf"eps = .*: no fit is that close after \d+ values of .*; it looks like {look}"
    with pytest.raises(UsageError, match=message) as caught:
        integraph.compile(f, eps)
    calls = int(str(caught.value).split(" values of ")[0].rsplit(" ", 1)[1])
    assert calls <= most


def test_values_near_the_end_of_float64() -> None:
    with pytest.raises(SourceError, match=r"reach 1\.\d+e\+308, .* larger than float64 holds: divide the function"):
        integraph.compile(lambda x: 1.7e308 * np.sin(9.0 * x), 1e300)
    with pytest.raises(UsageError, match=r"noise of about \d\.?\d*e\+\d+: ask for eps ≥ \de\+300"):
        integraph.compile(lambda x: 1e300 * np.round(np.sin(9e4 * x)), 1e290)


def test_noise_below_the_tolerance_does_not_matter() -> None:
    """The eps that the message names is enough."""
    program = integraph.compile(rounded, 0.01)
    assert program.seen is not None
    x = np.linspace(0, 1, 1001)
    assert np.abs(program(x)[:, 0] - rounded(x)).max() <= 0.01
    assert integraph.compile(noise, 0.05).seen is not None


@pytest.mark.slow
def test_a_kink_that_is_within_reach_is_noted() -> None:
    program = integraph.compile(lambda x: np.abs(x - 0.3), 1e-2)
    assert program.origin is not None
    assert str(program.origin.options["looks like"]).startswith("a kink near x = 0.3")
    assert "the function looks like a kink near x = 0.3" in repr(program)
    x = np.linspace(0, 1, 2001)
    assert np.abs(program(x)[:, 0] - np.abs(x - 0.3)).max() <= 1e-2


@pytest.mark.parametrize("place", np.random.default_rng(3).random(12).tolist())
def test_an_error_at_a_kink_is_not_overlooked(place: float) -> None:
    """It is large in so small a part of the box that points everywhere do not meet it."""
    f, x = integraph.function(lambda x: np.sin(3.0 * x) + np.abs(x - place)), np.linspace(0.0, 1.0, 20_001)
    polynomial = surrogate(f, Interval(np.zeros(1), np.ones(1)), 1e-2)
    error = np.abs(polynomial.values(x[:, None])[:, 0] - np.sin(3.0 * x) - np.abs(x - place)).max()
    assert error <= max(2.0 * polynomial.error, 0.0035)


def test_a_function_is_counted_afresh() -> None:
    """What it was called for before does not use up the calls that are allowed, and the result is the same."""
    f = integraph.function(lambda x: np.exp(x))
    assert f.values is not None
    first = integraph.compile(f, 1e-4, max_calls=100)
    f.values(np.zeros((1000, 1)))
    again = integraph.compile(f, 1e-4, max_calls=100)
    assert first.origin is not None
    assert again.origin is not None
    assert first.origin.options == again.origin.options
    assert f.meter is not None
    assert f.meter.calls > 1000


def test_a_smooth_function_is_nothing_else() -> None:
    """However many calls it takes."""
    program = integraph.compile(lambda x: np.sin(100.0 * x), 1e-3)
    assert program.origin is not None
    assert program.origin.options["calls"] >= 100  # type: ignore[operator]
    assert "looks like" not in program.origin.options


def test_no_more_calls_than_allowed() -> None:
    for most in (1, 5, 8, 20, 60, 100, 130):
        box = Box(lambda x: np.sin(200.0 * x.reshape(-1)))
        with pytest.raises(UsageError, match=rf"max_calls = {most}: ") as caught:
            integraph.compile(box, 1e-3, inputs=1, max_calls=most)
        assert box.calls <= max(most, 7), "and those that find out how to call it"
        assert caught.value.argument == "max_calls"
    with pytest.raises(UsageError, match=r"max_calls = 400: .* was called at \d+ points, and"):
        integraph.compile(np.sin, 1e-6, norm=1.0, max_calls=400)
    assert integraph.plan(np.sin, 1e-3, max_calls=100).chosen.N == 0


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "many"])
def test_the_limit_is_a_number(most: object) -> None:
    with pytest.raises(UsageError, match=r"max_calls = .*: needs an integer ≥ 1"):
        integraph.compile(np.sin, 1e-3, max_calls=most)  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["sin(x)", integraph.function("sin(x)"), [([[1.0]], [0.0], "tanh")]])
def test_the_limit_is_for_what_is_called(source: Any) -> None:
    with pytest.raises(UsageError, match=r"max_calls = 100: this is for a (Python )?function, and the source is "):
        integraph.compile(source, 1e-3, max_calls=100)


def nan_at_the_end(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0.97, np.nan, x)


def fails_at_the_end(x: np.ndarray) -> np.ndarray:
    if np.max(x) > 0.97:
        raise ValueError("out of range")
    return x**2


def test_errors_name_the_point() -> None:
    with pytest.raises(SourceError, match=r"nan_at_the_end is nan at x = (1|0\.9[789]\d*): it must be finite"):
        integraph.compile(nan_at_the_end, 1e-3)
    with pytest.raises(SourceError, match=r"fails_at_the_end fails at x = (1|0\.9[789]\d*): ValueError: out of range"):
        integraph.compile(fails_at_the_end, 1e-3)


def test_a_slow_function_takes_seconds() -> None:
    calls = 0

    def slow(x: float, y: float) -> float:
        nonlocal calls
        if np.ndim(x):
            raise TypeError("one point at a time")
        calls += 1
        time.sleep(0.002)
        return float(np.sin(3 * x) * np.exp(-y))

    program = integraph.compile(slow, 1e-3)
    assert calls <= 200
    assert abs(program([[0.3, 0.8]])[0, 0] - np.sin(0.9) * np.exp(-0.8)) <= 1e-3


def test_ctrl_c_leaves_clean() -> None:
    def interrupted(x: np.ndarray) -> np.ndarray:
        if len(np.atleast_1d(x)) > 8:
            raise KeyboardInterrupt
        return x

    f = integraph.function(interrupted)
    with pytest.raises(KeyboardInterrupt):
        integraph.compile(f, 1e-3, max_calls=50)
    assert f.meter is not None
    assert f.meter.limit is None


def test_a_function_made_by_hand_is_counted_too() -> None:
    box = Box(lambda x: np.exp(x))
    program = integraph.compile(integraph.Function(1, 1, "exp", ("x",), values=box), 1e-4)
    assert program.origin is not None
    assert program.origin.options["calls"] == box.calls <= 60
