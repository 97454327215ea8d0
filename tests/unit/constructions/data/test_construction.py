"""Programs of data: against the function behind the rows, and against scipy and scikit-learn on the same rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import RBFInterpolator

import integraph
from integraph.constructions.data.split import split
from integraph.errors import SourceError, UsageError
from integraph.numbers.arrays import Floats
from integraph.targets.rows import Rows
from lazy import Lazy

linear_model = Lazy("sklearn.linear_model")
Values = Callable[[Floats], Floats]


def wave(x: Floats) -> Floats:
    result: Floats = np.sin(6 * x[:, 0]) * np.exp(x[:, -1])
    return result


def scattered(rows: int, d: int, noise: float = 0.0, f: Values = wave) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(rows + d)
    x = rng.random((rows, d))
    return x, f(x) + noise * rng.normal(size=rows)


def error(program: integraph.Program, f: Values = wave) -> Floats:
    """|program − f| at points of its box."""
    assert program.box is not None
    t = np.random.default_rng(7).random((2000, program.inputs))
    x = program.box.low + t * (program.box.high - program.box.low)
    result: Floats = np.abs(program(x)[:, 0] - f(x))
    return result


def held_out(x: Floats, y: Floats) -> Floats:
    """Which rows are held out, in the order given."""
    rows = Rows(x, y.reshape(len(x), -1), ("y",))
    kept = {tuple(row) for row in rows.x[split(rows).fitted].tolist()}
    return np.array([tuple(row) not in kept for row in x.tolist()])


def test_a_smooth_function_without_noise_is_found_again() -> None:
    program = integraph.compile(scattered(300, 1), order=14)
    assert program.seen is not None
    assert error(program).max() < 1e-9
    assert program.seen < 1e-9
    assert program.budget is None


def test_what_is_reported_was_measured_on_rows_that_were_not_fitted() -> None:
    """The program at the held-out rows differs by what it says; and they change nothing but these numbers."""
    x, y = scattered(400, 2, 0.1)
    program = integraph.compile((x, y), order=6)
    assert program.origin is not None
    out = held_out(x, y)
    off = np.abs(program(x[out])[:, 0] - y[out])
    assert program.seen == pytest.approx(off.max(), abs=1e-9)
    assert program.origin.options["RMS"] == pytest.approx(np.sqrt((off**2).mean()), rel=1e-2)
    assert program.origin.options["held-out rows"] == out.sum() == 80
    assert program.origin.options["fitted rows"] == 320
    other = integraph.compile((x, np.where(out, y + 1, y)), order=6)
    assert other.digest == program.digest
    assert other.seen is not None
    assert other.seen > 0.8
    told = f"largest difference found on 80 held-out rows {program.seen:.3g} (RMS "
    assert told in repr(program)
    assert "difference found  on 80 held-out rows" in program.summary()


@pytest.mark.parametrize("d", [1, 2])
def test_noise_is_estimated(d: int) -> None:
    program = integraph.compile(scattered(1200, d, 0.1), order=8)
    assert program.origin is not None
    assert program.origin.options["noise"] == pytest.approx(0.1, rel=0.15)
    assert np.sqrt((error(program) ** 2).mean()) < 0.03  # far below the noise


def test_noise_of_rows_at_one_place() -> None:
    """Repeated measurements tell it, although a jump is in the data too, which no smooth fit explains."""
    rng = np.random.default_rng(0)
    x = np.repeat(np.linspace(0, 1, 50), 10)
    y = np.where(x > 0.513, 1.0, 0.0) + 0.02 * rng.normal(size=500)
    program = integraph.compile((x, y))
    assert program.origin is not None
    assert program.origin.options["noise"] == pytest.approx(0.02, rel=0.15)
    assert "rows at one place scatter by about 0.02" in program.source


@pytest.mark.slow
def test_as_good_as_scipy_on_the_same_rows() -> None:
    """Smooth rows in two inputs: thin-plate splines through them, and our fit to the same rows."""
    x, y = scattered(600, 2)
    program = integraph.compile((x, y))
    fitted = ~held_out(x, y)
    spline = RBFInterpolator(x[fitted], y[fitted])
    rival = np.abs(spline(x[~fitted]) - y[~fitted]).max()
    assert program.seen is not None
    assert program.seen < 0.1 * rival


@pytest.mark.slow
def test_as_good_as_a_line_where_the_data_are_one() -> None:
    """Many inputs, noise: the least squares of scikit-learn on the same rows."""
    rng = np.random.default_rng(3)
    x = rng.random((300, 6))
    y = x @ np.arange(6.0) + 0.1 * rng.normal(size=300)
    program = integraph.compile((x, y))
    fitted = ~held_out(x, y)
    line = linear_model.LinearRegression().fit(x[fitted], y[fitted])
    assert program(x[~fitted])[:, 0] == pytest.approx(line.predict(x[~fitted]), abs=1e-4)


@pytest.mark.slow
def test_gridded_rows() -> None:
    axis = np.linspace(-1, 2, 25)
    x = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    f = lambda x: np.cos(x[:, 0] * x[:, 1])  # noqa: E731
    program = integraph.compile((x, f(x)))
    assert program.seen is not None
    assert program.seen < 1e-3
    assert error(program, f).max() < 1e-3


@given(st.permutations(range(40)))
@settings(max_examples=3)
def test_the_order_of_rows_changes_nothing(order: list[int]) -> None:
    x, y = scattered(40, 1, 0.1)
    first, second = (integraph.compile((a, b), order=4) for a, b in ((x, y), (x[order], y[order])))
    assert first.digest == second.digest
    assert first.seen == second.seen


@pytest.mark.slow
def test_several_outputs_in_units_of_their_own() -> None:
    """A large output does not hide a small one: the choice counts both, and both differences are told."""
    x, y = scattered(300, 1)
    program = integraph.compile((x, np.stack([y, 1e6 * np.cos(x[:, 0])], 1)))
    assert program.outputs == 2
    t = np.linspace(0.05, 0.95, 500)[:, None]
    assert np.abs(program(t)[:, 0] - wave(t)).max() < 1e-7
    assert program.origin is not None
    assert str(program.origin.options["largest difference of y1"]).endswith(")")
    assert "largest difference of y2" in program.origin.options


@pytest.mark.slow
def test_a_tolerance_is_kept_on_held_out_rows_or_refused() -> None:
    program = integraph.compile(scattered(400, 1), 1e-3)
    assert program.seen is not None
    assert program.origin is not None
    assert program.seen <= 1e-3
    assert program.origin.eps == 1e-3
    assert program.terms < integraph.compile(scattered(400, 1)).terms  # no more than needed
    with pytest.raises(
        UsageError, match=r"eps = 0\.05: the rows do not show that: on 80 held-out rows .* is about 0\.1"
    ):
        integraph.compile(scattered(400, 1, 0.1), 0.05)
    assert integraph.compile(scattered(400, 1), 0.5, width=8).width <= 8


@pytest.mark.slow
def test_a_hole_and_a_box_beyond_the_data_are_said() -> None:
    x, y = scattered(2000, 2)
    hole = (np.abs(x - 0.5) < 0.25).all(1)
    program = integraph.compile((x[~hole], y[~hole]))
    assert program.origin is not None
    assert program.origin.options["covered"] == pytest.approx(0.75, abs=0.1)
    assert "% of the box, elsewhere it extrapolates" in program.source
    wide = integraph.compile((x, y), box=[(0, 2), (0, 1)], order=2)
    assert wide.origin is not None
    assert wide.origin.options["covered"] == pytest.approx(0.5, abs=0.01)
    assert np.isfinite(wide([[1.9, 0.5]])).all()
    whole = integraph.compile((x, y), order=2)
    assert whole.origin is not None
    assert "covered" not in whole.origin.options


@pytest.mark.slow
def test_a_hole_is_filled_from_coarser_cells() -> None:
    """Cells without rows take the polynomial of a coarser grid: nothing wild."""
    x, y = scattered(3000, 2)
    hole = (np.abs(x - 0.5) < 0.1).all(1)
    program = integraph.compile((x[~hole], y[~hole]))
    inside = 0.4 + 0.2 * np.random.default_rng(1).random((200, 2))
    assert np.abs(program(inside)[:, 0] - wave(inside)).max() < 0.1


def test_a_box_within_the_data_leaves_rows_out() -> None:
    x, y = scattered(300, 1)
    program = integraph.compile((x, y), box=(0.25, 0.75), order=4)
    assert program.origin is not None
    outside = int(((x < 0.25) | (x > 0.75)).sum())
    assert program.origin.options["rows outside the box"] == outside
    assert f"{outside} rows outside the box left out" in program.source


X = np.linspace(0, 1, 40)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ((X[:1], X[:1]), {}, r"data: x → y: 1 row: at least 5 different ones are needed, because some are held out"),
        ((np.repeat(X[:3], 9), np.arange(27.0)), {}, r"27 rows at 3 different places: at least 5"),
        ((np.stack([X, 0 * X + 300], 1), X), {}, r"x2 is 300 in every row: .* leave this column out"),
        ((X, X), {"box": (0.9, 1.0)}, r"4 rows; 36 rows lie outside the box"),
    ],
)
def test_too_little_data(source: tuple[Floats, Floats], options: dict[str, object], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        integraph.compile(source, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "paper"}, r"method = 'paper': data are compiled by method='lean'"),
        ({"method": "narrow"}, r"method = 'narrow': data are compiled by method='lean'"),
        ({"norm": 1.0}, r"norm = 1\.0: this is for functions with derivatives, and the source is data"),
        ({"max_calls": 10}, r"max_calls = 10: this is for a Python function"),
        ({"derivatives": lambda a, x: x}, r"derivatives"),
        ({"parameters": {"a": 1}}, r"this is for a formula as text, and the source is data"),
        ({"free": "clean"}, r"free"),
        ({"eps": -1.0}, r"eps = -1\.0: the tolerance must be finite and > 0"),
        ({"order": 0}, r"order = 0"),
        ({"inputs": 2}, r"inputs = 2: X has 1 column, all of them inputs"),
        ({"variables": "a, b"}, r"variables = 2: X has 1 column"),
    ],
)
def test_options_that_data_do_not_take(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        integraph.compile((X, X), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_values_of_any_size(size: float) -> None:
    program = integraph.compile((X, size * np.sin(3 * X)), order=10)
    assert program.seen is not None
    assert program.seen < 1e-6 * size
    assert program.origin is not None
    assert 0 < program.origin.options["RMS"] <= program.seen  # type: ignore[operator]


def test_many_rows_are_thinned_without_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than are fitted, many at one place: the mean of each place stays, and all others are held out."""
    from integraph.constructions.data import split as module

    monkeypatch.setattr(module, "FITTED", 400)
    rng = np.random.default_rng(0)
    x = np.repeat(np.linspace(0, 1, 20), 200)
    y = x + rng.normal(size=4000)
    program = integraph.compile((x, y), order=2)
    assert program.origin is not None
    fitted = program.origin.options["fitted rows"]
    assert isinstance(fitted, int)
    assert 300 <= fitted <= 400
    assert program.origin.options["held-out rows"] == 4000 - fitted
    assert np.abs(program(np.linspace(0, 1, 9))[:, 0] - np.linspace(0, 1, 9)).max() < 0.3


