"""Defects that an adversarial review found, each kept from coming back."""

import copy
import gc
import os
import pickle
import stat
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from integraph import Index, Registers, Status, build, load, segment
from integraph.errors import FileError, IntegraphError, SpecError
from integraph.gadgets import affine, decay, exp, ln, product, ramp, tanh


def two_logarithms():
    """ln q, which nobody reads, and ln p."""
    r = Registers()
    p, q, z, w = r.inputs("p", 1), r.inputs("q", 1), r.new("z", 1), r.new("w", 1)
    return build(r, [segment("dead", ln(q, w)), segment("live", ln(p, z))], z)


def test_an_input_does_not_fail_because_of_its_neighbour() -> None:
    flow = two_logarithms().flow([[1.0, 1.0], [-5.0, 1.0]])
    assert [f.input for f in flow.failures] == [1]
    assert flow.outputs[0, 0] == pytest.approx(np.log(2.0))


@pytest.mark.parametrize("engine", ["exact", "taylor", "precise", "oracle"])
def test_a_register_that_nobody_reads_ends_the_flow_all_the_same(engine: str) -> None:
    """Eq. (1) has no solution up to T, whatever is read out."""
    flow = two_logarithms().flow([[1.0, -5.0], [1.0, 1.0]], engine)
    assert [(f.input, f.segment) for f in flow.failures] == [(0, 0)]


@pytest.mark.parametrize("gadget", ["tanh", "exp"])
def test_infinities_do_not_become_finite_again(gadget: str) -> None:
    """The sum overflows on the way to −1.7e308; tanh or exp of ±inf would look like a number."""
    r = Registers()
    x, m, a, l = r.inputs("x", 5), r.new("m", 1), r.new("a", 1), r.new("l", 1)
    last = tanh(a, l, m) if gadget == "tanh" else exp(a, m)
    program = build(r, [segment("sum", affine(m, x, w=[[1.0, 1, -1, -1, -1]])), segment("f", last)], a)
    assert [f.status for f in program.flow([[1.7e308] * 5]).failures] == [Status.OVERFLOWED]


def test_strong_decay_keeps_its_digits() -> None:
    r = Registers()
    z = r.inputs("z", 1)
    assert build(r, [segment("d", decay(z, r=800.0))], z)([1e300])[0] == pytest.approx(3.6698e-48, rel=1e-4)
    assert build(r, [segment("d", decay(z, r=740.0))], z)([1e300])[0] == pytest.approx(4.1892e-22, rel=1e-4)


def test_tanh_of_almost_nothing_from_any_start() -> None:
    """α u = α₀ + v + λ₀ v/2 for v → 0, u = 1 + λ₀."""
    r = Registers()
    y = r.inputs("y", 3)
    program = build(r, [segment("t", tanh(y[0:1], y[1:2], y[2:3]))], y)
    assert program([0.0, 1.0, 1e-160])[0] == pytest.approx(0.75e-160, rel=1e-15)


def test_scales_whose_products_leave_float64() -> None:
    """The control −s_p must not vanish because s_p·s_p does; states of 1e170 have squares that Taylor cannot hold."""
    r = Registers()
    p, z = r.inputs("p", 1), r.new("z", 1)
    program = build(r, [segment("ln", ln(p, z))], z).rescale_states(1e-170)
    assert program.terms == 2
    assert program([1e170])[0] == pytest.approx(np.log(2.0), rel=1e-12)
    assert not program.flow([1e170], "taylor").ok


def test_no_infinity_with_ok() -> None:
    r = Registers()
    x, z = r.inputs("x", 2), r.new("z", 2)
    copied = [segment("copy", affine(z, x))]
    assert not build(r, copied, x, [[1e308, 1e308]]).flow([[1.0, 1.0]], times=[0.5]).ok
    scaled = build(r, copied, x).rescale_states([1, 1, 1e-300, 1e-300])
    assert not scaled.flow([[1e10, 1.0]], states=True).ok
    assert not scaled.flow([[1e10, 1.0]], times=[1.0]).ok


def test_a_horizon_of_one_is_one() -> None:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    for count in (3, 6, 7, 10, 49, 1000):
        program = build(r, [segment("s", affine(z, x))] * count, z).rescale_time(1.0)
        assert program.horizon == 1.0
        assert program.flow([1.0], times=[1.0]).path[0, 0, 1] == pytest.approx(count)


def test_a_segment_too_short_for_the_clock() -> None:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    program = build(r, [segment("a", affine(z, x), duration=1e16), segment("b", affine(z, x, w=1e18))], z)
    assert program([1.0])[0] == pytest.approx(1.01e18)
    with pytest.raises(IntegraphError, match="too short for times"):
        program.trajectory([1.0])


