"""The compiled softmax against the closed form and mpmath, and when it leaves a row to the closed form."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integraph import Registers, Status, build, segment
from integraph.flow.exact import binding
from integraph.flow.exact.affine_steps import compiles
from integraph.gadgets import affine, shifted_softmax, softmax
from integraph.gadgets.softmax import Softmax
from integraph.program import Block
from slow import mostly_slow

RNG = np.random.default_rng(12)
INPUTS = [1, 3, 256]
Values = dict[str, np.ndarray]

pytestmark = pytest.mark.skipif(not compiles(), reason="numba is switched off")


def block_of(rows: int, n: int, shifted: bool, c: object = 0.0) -> tuple[Block, int]:
    r = Registers()
    s, shift = r.inputs("s", rows, n), r.inputs("c", rows)
    a, u, m = r.new("a", rows, n), r.new("u", rows, n), r.new("m", rows)
    return (shifted_softmax(a, u, m, s, shift) if shifted else softmax(a, u, m, s, c=c)), r.width


def states_of(block: Block, width: int, values: Values) -> np.ndarray:
    states = np.zeros((width, values["m"].shape[-1]))
    for name, ref in zip((*block.op.targets, *block.op.operands), block.refs(), strict=True):
        states[ref.indices()] = values[name]
    return states


def lemma(s: np.ndarray, c: np.ndarray, seen: np.ndarray | None = None) -> Values:
    """a = 1/k, u = σ/k, m = mean σ over the k lanes that are seen; s is (rows, n, inputs), c (rows, inputs)."""
    seen = np.ones(s.shape[:2]) if seen is None else seen
    weight = (seen / seen.sum(1, keepdims=True))[..., None]
    sigma = s + c[:, None]
    return {"s": s, "c": c, "a": weight + 0 * s, "u": weight * sigma, "m": (weight * sigma).sum(1)}


def both(block: Block, states: np.ndarray, t: float, live: tuple[bool, ...] = (True,) * 3) -> tuple[np.ndarray, ...]:
    """End states by the fast step and by the closed form, and whether each says that all is well."""
    fast, slow = states.copy(), states.copy()
    with np.errstate(all="ignore"):
        fine = binding.bind(block, fast, t, False, live)()
        good = binding._generic(block, slow, t)()
    return fast, slow, fine, good


def refuse(*_: object) -> None:
    raise AssertionError("the closed form was called")


def means(s: np.ndarray, seen: np.ndarray | None = None) -> np.ndarray:
    seen = np.ones(s.shape[:2]) if seen is None else seen
    return (s * seen[..., None]).sum(1) / seen.sum(1)[:, None]


@pytest.mark.parametrize("inputs", INPUTS)
@mostly_slow("n", [1, 2, 7, 16, 130], quick=3)
@mostly_slow("size", [1e-300, 1e-12, 0.1, 3.0, 240.0, 1e3], quick=3)
def test_softmax_of_mpmath(monkeypatch: pytest.MonkeyPatch, size: float, n: int, inputs: int) -> None:
    """From the lemma's start, always by the compiled loop, shifted by registers: equal scores, huge scores, masks."""
    s = size * RNG.normal(size=(4, n, inputs))
    s[1] = s[1, :1]
    seen = np.ones((4, n))
    seen[2, 1:] = 0.0
    seen[3, : n // 2] = 0.0
    block, width = block_of(4, n, True)
    states = states_of(block, width, lemma(s, -means(s, seen), seen))
    monkeypatch.setattr(Softmax, "closed", refuse)
    assert binding.bind(block, states, 1.0, False, (True, False, False))()
    a = states[block.targets[0].indices()]
    for row, column in ((0, 0), (1, -1), (2, 0), (3, -1)):
        parts = [mp.exp(mp.mpf(x)) if seen[row, j] else mp.mpf(0) for j, x in enumerate(s[row, :, column])]
        exact = np.array([float(p / mp.fsum(parts)) for p in parts])
        allowed = 1e-15 * (size + 4) * np.maximum(1, n * np.exp(-min(size, 1)))
        assert np.abs(a[row, :, column] - exact).max() <= allowed
        assert (a[row, exact == 0, column] == 0).all()  # under the mask, or below 5e-324


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("t", [1.0, 0.7, -0.3])
@pytest.mark.parametrize("shifted", [False, True])
def test_the_closed_form_from_other_starts(
    monkeypatch: pytest.MonkeyPatch, shifted: bool, t: float, inputs: int
) -> None:
    """Neither normalised nor consistent: a anything, u with positive shares, m above Σu; all three ends."""
    c = np.array([0.5, 4.0, -1.0])
    block, width = block_of(3, 9, shifted, c)
    s = RNG.normal(0, 3, (3, 9, inputs))
    shift = RNG.normal(size=(3, inputs)) if shifted else np.repeat(c[:, None], inputs, 1)
    u = (s + shift[:, None]) * RNG.uniform(0, 1 / 9, s.shape)
    values = {"s": s, "c": shift, "a": RNG.normal(size=s.shape), "u": u, "m": u.sum(1) + RNG.uniform(0, 0.5) / t}
    states = states_of(block, width, values)
    fast, slow, fine, good = both(block, states, t)
    assert fine
    assert good
    assert np.abs(fast - slow).max() <= 1e-13 * np.abs(slow).max()
    monkeypatch.setattr(Softmax, "closed", refuse)
    assert binding.bind(block, states.copy(), t, False, (True, True, True))()


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5]), st.sampled_from([1.0, -0.6, 3.0]))
def test_wild_starts_live_and_die_as_the_closed_form_says(seed: int, inputs: int, t: float) -> None:
    """A step says False exactly where the closed form does; nothing is decided by a loop that does not know."""
    rng = np.random.default_rng(seed)
    block, width = block_of(4, 3, True)
    s, shape = rng.normal(0, 3, (4, 3, inputs)), (4, 3, inputs)
    u = rng.normal(0, 1, shape) * rng.choice([0.0, 1e-3, 1.0], shape)
    values = {"s": s, "c": rng.normal(size=(4, inputs)), "a": rng.normal(size=shape), "u": u}
    states = states_of(block, width, values | {"m": rng.normal(0, 1, (4, inputs))})
    fast, slow, fine, good = both(block, states, t)
    assert fine == good
    if good:
        assert np.abs(fast - slow).max() <= 1e-9 * (1 + np.abs(slow).max())


