"""The terms of eq. (1) against slow loops that say the same thing obviously, and what "canonical" promises."""

from __future__ import annotations

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph import Index, Program, Registers, View, build, segment
from integraph.errors import SpecError
from integraph.gadgets import affine, decay, drain, monomial, product, ramp, raw, softmax, tanh
from integraph.program import ONE, bands, lowering
from integraph.program.order import NestedOrder, distinct, ordered
from law import examples
from random_programs import ELEMENTWISE, Maker, programs
from slow_lowering import slow


@given(programs())
@examples(150)
def test_terms_are_those_of_the_slow_loops(program: Program) -> None:
    expected, c = slow(program), program.controls()
    got = dict(zip(zip(*(a.tolist() for a in (c.segment, c.i, c.j, c.k)), strict=True), c.value.tolist(), strict=True))
    assert set(got) <= set(expected)
    for key, parts in expected.items():
        size = math.fsum(map(abs, parts))
        assert abs(got.get(key, 0.0) - math.fsum(parts)) <= 4e-16 * (3 + len(parts)) * size + 1e-322, key


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_every_elementwise_gadget(op) -> None:
    """With all its tensors, over transposed targets and broadcast operands."""
    make = Maker(1)
    shape = (2, 3)
    targets = [make.registers.new(f"t{n}", 3, 2).transpose(1, 0) for n in range(len(op.targets))]
    tensors = {name: make.rng.normal(size=3) for name in op.tensors}
    operands = [View(n, shape, (0, 2 - n)) for n in range(len(op.operands))]
    program = build(make.registers, [segment("s", op(*targets, *operands, **tensors))], targets[0])
    expected, c = slow(program), program.controls()
    assert len(expected) == len(c.value) == program.terms
    for i, j, k, value in zip(c.i, c.j, c.k, c.value, strict=True):
        np.testing.assert_allclose(value, math.fsum(expected[0, int(i), int(j), int(k)]), rtol=1e-15)


@given(programs())
@examples(100)
def test_canonical(program: Program) -> None:
    c = program.controls()
    rows = np.column_stack([c.segment, c.i, c.j, c.k])
    assert [a.dtype for a in (c.segment, c.i, c.j, c.k, c.value)] == [np.int32] * 4 + [np.float64]
    assert all(a < b for a, b in itertools.pairwise(map(tuple, rows.tolist())))
    assert (c.j >= ONE).all()
    assert (c.j <= c.k).all()
    assert (c.k < program.width).all()
    assert ((c.i >= 0) & (c.i < program.width)).all()
    assert (c.value != 0).all()
    assert np.isfinite(c.value).all()
    assert program.terms == len(c.value)


@given(programs(), st.integers(1, 40))
@examples(100)
def test_batches_joined_are_the_whole(program: Program, batch: int) -> None:
    for number in range(program.depth):
        whole = list(program.segment_terms(number))
        cut = list(program.segment_terms(number, batch))
        assert len(whole) <= 1
        for column in ("i", "j", "k", "value"):
            a, b = (np.concatenate([[], *(getattr(t, column) for t in part)]) for part in (whole, cut))
            assert a.tobytes() == b.tobytes()
        assert all(len(t) <= batch or len(set(t.i.tolist())) == 1 for t in cut)


@given(programs(), st.integers(1, 40))
@examples(30)
def test_the_digest_does_not_depend_on_the_batch(program: Program, batch: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lowering, "stream_segment", functools.partial(lowering.stream_segment, batch=batch))
        assert lowering.digest(program) == program.digest


def test_sums_of_many_blocks_do_not_depend_on_the_batch() -> None:
    """1e16 + 3 − 1e16 is 2, 3 or 4: the order must be that of the blocks, wherever the registers are cut."""
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 6)
    parts = [(z[3:], 1e16), (z, 3.0), (z[1:], -1e16), (z[2:], 1.0)]
    values = set()
    for some in itertools.permutations(parts):
        program = build(r, [segment("s", *(affine(t, x.broadcast(t.shape), w=w) for t, w in some))], z)
        whole = program.controls().value.tolist()
        values.add(whole[-1])
        for batch in (1, 3, 5, 9, 14):
            assert np.concatenate([t.value for t in program.segment_terms(0, batch)]).tolist() == whole
    assert len(values) > 1


