"""Components of many registers: Taylor steps of one solution, and collocation where the field is stiff."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from scipy.integrate import solve_ivp

from integraph import Program, Registers, Status, build, segment
from integraph.flow.taylor import collocation, wide
from integraph.flow.taylor.sparse_field import shifted, sparse_field
from integraph.flow.taylor.sparse_lu import SHIFTS, elimination_order, factor, fill_in, solve
from integraph.flow.taylor.wide_series import wide_field
from integraph.gadgets import raw
from integraph.numbers.arrays import Floats, Indices

N = 120


def system(parts: list[tuple[Indices, Indices, float]], duration: float, fixed: tuple[str, ...] = ()) -> Program:
    """y_i' = Σ weight · y_j · y_k, from (j, k, weight) of all i; −1 is the constant 1."""
    n = len(parts[0][0])
    index = np.concatenate([np.stack([np.arange(n), np.minimum(j, k), np.maximum(j, k)], 1) for j, k, _ in parts])
    order = np.argsort(index[:, 0], kind="stable")
    r = Registers()
    y = r.variables([f"y{i}" for i in range(n)])
    block = raw(y, r.variables(fixed), index=index[order], value=np.repeat([w for *_, w in parts], n)[order])
    return build(r, [segment("flow", block, duration=duration)], y)


def ring(k: float, duration: float = 1.0, n: int = N, push: float = 0.0) -> Program:
    """y_i' = push + y_i² + k(y_{i−1} − 2y_i + y_{i+1}) + 3y_i(y_{i+1} − y_{i−1})."""
    i, one = np.arange(n), np.full(n, -1)
    drift = [(i, (i + d) % n, 3.0 * d) for d in (-1, 1)] + ([(one, one, push)] if push else [])
    spread = [(one, (i + d) % n, w * k) for d, w in ((-1, 1.0), (0, -2.0), (1, 1.0))]
    return system([(i, i, 1.0), *spread, *drift], duration)


def wave(n: int = N) -> Floats:
    angle = 2 * np.pi * np.arange(n) / n
    start: Floats = 0.5 + 0.3 * np.sin(angle) + 0.1 * np.cos(3 * angle)
    return start


def reference(k: float, duration: float, start: Floats, push: float = 0.0, method: str = "DOP853") -> Floats:
    def field(_t: float, y: Floats) -> Floats:
        left, right = np.roll(y, 1), np.roll(y, -1)
        slope: Floats = push + y * y + k * (left - 2 * y + right) + 3 * y * (right - left)
        return slope

    band = scipy.sparse.csr_matrix(sum(np.roll(np.eye(len(start)), d, 1) for d in (-1, 0, 1)))
    options = {"jac_sparsity": band} if method == "Radau" else {}
    end: Floats = solve_ivp(
        field, (0, duration), start, method, rtol=3e-14 if method == "DOP853" else 1e-12, atol=1e-14, **options
    ).y[:, -1]
    return end


@pytest.mark.parametrize("rtol", [1e-5, 1e-9, 1e-12])
@pytest.mark.parametrize("k", [1.0, 600.0])
def test_against_scipy_to_the_tolerance(k: float, rtol: float) -> None:
    flow = ring(k, push=0.2).flow(wave(), "taylor", rtol=rtol).check()
    assert np.abs(flow.outputs[0] / reference(k, 1.0, wave(), 0.2) - 1).max() < max(rtol, 1e-11)
    assert flow.steps < 60  # explicit steps for k = 600 would be 350


def test_which_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = []
    for way in ("collocate", "expand"):
        original = getattr(wide.WideSystem, way)
        monkeypatch.setattr(
            wide.WideSystem, way, lambda self, *a, way=way, original=original: ways.append(way) or original(self, *a)
        )
    for k, count, rtol in ((1.0, 1, 1e-9), (1.0, 20, 1e-9), (6e3, 2, 1e-9), (6e3, 1, 1e-14)):
        ring(k, 0.1).flow(np.tile(wave(), (count, 1)), "taylor", rtol=rtol).check()
    assert ways == ["expand", "collocate", "collocate", "expand"]
    ring(1.0, 0.1, n=20).flow(wave(20), "taylor").check()
    assert len(ways) == 4


