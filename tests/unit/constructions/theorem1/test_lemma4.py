"""Lemma 4: Table I against the flow after each step, as printed in multi-precision and as remarked in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import ln, mp, mpf, tanh

import lemma4
from integraph import Program, Registers, View, build, gadgets
from integraph.constructions.theorem1.lemma4 import TABLE_I, bootstrap, layout, required_bits, slopes
from integraph.errors import EscapeError, SpecError, UsageError
from integraph.gadgets.functions.namespace import FLOAT
from integraph.gadgets.partition import controls, rounded
from law import examples
from mp_taylor import integrate
from multiprecision import PreciseFunctions, advance
from slow import mostly_slow


def program(d: int, N: int, c: float, delta: float, *, plus_one: bool, bits: int = 53) -> Program:
    """The bootstrap alone, all registers read out."""
    r = Registers()
    segments = bootstrap(layout(r, r.inputs("alpha", d), N), c, delta, plus_one=plus_one)
    return replace(build(r, segments, View(0, (r.width,), (1,))), bits=bits)


def table(step: int, x: mpf, delta: mpf, z: list[mpf]) -> dict[str, list[mpf]]:
    """A column of Table I for one j: by row, the values for the k that it speaks of."""
    names = {"x": x, "Delta": delta, "ln": ln, "tanh": tanh}
    psi = lemma4.psi(z)

    def value(row: str, **more: mpf) -> mpf:
        return mpf(eval(TABLE_I[row][step], {"__builtins__": {}}, names | more))

    found = {row: [value(row)] for row in ("alpha", "beta")}
    found |= {row: [value(row, psi=psi[0])] for row in ("lam0", "mu0")}
    pairs = list(zip(psi[1:], z, strict=True))
    return found | {row: [value(row, psi=p, z=zk) for p, zk in pairs] for row in ("lam", "mu")}


def check(step: int, states: list[mpf], x: list[float], delta: float, N: int, c: float) -> None:
    a, b = slopes(N, c)
    r = lemma4.Registers(len(x), N)
    for j, xj in enumerate(x):
        z = [mpf(a) * mpf(xj) + mpf(value) for value in b]
        column = table(step, mpf(xj), mpf(delta), z)
        found = {
            "alpha": [states[r.alpha(j)]],
            "beta": [states[r.beta(j)]],
            "lam0": [states[r.lam(j, 0)]],
            "mu0": [states[r.mu(j, 0)]],
            "lam": [states[r.lam(j, k)] for k in range(1, N + 1)],
            "mu": [states[r.mu(j, k)] for k in range(1, N + 1)],
        }
        for row, wanted in column.items():
            for got, value in zip(found[row], wanted, strict=True):
                assert abs(got - value) <= mpf(10) ** -15 * abs(value) + mpf(2) ** (8 - required_bits(c)), (
                    step,
                    row,
                    got,
                    value,
                )


@pytest.mark.parametrize(
    ("d", "N", "c", "delta"), [(1, 1, 3.0, 0.5), (1, 3, 4.0, 0.25), (2, 5, 28.0, 1.5), (2, 3, 500.0, 0.5)]
)
def test_table_1_by_closed_forms(d: int, N: int, c: float, delta: float) -> None:
    bits = required_bits(c)
    f, p = PreciseFunctions(bits + 64), program(d, N, c, delta, plus_one=False, bits=bits)
    with mp.workprec(2 * bits + 200):
        for x in ([0.3, 0.9][:d], [0.0, 1.0][:d], [1.0, 0.5][:d]):
            states = f.exactly(np.array([*x, *[0.0] * (p.width - d)])[:, None])
            check(0, [mpf(v) for v in states[:, 0]], x, delta, N, c)
            for step, part in enumerate(p.segments, 1):
                for block in part.blocks:
                    advance(f, block, states, f.exactly(1.0))
                check(step, [mpf(v) for v in states[:, 0]], x, delta, N, c)


@mostly_slow(("d", "N", "c", "x"), [(1, 3, 4.0, [0.3]), (2, 2, 6.0, [0.8, 0.1]), (1, 2, 30.0, [0.95])], quick=1)
def test_table_1_by_integration_of_the_papers_terms(d: int, N: int, c: float, x: list[float]) -> None:
    """Terms with the matrices computed from their definition, integrated by a method that knows none of our forms."""
    delta = 0.5
    with mp.workdps(int(0.9 * c) + 50):
        a, b = slopes(N, c)
        states = [mpf(v) for v in [*x, *[0.0] * (2 * (N + 2) * d - d)]]
        for step, terms in enumerate(lemma4.steps(d, N, mpf(a), [mpf(v) for v in b], mpf(delta)), 1):
            states = integrate(
                terms, states, 1.0, digits=mp.dps, order=60, tolerance=10.0 ** -(0.9 * c + 24), shortest=1e-40
            )
            check(step, states, x, delta, N, c)


def test_the_printed_step_2_does_not_clear_mu() -> None:
    """The erratum, by code: λ is right, μ is left at −0.211, 0.615, 0.983 where it should be 0."""
    N, c, x = 3, 4.0, 0.3
    a, b = slopes(N, c)
    r = lemma4.Registers(1, N)
    found = {}
    for printed in (True, False):
        states = [mpf(v) for v in [x, *[0.0] * (2 * (N + 2) - 1)]]
        for terms in lemma4.steps(1, N, mpf(a), [mpf(v) for v in b], mpf(1), printed=printed)[:2]:
            states = integrate(terms, states, 1.0)
        found[printed] = [float(states[r.mu(0, k)]) for k in range(1, N + 1)]
        psi = lemma4.psi([mpf(a) * mpf(x) + mpf(v) for v in b])
        assert [float(states[r.lam(0, k)]) for k in range(N + 1)] == pytest.approx([float(p) for p in psi], abs=1e-14)
    assert found[True] == pytest.approx([-0.211, 0.615, 0.983], abs=5e-4)
    assert found[False] == pytest.approx([0, 0, 0], abs=1e-14)


def test_the_printed_numbers_of_registers_collide() -> None:
    d, N = 2, 3
    printed = [d + (k + 1) * j for j in range(1, d + 1) for k in range(N + 1)]
    assert len(set(printed)) < len(printed)
    r = Registers()
    at = layout(r, r.inputs("alpha", d), N)
    ours = np.concatenate([view.indices().ravel() for view in (at.alpha, at.lam, at.beta, at.mu)])
    assert sorted(ours.tolist()) == list(range(2 * (N + 2) * d)) == list(range(r.width))
    assert int(at.lam[2, 1].indices()) == d + 2 * d + 1
    assert (at.ones.indices() == np.concatenate([at.alpha.indices()[None], at.lam.indices()])).all()
    assert (at.logs.indices() == np.concatenate([at.beta.indices()[None], at.mu.indices()])).all()


@pytest.mark.parametrize("N", [1, 2, 7, 12])
def test_controls_are_those_of_the_matrices(N: int) -> None:
    with mp.workdps(80):
        wanted, got = lemma4.matrices(N), controls(N, 200)
        for m in range(N + 1):
            pairs = ((got.A[m], wanted.A[0, m]), (got.B[m], wanted.B[0, m]))
            pairs += ((got.b[m], wanted.b[m]), (got.kappa[m], wanted.kappa[m]))
            assert all(abs(mpf(ours) - theirs) <= mpf(2) ** -198 * abs(theirs) for ours, theirs in pairs)
        for ours, theirs in ((rounded(N).b, wanted.b), (rounded(N).kappa, wanted.kappa)):
            assert ours.tolist() == [float(v) for v in theirs]


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
@examples(40)
def test_at_time_1_the_halves_are_exact(N: int, seed: int) -> None:
    """λ_k → ½(λ_k − λ_{k+1}), λ_N → ½λ_N + ½, μ → μ − zλ, to the last bit, in both arithmetics."""
    rng = np.random.default_rng(seed)
    lam, mu, x = rng.normal(size=(2, N + 1, 3)), rng.normal(size=(2, N, 3)), rng.normal(size=(2, 3))
    a, b = np.full((1, 1), 3.0), rng.normal(size=(N, 1))
    f = PreciseFunctions(200)
    for number, namespace, one in ((np.asarray, FLOAT, 1.0), (f.exactly, f, f.exactly(1.0))):
        l0, m0, at, slope, shift = (number(v) for v in (lam, mu, x, a, b))
        ends = gadgets.partition.closed(namespace, one, (l0, m0), (at,), {"a": slope, "b": shift}).ends
        following = np.concatenate([l0[:, 1:], np.full((2, 1, 3), -1.0)], 1)
        assert (ends[0] == 0.5 * (l0 - following)).all()
        assert (ends[1] == m0 - (slope * at[:, None] + shift) * l0[:, 1:]).all()


def test_float64_is_refused_where_it_would_fail() -> None:
    c = 473.0
    p = program(1, 3, c, 0.5, plus_one=False, bits=required_bits(c))
    assert p.bits == 1425
    for engine in ("exact", "taylor", "oracle"):
        with pytest.raises(
            UsageError, match=r"float64 \(53 bits\).*needs 1425 bits.*use engine='precise', or .*'remark'"
        ):
            p([0.3], engine=engine)
    assert p.flow([0.3]).engine == "precise"
    with pytest.raises(EscapeError, match=r"'ln'.*argument of ln must be > 0"):
        program(1, 7, 28.0, 0.5, plus_one=False)([0.05])  # had nobody said what it needs


@mostly_slow(("d", "N", "c", "delta"), [(1, 1, 3.0, 1.5), (2, 6, 40.0, 2.0), (3, 2, 1e4, 1.25)], quick=1)
def test_the_remark_in_float64(d: int, N: int, c: float, delta: float) -> None:
    """Ones, ln(x + Δ) and ln(ψ + 1), by closed forms and from the terms."""
    p = program(d, N, c, delta, plus_one=True)
    x = np.random.default_rng(5).uniform(size=(6, d))
    x[0], x[1] = 0.0, 1.0
    a, b = slopes(N, c)
    with mp.workdps(40):
        psi = [[lemma4.psi([mpf(a) * mpf(v) + mpf(s) for s in b]) for v in row] for row in x.tolist()]
        logs = np.array([[[float(ln(1 + one)) for one in of_x] for of_x in row] for row in psi])
    lanes = (N + 2) * d
    for engine, accuracy in (("exact", 1e-14), ("precise", 1e-15), *([("taylor", 1e-12)] if c < 100 else [])):
        accuracy += 0 if engine == "precise" else 4e-16 * c  # μ is c large before it is cleared
        end = p(x, engine=engine, rtol=1e-14)
        assert np.abs(end[:, :lanes] - 1).max() <= accuracy
        assert end[:, lanes : lanes + d] == pytest.approx(np.log(x + delta), abs=accuracy)
        mu = end[:, lanes + d :].reshape(-1, N + 1, d).swapaxes(1, 2)
        assert mu == pytest.approx(logs, abs=accuracy)


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        (((3,), (3,), ()), r"lam needs the shape rows \+ \(N \+ 1,\)"),
        (((1,), (0,), ()), "N ≥ 1|holds no register"),
        (((2, 4), (2, 3), ()), r"'x' has shape \(\), needs \(2,\)"),
        (((4, 2), (3, 2), (2,)), "transpose"),
    ],
)
def test_misuse_of_the_gadget(shapes: tuple[tuple[int, ...], ...], says: str) -> None:
    views = [View(100 * n, shape, (1,) * len(shape)) for n, shape in enumerate(shapes)]
    with pytest.raises(SpecError, match=says):
        gadgets.partition(*views)
    lam, mu, x = View(0, (4,), (1,)), View(4, (3,), (1,)), View(7, (), ())
    with pytest.raises(SpecError, match=r"tensor 'b' has shape \(4,\)"):
        gadgets.partition(lam, mu, x, b=np.zeros(4))


def test_names_of_registers() -> None:
    """`lam2_1` is λ_{1,1}: its number and the legend say k + 1, then j."""
    made = program(2, 1, 4.0, 0.5, plus_one=False)
    first = made.describe().split("segment 1")[0]
    assert "λ_{j,k} of Lemma 4, numbered k + 1, j" in first
    assert "lam1_1' = 1\n" in first
    assert "lam2_1' = −2 + 4·alpha1 − lam2_1·mu2_1" in first
    assert "lam2_2' = −2 + 4·alpha2 − lam2_2·mu2_2" in first
