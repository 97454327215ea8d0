"""The precise engine and programs that need it: agreement, range, failures, the file, other units of time."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from gadget_cases import CASES, Case
from integraph import Program, Registers, Status, build, compile, gadgets, load, segment
from integraph.errors import FileError, OverflowedError, PrecisionError, SpecError, UsageError
from integraph.flow import precise
from integraph.gadgets.functions.namespace import FLOAT
from law import examples
from mp_taylor import flow
from multiprecision import PreciseFunctions
from random_programs import moderate_program
from slow import mostly_slow

NORMAL = np.finfo(float).tiny


@mostly_slow("t", [1.0, -0.7, 0.37], quick=2)
@mostly_slow("case", CASES, quick=2, ids=lambda case: case.name)
def test_every_gadget_against_integration(case: Case, t: float) -> None:
    """To the last bits of float64: nothing is lost where a sum cancels, unlike in float64."""
    program = case.program(t)
    starts = case.inputs(case.draw(np.random.default_rng(31), t, 2))
    found = program.flow(starts, "precise").check().outputs
    for start, end in zip(starts, found, strict=True):
        wanted = np.array([float(v) for v in flow(program, start)])
        lowered = 1e-13 if case.gadget.name in ("drain", "partition") else 3e-15  # their controls are rounded
        assert (np.abs(end - wanted) <= lowered * case.scale(program, start, wanted) + NORMAL).all(), (end, wanted)


@mostly_slow("case", [case for case in CASES if case.wild], quick=1, ids=lambda case: case.name)
def test_the_same_inputs_escape_as_in_float64(case: Case) -> None:
    program = case.program(1.0)
    starts = case.inputs(case.wild(np.random.default_rng(8), 1.0, 20))
    exact, precise = (program.flow(starts, engine) for engine in ("exact", "precise"))
    assert exact.failures
    assert [f.input for f in exact.failures] == [f.input for f in precise.failures]
    for one, other in zip(exact.failures[:32], precise.failures[:32], strict=True):
        assert (one.status, one.segment, one.label, one.register, one.domain) == (
            other.status,
            other.segment,
            other.label,
            other.register,
            other.domain,
        )
        assert math.isclose(one.time, other.time, rel_tol=1e-6)
    assert np.isnan(precise.outputs[[f.input for f in precise.failures]]).all()


@pytest.mark.slow
@examples(60)
@given(st.integers(0, 2**32 - 1))
def test_random_programs_agree_with_exact(seed: int) -> None:
    """Other units, other clocks, views and index arrays of every kind, failures included."""
    program = moderate_program(seed)
    x = np.random.default_rng(seed).normal(size=(3, program.inputs))
    times = np.linspace(0, program.horizon, 4)
    exact, precise = (program.flow(x, engine, states=True, times=times) for engine in ("exact", "precise"))
    assert [(f.input, f.status) for f in exact.failures] == [(f.input, f.status) for f in precise.failures]
    good = np.setdiff1d(np.arange(3), [f.input for f in exact.failures])
    for a, b in ((exact.states, precise.states), (exact.outputs, precise.outputs), (exact.path, precise.path)):
        largest = np.abs(b[good]).max(initial=1e-300)  # of which a small register may be a difference
        scale = np.maximum(np.abs(b[good]), 1e-2 * largest)
        assert (np.abs(a[good] - b[good]) <= 1e-12 * scale).all()
        assert np.isnan(a).any() == np.isnan(b).any() == bool(exact.failures)


def simple(bits: int = 53) -> Program:
    """e^x, then its logarithm: it leaves float64 on the way and comes back."""
    r = Registers()
    x, z, l = r.inputs("x", 1), r.new("z", 1), r.new("l", 1)
    steps = [
        segment("one", gadgets.ramp(z, b=1.0)),
        segment("exp", gadgets.exp(z, x)),
        segment("less", gadgets.ramp(z, b=-1.0)),
        segment("ln", gadgets.ln(z, l)),
    ]
    return replace(build(r, steps, l), bits=bits)


def test_registers_may_leave_float64_on_the_way() -> None:
    x = np.array([[-900.0], [0.25], [2000.0]])
    program = simple(4000)
    assert (program(x) == x).all()
    large = program.flow(x, times=[0.0, 2.0])  # asked for, it must fit
    assert [f.input for f in large.failures] == [2]
    with pytest.raises(OverflowedError, match="larger than float64 holds"):
        large.check()
    assert large.path[:2, 1, 1] == pytest.approx(np.exp(x[:2, 0]), rel=1e-15, abs=1e-320)
    assert np.isnan(large.path[2]).all()


def test_the_precision_is_what_it_takes() -> None:
    """p = e^x − 1 keeps e^x only if there are bits for it; where there are not, nothing is certain."""
    x = np.array([[-80.0], [-200.0], [-2000.0], [-2900.0]])
    flow = simple(53).flow(x, "precise")
    assert flow.outputs[:3].tolist() == x[:3].tolist()
    assert flow.status == (*[Status.DONE] * 3, Status.LOST)
    (lost,) = flow.failures
    assert (lost.register, lost.label) == ("z", "ln")
    assert simple(200).flow(x).outputs.tolist() == x.tolist()


def test_only_precise_runs_what_needs_more_bits() -> None:
    program = simple(54)
    for engine in ("exact", "taylor", "oracle"):
        says = (
            rf"engine '{engine}' works in float64 \(53 bits\); this program needs 54 bits, .*: use engine='precise', or"
        )
        with pytest.raises(UsageError, match=says):
            program([1.0], engine=engine)
    assert program.flow([1.0]).engine == "precise"
    assert simple().flow([1.0]).engine == "exact"
    r = Registers()
    y = r.inputs("y", 1)
    open_form = type("Open", (type(gadgets.decay),), {"exact": False})()
    unsolved = replace(build(r, [segment("open", open_form(y, r=1.0))], y), bits=60)
    with pytest.raises(UsageError, match="no engine can run this program: it needs 60 bits and has a block without"):
        unsolved([1.0])
    with pytest.raises(UsageError, match="no engine can, or compile"):
        unsolved([1.0], engine="taylor")
    with pytest.raises(
        UsageError, match=r"cannot run this program \(a block has no closed form\): use 'taylor' or 'ora"
    ):
        replace(unsolved, bits=53)([1.0], engine="precise")


@pytest.mark.parametrize("bits", [52, 0, -1, 10**7, 64.0, True, "64", None])
def test_bits_are_checked(bits: object) -> None:
    with pytest.raises(SpecError, match=r"bits = .*: the precision of a flow is an integer from 53 to 1000000"):
        replace(simple(), bits=bits)


def test_bits_are_kept() -> None:
    program = simple(80)
    assert "needs 80 bits" in repr(program)
    assert "precision         80 bits" in program.summary()
    assert "bits" not in repr(simple()) + simple().summary()
    derived = [
        program.rescale_states(2.0),
        program.rescale_time(8.0),
        program.reverse(),
        program.then(simple()),
        simple().then(program),
        program.with_errors(seen=1.0),
    ]
    assert [p.bits for p in derived] == [80] * 6
    assert simple().then(simple()).bits == 53
    assert derived[0]([0.5])[0] == pytest.approx(1.0, rel=1e-15)


def test_bits_in_files(tmp_path: Path) -> None:
    for bits in (53, 80):
        simple(bits).save(tmp_path / "p")
        found = load(tmp_path / "p")
        assert found.bits == bits
        assert found.digest == simple().digest
        assert (b'\\"bits\\"' in (tmp_path / "p").read_bytes()) == (bits > 53)


@pytest.mark.parametrize("bits", [52, "80", 80.5, True, None, 10**9])
def test_hostile_bits_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: object) -> None:
    from integraph.program import storage

    encode = storage.encode
    monkeypatch.setattr(storage, "encode", lambda p: (encode(p)[0] | {"bits": bits}, encode(p)[1]))
    simple().save(tmp_path / "p")
    with pytest.raises(FileError, match="bits"):
        load(tmp_path / "p")


def test_time_is_rescaled_exactly_or_not_at_all() -> None:
    program = simple(200)
    for horizon in (1.0, 4.0 / 1024, 64.0):
        faster = program.rescale_time(horizon)
        assert faster.horizon == horizon
        assert faster([-80.0])[0] == -80.0
    with pytest.raises(
        UsageError, match=r"horizon 3: .*would be rounded.*needs 200 bits: choose 4\.0 times.*such as 4\.0"
    ):
        program.rescale_time(3.0)
    assert simple().rescale_time(3.0).horizon == 3.0
    thirds = replace(simple(), segments=simple().segments[:3], readout=simple().reverse().readout[:1])
    with pytest.raises(UsageError, match=r"such as 0\.75"):
        replace(thirds, bits=200).rescale_time(1.0)


def test_no_inputs_and_no_segments() -> None:
    assert simple().flow(np.zeros((0, 1)), "precise", states=True).outputs.shape == (0, 1)
    r = Registers()
    x = r.inputs("x", 2)
    still = build(r, [], x, [[2.0, 0.1], [0.0, 0.0]])
    assert still.flow([[1.0, 3.0]], "precise", times=[0.0]).outputs.tolist() == [[2.0 + 3 * 0.1, 0.0]]


def test_threads_wait_for_each_other() -> None:
    """Several precisions at once; the precision of the process stays what it was."""
    before = ctx.prec
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda bits: simple(bits)([-30.0])[0], [150, 90, 200, 120] * 8))
    assert found == [-30.0] * 32
    assert ctx.prec == before


def there_and_back() -> Program:
    """e^x·e^{−x}·w + y: a ball around w + y."""
    r = Registers()
    x, y, z = r.inputs("x", 1), r.inputs("y", 1), r.inputs("w", 1)
    out, back = segment("out", gadgets.exp(z, x)), segment("back", gadgets.exp(z, x, a=-1.0))
    return build(r, [out, back, segment("sum", gadgets.affine(z, y))], z)


@pytest.mark.parametrize(
    ("y", "w"),
    [
        (-1.0, 1.0),
        (0.0, -0.0),
        (5e-324, 5e-324),
        (-5e-324, -1e-300),
        (2.0**-60, 1.0),
        (2.0**-53, 1.0),  # a tie
        (2.0**-53 + 2.0**-1000, 1.0),
        (2.0**-53 - 2.0**-100, 1.0),
        (1e-300, -1e-300),
        (1e308, 7e307),
    ],
)
def test_the_last_bit_is_right(y: float, w: float) -> None:
    """The float next to the exact value: where a sum cancels to its last bits, or to nothing at all, or is a tie."""
    (found,) = there_and_back()([0.3, y, w], "precise")
    exact = Fraction(y) + Fraction(w)
    if abs(exact - Fraction(float(exact))) * 2 == Fraction(math.ulp(found)):
        assert abs(Fraction(found) - exact) * 2 == Fraction(math.ulp(found))
    else:
        assert found == float(exact)


def test_what_is_too_large_is_said() -> None:
    """Of a result; on the way e^1e300 is a number, and e^e^1e5 is not even for Arb."""
    program = there_and_back()
    flow = program.flow([[0.3, 1.7e308, 1.7e308], [0.3, 1.0, 1.0], [1e300, 1.0, 1.0]], "precise")
    assert flow.status == (Status.OVERFLOWED, Status.DONE, Status.DONE)
    assert flow.outputs[1:, 0].tolist() == [2.0, 2.0]
    r = Registers()
    x, z, w = r.inputs("x", 1), r.inputs("z", 1), r.inputs("w", 1)
    twice = build(r, [segment("once", gadgets.exp(z, x)), segment("twice", gadgets.exp(w, z))], x)
    (large,) = twice.flow([1e5, 1.0, 1.0], "precise", states=True).failures
    assert (large.status, large.register, large.label) == (Status.OVERFLOWED, "w", "twice")


def test_no_value_is_claimed_that_is_not_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """With too few bits an input is lost; it never gets the middle of a wide ball."""
    monkeypatch.setattr(precise, "GUARDS", (8,))
    x = np.random.default_rng(3).uniform(-2, 2, (40, 1))
    program = compile("sin(exp(3*x))/(2+cos(x))", box=(-2, 2))
    flow = program.flow(x, "precise")
    lost = np.array([status is Status.LOST for status in flow.status])
    assert 0 < lost.sum() < 40
    with mp.workprec(300):
        values = map(mpf, x[:, 0].tolist())
        truth = np.array([float(mp.sin(mp.exp(3 * v)) / (2 + mp.cos(v))) for v in values])
    assert (flow.outputs[~lost, 0] == truth[~lost]).all()
    assert np.isnan(flow.outputs[lost]).all()


UNARY = ("abs", "sign", "relu", "exp", "expm1", "expm1c", "log1p", "log1pc", "sin", "cos")
ARGUMENTS = np.array([0.0, 1e-300, -1e-9, 0.3, -0.7, 1.0, -0.999, 5.0, -20.0, 300.0, -600.0])


def test_functions_are_those_of_float64() -> None:
    f = PreciseFunctions(160)
    exact = f.exactly(ARGUMENTS)
    for name in UNARY:
        keep = ARGUMENTS > -1 if name.startswith("log1p") else np.isfinite(ARGUMENTS)
        ours, theirs = f.rounded(getattr(f, name)(exact[keep])), getattr(FLOAT, name)(ARGUMENTS[keep])
        assert ours == pytest.approx(theirs, rel=1e-14, abs=1e-300), name
    x, y = np.meshgrid(ARGUMENTS, ARGUMENTS)
    pairs = {"hypot": x == x, "atan2": (x != 0) | (y != 0), "grow": np.abs(y) < 500}
    pairs |= {"log_cosh": y >= 0, "log_logistic": y >= 0, "inverse_distance": (x > -1) | (y != 0)}
    for name, keep in pairs.items():
        a, b = x[keep], y[keep]
        with np.errstate(all="ignore"):
            theirs = getattr(FLOAT, name)(a, b)
        assert f.rounded(getattr(f, name)(f.exactly(a), f.exactly(b))) == pytest.approx(theirs, rel=1e-13), name
    for c in (1.0, 2.0):
        keep = (np.abs(x) <= 20) & (np.abs(y) <= 20)
        a, b = x[keep], y[keep]
        for name in ("fall", "gauss"):
            with np.errstate(all="ignore"):
                theirs = getattr(FLOAT, name)(1.5, a, b, c)
            ours = f.rounded(getattr(f, name)(1.5, f.exactly(a), f.exactly(b), c))
            assert ours == pytest.approx(theirs, rel=1e-13, abs=1e-300), name


@mostly_slow(("a", "b", "c"), [(3.0, 1e-3, 1.0), (-9.0, 2.0, 2.0), (40.0, 1e-25, 2.0), (1e3, 8.0, 1.0)], quick=1)
def test_gauss_against_quadrature(a: float, b: float, c: float) -> None:
    f = PreciseFunctions(160)
    with mp.workdps(60):
        exponent = lambda s: -mpf(c) * (mpf(a) * s + mpf(b) ** 2 * s * s / 2)  # noqa: E731
        wanted = mp.quad(lambda s: mp.exp(exponent(s)), mp.linspace(0, 1, 60))
        found = mpf(f.gauss(f.exactly(1.0), f.exactly(a), f.exactly(b), c))
        assert abs(found - wanted) <= mpf(10) ** -40 * wanted


def test_division_by_zero_is_no_exception() -> None:
    f = PreciseFunctions(100)
    one, zero = f.exactly(1.0), f.exactly(0.0)
    assert [one / zero, -one / zero, 1.0 / zero, 3 / zero] == [math.inf, -math.inf, math.inf, math.inf]
    assert (zero / zero) != (zero / zero)
    assert f.log1p(f.exactly(-1.0)) == -math.inf
    assert not f.finite(np.array([f.log1p(f.exactly(-2.0)), f.sin(f.exactly(1.0) / zero)])).any()
    assert f.exp(f.exactly(1e300)) == math.inf
    assert f.exp(f.exactly(-1e300)) == 0


def test_digits_that_run_out_are_more_digits_or_a_failure() -> None:
    """x^20 has 133 bits before its point, of which the sine needs all; x^1000 has more than are tried."""
    with mpmath.workdps(100):
        truth = [float(mpmath.sin(mpmath.mpf(x) ** 20)) for x in (99.3, 0.5)]
    found = compile("sin(x^20)", box=(0, 100))([[99.3], [0.5]], "precise")
    np.testing.assert_allclose(found[:, 0], truth, 1e-14)
    with pytest.raises(PrecisionError, match="input 0: the result is not sure"):
        compile("sin(x^1000)", box=(0, 100))([[99.3], [0.5]], "precise")
