"""Right-hand sides that are functions, traced by jax, against the function itself in numpy or scipy's solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import integraph
from integraph.errors import SourceError, UsageError
from integraph.frontends.dynamics import read_system
from integraph.targets.float_arithmetic import values
from lazy import Lazy, needs

pytestmark = needs("jax")
jnp: Any = Lazy("jax.numpy")
DRAWS = np.random.default_rng(1)


def forced(t: Any, y: Any, np_: Any = None) -> Any:
    xp = np_ or jnp
    return [y[1], -xp.sin(y[0]) - 0.1 * y[1] + xp.cos(t)]


def test_a_function_of_time_and_states_as_scipy_takes_it() -> None:
    system = integraph.lift(forced, states="x, v", progress=False)
    assert system.source.states == ("x", "v", "t")
    true = solve_ivp(lambda t, y: forced(t, y, np), (0, 3), [0.5, 0], method="DOP853", rtol=1e-13, atol=1e-15)
    assert np.max(np.abs(system.simulate([0.5, 0, 0], [3.0]).states[0, -1, :2] - true.y[:, -1])) < 1e-11


@pytest.mark.parametrize(
    ("f", "options", "variables", "point", "expected"),
    [
        (lambda x, v: (v, -2 * x), {}, ("x", "v"), [0.5, 3.0], [3.0, -1.0]),
        (lambda t, x: -x, {}, ("x",), [0.5], [-0.5]),
        (lambda y: jnp.stack([y[1], y[0] ** 3]), {"states": "a b"}, ("a", "b"), [2.0, 3.0], [3.0, 8.0]),
        (lambda y, u: -y * u[0], {"states": 2, "inputs": "g"}, ("x1", "x2", "g"), [1, 2, 5.0], [-5.0, -10.0]),
        (lambda x, u: u / x, {"inputs": "u"}, ("x", "u"), [2.0, 5.0], [2.5]),
        (lambda u, x: u / x, {"inputs": "u"}, ("x", "u"), [2.0, 5.0], [2.5]),
        (lambda x, t: (t, x), {"states": "x, t"}, ("x", "t"), [2.0, 5.0], [5.0, 2.0]),
    ],
)
def test_arguments(
    f: Callable[..., Any],
    options: dict[str, Any],
    variables: tuple[str, ...],
    point: list[float],
    expected: list[float],
) -> None:
    system = read_system(f, **options)
    assert system.variables == variables
    assert values(system.expression, np.array([point]))[0].tolist() == expected


def test_a_grid_in_jax_is_lifted() -> None:
    n = 200

    def heat(u: Any) -> Any:
        return 30 * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)) + u - u**3

    system = integraph.lift(heat, states=n, progress=False)
    assert len(system.new) == n
    x = np.sin(np.arange(n))
    start = system.start(x)[0]
    right = system.b + system.A @ start + system.Q @ np.outer(start, start).ravel()
    assert np.allclose(right[:n], 30 * (np.roll(x, 1) - 2 * x + np.roll(x, -1)) + x - x**3, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "options", "words"),
    [
        (lambda x: -x if x > 0 else x, {}, "without `if`"),
        (lambda x: -DRAWS.random() * x, {}, "no random input"),
        (lambda x: jnp.floor(x), {}, "it jumps"),
        (lambda x, v: v, {}, "returns 1 derivative for 2 states"),
        (lambda a, b, c: a, {"states": "x, y"}, "has the arguments a, b, c"),
        (lambda x: -x, {"states": "x", "inputs": "x"}, "a state and an input"),
        (lambda y: -y, {"states": "exp"}, "the function of every formula"),
        (lambda y: -y, {"states": 0}, "1 to 100,000 states"),
        (lambda x: -x, {"parameters": {"k": 1}}, "bind them"),
        (lambda *x: -x[0], {}, "named arguments"),
        ("x' = -x", {"states": "x"}, "equations name their own"),
    ],
)
def test_refusals(f: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises((SourceError, UsageError), match=words):
        read_system(f, **options)


def test_a_kink_is_shown_where_it_is() -> None:
    with pytest.raises(SourceError, match=r"abs \(test_callables\.py:\d+\) has a kink"):
        integraph.lift(lambda x: -abs(x))