def test_an_order_or_a_width_that_the_rows_do_not_allow() -> None:
    with pytest.raises(UsageError, match="order = 20: it has 20 coefficients, too many for 15 rows"):
        integraph.compile((X[:15], X[:15]), order=20)
    with pytest.raises(UsageError, match="no fit is so narrow: allow more registers"):
        integraph.compile((X, np.sin(9 * X)), width=1)


def test_exact_is_refused() -> None:
    with pytest.raises(UsageError, match="data"):
        integraph.compile((X, X), method="exact")
    with pytest.raises(UsageError, match="data: their fit shows what they allow, so compile them"):
        integraph.plan((X, X))


def test_a_constant_and_a_polynomial() -> None:
    constant = integraph.compile((X, 0 * X + 3))
    assert constant(0.3) == pytest.approx(3, abs=1e-12)
    cubic = integraph.compile((X, X**3 - X))
    assert error(cubic, lambda x: x[:, 0] ** 3 - x[:, 0]).max() < 1e-12
    assert cubic.seen is not None
    assert cubic.seen < 1e-12


def test_few_rows_of_a_quadratic_in_four_inputs() -> None:
    x = np.random.default_rng(0).random((30, 4))
    program = integraph.compile((x, x.sum(1) ** 2))
    assert "order 3, N = 0" in program.source
    assert error(program, lambda x: x.sum(1) ** 2).max() < 1e-12


