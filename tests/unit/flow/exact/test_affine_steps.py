"""Fast steps of affine maps and products against their closed forms, in every shape that graphs of arrays have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integraph import Index, Registers, View
from integraph.flow.exact import binding
from integraph.flow.exact.affine_steps import WIDE, spread
from integraph.gadgets import affine, product, ramp
from integraph.program import Block

RNG = np.random.default_rng(11)
INPUTS = [1, 3, 256]


def agrees(block: Block, width: int, inputs: int, t: float, fresh: bool) -> None:
    """The fast step, which must exist, does what the closed form does, from targets at 0 if `fresh` (and then whatever
    they hold)."""
    states = RNG.normal(size=(width, inputs))
    expected, end = states.copy(), states.copy()
    if fresh:
        for ref in block.targets:
            expected[ref.indices()] = 0.0
    binding.advance(block, expected, t)
    step = binding._FAST[block.op.name](block, end, t, fresh, (True,))
    assert step is not None
    assert step()
    assert np.abs(end - expected).max() <= 1e-14 * (1 + np.abs(expected).max()) * np.sqrt(block.operands[0].shape[-1])


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("t", [1.0, -0.7])
def test_affine_maps_of_rows(inputs: int, t: float, fresh: bool) -> None:
    """One matrix for all rows, one for each, sums, diagonals, biases; narrow in numpy and wide by compiled loops."""
    for rows, n, m in ((3, 4, 5), (20, 24, 16), (2, 5, 1)):
        r = Registers()
        x, z = r.inputs("x", rows, n), r.new("z", rows, m)
        y, total = r.new("y", rows, n), r.new("total", rows)
        shared, own = RNG.normal(size=(m, n)), RNG.normal(size=(rows, m, n))
        line, column = RNG.normal(size=m), RNG.normal(size=(rows, 1))
        for block in (
            affine(z, x[:, None, :], w=shared, b=line),
            affine(z, x[:, None, :], w=own, b=column),
            affine(z, x[:1, None, :], w=shared, b=0.3),
            affine(z, x[:1, None, :], w=own),
            affine(z, x[:, None, :], w=np.full((1, 1), -1 / n)),
            affine(z, x[:, None, :], w=RNG.normal(size=n), b=line),
            affine(z, x[:, None, :], w=RNG.normal(size=(1, 1, n)), b=RNG.normal(size=(rows, m))),
            affine(total, x, w=RNG.normal(size=n), b=0.5),
            affine(total, x, w=np.ones(1)),
            affine(total[0], x[1], w=RNG.normal(size=n)),
            affine(total, x, w=RNG.normal(size=(rows, n)), b=column[:, 0]),
            affine(total, x, w=RNG.normal(size=(rows, 1))),
            affine(total, Index(x.indices()[::-1]), w=RNG.normal(size=(rows, n))),
            affine(total, Index(x.indices()[::-1]), w=np.full(1, 0.3)),
            affine(total[0], Index(x.indices()[1, ::-1]), w=RNG.normal(size=n)),
            affine(z, x[:, None, :].broadcast((rows, m, n))[:, ::-1], w=own),
            affine(y, x, w=2.5, b=-1.0),
            affine(y, x),
            affine(y, x, w=RNG.normal(size=n), b=column),
            affine(y, x[:, ::-1], w=column),
            affine(y, x[:, :1].broadcast((rows, n)), w=3.0),
            affine(y, Index(x.indices()[::-1]), b=1.0),
        ):
            agrees(block, r.width, inputs, t, fresh)
    assert z.size < WIDE <= 20 * 16


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("inputs", INPUTS)
def test_means_under_a_mask(inputs: int, fresh: bool) -> None:
    """Each token's mean over those before it, in every head."""
    r = Registers()
    s, m, u = r.inputs("s", 3, 10, 10), r.new("m", 3, 10), r.new("u", 3, 10, 10)
    w = np.tril(np.ones((10, 10))) / np.arange(1, 11)[:, None]
    for block in (affine(m, s, w=w, b=2.0), affine(u, s, w=w, b=2.0 * w), affine(u, m[..., None], w=w)):
        agrees(block, r.width, inputs, 0.7, fresh)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("inputs", INPUTS)
