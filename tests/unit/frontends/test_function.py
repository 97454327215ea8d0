"""Python functions, derivatives and tables as functions on a box."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from integraph.api.graphs import graph
from integraph.errors import SourceError, UsageError
from integraph.frontends import function
from integraph.frontends.input_names import names
from integraph.targets import Function

X2 = np.array([[0.25, 0.5], [0.75, -1.0], [2.0, 3.0], [0.5, 0.5]])


def values(f: Function, x: Any) -> np.ndarray:
    assert f.values is not None
    return f.values(np.asarray(x, float))


def by_element(x: Any) -> Any:
    return 1.0 if x > 0.5 else 0.0


def columns(x: Any) -> Any:
    return x[:, 0] * x[:, 1]


def point_only(x: Any) -> Any:
    return x[0] * x[1]


@pytest.mark.parametrize(
    ("f", "more", "expected", "names"),
    [
        (lambda x, y: x * y, {}, [0.125, -0.75, 6, 0.25], "x y"),
        (lambda u, v, w=3.0: u * v * w, {}, [0.375, -2.25, 18, 0.75], "u v"),
        (columns, {"inputs": 2}, [0.125, -0.75, 6, 0.25], "x1 x2"),
        (columns, {"variables": "a, b"}, [0.125, -0.75, 6, 0.25], "a b"),
        (columns, {"box": ([0, 0], [1, 1])}, [0.125, -0.75, 6, 0.25], "x1 x2"),
        (point_only, {"inputs": 2}, [0.125, -0.75, 6, 0.25], "x1 x2"),
        (lambda *x: x[0] * x[1], {"inputs": 2}, [0.125, -0.75, 6, 0.25], "x1 x2"),
        (np.hypot, {}, np.hypot(*X2.T), "x1 x2"),
        (math.hypot, {"inputs": 2}, np.hypot(*X2.T), "x1 x2"),
        (lambda x, y: math.exp(x) + y, {}, np.exp(X2[:, 0]) + X2[:, 1], "x y"),
        (lambda x, y: 3, {}, [3, 3, 3, 3], "x y"),
        (lambda x, y: x > y, {}, [0, 1, 0, 0], "x y"),
    ],
)
def test_ways_to_call(f: Callable[..., Any], more: Any, expected: Any, names: str) -> None:
    found = function(f, **more)
    assert (found.inputs, found.outputs) == (2, 1)
    assert found.variables == tuple(names.split())
    np.testing.assert_allclose(values(found, X2)[:, 0], expected, rtol=1e-15)
    assert values(found, X2[:0]).shape == (0, 1)


@pytest.mark.parametrize("f", [np.sin, math.sin, lambda t: np.sin(t), lambda t: math.sin(t), lambda *t: np.sin(t[0])])
def test_one_input(f: Callable[..., Any]) -> None:
    found = function(f, box=([-1.0], [2.0]))
    x = np.linspace(-1, 2, 50)
    np.testing.assert_allclose(values(found, x[:, None])[:, 0], np.sin(x), rtol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: (x + y, x - y),
        lambda x, y: [x + y, x - y],
        lambda x, y: np.stack([x + y, x - y], -1),
        lambda x, y: np.array([x + y, x - y]),
        lambda x, y: (math.fsum((x, y)), x - y),
    ],
)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_several_outputs(f: Callable[..., Any], count: int) -> None:
    found = function(f)
    assert found.outputs == 2
    x, y = X2[:count].T
    np.testing.assert_array_equal(values(found, X2[:count]), np.stack([x + y, x - y], 1))


def in_place(x: Any) -> Any:
    x *= 2.0
    return x


def test_a_function_may_write_into_its_argument() -> None:
    x = np.array([[1.0], [2.0]])
    np.testing.assert_array_equal(values(function(in_place), x), [[2.0], [4.0]])
    np.testing.assert_array_equal(x, [[1.0], [2.0]])


def random(x: Any) -> Any:
    return np.random.default_rng().uniform(size=np.shape(x))


def later_nan(x: Any) -> Any:
    return np.where(x < 5.0, x, np.nan)


def changes(x: Any) -> Any:
    return np.stack([x] * (1 + (np.max(x) > 5.0)), 1)


@pytest.mark.parametrize(
    ("f", "more", "message"),
    [
        (lambda x: x - x.mean(), {}, "it mixes points, or is random"),
        (lambda x: 1e-20 * (x - x.mean()), {}, "it mixes points, or is random"),
        (lambda x: x / np.linalg.norm(x), {"inputs": 2}, "it mixes points"),
        (lambda x: np.sort(x), {}, "it mixes points"),
        (random, {}, "random is|random at .* it mixes points, or is random"),
        (lambda x: np.log(x - 0.5), {}, "<lambda> is nan at x = 0.2.*must be finite on the whole box"),
        (lambda x: x * np.inf, {}, "is inf at x = "),
        (lambda x: 1j * x, {}, "must be numbers that float64 can hold: they are complex128"),
        (lambda x: None, {}, "they are NoneType"),
        (lambda x: "1", {}, "must be numbers"),
        (lambda x: np.ones((2, 2)), {}, r"gives shape \(2, 2\) at x = 0.6"),
        (lambda x: [], {}, r"gives shape \(0,\)"),
        (lambda x: 1 / 0, {}, "fails at x = 0.6.*: ZeroDivisionError: division by zero"),
        (lambda x: math.log(x - 2), {}, "fails at x = 0.6.*: ValueError: .*; at many points at once, TypeError"),
        (lambda x: x[:, 0] + missing, {"inputs": 2}, "NameError: name 'missing' is not defined"),  # type: ignore[name-defined]  # noqa: F821
    ],
)
def test_functions_that_cannot_be_compiled(f: Callable[..., Any], more: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        function(f, **more)


def test_what_goes_wrong_after_the_first_look() -> None:
    with pytest.raises(SourceError, match="later_nan is nan at x = 6"):
        values(function(later_nan), [[1.0], [6.0], [2.0]])
    with pytest.raises(SourceError, match=r"changes has 1 output in one place and 2 in another|has other outputs"):
        values(function(changes), [[6.0], [7.0]])
    f = function(lambda x: np.where(np.max(x) > 5.0, x + 1.0, x))
    with pytest.raises(SourceError, match="it mixes points"):
        values(f, [[1.0], [6.0]])


def test_the_exception_of_the_function_is_the_cause() -> None:
    with pytest.raises(SourceError) as caught:
        function(lambda x: {}["key"])
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("source", "more", "message"),
    [
        (lambda *x: x, {}, "say how many inputs it has"),
        (lambda: 1, {}, "takes no arguments"),
        (lambda x, *, k: x, {}, "needs the keyword k"),
        (lambda x, y: x, {"inputs": 3}, r"<lambda>\(x, y\) has 2, inputs has 3"),
        (lambda x, y: x, {"box": ([0], [1])}, "the box has 1"),
        (lambda x: x, {"inputs": 0}, "at least one"),
        (lambda x: x, {"box": ([1], [0])}, "lower < upper"),
        (lambda x: x, {"box": ([0], [np.nan])}, "lower < upper"),
        (lambda x: x, {"derivatives": 3}, "derivatives must be"),
        (lambda x: x, {"derivatives": {1: 3}}, "must be a Python function, not int"),
        (lambda x: x, {"derivatives": {(1, 0): np.sin}}, "names no derivative: needed are 1 orders"),
        (lambda x: x, {"derivatives": {-1: np.sin}}, "names no derivative"),
        (lambda x: x, {"derivatives": {"a": np.sin}}, "names no derivative"),
        (3, {}, "cannot read a function from int: accepted are a formula"),
        (graph("exp(x)"), {}, "this is a graph: leave the method out"),
        ([], {}, "cannot read a function from list"),
        (["x", 3], {}, "cannot read a function from list"),
        (int, {}, "cannot read a function from type"),
        ("x", {"inputs": 2}, "inputs = 2: .*name all inputs in `variables`"),
        ("x", {"derivatives": {}}, "derivatives are for Python functions"),
    ],
)
def test_wrong_arguments(source: Any, more: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        function(source, **more)


def turned(n: int, x: Any) -> Any:
    return 2.0**n * np.sin(2.0 * x + n * np.pi / 2)


def both(alpha: tuple[int, int], x: Any, y: Any) -> Any:
    """Of sin(2x)·e^y."""
    return turned(alpha[0], x) * np.exp(y)


@pytest.mark.parametrize(
    "given",
    [turned, {n: lambda x, n=n: turned(n, x) for n in range(6)}, {(n,): lambda x, n=n: turned(n, x) for n in range(6)}],
)
def test_derivatives(given: Any) -> None:
    f = function(lambda x: np.sin(2 * x), derivatives=given, box=([-1.0], [3.0]))
    assert f.derivative is not None
    x = np.linspace(-1, 3, 20)[:, None]
    for n in range(6):
        np.testing.assert_array_equal(f.derivative((n,), x), turned(n, x))


def test_derivatives_of_two_inputs() -> None:
    f = function(lambda x, y: np.sin(2 * x) * np.exp(y), derivatives=both)
    assert f.derivative is not None
    np.testing.assert_array_equal(f.derivative((3, 2), X2)[:, 0], both((3, 2), *X2.T))
    np.testing.assert_array_equal(f.derivative(np.array([1, 0]), X2)[:, 0], both((1, 0), *X2.T))  # type: ignore[arg-type]


def test_a_derivative_that_does_not_exist() -> None:
    f = function(np.sin, derivatives={1: np.cos})
    assert f.derivative is not None
    with pytest.raises(SourceError, match="the derivative 2 of sin is missing"):
        f.derivative((2,), X2[:, :1])
    g = function(lambda x, y: x * y, derivatives={(1, 0): lambda x, y: y})
    assert g.derivative is not None
    with pytest.raises(SourceError, match=r"the derivative \(0, 1\) of <lambda> is missing"):
        g.derivative((0, 1), X2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({1: np.sin}, "the derivative 1 of sin is .* but differences of sin give"),
        ({1: np.cos, 2: np.sin}, "the derivative 2 of sin is .* but differences of the derivative 1 of sin give"),
        ({1: lambda x: 1.01 * np.cos(x)}, "the derivative 1 of sin"),
        ({1: lambda x: np.cos(x) + np.nan}, "the derivative 1 of sin is nan at"),
        ({1: lambda x: np.stack([x, x], 1)}, "has 2 outputs, sin has 1"),
        ({1: lambda x: 1 / 0}, "the derivative 1 of sin fails at"),
    ],
)
def test_wrong_derivatives(given: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        function(np.sin, derivatives=given)


def test_a_wrong_rule_is_found_when_it_is_used() -> None:
    f = function(lambda x, y: np.sin(2 * x) * np.exp(y), derivatives=lambda a, x, y: both((a[1], a[0]), x, y))
    assert f.derivative is not None
    with pytest.raises(SourceError, match=r"the derivative \(1, 0\) of <lambda> is"):
        f.derivative((1, 0), X2)


def test_fast_functions_are_not_accused() -> None:
    """Differences that do not agree with each other prove nothing."""
    f = function(lambda x: np.sin(5e4 * x), derivatives={1: lambda x: 5e4 * np.cos(5e4 * x)})
    assert f.derivative is not None
    assert f.derivative((1,), np.zeros((1, 1))) == 5e4


@pytest.mark.parametrize("m", [None, 1, 3])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_tables(d: int, m: int | None) -> None:
    shape = (5,) * d + (() if m is None else (m,))
    rng = np.random.default_rng(0)
    given = {(0,) * d: rng.normal(size=shape)} | {
        tuple(int(i == j) for i in range(d)): rng.normal(size=shape) for j in range(d)
    }
    f = function({key[0]: array for key, array in given.items()} if d == 1 else given)
    assert f.table is not None
    assert (f.inputs, f.outputs, f.table.N, f.table.order) == (d, m or 1, 4, 2)
    assert f.variables == (("x",), ("x1", "x2"), ("x1", "x2", "x3"))[d - 1]
    assert f.expression is f.values is f.derivative is None
    for alpha, array in given.items():
        np.testing.assert_array_equal(f.table.derivatives[alpha], array.reshape(*(5,) * d, m or 1))
    assert function(given, variables="a b c"[: 2 * d]).variables == ("a", "b", "c")[:d]


ONE = np.ones((3, 3))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "an empty table"),
        ({(0, 0): ONE, (1, 0): ONE}, r"but \(0, 1\) is missing"),
        ({(1,): ONE[0]}, r"but \(0,\) is missing"),
        ({(0, 0): ONE, (1,): ONE}, "different lengths"),
        ({0: [1.0, 2.0], 1: [1.0, 2.0, 3.0]}, "differ in shape"),
        ({0: [1.0]}, "N at least 1"),
        ({0: 1.0}, "N at least 1"),
        ({(0, 0): np.ones((3, 4))}, "N at least 1"),
        ({(0, 0): np.ones((3, 3, 0))}, "N at least 1"),
        ({(0, 0): np.ones((3, 3, 1, 1))}, "N at least 1"),
        ({0: [1.0, np.nan, 2.0]}, r"the derivative \(0,\) is nan at node \(1,\)"),
        ({0: ["a", "b"]}, "must be numbers"),
        ({(10**9,): [1.0, 2.0]}, "derivative of degree 1000000000: at most 40 are supported"),
        ({(7,) * 5: np.zeros((2,) * 5)}, r"but \(0, 0, 0, 0, 0\) is missing"),
        ({"x": [1.0, 2.0]}, "'x' names no derivative"),
        ({(-1,): [1.0, 2.0]}, "names no derivative"),
        ({(): 1.0}, "names no derivative"),
    ],
)
def test_wrong_tables(table: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        function(table)


def test_a_function_stays_what_it_is() -> None:
    f = function("x*y")
    assert function(f) is f
    with pytest.raises(UsageError, match="names its inputs itself, x, y"):
        function(f, variables="a b")


def test_many_names_are_read_at_once() -> None:
    start = time.process_time()
    assert len(names([f"x{n}" for n in range(200_000)])) == 200_000
    assert time.process_time() - start < 5  # a search among all others for each name takes minutes