def test_nothing_given_can_be_changed_later() -> None:
    r = Registers()
    x, z = r.inputs("x", 2), r.new("z", 2)
    weights = np.ones((2, 2))
    view = weights.view()
    view.flags.writeable = False
    program = build(r, [segment("a", affine(z, x, w=view))], z)
    weights[:] = 5.0
    assert program([1.0, 1.0]).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        program.readout.data[:] = 9.0
    with pytest.raises(SpecError, match="cannot grow"):
        program.registers.new("more", 1)
    r.new("more", 1)  # the user's own may
    assert program.width == 4


def test_what_is_not_a_number_is_refused() -> None:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    program = build(r, [segment("a", affine(z, x))], z)
    wrong = [
        np.array([1j]),
        ["1"],
        np.array(["2020-01-01"], "M8[D]"),
        np.ma.masked_array([1.0], [True]),
        [10**400],
        None,
    ]
    for given in wrong:
        for call in (
            program,
            lambda w: affine(z, x, w=w) if w is not None else program(w),
            lambda w: program.rhs(0, w),
        ):
            with pytest.raises(IntegraphError, match=r"numbers|not finite|shape"):
                call(given)
    for call in (
        lambda: Index([0.9]),
        lambda: x[True],
        lambda: segment("s", duration="x"),
        lambda: program.rescale_time(None),
        lambda: program.rescale_states("a"),
        lambda: program.rescale_states([1.0, 2.0, 3.0]),
        lambda: program.trajectory([1.0], points=2.5),
        lambda: program.trajectory([1.0], points=10**9),
        lambda: program.save(None),
        lambda: r.new(["a"], 3),
        lambda: len(x[0]),
    ):
        with pytest.raises(IntegraphError):
            call()


def test_saving_over_what_is_no_file(tmp_path: Path) -> None:
    program = two_logarithms()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="not a file"):
        program.save(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    program.save(tmp_path / "private")
    (tmp_path / "private").chmod(0o600)
    program.save(tmp_path / "private")
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600
    assert load(tmp_path / "private").digest == program.digest


def test_programs_travel() -> None:
    """Through pickle (our own, to another process) and deepcopy."""
    program = two_logarithms().rescale_states(2.0)
    program([1.0, 2.0])
    for other in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        assert other.digest == program.digest
        assert np.array_equal(other([1.0, 2.0]), program([1.0, 2.0]))


def test_blas_threads_are_given_back() -> None:
    r = Registers()
    x, z = r.inputs("x", 8), r.new("z", 8)
    program = build(r, [segment("a", affine(z, x, w=np.eye(8)))], z)
    with threadpool_limits(2):
        before = [lib["num_threads"] for lib in threadpool_info()]
        workers = [threading.Thread(target=lambda: program(np.ones((5000, 8)))) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [lib["num_threads"] for lib in threadpool_info()] == before


@pytest.mark.slow
def test_without_a_compiler_the_closed_forms_do() -> None:
    code = (
        "import numpy as np; from tanh_net import *; net = random_net((2, 8, 8, 1), 0); x = np.ones((3, 2));"
        "assert abs(compile_net(*net)(x) - evaluate(*net, x)).max() < 1e-14"
    )
    examples = Path(__file__).parents[2] / "examples"
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(examples)}
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=env)


@pytest.mark.slow
def test_many_failures_are_quick_and_all_named() -> None:
    flow = two_logarithms().flow(np.full((3000, 2), -3.0))
    assert len(flow.failures) == 3000
    assert flow.failures[0].time == pytest.approx(1 / 3)
    assert "t ≈" in str(flow.failures[0])
    assert np.isnan(flow.failures[200].time)
    assert "nan" not in str(flow.failures[200])


def test_products_and_ramps_are_checked_too() -> None:
    r = Registers()
    x, z, a = r.inputs("x", 1), r.new("z", 1), r.new("a", 1)
    program = build(r, [segment("p", product(z, x, x), ramp(a, b=1.0)), segment("e", exp(a, z, a=-1.0))], a)
    assert [f.input for f in program.flow([[2.0], [1e200]]).failures] == [1]


@pytest.mark.slow
def test_programs_are_forgotten() -> None:
    """Engines keep plans as long as the program lives, and no longer."""
    program = two_logarithms()
    for engine in ("exact", "taylor"):
        program([1.0, 2.0], engine)
    gone = weakref.ref(program)
    del program
    gc.collect()
    assert gone() is None
