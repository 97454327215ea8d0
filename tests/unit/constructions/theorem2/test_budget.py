"""The promise: boxes, rectifiers, random nets, chains that once broke it, and what is refused."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph import Program
from integraph.bounds.perturbation.activation_errors import WRONG, tanh
from integraph.constructions.theorem2 import wide
from integraph.constructions.theorem2.construction import feedforward
from integraph.constructions.theorem2.narrow import error
from integraph.constructions.theorem2.network_plan import plan
from integraph.errors import SourceError, UsageError
from integraph.program.box import interval
from integraph.targets import Network, from_layers
from law import examples
from networks import EVERY, points, random_network
from promises import UNIT, seen
from slow import mostly_slow

BOXES = [(0.0, 1.0), (-1.0, 1.0), (0.3, 0.3), (-500.0, 500.0), (999.0, 1001.0)]


@pytest.mark.parametrize("box", BOXES, ids=str)
@mostly_slow("name", [n for n in EVERY if n != "exp"], quick=5)
def test_boxes(name: str, box: tuple[float, float]) -> None:
    """Sides of width 0 and of width 1000 enter the promise."""
    network = random_network((2, 5, 4, 1), name, seed=6)
    sides = np.array([box, (0.0, 1.0)])
    program = feedforward(network, 1e-4, box=sides)
    assert np.array_equal(np.stack([program.budget.low, program.budget.high], 1), sides)
    assert seen(program, network, sides) <= program.budget.total <= 1e-4


def test_one_pair_is_a_box_for_all_inputs() -> None:
    network = random_network((3, 4, 1), "tanh")
    budget = feedforward(network, box=(-2, 3)).budget
    assert budget.low.tolist() == [-2.0] * 3
    assert budget.high.tolist() == [3.0] * 3
    low, high = np.array([-2.0, 0.0, 1.0]), np.array([3.0, 0.0, 4.0])
    for box in ((low, high), np.stack([low, high], 1), list(zip(low, high, strict=True)), np.stack([low, high])):
        given = feedforward(network, box=box).budget
        assert (given.low.tolist(), given.high.tolist()) == (low.tolist(), high.tolist())
    default = feedforward(network).budget
    assert (default.low.tolist(), default.high.tolist()) == ([0.0] * 3, [1.0] * 3)


def promised(network: Network, eps: float, options: dict[str, str]) -> Program | None:
    """The program, or None where float64 controls cannot keep the promise."""
    try:
        return feedforward(network, eps, **options)
    except UsageError as refused:
        if "cannot be promised" in str(refused) or "steeper" in str(refused):
            return None
        raise


def test_two_inputs_and_two_ways_to_write_a_box() -> None:
    """A list is of pairs, a tuple of two arrays is lows and highs; what could be either is refused."""
    network = random_network((2, 4, 1), "tanh")
    pairs = feedforward(network, box=[(-1, 0), (2, 3)]).budget
    arrays = feedforward(network, box=(np.array([-1.0, 2.0]), np.array([0.0, 3.0]))).budget
    assert pairs.low.tolist() == arrays.low.tolist() == [-1.0, 2.0]
    assert pairs.high.tolist() == arrays.high.tolist() == [0.0, 3.0]
    with pytest.raises(UsageError, match="sides of width 0 only"):
        feedforward(network, box=([-1, -1], [1, 1]))
    assert feedforward(network, box=[(0.5, 0.5), (0.7, 0.7)]).budget.high.tolist() == [0.5, 0.7]


@examples(60)
@given(data=st.data())
def test_random_networks(data: st.DataObject) -> None:
    """Any mixture of activations, widths that grow and shrink, d from 1 to 20, weights up to 500."""
    depth = data.draw(st.integers(1, 6))
    sizes = [data.draw(st.integers(1, 20)), *(data.draw(st.integers(1, 12)) for _ in range(depth + 1))]
    tame = [n for n in EVERY if n != "exp"]
    names = [data.draw(st.sampled_from(tame)) for _ in range(depth)]
    weight = data.draw(st.sampled_from([0.1, 1.0, 3.0, 30.0, 500.0]))
    if weight > 3:  # a net of unbounded activations would leave every scale
        names = [data.draw(st.sampled_from(["tanh", "sigmoid", "arctan", "sin", "gaussian", "erf"])) for _ in names]
    output = data.draw(st.sampled_from(["identity", "identity", "tanh", "sigmoid", "softplus"]))
    network = random_network(sizes, names, data.draw(st.integers(0, 999)), weight, output)
    method = data.draw(st.sampled_from(["narrow", "wide", "decay"]))
    options = {"method": "wide", "free": "decay"} if method == "decay" else {"method": method}
    eps = data.draw(st.sampled_from([1e-2, 1e-6]))
    program = promised(network, eps, options)
    if program is None:
        assert weight > 1 or depth > 3, "refused without a reason"
        return
    box = np.tile(UNIT, (sizes[0], 1))
    scale = max(1.0, float(np.abs(network(points(box, 10))).max()))
    noise = 1e-13 * scale * max(1.0, weight) ** min(depth, 2)  # of evaluating net and flow in float64
    assert program.budget.total <= eps
    assert seen(program, network, box, count=60) <= program.budget.total + noise


CHAINS = {  # each once had a promise that did not hold
    "what softplus leaves in its register is less by ln 2": [
        ([[1.0]], [0.0], "softplus"),
        ([[-5.0]], [0.0], "exp"),
        ([[1.0]], None),
    ],
    "so is the argument of the ReLU behind it": [
        ([[1.0]], [-10.0], "softplus"),
        ([[1.0]], [-0.3], "relu"),
        ([[1.0]], None),
    ],
    "the helper of tanh may start below 0": [
        ([[1.0]], [-20.0], "silu"),
        ([[0.0]], [0.0], "tanh"),
        ([[0.0]], [5.0], "silu"),
        ([[1.0]], None),
    ],
    "squares of weights that vanish": [([[1.0]], None), ([[1.0]], None), ([[1e-165]], None)],
    "a net that is constant on the box": [([[1.0]], [-20.0], "relu"), ([[1.0]], [1.0])],
}


@pytest.mark.parametrize("method", ["narrow", "wide"])
@pytest.mark.parametrize("eps", [1e-1, 1e-6])
@pytest.mark.parametrize("name", CHAINS)
def test_chains_that_were_wrong(name: str, eps: float, method: str) -> None:
    network = from_layers(CHAINS[name])
    program = feedforward(network, eps, method=method, box=(-8, 1))
    assert seen(program, network, np.array([[-8.0, 1.0]]), count=3000) <= program.budget.total <= eps


def test_ranges_contain_the_registers() -> None:
    """What the plan says about a layer's registers, against the registers of a program."""
    names = ["softplus", "sigmoid", "silu", "gelu", "arctan", "leaky_relu", "sin", "erf", "gaussian", "exp"]
    network = random_network((3, 4, 5, 6, 5, 4, 3, 4, 5, 4, 5, 2), names, seed=8)
    chosen = plan(network, interval((-1, 1), 3), 1e3)
    program = feedforward(network, 1e-3, method="wide", box=(-1, 1))
    x = points(np.tile([[-1.0, 1.0]], (3, 1)), 200)
    for stretch, probe in zip(chosen.stretches, program.probes, strict=True):
        held = program.flow(x, times=[probe.segment + 1.0]).check().path[:, 0, probe.ref.indices()]
        assert (held >= stretch.values.low - 1e-3).all()
        assert (held <= stretch.values.high + 1e-3).all()


