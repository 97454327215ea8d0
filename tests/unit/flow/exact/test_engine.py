"""The exact engine: every fast step equals the plain closed form, and failures are named."""

import tracemalloc

import numpy as np
import pytest

from integraph import Index, Registers, Status, build, segment, tensor
from integraph.errors import EscapeError, FlowError, OverflowedError
from integraph.flow.exact import binding, engine
from integraph.flow.exact.linear_steps import compiles
from integraph.gadgets import affine, decay, drain, exp, leaky_relu, ln, power, product, ramp, relax, relu, silu, tanh
from integraph.gadgets.functions.namespace import FLOAT
from integraph.gadgets.gadget import Gadget, arguments
from integraph.program import Block, Options
from integraph.program.dynamics import switches
from slow import mostly_slow
from tanh_net import compile_net, evaluate, random_net

RNG = np.random.default_rng(5)


def both_ways(monkeypatch: pytest.MonkeyPatch, program, X: np.ndarray) -> None:
    """All states by the fast steps and by the closed forms alone."""
    fast = program.flow(X, "exact", states=True).check()
    monkeypatch.setattr(binding, "_FAST", {})
    slow = engine.EXACT.run(program.rescale_states(1.0), X, Options(states=True))  # another object: planned anew
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


def stepped(block: Block, states: np.ndarray, t: float) -> np.ndarray:
    """The states after the fast step of a block that must have one."""
    end = states.copy()
    step = binding._FAST[block.op.name](block, end, t, False, (True,) * len(block.targets))
    if not compiles():
        step = binding.bind(block, end, t, False, (True,) * len(block.targets))
    assert step is not None
    with np.errstate(all="ignore"):
        assert step()
    return end


def plain(block: Block, states: np.ndarray, t: float) -> np.ndarray:
    """The same by the closed form, every product w·x formed and summed on its own."""
    assert isinstance(block.op, Gadget)
    end = states.copy()
    with np.errstate(all="ignore"):
        closed = block.op.closed(OBVIOUS, t, *arguments(block, states))
    for ref, value in zip(block.targets, closed.ends, strict=True):
        end[ref.indices()] = value
    return end


class Obvious(type(FLOAT)):
    def dot(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.sum(w * x, axis=-2)


OBVIOUS = Obvious()
RATES = [0.0, 1e-9, 3.0, 40.0, 660.0, 690.0, 720.0, 744.9, 1000.0, 1430.0, 1500.0, 1e5, -2.0, -650.0]


@pytest.mark.parametrize("count", [1, 5])
@mostly_slow(("rate", "t"), [(r, t) for r in RATES for t in (1.0, 0.7, -0.3) if r * t > -700], quick=8)
def test_fast_drains_into_any_shape(rate: float, t: float, count: int) -> None:
    """Banks side by side, with gaps, reversed, transposed, one register; x of 1e-5 … 1e300, so that x·e^−r is seen."""
    sizes = np.array([1e-5, 1.0, 1e100, 1e300]) if rate * t >= 0 else np.full(4, 1e-200)
    r = Registers()
    x, group = r.inputs("x", 4), r.new("z", 5, 8)
    states = RNG.normal(size=(r.width, count)) * np.concatenate([sizes, np.ones(40)])[:, None]
    for z in (group, group[:3, :6], group[::-2, ::2], group[:2].transpose(1, 0), group[2], group[2, ::3], group[0, 0]):
        w, b = RNG.normal(size=(*z.shape, 4)) / sizes, RNG.normal(size=z.shape[-1:])
        block = drain(z, x[::-1] if rate == 3.0 else x, w=w[..., ::-1] if rate == 3.0 else w, b=b, r=rate)
        fast, slow = (way(block, states, t) for way in (stepped, plain))
        at = z.indices().ravel()
        assert np.abs(fast[at] - slow[at]).max() <= 1e-14 * np.abs(slow[at]).max()
        assert np.allclose(np.delete(fast, at, 0), np.delete(slow, at, 0), rtol=1e-14, atol=1e-323)


@pytest.mark.parametrize("t", [1.0, 0.7])
def test_fast_decays_and_relaxations(t: float) -> None:
    """Rates of every size side by side; 1e300·e^−720 is a normal number, 1·e^−720 is not, e^−1500 is 0."""
    r = Registers()
    z = r.inputs("z", 2, len(RATES) - 2, 4)[..., :3]
    states = RNG.normal(size=(r.width, 6)) * 10.0 ** RNG.integers(-10, 300, size=(r.width, 6))
    rates = np.array(RATES[:-2])[:, None]
    for rate in (rates, *rates[:, 0]):
        for block in (decay(z, r=rate), relax(z, r=rate, v=RNG.normal(size=3))):
            assert np.allclose(stepped(block, states, t), plain(block, states, t), rtol=1e-14, atol=1e-323)


@pytest.mark.parametrize("t", [1.0, 0.7, -0.3])
@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 30.0, 705.0, 1e3, 1e150])
def test_fast_logistic_flows(size: float, t: float) -> None:
    """From the usual start and from others, k and c one for all or one a lane, x as a·x + b."""
    r = Registers()
    s, x = r.inputs("s", 2, 3), r.inputs("x", 2, 3)
    states = np.empty((12, 64))
    states[6:] = size * RNG.normal(size=(6, 64))
    some = {"k": np.array([[2.0], [0.5]]), "c": np.array([0.1, -0.5, 0.25])}
    for block in (silu(s, x), relu(s, x, k=3.0), leaky_relu(s, x, **some), leaky_relu(s, x, k=-2.0, c=2.0, b=size)):
        operand, c = arguments(block, states)[1][0], block.tensors.get("c", np.zeros(()))
        k = block.tensors.get("k", np.ones(()))[..., None] * t
        rest = (1 - c[..., None]) * operand
        with np.errstate(all="ignore"):
            edge = FLOAT.expm1c(k * rest) * k  # N = 1 + excess·edge
        starts = [0.5 * rest, 3.0 * np.sign(k) * np.abs(rest)]
        if "c" not in block.tensors:  # else the rounding of c·x grows
            starts += [0.0 * rest, -0.5 / edge, 1e-300 / edge]
        for excess in starts:
            states[:6] = (c[..., None] * operand + excess).reshape(6, 64)
            fast, slow = (way(block, states, t) for way in (stepped, plain))
            allowed = np.abs(slow) + (np.abs(states[6:]).max() if "c" in block.tensors else 0.0)
            assert (np.abs(fast - slow) <= 1e-13 * allowed + 1e-307 * max(size, 1.0)).all()


