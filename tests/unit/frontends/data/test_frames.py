"""Frames of pandas and polars, and pairs of arrays: against the numbers in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError, UsageError
from integraph.frontends import SourceKind, kind_of
from lazy import Lazy

pandas, polars = Lazy("pandas"), Lazy("polars")
X = np.linspace(0, 1, 30)
TABLE = {"T [K]": 300 + X, "n": np.arange(30), "y": np.sin(X)}


def rows_of(source: Any, **options: Any) -> Any:
    f = integraph.function(source, **options)
    assert f.rows is not None
    return np.column_stack([f.rows.x, f.rows.y])


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_frames(name: str) -> None:
    frame = {"pandas": pandas, "polars": polars}[name].DataFrame(TABLE)
    f = integraph.function(frame, inputs=2)
    assert f.variables == ("T [K]", "n")
    np.testing.assert_array_equal(rows_of(frame, inputs=2), np.column_stack(list(TABLE.values())))
    assert integraph.function(frame, variables=["y"]).outputs == 2
    assert kind_of(frame) is SourceKind.DATA
    program = integraph.compile(frame, variables=["T"], order=4)
    assert program.inputs == 1
    same = integraph.compile((TABLE["T [K]"], np.column_stack([TABLE["n"], TABLE["y"]])), order=4)
    assert program.digest == same.digest
    assert integraph.compare(program, frame).inputs == 30


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_gaps_and_text_in_frames(name: str) -> None:
    package: Any = {"pandas": pandas, "polars": polars}[name]
    frame = package.DataFrame(
        {"where": ["Ulm"] * 4, "a": [1.0, 2.0, None, 4.0], "b": [1, 2, 3, None], "on": [True, False, True, True]}
    )
    f = integraph.function(frame, inputs=2)
    assert f.rows is not None
    assert f.rows.gaps == 2
    assert f.rows.x.tolist() == [[1, 1], [2, 2]]
    assert f.rows.names == ("on",)
    assert f.rows.notes == ("where is no column of numbers, and left out", "2 rows with gaps left out")


def test_nullable_integers_and_objects_of_pandas() -> None:
    frame = pandas.DataFrame({"a": pandas.array([1, None, 3], dtype="Int64"), "b": np.array([1, 2.5, None], object)})
    assert rows_of(frame).tolist() == [[1.0, 1.0]]
    dates = pandas.DataFrame({"a": pandas.date_range("2020-01-01", periods=3), "b": [1.0, 2, 3], "c": [1.0, 2, 3]})
    assert integraph.function(dates).variables == ("b",)
    twice = pandas.DataFrame(np.ones((3, 3)), columns=["a", "a", "b"])
    assert integraph.function(twice, inputs=2).variables == ("a", "a #2")
    with pytest.raises(UsageError, match="several columns called 'a'"):
        integraph.function(twice, variables=["a"])


def test_lazy_frames_of_polars() -> None:
    with pytest.raises(SourceError, match=r"this frame is lazy: pass frame\.collect\(\)"):
        integraph.function(polars.DataFrame(TABLE).lazy(), inputs=2)


def test_pairs_of_frames_and_series() -> None:
    frame = pandas.DataFrame(TABLE)
    f = integraph.function((frame[["T [K]", "n"]], frame["y"]))
    assert f.variables == ("T [K]", "n")
    assert f.rows is not None
    assert f.rows.names == ("y",)
    with pytest.raises(
        SourceError, match="X: where is no column of numbers, and left out: give columns of numbers only"
    ):
        integraph.function((frame.assign(where="Ulm"), frame["y"]))
    with pytest.raises(SourceError, match="y is text: give numbers"):
        integraph.function((frame[["n"]], frame.assign(where="Ulm")["where"]))


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        ((X, X), (1, 1)),
        ((X[:, None], X), (1, 1)),
        (([[0.0, 1.0], [1.0, 2.0]], [1.0, 2.0]), (2, 1)),
        ((np.ones((4, 3), np.float32), np.ones((4, 2), int)), (3, 2)),
    ],
)
def test_pairs_of_arrays(source: Any, shape: tuple[int, int]) -> None:
    f = integraph.function(source)
    assert (f.inputs, f.outputs) == shape
    np.testing.assert_array_equal(rows_of(source), np.column_stack(source))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ((X, X[:5]), "X has 30 rows, y 5: both need as many"),
        ((X[:0], X[:0]), "there are no rows"),
        ((X * np.nan, X), "there is no row without a gap"),
        ((np.ones((3, 1, 1)), X[:3]), r"X has shape \(3, 1, 1\): needs \(rows,\) or \(rows, columns\)"),
        ((X + 1j, X), "X must be numbers that float64 can hold"),
        ((np.array(["a", "b"]), X[:2]), "X must be numbers that float64 can hold"),
    ],
)
def test_pairs_that_are_no_data(source: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        integraph.compile(source)


def test_a_pair_that_is_a_network_stays_one() -> None:
    layers = ((np.eye(2), np.zeros(2), "tanh"), (np.ones((1, 2)), np.zeros(1), None))
    assert kind_of(layers) is SourceKind.NETWORK
    assert kind_of(("x", "y")) is SourceKind.FORMULA