@pytest.mark.parametrize("slope", [0.9, 0.999, 1 - 1e-6, 1 - 1e-12, 1.001])
def test_slopes_close_to_one(slope: float) -> None:
    """Their equation has two rests that rounding can merge: its share is in the budget, or the unit does not run."""
    network = from_layers([([[1.0]], [0.0], ("leaky_relu", slope)), ([[1.0]], None)])
    program = feedforward(network, 1e-3, method="wide", box=(-30, 30))
    for engine in ("exact", "taylor"):
        assert seen(program, network, np.array([[-30.0, 30.0]]), engine, 50) <= program.budget.total <= 1e-3
    with pytest.raises(UsageError, match="cannot be promised"):
        feedforward(
            from_layers([([[1.0]], [0.0], ("leaky_relu", 1 - 1e-8)), ([[1.0]], None)], "net"), 1e-9, box=(-30, 30)
        )


def test_a_promise_at_the_edge_of_blowing_up() -> None:
    """SiLU from a start that is off by almost 1: what is left of 1 decides about the error."""
    X = 1808.0424142564552
    network = from_layers([([[0.0]], [0.0], "silu"), ([[0.0]], [0.0], "silu"), ([[1e-9]], None)])
    program = feedforward(network, 40.0, box=(-X, X))
    with mpmath.workdps(50):
        r = mpmath.mpf(program.rate)
        left = -mpmath.exp(-2 * r) * mpmath.mpf(X)  # of x, where the second SiLU starts
        error = abs(left / (1 + left)) * mpmath.mpf(1e-9)
    assert error <= program.budget.total