def test_logistic_flows_escape() -> None:
    r = Registers()
    s, x = r.inputs("s", 1), r.inputs("x", 1)
    program = build(r, [segment("silu", silu(s, x))], s)
    flow = program.flow([[0.5, 1.0], [-1.0, 1.0], [0.0, 800.0], [1e-300, 800.0]])
    assert [(f.input, f.status) for f in flow.failures] == [(1, Status.ESCAPED)]
    assert flow.outputs[[0, 2, 3], 0] == pytest.approx([1 / (1 + np.exp(-1.0)), 0.0, 800.0], rel=1e-14)


def test_no_array_of_lanes_times_weights_times_inputs() -> None:
    """Neither by the fast step, nor where a flow is diagnosed or followed in time."""
    r = Registers()
    x, z = r.inputs("x", 200), r.new("z", 3, 150)
    w = tensor(RNG.normal(size=(3, 100, 200)))
    program = build(r, [segment("drain", drain(z[:, :100], x, w=w, r=1500.0))], z[:, :100])
    X = RNG.normal(size=(64, 200))
    X[3] = 1e308  # overflows
    program.flow(X[:1])
    tracemalloc.start()
    flow = program.flow(X, states=True)
    program.flow(X[4:], times=(0.5, 1.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * w.size * len(X) / 5
    assert [f.input for f in flow.failures] == [3]
    assert (np.delete(flow.states, 3, 0)[:, :200] == 0).all()  # in spite of their neighbour's failure


def test_a_growth_that_overflows_is_seen_though_the_output_is_finite() -> None:
    """e^700·1e10 is no float; tanh of it must not come out as 1."""
    r = Registers()
    x, alpha, lam = r.inputs("x", 1), r.new("alpha", 1), r.new("lam", 1)
    z = r.new("z", 1)
    for grow in (decay(x, r=-700.0), drain(z, x, w=[[0.0]], r=-700.0)):
        program = build(r, [segment("grow", grow), segment("tanh", tanh(alpha, lam, x))], alpha)
        flow = program.flow([[1e-3], [1e10]])
        assert flow.outputs[0] == 1.0
        assert [(f.input, f.status, f.register) for f in flow.failures] == [(1, Status.OVERFLOWED, "x")]


def test_the_reverse_of_a_relaxation_rests_at_its_value() -> None:
    """e^800 times nothing is nothing; anything else is reported."""
    r = Registers()
    z = r.inputs("z", 2)
    there = build(r, [segment("decay", relax(z, r=[800.0, 5.0], v=[0.1, 2.0]))], z)
    back = there.reverse()
    assert there([[7.0, 3.0]]).tolist() == [[0.1, pytest.approx(2.0 + np.exp(-5.0), rel=1e-15)]]
    assert back(there([[7.0, 3.0]])).tolist() == [[0.1, pytest.approx(3.0, rel=1e-13)]]
    assert back([[0.1, 2.0]]).tolist() == [[0.1, 2.0]]
    assert [f.status for f in back.flow([[0.2, 3.0]]).failures] == [Status.OVERFLOWED]
    slower = build(r, [segment("decay", relax(z, r=30.0, v=0.1))], z).reverse()
    assert slower([[0.1, 0.1]]).tolist() == [[0.1, 0.1]]


def test_dead_and_wanted_states_agree() -> None:
    """Outputs with dead states skipped are the outputs with all states computed."""
    layers, readout = random_net((2, 8, 8, 1), seed=5)
    program = compile_net(layers, readout)
    X = RNG.uniform(size=(50, 2))
    assert np.array_equal(program.flow(X).outputs, program.flow(X, states=True).outputs)
    plan = engine.EXACT.prepare(program, False).plan
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
    back = build(r, [segment("decay", decay(z, r=800.0))], x).reverse()
    assert back([[3.0, 0.0]]).tolist() == [[3.0, 0.0]]
    assert [f.status for f in back.flow([[3.0, 1e-9]]).failures] == [Status.OVERFLOWED]


def test_the_time_of_an_overflow() -> None:
    """e^{800 t} leaves float64 at t = 709.78/800 of its segment."""
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    program = build(r, [segment("one", ramp(z, b=1.0)), segment("exp", exp(z, x))], z)
    (failure,) = program.flow([800.0]).failures
    assert failure.time == pytest.approx(1 + np.log(np.finfo(float).max) / 800, rel=1e-12)