@pytest.mark.slow
def test_detail_that_coarse_grids_do_not_see() -> None:
    """No grid of less than sixty cells explains any of it."""
    x = np.random.default_rng(0).random((4000, 1))
    program = integraph.compile((x, np.sin(200 * x[:, 0])))
    assert error(program, lambda x: np.sin(200 * x[:, 0])).max() < 1e-3


def test_compare_and_certify(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Compare measures on the rows; nothing can be proved."""
    x, y = scattered(200, 1, 0.05)
    program = integraph.compile((x, y))
    program.save(tmp_path / "p.integraph")
    program = integraph.load(tmp_path / "p.integraph")
    comparison = integraph.compare(program, (x, y))
    assert comparison.inputs == 200
    assert comparison.largest == pytest.approx(np.abs(program(x)[:, 0] - y).max(), abs=1e-12)
    assert "most of these rows were fitted" in repr(comparison)
    more = integraph.compare(program, (np.append(x, 7.0), np.append(y, 0.0)))
    assert "1 row outside the box of the program left out" in repr(more)
    with pytest.raises(UsageError, match=r"nothing can be proved of them: integraph\.compare"):
        integraph.certify(program, (x, y), 0.1)
    with pytest.raises(UsageError, match=r"X = .*|data have values at their own rows only"):
        integraph.compare(program, (x, y), x)
    with pytest.raises(UsageError, match="give the inputs to compare at"):
        integraph.compare(program, "sin(x)")


@pytest.mark.filterwarnings("error")
def test_values_that_no_sum_holds_are_refused() -> None:
    x = np.linspace(0, 1, 50)
    with pytest.raises(SourceError, match=r"y reaches 1\.7e\+308, and sums of such numbers are none in float64"):
        integraph.compile((x[:, None], 1.7e308 * np.cos(x)))
