"""Functions in jax.numpy that cannot be compiled: one clear error each, with the primitive and the line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integraph.errors import SourceError, UsageError
from integraph.frontends import jax as reader
from lazy import Lazy, needs

pytestmark = needs("jax")
jax, jnp, nn = Lazy("jax"), Lazy("jax.numpy"), Lazy("jax.nn")

TRI = np.tril(np.ones((4, 3), bool))
HERE = Path(__file__).name

PRIMITIVES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sort": (lambda x: jnp.sort(x), "not analytic"),
    "argmax": (lambda x: x[jnp.argmax(x)], "jumps"),
    "floor": (lambda x: jnp.floor(x), "jumps"),
    "while": (lambda x: jax.lax.while_loop(lambda c: c[0, 0] < 9, lambda c: c + 1, x), "a fixed number of steps"),
    "scan": (lambda x: jax.lax.scan(lambda c, _: (c * x, None), x, length=10**9)[0], "at most 10000 are unrolled"),
    "cumprod": (lambda x: jnp.cumprod(x, 0), "write out"),
    "reduce_window": (lambda x: jax.lax.reduce_window(x, 1.0, jax.lax.add, (2, 2), (1, 1), "VALID"), "elementary"),
    "reduce_window_sum": (
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (2, 2), (1, 1), "SAME", base_dilation=(2, 1)),
        "jax.lax.pad",
    ),
    "eq": (lambda x: jax.grad(lambda x: jnp.maximum(x, 0.5).sum())(x), "derivative of relu, abs or max"),
    "reduce_min": (lambda x: jnp.min(x), "not analytic"),
    "atan2": (lambda x: jnp.arctan2(x, x[::-1]), "jnp.arctan"),
    "lu": (lambda x: jnp.linalg.inv(x[:3]), "linear system"),
    "erf_inv": (lambda x: jax.scipy.special.erfinv(x), "elementary"),
    "lgamma": (lambda x: jax.scipy.special.gammaln(x), "elementary"),
    "convert_element_type": (lambda x: jnp.fft.fft(x), "numbers are real"),
    "gt": (lambda x: jnp.where(x > 0, x, x**2 + 1), "a choice that depends on the inputs"),
    "lt": (lambda x: jnp.where(x < 0, 2.0, 3.0), "a choice that depends on the inputs"),
    "ge": (lambda x: (x >= 0) * x, "a choice that depends on the inputs"),
    "ne": (lambda x: jnp.where(x != 0, x, 1.0), "a choice that depends on the inputs"),
    "le": (lambda x: jax.lax.cond(x[0, 0] <= 0, jnp.sin, jnp.cos, x), "a choice that depends on the inputs"),
    "gather": (lambda x: jnp.take(x, np.array([1, 7]), axis=1), "outside"),
    "div": (lambda x: x / jnp.array([1.0, 0.0, 2.0]), "a constant that is 0"),
    "pow": (lambda x: (-2.0) ** x, "-2"),
    "random_seed": (lambda x: x + jax.random.normal(jax.random.key(0), (4, 3)), "outside of the function"),
}


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_one_clear_error_each(primitive: str) -> None:
    f, words = PRIMITIVES[primitive]
    with pytest.raises(SourceError) as raised:
        reader.read(f, ((4, 3),))
    said = str(raised.value)
    line = f.__code__.co_firstlineno
    assert said.startswith(f"{primitive} ({HERE}:{line})")
    assert words in said
    assert str(Path(__file__).parent) not in said
    assert len(said) < 400


def _with(f: Callable[..., Any], axis: int | None = 1) -> Callable[[Any], Any]:
    """f of x, the largest c along an axis, and e = exp(x − c)."""

    def whole(x: Any) -> Any:
        c = x.max(axis, keepdims=True)
        return f(x, c, jnp.exp(x - c))

    return whole


LARGEST: dict[str, Callable[[Any], Any]] = {
    "alone": lambda x: x.max(),
    "subtracted": lambda x: x - x.max(),
    "subtracted from less": lambda x: x[0] - x.max(1, keepdims=True),
    "grown": _with(lambda x, c, e: e),
    "added up": _with(lambda x, c, e: e.sum(1)),
    "other sums": _with(lambda x, c, e: e / e.sum(0, keepdims=True)),
    "sums of others": _with(lambda x, c, e: e / e.sum(1, keepdims=True)[::-1]),
    "sums for columns": _with(lambda x, c, e: e[:3] / e[:3].sum(1)),
    "sums of others, one shift": _with(lambda x, c, e: e / e.sum(1, keepdims=True)[::-1], None),
    "another largest": _with(lambda x, c, e: e / jnp.exp(x - c[::-1]).sum(1, keepdims=True)),
    "another x": _with(lambda x, c, e: e / jnp.exp(x[:, ::-1] ** 2 - c).sum(1, keepdims=True)),
    "logsumexp of other sums": _with(lambda x, c, e: jnp.log(e.sum(0)) + jnp.tile(c[0], 3)),
    "half a logsumexp": _with(lambda x, c, e: jnp.log(e.sum(1))),
    "logsumexp with another": _with(lambda x, c, e: jnp.log(e.sum(1)) + c[::-1, 0]),
    "logsumexp turned round": _with(lambda x, c, e: jnp.log(e.sum(1))[::-1] + c[::-1, 0]),
    "log_softmax with others": _with(lambda x, c, e: x - c - jnp.log(jnp.exp(2 * x - c).sum(1, keepdims=True))),
    "part of it": _with(lambda x, c, e: jnp.where(TRI, e, 0.5) / e.sum(1, keepdims=True)),
    "less than a mask": lambda x: _with(lambda x, c, e: jnp.where(TRI[::-1], e, 0.0) / e.sum(1, keepdims=True))(
        jnp.where(TRI, x, -jnp.inf)
    ),
    "more than a mask": lambda x: _with(lambda x, c, e: jnp.where(TRI, e, 0.5) / e.sum(1, keepdims=True))(
        jnp.where(TRI, x, -jnp.inf)
    ),
    "one over the sums of others": _with(lambda x, c, e: e * (1 / e.sum(1, keepdims=True))[::-1]),
    "one over other sums of others": _with(lambda x, c, e: e[:3].T * (1 / e[:3].sum(1, keepdims=True))),
    "divided twice": _with(lambda x, c, e: e / e.sum(1, keepdims=True) ** 2),
    "multiplied": _with(lambda x, c, e: e * e),
    "added to its square": _with(lambda x, c, e: (2 * e + e * e) / e.sum(1, keepdims=True)),
    "one shift, its sum over rows": _with(lambda x, c, e: 2 * e * (1 / e.sum(1, keepdims=True)), None),
    "less of it": _with(lambda x, c, e: jnp.where(TRI, e, 0.0) / e.sum(1, keepdims=True)),
}


@pytest.mark.parametrize("name", LARGEST)
def test_a_maximum_that_does_not_cancel(name: str) -> None:
    with pytest.raises(SourceError, match=rf"^reduce_max \({HERE}:\d+\).*not analytic"):
        reader.read(LARGEST[name], ((4, 3),))


def _log_total(x: Any, low: np.ndarray) -> Any:
    """ln Σ exp(x) of columns, as often as there are rows in `low`."""
    shift = x.max(0, keepdims=True)
    return jnp.log(jnp.exp(x - shift).sum(0, keepdims=True)) + jnp.maximum(shift, low)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: jnp.where(TRI, x, -jnp.inf), "−inf may go to a softmax only, and goes to an output"),
        (lambda x: jnp.exp(jnp.where(TRI, x, -jnp.inf)), r"−inf may go to a softmax only, and goes to exp \("),
        (lambda x: nn.softmax(jnp.where(TRI & False, x, -jnp.inf)), "nan"),
        (
            lambda x: nn.softmax(jnp.where(TRI & np.array([False, True, True]), x, -jnp.inf)),
            "every entry of a row",
        ),
        (lambda x: nn.logsumexp(x, 1, where=TRI & np.array([False, True, True])), "every entry of a row"),
        (lambda x: jnp.concatenate([x, jnp.full((1, 3), -jnp.inf)]), "−inf"),
        (lambda x: x * jnp.nan, "nan"),
        (lambda x: x + jnp.inf, "inf"),
        (lambda x: x.at[np.array([1, 9])].get(mode="fill"), r"an index is outside of an array of shape \(4, 3\)"),
        (lambda x: x.max(1).at[np.array([1, 9])].get(mode="fill", fill_value=1.0), "the largest of several numbers"),
        (lambda x: _log_total(x, np.full((4, 3), -np.inf)), "the largest of several numbers"),
        (lambda x: None, "returns no array"),
        (lambda x: x > 0, "a choice that depends on the inputs"),
    ],
)
def test_numbers_that_are_none(f: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(SourceError, match=words):
        reader.read(f, ((4, 3),))


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: x if x[0, 0] > 0 else -x, "TracerBoolConversionError"),
        (lambda x: np.sin(np.asarray(x)), "TracerArrayConversionError"),
        (lambda x, y: x + y, "TypeError.*missing"),
        (lambda x: x @ x, "TypeError.*shape"),
        (lambda x: 1 // 0, "ZeroDivisionError"),
        (lambda x: "text", "TypeError"),
    ],
)
def test_what_jax_cannot_trace(f: Callable[..., Any], words: str) -> None:
    with pytest.raises(SourceError, match=words) as raised:
        reader.read(f, ((4, 3),))
    said = str(raised.value)
    assert said.startswith("jax cannot trace <lambda> with arguments of shape (4, 3)")
    assert "jax.numpy" in said
    assert "\n" not in said
    assert str(Path(__file__).parent) not in said


@pytest.mark.parametrize("inputs", [0, -1, 2.5, None, "3", True, (), (3, 4), ((3, 0),), ((2.0,),), {"x": (3,)}])
def test_inputs(inputs: Any) -> None:
    with pytest.raises(UsageError, match=r"inputs = .*one vector"):
        reader.read(jnp.sin, inputs)


def test_no_function() -> None:
    with pytest.raises(UsageError, match="got int"):
        reader.read(3, 2)  # type: ignore[arg-type]


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(UsageError, match=r"pip install 'integraph\[jax\]'"):
        reader.read(abs, 2)