def test_the_steepness_is_a_round_number() -> None:
    """So that the controls do not depend on the last bit of a matrix product."""
    program = feedforward(random_network((3, 5, 5, 1), "relu", seed=3), 1e-5)
    (k,) = {float(b.tensors["k"]) for s in program.segments for b in s.blocks if b.op.name == "relu"}
    assert k == pytest.approx(float(f"{k:.1e}"), rel=1e-14)


def test_many_outputs_with_an_activation() -> None:
    """The read-out is then diagonal, and stored so."""
    program = feedforward(from_layers([(np.ones((20_000, 1)), None, "sigmoid")]), method="wide")
    assert program.readout.nnz == 2 * 20_000
    np.testing.assert_allclose(program([0.5]), 1 / (1 + math.exp(-0.5)), rtol=1e-14)


def test_affine_networks() -> None:
    """No activation at all, and affine layers that were kept apart."""
    one = from_layers([([[1.0, 2.0]], [3.0])])
    for method in ("narrow", "wide"):
        program = feedforward(one, method=method)
        assert program([1.0, 1.0]).tolist() == [6.0]
        assert program.budget.total <= 1e-300
    plain = feedforward(from_layers([([[1.0, 2.0]], None)]), method="wide")
    assert (plain.width, plain.depth) == (2, 0)
    chain = from_layers([(np.eye(2) / 3, [1.0, 2.0]), (np.ones((3, 2)), None, "tanh"), (np.eye(3), [1.0, 0.0, 0.0])])
    for method in ("narrow", "wide"):
        program = feedforward(chain, method=method)
        assert program.depth == {"narrow": 1 + 3, "wide": 1 + 2}[method]
        assert seen(program, chain, np.tile(UNIT, (2, 1))) <= 1e-6