def test_a_doubtful_row_and_those_after_it_go_to_the_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows before it are done by the loop, once; what comes out is the same."""
    for inputs in INPUTS:
        block, width = block_of(5, 4, False, 3.0)
        s = RNG.normal(size=(5, 4, inputs))
        values = lemma(s, np.full((5, inputs), 3.0))
        values["u"][2, 1, -1] *= -0.05  # a share below 0, yet N stays positive
        calls = []
        original = Softmax.closed

        def watched(self, f, t, start, *others, seen=calls, plain=original):
            seen.append(start[0].shape)
            return plain(self, f, t, start, *others)

        states = states_of(block, width, values)
        _, slow, *_ = both(block, states, 1.0)
        with monkeypatch.context() as patch:
            patch.setattr(Softmax, "closed", watched)
            assert binding.bind(block, states, 1.0, False, (True,) * 3)()
        assert calls == [(3, 4, inputs)]
        assert np.abs(states - slow).max() <= 1e-14 * np.abs(slow).max()


@mostly_slow("role", ["a", "u", "m", "s", "c"], quick=2)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("inputs", INPUTS)
def test_what_is_not_finite_is_never_a_softmax(role: str, bad: float, inputs: int) -> None:
    block, width = block_of(2, 5, True)
    s = RNG.normal(size=(2, 5, inputs))
    for seen in (np.ones((2, 5)), np.tile([1.0, 1.0, 0.0, 1.0, 1.0], (2, 1))):
        values = lemma(s, -means(s, seen), seen)
        values[role] = values[role].copy()
        values[role][(1, 2, -1) if values[role].ndim == 3 else (1, -1)] = bad
        fast, slow, fine, good = both(block, states_of(block, width, values), 1.0)
        assert fine == good
        if good:  # a masked score of −∞ is 0
            assert np.allclose(fast, slow, rtol=1e-13, atol=1e-300)


def test_a_row_that_dies_is_named() -> None:
    r = Registers()
    s, m0 = r.inputs("s", 2, 3), r.inputs("m0", 2)
    a, u, m = r.new("a", 2, 3), r.new("u", 2, 3), r.new("m", 2)
    program = build(
        r,
        [
            segment("load", affine(a, s, w=0.0, b=1 / 3), affine(u, s, w=1 / 3), affine(m, m0)),
            segment("softmax", softmax(a, u, m, s)),
        ],
        a,
    )
    X = np.tile([1.0, 2.0, 0.5, 1.0, 0.5, 0.25, 3.5 / 3, 1.75 / 3], (3, 1))
    X[1, -1] = -9.0
    flow = program.flow(X)
    assert [(f.input, f.status, f.register) for f in flow.failures] == [(1, Status.ESCAPED, "mb2")]
    expected = np.exp(X[0, :6].reshape(2, 3))
    assert flow.outputs[2].reshape(2, 3) == pytest.approx(expected / expected.sum(1, keepdims=True), rel=1e-14)