def test_products_of_attention(inputs: int, fresh: bool) -> None:
    """Scores, mixtures and variances as views of one group of queries, keys and values."""
    heads, tokens, size = 3, 5, 7
    width = heads * size
    r = Registers()
    x, s = r.inputs("x", tokens, 3 * width), r.new("s", heads, tokens, tokens)
    mixed, variance = r.new("mixed", tokens, heads, size), r.new("variance", tokens, 1)
    q = View(x.offset, (heads, tokens, 1, size), (size, 3 * width, 0, 1))
    k = View(x.offset + width, (heads, 1, tokens, size), (size, 0, 3 * width, 1))
    a = View(s.offset, (tokens, heads, 1, tokens), (tokens, tokens * tokens, 0, 1))
    v = View(x.offset + 2 * width, (1, heads, size, tokens), (0, size, 1, 3 * width))
    blocks = (
        product(s, q, k, w=0.3),
        product(s, q, k, w=np.tril(np.full((tokens, tokens), 0.3))[..., None]),
        product(
            s, q, k[:, :, :1].broadcast((heads, 1, tokens, size)), w=np.triu(np.ones((tokens, tokens)), 1)[..., None]
        ),
        product(s, q, k, w=RNG.normal(size=(heads, 1, 1, 1))),
        product(mixed, a, v),
        product(variance, x[:, None, :], x[:, None, :], w=1 / 3),
        product(variance[0, 0], x[0], x[1]),
        product(mixed.reshape(tokens, width), x[:, :width], x[:, width : 2 * width], w=RNG.normal(size=width)),
        product(mixed.reshape(tokens, width), x[:, :width], x[0, width : 2 * width].broadcast((tokens, width))),
    )
    for block in blocks:
        agrees(block, r.width, inputs, 0.7, fresh)


@settings(deadline=None)
@given(st.data())
def test_products_of_any_views(data: st.DataObject) -> None:
    """Up to four axes of lanes; on each x, v, both or neither depend; the sum runs over any axis, either way."""
    axes = data.draw(st.integers(0, 4))
    lanes = tuple(data.draw(st.integers(1, 3)) for _ in range(axes))
    terms, inputs = data.draw(st.integers(2, 6)), data.draw(st.sampled_from([1, 2, 5]))
    r = Registers()
    group = r.inputs("x", *lanes, terms)
    z = r.new("z", *lanes)
    z = z if axes else z[0]
    operands = []
    for _ in range(2):
        turned = group[(slice(None),) * axes + (slice(None, None, data.draw(st.sampled_from([1, -1]))),)]
        held = tuple(slice(0, 1) if data.draw(st.booleans()) else slice(None) for _ in range(axes))
        operands.append(turned[held].broadcast((*lanes, terms)) if axes else turned)
    weights = RNG.choice([0.0, 1.0, -0.5], size=(*lanes, 1) if data.draw(st.booleans()) else 1)
    block = product(z, *operands, w=weights)
    agrees(block, r.width, inputs, 1.0, data.draw(st.booleans()))


@pytest.mark.parametrize("inputs", INPUTS)
def test_ramps(inputs: int) -> None:
    r = Registers()
    z = r.new("z", 6, 4)
    for target, b in ((z, RNG.normal(size=4)), (z[::2, 1:], 0.5)):
        for fresh in (False, True):
            states = RNG.normal(size=(24, inputs))
            at, before = target.indices(), states.copy()
            assert binding.bind(ramp(target, b=b), states, 2.0, fresh, (True,))()
            start = np.zeros((*target.shape, inputs)) if fresh else before[at]
            assert np.array_equal(states[at], start + 2.0 * np.broadcast_to(b, target.shape)[..., None])
            others = np.delete(np.arange(24), at.ravel())
            assert np.array_equal(states[others], before[others])


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 1e308])
def test_what_is_not_finite_is_seen(bad: float, inputs: int) -> None:
    """In one lane of many, in one input of many, by every way of adding."""
    r = Registers()
    x, z = r.inputs("x", 20, 20), r.new("z", 20, 20)
    w = np.full((20, 20), 3.0)
    for block in (
        affine(z, x, w=3.0),
        affine(z, x, w=3.0, b=1.0),
        affine(z, x[:, None, :], w=w),
        affine(z, x[:, None, :], w=w, b=1.0),
        affine(z, x[:, None, :], w=np.full(1, 3.0)),
        product(z, x, x),
        product(z, x[:, None, :], x[None, :, :], w=3.0),
    ):
        for fresh in (False, True):
            states = np.ones((r.width, inputs))
            with np.errstate(all="ignore"):
                assert binding.bind(block, states, 1.0, fresh, (True,))()
                states[x.indices()[7, 13], -1] = bad
                assert not binding.bind(block, states, 1.0, fresh, (True,))()


def test_tensors_are_spread_over_rows_that_share_them() -> None:
    target = np.zeros((6, 5, 16, 8))
    w, b = RNG.normal(size=(16, 1)), RNG.normal(size=(5, 1, 1))
    (alone, rows), (both, other, fewer) = spread(target, w), spread(target, w, b)
    assert rows.shape == (30, 128)
    assert fewer.shape == (6, 640)
    assert np.shares_memory(rows, target)
    assert np.array_equal(alone, np.repeat(w[:, 0], 8))
    assert np.array_equal(both.reshape(5, 16, 8), np.broadcast_to(w, (5, 16, 8)))
    assert np.array_equal(other.reshape(5, 16, 8), np.broadcast_to(b, (5, 16, 8)))
    assert spread(np.zeros((300, 1, 1)), np.ones(1))[-1].shape == (1, 300)  # a row should not be one number