def test_one_solution_equals_one_of_many() -> None:
    starts = wave() - 0.01 * np.arange(20)[:, None]
    program = ring(2.0)
    many = program.flow(starts, "taylor").check().outputs
    assert np.abs(program.flow(starts[7], "taylor").check().outputs / many[7] - 1).max() < 1e-12


@pytest.mark.parametrize("k", [1.0, 600.0])
def test_coefficients_that_are_inputs(k: float) -> None:
    """y_i' = c·(y_{i−1} − 2y_i + y_{i+1}) + b·y_i + y_i² + 3y_i(y_{i+1} − y_{i−1}), with inputs b and c."""
    i = np.arange(N)
    spread = [((i + d) % N, np.full(N, N), w) for d, w in ((-1, 1.0), (0, -2.0), (1, 1.0))]
    drift = [(i, (i + d) % N, 3.0 * d) for d in (-1, 1)]
    program = system([*spread, *drift, (i, np.full(N, N + 1), 1.0), (i, i, 1.0)], 1.0, ("c", "b"))
    flow = program.flow(np.concatenate([wave(), [k, 0.0]]), "taylor", rtol=1e-11).check()
    assert np.abs(flow.outputs[0] / reference(k, 1.0, wave()) - 1).max() < 2e-11
    assert flow.steps < 60


@pytest.mark.parametrize("k", [1.0, 2e3])
@pytest.mark.parametrize("duration", [0.999, 1.0, 2.0])
def test_a_pole_is_not_stepped_over(k: float, duration: float) -> None:
    """From 1 everywhere, y = 1/(1 − t)."""
    flow = ring(k, duration).flow(np.ones(N), "taylor", rtol=1e-9)
    if duration < 1.0:
        assert np.abs(flow.check().outputs * (1 - duration) - 1).max() < 1e-9
    else:
        assert flow.status == (Status.ESCAPED,)
        assert abs(flow.failures[0].time - 1.0) < 1e-6


def test_of_several_inputs_the_one_that_fails_is_named() -> None:
    starts = np.stack([wave(), np.full(N, 3.0), 0.5 * wave(), np.full(N, 0.99)])
    flow = ring(600.0).flow(starts, "taylor", rtol=1e-9)
    assert flow.status == (Status.DONE, Status.ESCAPED, Status.DONE, Status.DONE)
    assert np.abs(flow.outputs[3] / 99.0 - 1).max() < 1e-9  # 0.99/(1 − 0.99t), near a pole
    assert np.isnan(flow.outputs[1]).all()
    assert np.abs(flow.outputs[2] / reference(600.0, 1.0, starts[2]) - 1).max() < 1e-9


@pytest.mark.slow
def test_times_inside_against_radau() -> None:
    times = [0.25, 0.5, 1.0]
    path = ring(3e4).flow(wave(), "taylor", rtol=1e-10, times=times).check().path
    assert path is not None
    for time, y in zip(times, path[0], strict=True):
        assert np.abs(y / reference(3e4, time, wave(), method="Radau") - 1).max() < 1e-10


