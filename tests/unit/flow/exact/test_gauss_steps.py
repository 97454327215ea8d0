"""The compiled GELU and erf against mpmath and the closed form, and when they leave a chunk to the closed form."""

import math

import mpmath as mp
import numpy as np
import pytest

from integraph import Registers, Status, build, segment
from integraph.flow.exact import binding, gauss_flow
from integraph.flow.exact.affine_steps import compiles
from integraph.gadgets import affine, erf, gelu
from integraph.gadgets.functions.namespace import FLOAT
from integraph.program import Block
from slow import mostly_slow

RNG = np.random.default_rng(13)
EXTREME = np.array(
    [0.0, -0.0, 5e-324, -1e-310, 1e-300, 1e-160, 1e-8, 1e-5, -0.01, 0.1, 1.0, -3.0, 6.0, 8.49, -8.5, 40, -40]
)

pytestmark = pytest.mark.skipif(not compiles(), reason="numba is switched off")


def block_of(gadget: object, n: int, **tensors: float) -> tuple[Block, int]:
    r = Registers()
    x, w, h, y = r.inputs("x", n), r.new("w", n), r.new("h", n), r.new("y", n)
    return gadget(w, h, y, x, **tensors), r.width


def run(block: Block, states: np.ndarray, t: float, live: tuple[bool, ...] = (True,) * 3) -> np.ndarray:
    end = states.copy()
    with np.errstate(all="ignore"):
        assert binding.bind(block, end, t, False, live)()
    return end