def test_sums_within_a_lane_do_not_depend_on_the_batch() -> None:
    """The second lane reads one register four times; in which order the first lane reads must not matter."""
    r = Registers()
    x, z = r.inputs("x", 6), r.new("z", 2)
    for weights in itertools.permutations([1e16, 1.0, 3.0, -1e16]):
        block = affine(z, Index([[3, 2, 1, 0], [5, 5, 5, 5]]), w=np.array([[1.0] * 4, weights]))
        program = build(r, [segment("s", block, affine(z, x.broadcast((2, 6)), w=np.ones((2, 6))))], z)
        whole = program.controls().value.tolist()
        assert np.concatenate([t.value for t in program.segment_terms(0, 1)]).tolist() == whole


def dyadic() -> np.ndarray:
    """Numbers whose sums are exact."""
    return np.random.default_rng(5).integers(-8, 8, (3, 4)) / 4


def digest_of(*blocks_of: str, names: str = "xz", label: str = "s", duration: float = 1.0, bump: float = 0.0) -> str:
    A = dyadic() + bump
    r = Registers()
    x, z = r.inputs(names[0], 4), r.new(names[1], 3)
    blocks = {
        "one": affine(z, x, w=A),
        "left": affine(z, x[:2], w=A[:, :2]),
        "right": affine(z, x[2:], w=A[:, 2:]),
        "half": affine(z, x, w=A / 2),
        "upper": affine(z[:1], x, w=A[:1]),
        "lower": affine(z[1:], x, w=A[1:]),
        "list": affine(Index([6, 4, 5]), Index([[3, 1, 0, 2]] * 3), w=A[[2, 0, 1]][:, [3, 1, 0, 2]]),
        "raw": raw(z, x, A=np.hstack([np.zeros((3, 3)), A])),
    }
    return build(r, [segment(label, *(blocks[name] for name in blocks_of), duration=duration)], z).digest


def test_the_digest_sees_eq_1_and_nothing_else() -> None:
    same = [("one",), ("left", "right"), ("right", "left"), ("half", "half"), ("upper", "lower"), ("list",), ("raw",)]
    assert len({digest_of(*blocks) for blocks in same}) == 1
    assert digest_of("one", names="ab", label="t") == digest_of("one")
    other = [
        digest_of("one"),
        digest_of("left"),
        digest_of("one", bump=2.0**-40),
        digest_of("one", duration=1 + 2**-52),
    ]
    assert len(set(other)) == 4
    r = Registers()
    x = r.inputs("x", 2)
    readouts = [
        build(r, [], x, m).digest for m in ([[1.0, 2.0]], [[2.0, 1.0]], [[1.0], [2.0]] * np.eye(2), [[0.0, 1.0]])
    ]
    assert len(set(readouts)) == 4


def test_the_digest_tells_linear_from_quadratic() -> None:
    """y_0·1 and 1·y_0 are one term, y_0·y_0 another, and a constant another still."""
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    blocks = (affine(z, x), product(z, x, x), ramp(z, b=1.0))
    assert len({build(r, [segment("s", block)], z).digest for block in blocks}) == 3


def test_controls_that_overflow_are_refused_and_those_that_vanish_are_dropped() -> None:
    r = Registers()
    x, z = r.inputs("x", 2), r.new("z", 2)
    program = build(r, [segment("big", affine(z, x, w=np.array([1e300, 1e-300])))], z)
    assert program.terms == 2
    with pytest.raises(SpecError, match=r"'big'.*\(2, -1, 0\) is inf: every control must be finite"):
        program.rescale_states([1e9, 1, 1, 1]).controls()
    small = program.rescale_states([1, 1, 1, 1e30])
    assert small.controls().value.tolist() == [1e300]
    assert small.terms == 1
    slowed = program.rescale_time(1e30)
    np.testing.assert_allclose(slowed.controls().value, [1e270])
    assert slowed.terms == 1


def test_a_register_with_too_many_terms_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    r = Registers()
    x, z = r.inputs("x", 4), r.new("z", 2)
    program = build(r, [segment("s", affine(z, x, w=np.ones((2, 4))))], z)
    monkeypatch.setattr(bands, "MAX_ROW", 3)
    with pytest.raises(SpecError, match="register 4 has 4 terms in one segment: the limit is 3"):
        program.controls()


def test_token_by_token_map_shares_its_weights() -> None:
    """x of shape (T, 1, in) against W (out, in): T·out·in terms from one matrix."""
    rng = np.random.default_rng(0)
    r = Registers()
    x, z = r.inputs("x", 5, 4), r.new("z", 5, 3)
    W, b = rng.normal(size=(3, 4)), rng.normal(size=3)
    program = build(r, [segment("s", affine(z, x[:, None, :], w=W, b=b))], z)
    assert program.terms == 5 * 3 * 5
    state = rng.normal(size=program.width)
    np.testing.assert_allclose(program.rhs(0.0, state)[20:], (state[:20].reshape(5, 4) @ W.T + b).ravel(), rtol=1e-13)