def test_the_tableau_is_that_of_radau() -> None:
    """Order 13, stiffly accurate; modes and back is the identity; the error formula is exact up to degree 7."""
    table = collocation.tableau()
    c = table.points[:-1]
    vandermonde = c[:, None] ** np.arange(7)
    A = np.linalg.solve(vandermonde.T, (c[:, None] ** np.arange(1, 8) / np.arange(1, 8)).T).T
    assert np.allclose([A[-1] @ c**m for m in range(13)], 1 / np.arange(1, 14), rtol=1e-12)
    assert abs(A[-1] @ c**13 - 1 / 14) > 1e-9
    assert np.allclose((table.to_modes @ table.to_stages)[:-1, :-1], np.eye(7), atol=1e-9)
    shifts = table.shifts[:SHIFTS] + 1j * table.shifts[SHIFTS:]
    theirs = np.linalg.eigvals(np.linalg.inv(A))
    assert all(np.abs(theirs - shift).min() < 1e-9 for shift in shifts)
    assert abs(shifts[0].imag) < 1e-9
    slopes = [table.error @ table.points**m + (m == 1) for m in range(1, 8)]
    assert np.allclose(slopes, 0.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_factors_against_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    pattern = scipy.sparse.csr_array(scipy.sparse.random(n, n, 0.06, random_state=seed))
    J = pattern.toarray()
    rows, columns = pattern.nonzero()
    place = np.argsort(elimination_order(n, rows.astype(np.int64), columns.astype(np.int64)))
    moved = np.zeros_like(J)
    moved[np.ix_(place, place)] = J
    sparse = scipy.sparse.csr_array(moved)
    first, where, diagonal = fill_in(sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64))
    lines: Indices = np.repeat(np.arange(n), np.diff(first))
    assert (where[diagonal] == np.arange(n)).all()
    assert (np.diff(lines * n + where) > 0).all()
    shifts = 8 + rng.normal(size=SHIFTS) + 1j * rng.normal(size=SHIFTS)
    values = np.zeros((len(where), 2 * SHIFTS))
    values[:, :SHIFTS] = -moved[lines, where][:, None]
    values[diagonal, :SHIFTS] += shifts.real
    values[diagonal, SHIFTS:] += shifts.imag
    right = rng.normal(size=(n, 2 * SHIFTS))
    found = right.copy()
    factor(values, first, where, diagonal)
    solve(values, first, where, diagonal, found)
    for s, shift in enumerate(shifts):
        true = np.linalg.solve(shift * np.eye(n) - moved, right[:, s] + 1j * right[:, SHIFTS + s])
        assert np.abs(found[:, s] + 1j * found[:, SHIFTS + s] - true).max() < 1e-12


def test_the_jacobian_is_that_of_the_field() -> None:
    """Central differences of a quadratic field are exact up to rounding."""
    rng = np.random.default_rng(1)
    n, terms = 30, 120
    products = np.unique(np.sort(rng.integers(0, n, (40, 2)), 1), axis=0)
    row, source = rng.integers(0, n, terms), rng.integers(0, n + len(products) + 1, terms)
    value, y, e = rng.normal(size=terms), rng.normal(size=n), rng.normal(size=n)
    field = sparse_field(n, products, row, source)

    def f(y: Floats) -> Floats:
        sources = np.concatenate([y, y[products[:, 0]] * y[products[:, 1]], [1.0]])
        return np.bincount(row, value * sources[source], minlength=n)

    out = np.empty((len(field.pattern[1]), 2 * SHIFTS))
    shifts = np.zeros(2 * SHIFTS)
    shifts[0] = 5.0
    shifted(y[field.order], field.products, field.source, value[field.term], field.entry, field.pattern[2], shifts, out)
    matrix = scipy.sparse.csr_array((out[:, 0], field.pattern[1], field.pattern[0]), shape=(n, n))
    assert np.allclose(matrix @ e[field.order], (5.0 * e - 0.5 * (f(y + e) - f(y - e)))[field.order], atol=1e-12)


def test_terms_that_advance_together_are_runs() -> None:
    """Two species whose registers alternate."""
    n = 50
    u, v = 2 * np.arange(n), 2 * np.arange(n) + 1
    products = np.stack([u, v], 1)
    row = np.concatenate([u, v, v, u])
    source = np.concatenate([2 * n + np.arange(n), u, v, np.full(n, 3 * n)])
    field = wide_field(2 * n, products, row, source, np.ones(4 * n))
    assert len(field.left) == 1
    assert len(field.into) == 3
    assert len(field.constant) == n
