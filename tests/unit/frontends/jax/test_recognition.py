"""What is written in jax is compiled exactly without being asked to; what is not, is not traced."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError, UsageError
from integraph.frontends.jax.recognition import check_parameters, is_jax
from lazy import framework, needs

pytestmark = needs("jax")
POINTS = np.random.default_rng(0).uniform(size=(5, 2))


@pytest.fixture
def jnp() -> Any:
    return framework("jax.numpy")


class Affine:
    """A model of the user's own."""

    def __init__(self, weights: Any) -> None:
        self.weights = weights

    def __call__(self, x: Any) -> Any:
        return self.weights @ x

    def method(self, x: Any) -> Any:
        return self.weights @ x

    @property
    def dangerous(self) -> Any:
        raise AssertionError("a property was run")


def inside(x: Any) -> Any:
    import jax.numpy as own

    return own.sin(x)


def of_numpy(x: Any) -> Any:
    return np.sin(x)


def test_what_is_jax(jnp: Any) -> None:
    jax, weights = framework("jax"), jnp.ones((3, 2))
    helper: Callable[[Any], Any] = lambda x: jnp.sin(x)  # noqa: E731
    for f in (
        lambda x: jnp.sin(x), lambda x: helper(x) + 1, lambda x: weights @ x, jnp.sin, jnp.add, jax.nn.relu,
        jax.nn.gelu, jax.jit(of_numpy), jax.grad(of_numpy), jax.vmap(of_numpy), inside, Affine(weights),
        Affine(weights).method, functools.partial(of_numpy, where=weights), lambda x, w=weights: x,
        lambda x, w={"a": [weights]}: x, lambda x: [jnp.sin(y) for y in x],
    ):  # fmt: skip
        assert is_jax(f), f
    for g in (of_numpy, np.sin, Affine(np.ones((3, 2))), abs, lambda x: x, functools.partial(of_numpy), 3, "sin(x)"):
        assert not is_jax(g), g


def test_nothing_is_jax_before_jax_is_imported() -> None:
    code = "import sys; from integraph.frontends.jax.recognition import is_jax\n"
    code += "def f(x):\n    import jax.numpy as jnp\n    return jnp.sin(x)\n"
    code += "assert not is_jax(f) and 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numpy_is_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integraph.frontends.jax.read", lambda *_: pytest.fail("traced"))
    assert integraph.compile(of_numpy, 1e-3).origin.method == "lean"  # type: ignore[union-attr]


def test_arguments(jnp: Any) -> None:
    """Several parameters are numbers, one is a vector, or a batch of one."""
    wanted = np.sin(3 * POINTS[:, 0]) * np.exp(-POINTS[:, 1])
    for f, options in (
        (lambda x, y: jnp.sin(3 * x) * jnp.exp(-y), {}),
        (lambda x, y: jnp.sin(3 * x) * jnp.exp(-y), {"variables": "u v"}),
        (lambda x: jnp.sin(3 * x[0]) * jnp.exp(-x[1]), {"inputs": 2}),
        (lambda x: jnp.sin(3 * x[0]) * jnp.exp(-x[1]), {"inputs": [(2,)]}),
        (lambda x: jnp.sin(3 * x[0]) * jnp.exp(-x[1]), {"box": [(0, 1), (0, 1)]}),
        (lambda x: jnp.sin(3 * x[:, 0]) * jnp.exp(-x[:, 1]), {"inputs": 2}),
        (lambda *x: jnp.sin(3 * x[0]) * jnp.exp(-x[1]), {"inputs": 2}),
    ):
        program = integraph.compile(f, **options)
        assert program.origin.method == "exact"  # type: ignore[union-attr]
        np.testing.assert_allclose(program(POINTS)[:, 0], wanted, rtol=1e-14)
        assert integraph.compare(program, f, POINTS).largest < 1e-6  # it is called in float32 where shapes are lost
    named = integraph.compile(lambda x, y: jnp.sin(x) * y, variables="u v").registers
    assert (named.name(0), named.name(1)) == ("u", "v")
    np.testing.assert_allclose(integraph.compile(jnp.sin)([0.3])[0], np.sin(0.3), rtol=1e-15)
    with pytest.raises(SourceError, match="Too many indices"):
        integraph.compile(lambda x: jnp.sin(x[1]), method="exact", inputs=[()])


def test_options_of_theorem_1_ask_for_theorem_1(jnp: Any) -> None:
    def f(x: Any) -> Any:
        return jnp.sin(x)

    assert integraph.compile(f, 1e-2, order=3).origin.method == "lean"  # type: ignore[union-attr]
    assert integraph.compile(f, 1e-2, method="lean").origin.method == "lean"  # type: ignore[union-attr]


def test_what_cannot_be_traced_is_approximated_with_a_note(jnp: Any) -> None:
    jax = framework("jax")
    with pytest.warns(RuntimeWarning, match=r"ConcretizationTypeError|TracerArrayConversion"):
        program = integraph.compile(lambda x: jnp.sin(float(x)), 1e-3)
    assert program.origin.method == "lean"  # type: ignore[union-attr]
    with pytest.warns(RuntimeWarning, match=r"lgamma .* does not compile"):
        integraph.compile(lambda x: jax.scipy.special.gammaln(x + 1), 1e-2)
    with pytest.raises(SourceError, match="sort"):  # its values cannot be had without shapes
        integraph.compile(lambda x: jnp.sort(x), inputs=[(2,)])


def test_models_without_parameters() -> None:
    linen = type("Module", (), {"__module__": "flax.linen.module", "scope": None})
    with pytest.raises(UsageError, match=r"Module of flax.linen has no parameters: pass model.bind"):
        integraph.compile(linen())
    haiku = type("Transformed", (tuple,), {"__module__": "haiku._src.transform"})
    with pytest.raises(UsageError, match=r"model.apply\(params, x\)"):
        integraph.compile(haiku())
    bound = linen()
    bound.scope = object()
    check_parameters(bound)


def test_a_function_can_be_called_after_it_was_compiled(jnp: Any) -> None:
    """In float32: what jax cached while it was traced in float64 is not used."""
    A = np.random.default_rng(3).normal(size=(5, 2))

    def f(x: Any, y: Any) -> Any:
        return jnp.tanh(A @ jnp.stack([x, y])).sum()

    with framework("jax").enable_x64(False):
        program = integraph.compile(f)
        assert abs(program([0.3, 0.4])[0] - float(f(0.3, 0.4))) < 1e-5
        assert f(0.3, 0.4).dtype == np.float32
