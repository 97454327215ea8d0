"""The fast steps that sums over cells need (ln cosh, monomials, ramps, products of gathered registers), against mpmath
or the closed form that every gadget has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from integraph import Index, Registers, build, segment
from integraph.flow.exact import binding
from integraph.gadgets import affine, log_cosh, monomial, product, ramp
from integraph.program import Block
from law import examples

RNG = np.random.default_rng(8)


def fast(block: Block, states: np.ndarray, t: float = 1.0, fresh: bool = False, live: bool = True) -> np.ndarray:
    """The states after the fast step of a block, which must have one and be content."""
    end = states.copy()
    step = binding._FAST[block.op.name](block, end, t, fresh, (live, True)[: len(block.targets)])
    assert step is not None
    assert step()
    return end


def slow(block: Block, states: np.ndarray, t: float = 1.0) -> np.ndarray:
    end = states.copy()
    binding.advance(block, end, t)
    return end


def test_ln_cosh_from_zero_to_all_digits() -> None:
    r = Registers()
    x, m, l = r.inputs("x", 1), r.new("m", 1), r.new("l", 1)
    sizes = 10.0 ** RNG.uniform(-150, 300, 400)
    edge = [0.0, 1.0, np.nextafter(1.0, 0.0), 0.9, 1.1, 18.0, 20.0, 360.0, 400.0]
    points = np.concatenate([sizes, edge, RNG.uniform(0, 3, 400)])
    states = np.zeros((3, 2 * len(points)))
    states[0] = np.concatenate([points, -points])
    end = fast(log_cosh(m, l, x), states, fresh=True, live=False)[2]
    with mp.workdps(40):
        wanted = [abs(u) + mp.log1p(mp.expm1(-2 * abs(u)) / 2) if abs(u) > 1 else _near(u) for u in map(mpf, states[0])]
        worst = max(
            abs(found - true) / max(true, mpf(1e-300)) for found, true in zip(map(mpf, end), wanted, strict=True)
        )
    assert worst < 1e-15


def _near(u: mpf) -> mpf:
    return mp.log1p(2 * mp.sinh(u / 2) ** 2)


@pytest.mark.parametrize("t", [1.0, 0.7, -0.3])
def test_ln_cosh_of_affine_forms_of_one_register_for_all(t: float) -> None:
    r = Registers()
    x = r.inputs("x", 2)
    m, l = r.new("m", 2, 5), r.new("l", 2, 5)
    block = log_cosh(m, l, x[:, None].broadcast((2, 5)), a=7.0, b=RNG.normal(size=5))
    states = np.zeros((r.width, 9))
    states[:2] = RNG.normal(size=(2, 9))
    at = l.indices().ravel()
    assert np.allclose(fast(block, states, t, fresh=True, live=False)[at], slow(block, states, t)[at], rtol=1e-14)
    assert (
        binding._FAST["log_cosh"](block, states, t, False, (False, True)) is None
    )  # from another start: the closed form
    assert binding._FAST["log_cosh"](block, states, t, True, (True, True)) is None  # m is wanted


@examples(60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 0.7, -0.3]), st.sampled_from([1, 6]))
def test_monomials_gathered_products_diagonals_and_ramps(seed: int, t: float, count: int) -> None:
    """Any registers, some read twice by one lane, some with weight 0; targets of one axis or two."""
    rng = np.random.default_rng(seed)
    r = Registers()
    r.inputs("x", 9)
    one, two = r.new("one", 4), r.new("two", 2, 3)
    states = rng.normal(size=(r.width, count))
    for z in (one, two):
        reads = rng.integers(0, 9, (*z.shape, 3))
        w = rng.normal(size=reads.shape) * rng.integers(0, 2, reads.shape)
        left, right = Index(reads[..., 0]), Index(reads[..., 1])
        blocks = (
            monomial(z, Index(reads), w=w, b=rng.normal(size=z.shape)),
            monomial(z, Index(reads), w=w),
            product(z, left, right, w=w[..., 0]),
            affine(z, left, w=w[..., 1], b=rng.normal(size=z.shape)),
            ramp(z, b=rng.normal(size=z.shape[-1:])),
        )
        for block in blocks:
            assert np.allclose(fast(block, states, t), slow(block, states, t), rtol=1e-13, atol=1e-13)
            start = states.copy()
            start[z.indices().ravel()] = 0.0
            assert np.allclose(fast(block, start, t, fresh=True), slow(block, start, t), rtol=1e-13, atol=1e-13)


def test_monomials_beyond_the_exponents_of_float64() -> None:
    """1e-200·e^800 is a number though e^800 is none; 0 stays 0; e^−2000 is 0, and so is e^−720; overflow is seen."""
    r = Registers()
    x, z = r.inputs("x", 1), r.inputs("z", 4)
    states = np.array([[800.0], [1e-200], [0.0], [1e300], [1.0]])
    block = monomial(z, x[None].broadcast((4, 1)), w=np.array([[1.0], [1.0], [-2.5], [-2.5]]))
    with np.errstate(all="ignore"):
        end = fast(block, states)[1:, 0]
        wanted = float(mp.exp(800) * mpf(1e-200))
        assert end == pytest.approx([wanted, 0.0, 0.0, 0.0], rel=1e-12)
        states[0] = 288.0  # 2.5·288 = 720: e^−720 is subnormal
        assert fast(block, states)[3:, 0] == pytest.approx([float(mp.exp(-720) * mpf(1e300)), 0.0], rel=1e-12, abs=0.0)
        states[:] = [[800.0], [1.0], [1.0], [1.0], [1.0]]
        step = binding._FAST["monomial"](block, states, 1.0, False, (True,))
        assert step is not None
        assert not step()


def test_a_failure_before_ln_cosh_is_named() -> None:
    """Infinity and NaN do not pass: the engine says which input it was."""
    r = Registers()
    x, m, l = r.inputs("x", 1), r.new("m", 1), r.new("l", 1)
    program = build(r, [segment("ln cosh", log_cosh(m, l, x, a=1e150))], l)
    flow = program.flow(np.array([[1.0], [1e200], [2.0]]), "exact")
    assert [failure.input for failure in flow.failures] == [1]
    assert flow.outputs[[0, 2], 0] == pytest.approx([1e150, 2e150], rel=1e-15)
    states = np.array([[1.0, np.inf], [0.0, 0.0], [0.0, 0.0]])
    step = binding._FAST["log_cosh"](log_cosh(m, l, x), states, 1.0, True, (False, True))
    assert step is not None
    assert not step()