def test_blocks_as_they_are_written() -> None:
    """One line of every kind, read by eye."""
    r = Registers()
    x, z, w, m = r.inputs("x", 2), r.new("z", 2), r.new("w", 2), r.new("m", 1)
    lines = {
        "affine": (
            affine(z, x, w=[[2.0, 0.0], [3.0, 4.0]], b=[5.0, 6.0]),
            "2:-1,-1:5 2:-1,0:2 3:-1,-1:6 3:-1,0:3 3:-1,1:4",
        ),
        "product": (product(z, x, x[::-1], w=7.0), "2:0,1:7 3:0,1:7"),
        "squares": (product(z[0], x, x), "2:0,0:1 2:1,1:1"),
        "monomial": (monomial(z, x, w=[[2.0, 3.0], [4.0, 5.0]]), "2:0,2:2 2:1,2:3 3:0,3:4 3:1,3:5"),
        "tanh": (tanh(z, w, x), "2:-1,0:1 2:2,4:-1 3:-1,1:1 3:3,5:-1 4:0,0:1 4:4,4:-1 5:1,1:1 5:5,5:-1"),
        "shifted": (
            tanh(z[0], w[0], x[0], a=2.0, b=3.0),
            "2:-1,-1:3 2:-1,0:2 2:2,4:-1 4:-1,-1:9 4:-1,0:12 4:0,0:4 4:4,4:-1",
        ),
        "decay": (decay(z, r=[2.0, 3.0]), "2:-1,2:-2 3:-1,3:-3"),
        "softmax": (
            softmax(z, w, m[0], x),
            "2:0,2:1 2:2,6:-1 3:1,3:1 3:3,6:-1 4:0,4:1 4:4,6:-1 5:1,5:1 5:5,6:-1 6:0,4:1 6:1,5:1 6:6,6:-1",
        ),
    }
    for block, expected in lines.values():
        c = build(r, [segment("s", block)], block.targets[0]).controls()
        assert " ".join(f"{i}:{j},{k}:{v:g}" for i, j, k, v in zip(c.i, c.j, c.k, c.value, strict=True)) == expected


@pytest.mark.parametrize("r", [0.0, 1e-300, 1e-17, 3e-17, 1e-9, 0.1, 1.0, 40.0, 700.0, 999.0, 1e5, 1e300])
def test_the_factor_of_drain_is_correctly_rounded(r: float) -> None:
    for rate in (r, -r):
        registers = Registers()
        x, z = registers.inputs("x", 1), registers.new("z", 1)
        c = build(registers, [segment("s", drain(z, x, w=[[1.0]], r=rate))], z).controls()
        with mpmath.workdps(60):
            exact = float(mpmath.mpf(rate) / -mpmath.expm1(-mpmath.mpf(rate))) if rate else 1.0
        assert c.value[c.i == 1].tolist() == [exact] * (exact != 0)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-15, 15)), max_size=4))
def test_views_in_increasing_order(axes: list[tuple[int, int]]) -> None:
    view = View(100, tuple(n for n, _ in axes), tuple(s for _, s in axes))
    registers = view.indices().ravel()
    assert view.at(np.arange(view.size)).tolist() == registers.tolist()
    if not distinct(view):
        spans = sorted((abs(s), n) for n, s in axes if n > 1)
        within = [sum((n - 1) * s for s, n in spans[:m]) for m in range(len(spans))]
        assert any(s <= reach for (s, _), reach in zip(spans, within, strict=True))
        return
    assert len(set(registers.tolist())) == view.size
    order = ordered(view)
    assert registers[order.between(0, view.size)].tolist() == sorted(registers.tolist())
    for register in range(registers.min() - 2, registers.max() + 3):
        assert order.rank(register) == np.count_nonzero(registers < register)


def test_slices_and_transposes_need_no_list() -> None:
    group = Registers().new("g", 4, 5, 6)
    assert all(
        isinstance(ordered(v), NestedOrder) for v in (group, group[::2, ::-1], group.transpose(2, 0, 1), group[1, 2])
    )
    assert not distinct(View(0, (3, 2), (2, 3)))  # 0 3 2 5 4 7: distinct, but the axes interleave
    assert distinct(Index([0, 3, 2, 5, 4, 7]))
    assert not distinct(Index([3, 3]))
