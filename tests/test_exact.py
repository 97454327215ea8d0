"""The exact engine: every fast step equals the plain closed form, and failures are named."""

import numpy as np
import pytest

from integraph import Index, Registers, Status, build, segment
from integraph.errors import EscapeError, FlowError, OverflowedError
from integraph.flow import exact, steps
from integraph.gadgets import affine, decay, drain, exp, ln, power, product, ramp, tanh
from integraph.program import Options
from integraph.program.dynamics import switches
from tanh_net import compile_net, evaluate, random_net

RNG = np.random.default_rng(5)


def both_ways(monkeypatch: pytest.MonkeyPatch, program, X: np.ndarray) -> None:
    """All states by the fast steps and by the closed forms alone."""
    fast = program.flow(X, "exact", states=True).check()
    monkeypatch.setattr(steps, "_FAST", {})
    slow = exact.EXACT.run(program.rescale_states(1.0), X, Options(states=True))  # another object: planned anew
    assert np.allclose(fast.states, slow.states, rtol=1e-13, atol=1e-13)
    assert np.allclose(fast.outputs, slow.outputs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("count", [1, 2, 7, 300])
@pytest.mark.parametrize("duration", [1.0, 0.7])
def test_fast_steps_are_the_closed_forms(monkeypatch: pytest.MonkeyPatch, count: int, duration: float) -> None:
    A, B, C = (RNG.normal(size=size) for size in ((5, 4), (3, 5, 4), (6, 15)))
    r = Registers()
    x = r.inputs("x", 3, 4)
    z, y, q = r.new("z", 3, 5), r.new("y", 3, 4), r.new("q", 3, 3)
    alpha, lam, d = r.new("alpha", 3, 5), r.new("lam", 3, 5), r.new("d", 6)
    segments = [
        segment("matrices", affine(z, x[:, None, :], w=A, b=RNG.normal(size=5)), duration=duration),
        segment("again", affine(z, x[:, None, :], w=B), ramp(y, b=2.0), duration=duration),
        segment("diagonal", affine(y, x, w=A[:3], b=1.0), product(q, x[:, None, :], x[None, :, :], w=0.5)),
        segment("tanh", tanh(alpha, lam, z), product(y, x, x, w=3.0), duration=duration),
        segment("more", tanh(alpha, lam, z, a=0.5, b=0.1), decay(y, r=RNG.uniform(size=(3, 1))), duration=duration),
        segment("drain", drain(d, z.reshape(15), w=C, b=RNG.normal(size=6), r=3.0), duration=duration),
        segment("strided", affine(q[:, ::2], x[:, :2]), tanh(alpha[:, 1:3], lam[:, 1:3], y[:, :2])),
        segment("index", affine(Index(np.arange(12)[::-1]), d[:, None][:1].broadcast((12, 1)), w=np.ones((12, 1)))),
    ]
    program = build(r, segments, alpha.reshape(15), RNG.normal(size=(2, 15)))
    both_ways(monkeypatch, program, RNG.normal(size=(count, 12)))


def test_dead_and_wanted_states_agree() -> None:
    """Outputs with dead states skipped are the outputs with all states computed."""
    layers, readout = random_net((2, 8, 8, 1), seed=5)
    program = compile_net(layers, readout)
    X = RNG.uniform(size=(50, 2))
    assert np.array_equal(program.flow(X).outputs, program.flow(X, states=True).outputs)
    plan = exact.EXACT.prepare(program, False).plan
    assert len(plan.planned) == sum(len(s.blocks) for s in program.segments) - 2  # the last two decays are dead


def test_chunks_and_threads_change_nothing() -> None:
    layers, readout = random_net((2, 8, 8, 1), seed=5)
    program = compile_net(layers, readout)
    X = RNG.uniform(size=(1000, 2))
    whole = program(X)
    assert np.allclose(whole, evaluate(layers, readout, X), atol=1e-14)
    assert np.array_equal(whole, program(X, threads=2))
    assert np.allclose(whole, np.concatenate([program(X[:300]), program(X[300:])]), rtol=0, atol=1e-15)


def logarithm():
    r = Registers()
    x, p, z = r.inputs("x", 1), r.new("p", 1), r.new("z", 1)
    return build(r, [segment("load", affine(p, x, b=-1.0)), segment("log", ln(p, z))], z)


def test_escape_is_reported_by_index_and_the_rest_is_right() -> None:
    X = np.linspace(-2, 3, 600)[:, None]
    flow = logarithm().flow(X)
    bad = np.flatnonzero(X[:, 0] <= 0)
    assert [f.input for f in flow.failures] == bad.tolist()
    assert np.isnan(flow.outputs[bad]).all()
    good = X[:, 0] > 0
    assert np.allclose(flow.outputs[good], np.log(X[good]), rtol=1e-13, atol=1e-15)
    first = flow.failures[0]
    assert (first.status, first.segment, first.label, first.register) == (Status.ESCAPED, 1, "log", "p")
    assert first.time == pytest.approx(1 + 1 / 3, rel=1e-12)  # p = −3 blows up after 1/3
    assert flow.status[bad[0]] is Status.ESCAPED
    assert flow.status[-1] is Status.DONE
    with pytest.raises(EscapeError, match=r"input 0: .*register p, segment 1 'log', t ≈ 1.33333.*must be > 0.*more"):
        flow.check()
    with pytest.raises(FlowError) as caught:
        logarithm()([[1.0], [0.0]])
    assert caught.value.indices == (1,)


def test_path_reports_failures_too() -> None:
    flow = logarithm().flow([[2.0], [-1.0]], times=(0.0, 0.5, 1.5, 2.0))
    assert [f.input for f in flow.failures] == [1]
    assert np.isnan(flow.path[1]).all()
    assert flow.path[0, 2, 1] == pytest.approx(1 / 1.5)
    assert flow.path[0, 0].tolist() == [2.0, 0.0, 0.0]
    assert switches(logarithm()).tolist() == [0, 1, 2]


def test_overflow_is_reported_even_if_the_output_would_be_finite() -> None:
    """e^800 overflows; its reciprocal e^−800 must not come out as 0."""
    r = Registers()
    x, z, p, q = r.inputs("x", 1), r.new("z", 1), r.new("p", 1), r.new("q", 1)
    segments = [
        segment("one", ramp(z, b=1.0), ramp(q, b=1.0)),
        segment("exp", exp(z, x)),
        segment("load", affine(p, z, b=-1.0)),
        segment("reciprocal", power(p, q, a=-1.0)),
    ]
    program = build(r, segments, q)
    flow = program.flow([[2.0], [800.0]])
    assert flow.outputs[0, 0] == pytest.approx(np.exp(-2.0), rel=1e-14)
    assert [(f.input, f.status, f.register) for f in flow.failures] == [(1, Status.OVERFLOWED, "z")]
    with pytest.raises(OverflowedError):
        program([[800.0]])


def test_overflow_of_the_readout() -> None:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    program = build(r, [segment("copy", affine(z, x))], z, [[1e10]])
    flow = program.flow([[1.0], [1e300]])
    assert flow.outputs[0, 0] == 1e10
    assert [(f.input, f.register) for f in flow.failures] == [(1, "read-out")]


def test_no_segments() -> None:
    r = Registers()
    x = r.inputs("x", 2)
    program = build(r, [], x, [[1.0, 2.0]])
    assert program([3.0, 4.0]).tolist() == [11.0]
    assert program.trajectory([3.0, 4.0]).states.tolist() == [[3.0, 4.0]]
    assert program.stiffness([3.0, 4.0]) == 0.0


def test_tanh_kernel_at_the_extremes() -> None:
    """The numba kernel from small residues, as a narrow net leaves them, against numpy and Lemma 1."""
    x = np.array([0.0, 1e-300, -1e-300, 1e-140, -1e-8, 0.3, 19.0, -40.0, 700.0, -1e3, 1e150, 1e300, -1.7e308])
    r = Registers()
    mu, alpha, lam = r.inputs("mu", len(x)), r.new("alpha", len(x)), r.new("lam", len(x))
    residue = segment("residue", ramp(lam, b=1e-320))  # not fresh any more: no short cut by np.tanh
    flow = build(r, [residue, segment("tanh", tanh(alpha, lam, mu))], alpha).flow(x, states=True).check()
    assert np.allclose(flow.outputs[0], np.tanh(x), rtol=1e-15, atol=0)
    assert np.allclose(flow.states[0, 2 * len(x) :], x * np.tanh(x), rtol=2e-15, atol=1e-319)


def test_the_unstable_rest_is_not_a_number_out_of_noise() -> None:
    r = Registers()
    x, alpha, lam = r.inputs("x", 1), r.new("alpha", 1), r.new("lam", 1)
    program = build(r, [segment("down", affine(lam, x, w=[[-1.0]])), segment("tanh", tanh(alpha, lam, x))], alpha)
    assert program([2.0])[0] == pytest.approx(np.exp(2.0) - 1, rel=1e-14)  # λ = −x rests, α' = x + xα
    assert [f.status for f in program.flow([[2.0], [400.0]]).failures] == [Status.ESCAPED]


def test_growth_beyond_float64_leaves_zeros_alone() -> None:
    """The reverse of a decay by e^−800: 0 stays 0, anything else is reported."""
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    back = build(r, [segment("forget", decay(z, r=800.0))], x).reverse()
    assert back([[3.0, 0.0]]).tolist() == [[3.0, 0.0]]
    assert [f.status for f in back.flow([[3.0, 1e-9]]).failures] == [Status.OVERFLOWED]


def test_the_time_of_an_overflow() -> None:
    """e^{800 t} leaves float64 at t = 709.78/800 of its segment."""
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    program = build(r, [segment("one", ramp(z, b=1.0)), segment("exp", exp(z, x))], z)
    (failure,) = program.flow([800.0]).failures
    assert failure.time == pytest.approx(1 + np.log(np.finfo(float).max) / 800, rel=1e-12)