def test_probes_show_the_layers() -> None:
    network = random_network((2, 5, 4, 3), ["sigmoid", "softplus"], seed=9)
    x = np.random.default_rng(0).uniform(size=(7, 2))
    for options in ({"method": "narrow"}, {"method": "wide"}, {"method": "wide", "free": "decay"}):
        program = feedforward(network, 1e-8, **options)
        assert [p.label for p in program.probes] == ["layer 1", "layer 2"]
        for probe, wanted in zip(program.probes, network.values(x), strict=False):
            path = program.flow(x, times=[probe.segment + 1.0]).check().path[:, 0]
            np.testing.assert_allclose(probe.scale * path[:, probe.ref.indices()] + probe.shift, wanted, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eps": 0.0}, "eps = 0"),
        ({"eps": -1e-3}, "eps = -0.001"),
        ({"eps": math.nan}, "eps = nan"),
        ({"eps": math.inf}, "eps = inf"),
        ({"eps": "small"}, "eps must be numbers"),
        ({"eps": None}, "eps must be numbers"),
        ({"eps": True}, "eps = True"),
        ({"method": ["narrow"]}, "method = "),
        ({"eps": 1e-25}, "cannot be promised"),
        ({"method": "deep"}, "method = 'deep'"),
        ({"bound": "loose"}, "bound = 'loose'"),
        ({"free": "never"}, "free = 'never'"),
        ({"method": "wide", "bound": "paper"}, "bound = 'paper': only method='narrow' takes a bound"),
        ({"free": "decay"}, "free = 'decay': only method='wide' takes this"),
        ({"box": [1, 0]}, "low ≤ high"),
        ({"box": [[0, 1], [2, 1]]}, "side 1 of the box"),
        ({"box": [0, math.inf]}, "finite"),
        ({"box": [[0, 1]] * 3}, "the box has 3 pairs"),
        ({"box": {"x": (0, 1)}}, "the box must be numbers"),
        ({"box": "unit"}, "the box must be numbers"),
    ],
)
def test_bad_arguments(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        feedforward(random_network((2, 3, 1), "tanh"), **options)


@pytest.mark.parametrize("size", [1e140, 1e150, 1e153])
def test_rates_beyond_float64_are_refused(size: float) -> None:
    network = from_layers([([[size]], None, "tanh"), ([[1.0]], None, "tanh"), ([[1.0]], None)])
    for bound in ("paper", "tight"):
        with pytest.raises(UsageError, match="cannot be promised"):
            feedforward(network, 1e-6, bound=bound)


def test_what_is_not_a_number_is_no_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that comes out as NaN, in the error or in the size of a register, is infinite, never 0."""
    network = random_network((2, 3, 3, 1), "tanh")
    chosen = plan(network, interval(None, 2))
    rates = [(20.0, 20.0)] * 2
    for spoil in (lambda e, ends: (e * np.nan, ends), lambda e, ends: (e, {**ends, "lam": ends["lam"] * np.nan})):
        monkeypatch.setitem(WRONG, "tanh", lambda M, rho, spoil=spoil: spoil(*tanh(M, rho)))
        assert error(chosen, rates).total == np.inf
        assert wide.error(chosen, 40.0).total == np.inf
        with pytest.raises(UsageError, match="cannot be promised"):
            feedforward(network)


def test_the_papers_bound_is_for_tanh() -> None:
    with pytest.raises(UsageError, match="layer 2 is gelu"):
        feedforward(random_network((2, 3, 3, 1), ["sigmoid", "gelu"]), bound="paper")


def test_what_leaves_float64_is_refused() -> None:
    hot = from_layers([([[800.0]], None, "exp"), ([[1.0]], None)])
    with pytest.raises(SourceError, match=r"layer 1 \(exp\), unit 0"):
        feedforward(hot)
    cool = feedforward(hot, box=[0, 0.1], eps=1e24)
    assert cool([0.05])[0] == pytest.approx(math.exp(40.0), rel=1e-3)


def test_rectifiers_too_steep_are_refused() -> None:
    network = from_layers([([[1.0]], [-0.5], "relu"), ([[1e9]], None)])
    with pytest.raises(UsageError, match="steeper"):
        feedforward(network, 1e-8)


@pytest.mark.slow
def test_large_networks_compile() -> None:
    """784-512-512-10, linear in its size: no array larger than the weights."""
    rng = np.random.default_rng(0)
    sizes = (784, 512, 512, 10)
    kinds = ["tanh", "tanh", None]
    shapes = zip(sizes[1:], sizes[:-1], kinds, strict=True)
    network = from_layers([(rng.normal(size=(m, n)) / np.sqrt(n), rng.normal(size=m), kind) for m, n, kind in shapes])
    program = feedforward(network)
    assert (program.width, program.depth) == (3 * 784, 6)
    x = rng.uniform(size=(20, 784))
    assert np.abs(program(x) - network(x)).max() <= 1e-6