def closed(block: Block, states: np.ndarray, t: float) -> np.ndarray:
    end = states.copy()
    with np.errstate(all="ignore"):
        assert binding._generic(block, end, t)()
    return end


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No way back to the closed form."""

    def refuse(*_: object) -> None:
        raise AssertionError("the closed form was called")

    monkeypatch.setattr(binding, "advance", refuse)


def truth(c: int, driven: bool, w: float, h: float, y: float, x: float, t: float) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """w, h and y at t: near x = 0 by quadrature, elsewhere by error functions."""
    w, h, y, x, t = (mp.mpf(float(v)) for v in (w, h, y, x, t))
    if abs(x * t) < 1:
        integral = h * mp.quad(lambda s: mp.exp(-c * (w * s + x * x * s * s / 2)), [0, t])
    else:
        rate = mp.sqrt(c / mp.mpf(2)) * abs(x)
        shift = c * w / (2 * rate)
        ends = mp.erf(rate * t + shift) - mp.erf(shift)
        integral = h * mp.exp(shift**2) * mp.sqrt(mp.pi) / (2 * rate) * ends
    return w + x * x * t, h * mp.exp(-c * (w * t + (x * t) ** 2 / 2)), y + (x if driven else 1) * integral


@pytest.mark.usefixtures("alone")
@mostly_slow("t", [1.0, 0.7, -1.3], quick=2)
@pytest.mark.parametrize(("gadget", "c", "driven"), [(gelu, 1, True), (erf, 2, False)])
@mostly_slow("size", [0.0, 1e-16, 1e-9, 7e-5], quick=2)
def test_all_three_ends_of_mpmath(gadget: object, c: int, driven: bool, size: float, t: float) -> None:
    """From h and y that are anything, w at 0 or near it."""
    x = np.concatenate([EXTREME, RNG.normal(0, 2, 60), RNG.uniform(-0.3, 0.3, 40)])
    n = len(x)
    block, _ = block_of(gadget, n)
    w, h, y = size * RNG.uniform(-1, 1, n), RNG.normal(size=n), RNG.normal(size=n)
    end = run(block, np.concatenate([x, w, h, y])[:, None], t)[:, 0].reshape(4, n)
    for lane in range(n):
        with mp.workdps(30):
            exact_w, exact_h, exact_y = truth(c, driven, w[lane], h[lane], y[lane], x[lane], t)
            gain, error = abs(exact_y - mp.mpf(y[lane])), abs(mp.mpf(end[3, lane]) - exact_y)
        assert end[1, lane] == pytest.approx(float(exact_w), rel=6e-16, abs=1e-300)
        rounding = 0.0 if t == 1.0 else 4e-16 * x[lane] ** 2  # of t·x, which e^{−c(tx)²/2} sees
        assert end[2, lane] == pytest.approx(float(exact_h), rel=2e-15 + rounding, abs=1e-300)
        assert error <= 1.2e-16 * abs(exact_y) + 1.5e-15 * gain


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("inputs", [1, 3, 256])
def test_gelu_where_only_its_value_is_wanted(inputs: int) -> None:
    """The usual start; the promise is 1e-16·|x|. w and h may be anything afterwards, so they stay."""
    x = np.resize(np.concatenate([EXTREME, RNG.normal(0, 3, 400)]), (200, inputs))
    block, _ = block_of(gelu, 200)
    states = np.concatenate([x, 0 * x, x / np.sqrt(2 * np.pi), x / 2])
    end = run(block, states, 1.0, (False, False, True))
    assert np.array_equal(end[:600], states[:600])
    for lane in range(200):
        with mp.workdps(30):
            value = mp.mpf(x[lane, -1])
            error = abs(end[600 + lane, -1] - value * mp.ncdf(value))
        assert error <= 3e-16 * abs(value) + 1e-323


@pytest.mark.usefixtures("alone")
def test_erf_to_a_few_ulp_everywhere() -> None:
    x = np.concatenate([np.linspace(0, 6.2, 4001), 10.0 ** RNG.uniform(-300, 0, 500)])
    block, _ = block_of(erf, len(x))
    states = np.concatenate([x, 0 * x, x * (2 / np.sqrt(np.pi)), 0 * x])[:, None]
    found = run(block, states, 1.0, (False, False, True))[3 * len(x) :, 0]
    exact = np.array([math.erf(v) for v in x])
    assert (np.abs(found - exact) <= 1e-15 * exact).all()


@pytest.mark.parametrize("inputs", [1, 3, 256])
@pytest.mark.parametrize("gadget", [gelu, erf])
def test_starts_further_out_go_to_the_closed_form(gadget: object, inputs: int) -> None:
    """One lane of one input is enough; the chunk has not been touched before."""
    block, width = block_of(gadget, 7, a=0.5, b=0.25)
    states = RNG.normal(size=(width, inputs))
    states[block.targets[0].indices()] = 0.0
    states[block.targets[0].indices()[3], -1] = -0.7
    assert np.array_equal(run(block, states, 1.0), closed(block, states, 1.0))
    states[block.targets[0].indices()] = 1e-5
    assert np.abs(run(block, states, 1.0) - closed(block, states, 1.0)).max() <= 3e-14
    states[block.targets[0].indices()] = 0.0
    assert np.abs(run(block, states, 1.0) - closed(block, states, 1.0)).max() <= 2e-15


def test_an_argument_whose_square_overflows_is_an_error_as_before() -> None:
    r = Registers()
    x, w, h, z = r.inputs("x", 2), r.new("w", 2), r.new("h", 2), r.new("z", 2)
    load = segment("load", affine(h, x, w=1 / np.sqrt(2 * np.pi)), affine(z, x, w=0.5))
    program = build(r, [load, segment("gelu", gelu(w, h, z, x))], z)
    flow = program.flow([[1.0, -2.0], [1.0, 1e160], [1e149, -1e140]])
    assert [(f.input, f.status, f.register) for f in flow.failures] == [(1, Status.OVERFLOWED, "w2")]
    assert flow.outputs[2] == pytest.approx([1e149, 0.0], rel=3e-16, abs=3e-16 * 1e140)


@pytest.mark.parametrize("role", range(4))
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("live", [(False, False, True), (True, True, True)])
def test_what_is_not_finite_is_seen(role: int, bad: float, live: tuple[bool, ...]) -> None:
    block, width = block_of(gelu, 40)
    for inputs in (1, 3):
        states = np.full((width, inputs), 1e-5)
        states[block.targets[0].indices()] = 0.0
        states[40 * role + 33, -1] = bad
        with np.errstate(all="ignore"):
            assert not binding.bind(block, states, 1.0, False, live)()


def test_the_table_of_erf() -> None:
    """Places are 1/128 apart and end where erf is 1 to rounding."""
    places = np.arange(len(gauss_flow.ERF)) / gauss_flow.PLACES
    assert places[-1] == gauss_flow.FAR
    assert gauss_flow.ERF[-1] == 1.0
    with mp.workdps(30):
        assert all(abs(e - mp.erf(mp.mpf(p))) <= 2e-16 * e for e, p in zip(gauss_flow.ERF, places, strict=True))


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("live", [(False, False, True), (True, True, True)])
def test_a_saturated_gelu_is_that_of_the_closed_form(live: tuple[bool, ...]) -> None:
    """To the last bit: where nothing is left of x·Φ(x), both say the same of what rounding leaves."""
    x = np.concatenate([-(10.0 ** RNG.uniform(1.2, 100, 200)), [-20.0, -700.0, -1e3]])
    h, z = x / np.sqrt(2 * np.pi), x / 2
    block, _ = block_of(gelu, len(x))
    end = run(block, np.concatenate([x, 0 * x, h, z])[:, None], 1.0, live)[3 * len(x) :, 0]
    assert np.array_equal(end, gelu.closed(FLOAT, 1.0, (0 * x, h, z), (x,), {}).ends[2])
