"""Wrong starts of which more is known: that they follow a wrong argument, that a base is off relatively, that tensors
are rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.bounds.perturbation.gadget_ends import perturbed_ends
from integraph.numbers.intervals import Interval
from integraph.program.block import operation
from law import examples
from slow import mostly_slow
from wrong_starts import OFF, PRECISE, SIDE, STARTS, check, disturbed, inside

READING = [name for name in STARTS if operation(name).operands and STARTS[name](1.0)]


def error(data: st.DataObject, shape: tuple[int, ...]) -> tuple[np.ndarray, Any]:
    """A bound, and something within it."""
    count = int(np.prod(shape))
    size, side = (np.array(data.draw(st.lists(kind, min_size=count, max_size=count))) for kind in (OFF, SIDE))
    return size.reshape(shape), PRECISE.exactly((size * side).reshape(shape))


@pytest.mark.parametrize("name", READING)
@examples(30)
@given(data=st.data())
def test_starts_that_follow_the_argument(name: str, data: st.DataObject) -> None:
    """They are right for the argument that is there, up to `own`, however wrong that is."""
    gadget = operation(name)
    span, x = inside(data, (2,))
    delta, moved = error(data, (2,))
    right, wrong = ({**STARTS[name](v), "x": v} for v in (x, x + moved))
    ranges, off, own = {"x": span}, {"x": delta}, {"x": np.zeros(2)}
    for role in gadget.targets:
        own[role], rest = error(data, (2,))
        if role not in right:
            ranges[role], right[role] = inside(data, (2,))
            wrong[role] = right[role]
        wrong[role] = wrong[role] + rest
        off[role] = own[role] + delta
    check(name, ranges, right, wrong, off, {"k": np.array(2.0)} if name == "relu" else {}, own=own)


@pytest.mark.parametrize("name", READING)
def test_following_helps(name: str) -> None:
    gadget = operation(name)
    zero = np.zeros(3)
    roles = (*gadget.targets, "x")
    ranges = dict.fromkeys(roles, Interval(np.array([-3.0, 0, 3]), np.array([-3.0, 0, 3])))
    off, own = dict.fromkeys(roles, np.full(3, 0.01)), dict.fromkeys(roles, zero)
    tensors = {"k": np.array(2.0)} if name == "relu" else {}
    loose, close = perturbed_ends(name, ranges, off, tensors), perturbed_ends(name, ranges, off, tensors, own=own)
    assert all((close[role].off <= loose[role].off).all() for role in loose)
    assert any((close[role].off < 0.9 * loose[role].off).any() for role in loose)


@pytest.mark.parametrize("name", ["powers", "power_spiral"])
@examples(40)
@given(data=st.data())
def test_bases_that_are_off_relatively(name: str, data: st.DataObject) -> None:
    gadget = operation(name)
    shapes = {"p": (2, 2), "x": (2, 3, 0), "t": (2, 3, 1)}
    found = {
        r: inside(data, shapes.get(r, (2, 3)), -0.999 if r == "p" else -8) for r in (*gadget.targets, *gadget.operands)
    }
    ranges, right = ({role: pair[k] for role, pair in found.items()} for k in (0, 1))
    off, wrong = disturbed(data, right)
    off["share"], by = error(data, (2, 2))
    wrong["p"] = (1 + right["p"]) * (1 + by) - 1
    off["p"] = off["share"] * (1 + ranges["p"].high) * (1 + 1e-9)
    tensors = {"a": np.array([[[-0.5, 1.0]], [[2.0, -1.0]]]), **({"c": np.array([3.0])} if "t" in right else {})}
    check(name, ranges, right, wrong, off, tensors)


@mostly_slow("name", ["powers", "monomial", "spiral", "power_spiral"], quick=3)
@examples(40)
@given(data=st.data())
def test_rounded_tensors(name: str, data: st.DataObject) -> None:
    gadget = operation(name)
    shapes = {"p": (2, 2), "t": (2, 3, 1), **dict.fromkeys("xl", (2, 3, 2))}
    found = {
        r: inside(data, shapes.get(r, (2, 3)), -0.9 if r == "p" else -8) for r in (*gadget.targets, *gadget.operands)
    }
    ranges, right = ({role: pair[k] for role, pair in found.items()} for k in (0, 1))
    off, wrong = disturbed(data, right)
    everything = {"a": [[[-0.5, 1.0]], [[2.0, -1.0]]], "w": [0.5, -1.0], "b": [0.25], "c": [3.0], "d": [-1.0]}
    tensors = {key: np.array(everything[key]) for key in gadget.tensors}
    lost = data.draw(st.sampled_from([1e-8, 0.1]))
    signs = {key: np.array(data.draw(st.sampled_from([-1.0, 1.0]))) for key in tensors}
    stored = {key: value * (1 + (1 - 1e-6) * lost * signs[key]) for key, value in tensors.items()}
    if data.draw(st.booleans()):
        off, wrong = {role: np.zeros(v.shape) for role, v in off.items()}, right
    check(name, ranges, right, wrong, off, tensors, stored, lost=lost)


@pytest.mark.parametrize("follows", [False, True])
@mostly_slow("name", ["shifted_softmax", "log_softmax", "log_sum_exp"], quick=2)
@examples(50)
@given(data=st.data())
def test_rows_of_scores(name: str, follows: bool, data: st.DataObject) -> None:
    """c = −Σhs in a register of each row, u = (s + c)h, l = ln n − c, y = −ln n: off anyhow, or made of the s there."""
    span, s = inside(data, (2, 3))
    mask = np.array(data.draw(st.sampled_from([[[1, 1, 1], [1, 1, 1]], [[1, 1, 0], [1, 0, 1]]])), bool)
    chosen = np.where(mask, np.arange(3), mask.argmax(-1)[:, None])  # who takes no part has the score of one that does
    span = Interval(*(np.take_along_axis(end, chosen, -1) for end in (span.low, span.high)))
    s = np.take_along_axis(s, chosen, -1)
    share = mask / mask.sum(-1, keepdims=True)
    h = PRECISE.exactly(share)
    h = h / np.where(mask, h.sum(-1, keepdims=True), 1)

    def start(s: Any) -> dict[str, Any]:
        c = -(h * s).sum(-1)
        begin = {"a": h, "y": 0 * s - entries[:, None], "l": entries - c}[first]
        return {first: begin, "u": (s + c[:, None]) * h, "m": 0 * c, "s": s, "c": c}

    first, entries = operation(name).targets[0], PRECISE.log(PRECISE.exactly(mask.sum(-1)))
    right = start(s)
    off, wrong = disturbed(data, right)
    if follows:
        off["begin"], by = error(data, (2,)) if first == "l" else (off[first], wrong[first] - right[first])
        wrong = {**start(wrong["s"]), "m": wrong["m"]}
        wrong[first] = wrong[first] + by
        off["skew"], by = error(data, (2,))
        left, rest = error(data, (2, 3))
        off["eta"] = left + share * off["skew"][:, None] * (1 + 1e-9)
        wrong["c"] = wrong["c"] + by
        wrong["u"] = wrong["u"] + rest
        off["c"] = (off["s"].max(-1) + off["skew"]) * (1 + 1e-9)
    ends_of_c = -(share * span.high).sum(-1), -(share * span.low).sum(-1)
    ranges = {"a": Interval(share, share), "s": span, "c": Interval(*ends_of_c).widened(1e-12)}
    ranges |= {"h": ranges["a"], "l": Interval(-ranges["c"].high, -ranges["c"].low).widened(2.0)}
    ranges["y"] = Interval(*(np.log(share.max(-1, keepdims=True)) * np.ones((2, 3)),) * 2).widened(1e-12)
    check(name, {**ranges, "m": Interval(np.zeros(2), np.zeros(2))}, right, wrong, off, {})


@pytest.mark.parametrize("role", ["l", "u"])
def test_one_start_of_a_sum_of_exponentials(role: str) -> None:
    """Only l₀ is off; only u of an entry that takes no part, whose score is far too large."""
    h, zero, size = np.array([[0.5, 0.5, 0.0]]), np.zeros((1, 3)), np.array([0.3])
    right = {r: PRECISE.exactly(zero if r in "us" else zero[:, 0]) for r in "lumsc"}
    wrong, off = dict(right), {r: np.zeros(np.shape(value)) for r, value in right.items()}
    off |= {"skew": zero[:, 0], "eta": zero, "begin": zero[:, 0]}
    if role == "l":
        wrong["l"], off["l"], off["begin"] = PRECISE.exactly(size), size, size
    else:
        wrong["u"], off["eta"] = PRECISE.exactly(np.array([[0, 0, 0.05]])), np.array([[0, 0, 0.05]])
        wrong["s"], off["s"] = PRECISE.exactly(np.array([[0, 0, 4.0]])), np.array([[0, 0, 4.0]])
    ranges = {r: Interval(value.astype(float), value.astype(float)) for r, value in right.items()}
    check("log_sum_exp", {**ranges, "h": Interval(h, h)}, right, wrong, off, {})
    assert role == "u" or perturbed_ends("log_sum_exp", {**ranges, "h": Interval(h, h)}, off)["l"].off == pytest.approx(
        size
    )


@pytest.mark.parametrize("skew", [-0.2, -0.05, 0.05, 0.2])
def test_a_wrong_shift_alone(skew: float) -> None:
    """All scores are equal, c is off and u follows it: then N is e^skew − skew, where it should be 1."""
    h, zero = np.full((1, 4), 0.25), np.zeros((1, 4))
    right = {
        role: PRECISE.exactly(v)
        for role, v in (("a", h), ("u", zero), ("m", zero[:, 0]), ("s", zero), ("c", zero[:, 0]))
    }
    shift = PRECISE.exactly(np.array([skew]))
    wrong = {**right, "c": shift, "u": shift[:, None] * right["a"]}
    size = np.array([abs(skew)])
    off = {"a": zero, "u": size[:, None] * h, "m": zero[:, 0], "s": zero, "c": size, "skew": size, "eta": zero}
    wide = Interval(zero - 0.05, zero + 0.05)
    ranges = {"a": Interval(h, h), "s": wide, "c": Interval(wide.low[:, 0], wide.high[:, 0])}
    check("shifted_softmax", {**ranges, "m": Interval(zero[:, 0], zero[:, 0])}, right, wrong, off, {})
