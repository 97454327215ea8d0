"""Gadgets from wrong starts: what `ends` promises holds, and is not far from what happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.bounds.perturbation.gadget_ends import GRAPH_WRONG, perturbed_ends
from integraph.numbers.intervals import Interval
from integraph.program.block import operation
from law import examples
from slow import mostly_slow
from wrong_starts import PRECISE, STARTS, Numbers, check, disturbed, inside, run

PRODUCTS = ("powers", "monomial", "spiral", "power_spiral")


@mostly_slow("name", STARTS, quick=12)
@examples(30)
@given(data=st.data())
def test_functions(name: str, data: st.DataObject) -> None:
    gadget = operation(name)
    span, x = inside(data, (2,))
    tensors: dict[str, Any] = {"k": np.array(data.draw(st.sampled_from([0.5, 4.0, 100.0])))} if name == "relu" else {}
    argument = x
    if gadget.operands and data.draw(st.booleans()):
        tensors |= {"a": np.array([0.5, -2.0]), "b": np.array([1.0, 0.25])}
        argument = PRECISE.exactly(tensors["a"]) * x + PRECISE.exactly(tensors["b"])
    right = STARTS[name](argument)
    ranges = {"x": span} if gadget.operands else {role: span for role in "uv" if role in right}
    for role in set(gadget.targets) - set(right):
        ranges[role], right[role] = inside(data, (2,))
    if gadget.operands:
        right["x"] = x
    off, wrong = disturbed(data, right)
    check(name, ranges, right, wrong, off, tensors)


@examples(60)
@given(data=st.data())
def test_logarithms_and_variable_powers(data: st.DataObject) -> None:
    ranges, right = {}, {}
    ranges["p"], right["p"] = inside(data, (2,), low=-0.9)
    ranges["z"], right["z"] = inside(data, (2,))
    off, wrong = disturbed(data, right)
    check("ln", ranges, right, wrong, off, {})
    ranges["q"], right["q"] = inside(data, (2,))
    off, wrong = disturbed(data, right)
    check("variable_power", ranges, right, wrong, off, {})
    y, exponent = inside(data, (2,))
    right["q"] = exponent * right["p"]
    ends_of_q = np.stack([y.low, y.high])[:, None] * np.stack([ranges["p"].low, ranges["p"].high])
    ranges |= {"y": y, "q": Interval(ends_of_q.min((0, 1)), ends_of_q.max((0, 1))).widened(1e-9)}
    off, wrong = disturbed(data, right)
    check("variable_power", ranges, right, wrong, off, {})


@pytest.mark.parametrize("reads", [0, 2])
@mostly_slow("name", PRODUCTS, quick=2)
@examples(30)
@given(data=st.data())
def test_products(name: str, reads: int, data: st.DataObject) -> None:
    shapes = {"p": (2, 2), "z": (2, 3), "u": (2, 3), "v": (2, 3), "t": (2, 3, 1), **dict.fromkeys("xl", (2, 3, reads))}
    gadget = operation(name)
    found = {
        role: inside(data, shapes[role], -0.9 if role == "p" else -np.inf)
        for role in (*gadget.targets, *gadget.operands)
    }
    ranges, right = ({role: pair[k] for role, pair in found.items()} for k in (0, 1))
    tensors: dict[str, Any] = {"b": np.array([0.25])}
    if "p" in right:
        tensors["a"] = np.array([[[-0.5, 1.0]], [[2.0, -1.0]]])
    if reads or name == "monomial":
        tensors["w"] = np.array([0.5, -1.0])[:reads]
    if "t" in right:
        tensors |= {"c": np.array([3.0]), "d": np.array([-1.0])}
    off, wrong = disturbed(data, right)
    check(name, ranges, right, wrong, off, tensors)


@examples(60)
@given(data=st.data())
def test_softmax(data: st.DataObject) -> None:
    span, s = inside(data, (2, 3))
    mask = np.array(data.draw(st.sampled_from([[[1, 1, 1], [1, 1, 1]], [[1, 0, 1], [0, 0, 1]]])), bool)
    tensors = {"c": np.array([0.5, -2.0])} if data.draw(st.booleans()) else {}
    sigma = s + PRECISE.exactly(tensors["c"])[:, None] if tensors else s
    h = PRECISE.exactly(mask * 1.0) / PRECISE.exactly(mask.sum(-1, keepdims=True) * 1.0)
    right = {"a": h, "u": sigma * h, "m": (sigma * h).sum(-1), "s": s}
    off, wrong = disturbed(data, right)
    shares = mask / mask.sum(-1, keepdims=True)
    check("softmax", {"a": Interval(shares, shares), "s": span}, right, wrong, off, tensors)


def corners(name: str, right: Numbers, off: Numbers, tensors: Numbers) -> dict[str, Any]:
    """The largest deviation of each target over many choices of signs."""
    rng, worst = np.random.default_rng(4), {}
    true, _ = run(name, right, right, tensors)
    for n in range(12):
        same = {role: rng.choice([-1.0, 1.0]) for role in right}  # of all lanes, in every other choice
        signs = {r: same[r] * rng.choice([-1.0, 1.0] if n % 2 else [1.0], np.shape(off[r])) for r in right}
        wrong = {r: v + PRECISE.exactly(off[r] * signs[r]) for r, v in right.items()}
        seen, alive = run(name, wrong, wrong, tensors)
        assert alive
        for role, end in seen.items():
            worst[role] = np.maximum(worst.get(role, 0.0), abs(end - true[role]).astype(float))
    return worst


def loose(name: str, ranges: Mapping[str, Interval], right: Numbers, tensors: Numbers, size: float = 1e-6) -> float:
    """How much larger than what happens the largest bound is, for the worst register, where all roles are off. With one
    role off at a time the bounds hold too."""
    nothing = {role: np.zeros(value.shape) for role, value in right.items()}
    for role in right:
        off = {**nothing, role: np.full(nothing[role].shape, size)}
        worst = corners(name, right, off, tensors)
        for end, promised in perturbed_ends(name, ranges, off, tensors).items():
            assert (worst[end] <= promised.off * (1 + 1e-12)).all(), (role, end)
    off = {role: np.full(value.shape, size) for role, value in right.items()}
    bounds, worst = perturbed_ends(name, ranges, off, tensors), corners(name, right, off, tensors)
    assert all((worst[role] <= end.off).all() for role, end in bounds.items())
    return max(float(bounds[role].off.max() / worst[role].max()) for role in bounds)


@mostly_slow("name", STARTS, quick=1)
def test_functions_are_not_far_from_tight(name: str) -> None:
    gadget = operation(name)
    x, low, high = np.linspace(-3, 3, 13), np.full(13, -3.0), np.full(13, 3.0)
    right = {**STARTS[name](PRECISE.exactly(x)), "x": PRECISE.exactly(x)}
    ranges = {role: Interval(low, high) for role in ("x", "u", "v") if role in (*gadget.targets, *gadget.operands)}
    for role in set(gadget.targets) - set(right):
        right[role], ranges[role] = PRECISE.exactly(0 * x), Interval(0 * x, 0 * x)
    right = {role: right[role] for role in (*gadget.targets, *gadget.operands)}
    assert loose(name, ranges, right, {"k": np.array(2.0)} if name == "relu" else {}) < 8


def test_products_are_not_far_from_tight() -> None:
    p = np.array([[-0.9, 4.0], [0.0, -0.5]])
    lanes, a = np.array([[1.0, -2.0, 0.0], [3.0, 0.1, -1.0]]), np.array([[[-0.5, 1.0]], [[2.0, -1.0]]])
    x, t = np.full((2, 3, 2), 0.5), np.full((2, 3, 1), 0.7)
    values = {"p": p, "z": lanes, "u": lanes, "v": lanes[::-1], "x": x, "t": t}
    tensors = {"a": a, "w": np.array([0.5, -1.0]), "c": np.array([3.0])}
    for name, named in (("powers", "aw"), ("spiral", "wc"), ("power_spiral", "awc")):
        gadget = operation(name)
        ranges = {role: Interval(values[role], values[role]) for role in (*gadget.targets, *gadget.operands)}
        right = {role: PRECISE.exactly(values[role]) for role in ranges}
        assert loose(name, ranges, right, {key: tensors[key] for key in named}) < 10, name
    xi, y = np.array([0.1, 0.9, 1.0, 5.0, 40.0]), np.array([2.0, -3.0, 0.5, 1.5, -1.0])
    starts = {"p": xi - 1, "q": y * (xi - 1), "z": np.ones(5)}
    ranges = {role: Interval(v, v) for role, v in (*starts.items(), ("y", y))}
    right = {role: PRECISE.exactly(v) for role, v in starts.items()}
    assert loose("variable_power", ranges, right, {}) < 10
    assert loose("ln", ranges, {role: right[role] for role in "pz"}, {}) < 10


@pytest.mark.slow
def test_softmax_is_not_far_from_tight() -> None:
    h = np.full((1, 4), 0.25)
    rows = ([0.0, 1.0, -2.0, 3.0], [0.0, 30.0, 200.0, -50.0], [0.0, -1.0, -2.0, 0.0], [5.0] * 4, [-5.0] * 4)
    for s in rows:
        scores = np.array([s])
        right = {"a": h, "u": scores * h, "m": (scores * h).sum(-1), "s": scores}
        exact = {role: PRECISE.exactly(value) for role, value in right.items()}
        found = loose("softmax", {"a": Interval(h, h), "s": Interval(scores, scores)}, exact, {}, 1e-8)
        assert found < 20, s
    wide = perturbed_ends(
        "softmax",
        {"a": Interval(h, h), "s": Interval(np.array([[0.0, -500, -500, -500]]), np.array([[0.0, 500, 500, 500]]))},
        {role: np.full(value.shape, 1e-12) for role, value in right.items()},
    )
    assert wide["a"].off.max() < 1e-9


def test_log_sum_exp_is_not_far_from_tight() -> None:
    """From l = 0 and u = s/n, c = 0: the largest of many choices of signs is not far below what is promised."""
    h = np.full((1, 4), 0.25)
    for s in ([0.0, 1.0, -2.0, 3.0], [0.0, 30.0, 200.0, -50.0], [5.0] * 4):
        scores = np.array([s])
        right = {"l": np.zeros(1), "u": scores * h, "m": (scores * h).sum(-1), "s": scores, "c": np.zeros(1)}
        exact = {role: PRECISE.exactly(value) for role, value in right.items()}
        spans = {"h": Interval(h, h), **{role: Interval(value, value) for role, value in right.items()}}
        assert loose("log_sum_exp", spans, exact, {}, 1e-8) < 20, s


def test_a_known_end_makes_the_bound_narrower() -> None:
    """A layer norm: the deviation may be tiny, but what is divided by it is as small."""
    d, p = (
        Interval(np.full((1, 4), -3.0), np.full((1, 4), 3.0)),
        Interval(np.full((1, 1), 1e-4 - 1), np.full((1, 1), 8.0)),
    )
    ranges = {"z": d, "p": p, "x": Interval(np.zeros((1, 4, 0)), np.zeros((1, 4, 0)))}
    off = {"z": np.zeros((1, 4)), "p": np.full((1, 1), 1e-9), "x": np.zeros((1, 4, 0))}
    known = {"z": Interval(np.full((1, 4), -2.0), np.full((1, 4), 2.0))}
    apart, together = (perturbed_ends("powers", ranges, off, {"a": np.array([-0.5])}, k)["z"] for k in ({}, known))
    assert apart.right.high.max() == pytest.approx(300.0)
    assert together.right.high.max() == 2.0
    assert together.off.max() == pytest.approx(apart.off.max() / 150)


def test_what_starts_right_ends_right() -> None:
    x = np.array([-3.0, 0.0, 5.0])
    for name in STARTS:
        gadget = operation(name)
        roles = (*gadget.targets, *gadget.operands)
        found = perturbed_ends(
            name, {r: Interval(x, x) for r in roles}, {r: np.zeros(3) for r in roles}, {"k": np.array(3.0)}
        )
        assert all((end.off == 0).all() for end in found.values()), name


@pytest.mark.parametrize("name", sorted(GRAPH_WRONG))
def test_what_is_not_known_has_no_bound(name: str) -> None:
    """NaN and ∞ are no small numbers."""
    gadget = operation(name)
    shapes = {**dict.fromkeys("xtl", (2, 3, 1)), "p": (2, 1)} if name in PRODUCTS else {}
    shapes |= {"l": (2,), "m": (2,), "c": (2,)} if "softmax" in name or name == "log_sum_exp" else {}
    roles = (*gadget.targets, *gadget.operands)
    zero = {role: np.full(shapes.get(role, (2, 3)), 0.25) for role in roles}
    named = {"relu": "k"}.get(name, "awc" if name in PRODUCTS else "")
    tensors = {key: np.array([2.0]) for key in gadget.tensors if key in named}
    for bad in (np.nan, np.inf):
        off = {role: np.full(zero[role].shape, bad) for role in roles}
        starts = {r: Interval(v, v) for r, v in {**zero, "h": np.full((2, 3), 0.25)}.items()}
        for role, end in perturbed_ends(name, starts, off, tensors).items():
            assert not np.isfinite(end.off).any(), role
            assert not np.isnan(end.off).any(), role
