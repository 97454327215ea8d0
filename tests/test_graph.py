"""The scheduler: segments, live ranges and slots, on graphs that are not only chains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from integraph import build
from integraph.constructions.graph_old import Affine, Apply, Schedule, schedule
from integraph.constructions.recipes import RECIPES

RNG = np.random.default_rng(1)
A = RNG.normal(size=(3, 2))
B = RNG.normal(size=(4, 3))
C = RNG.normal(size=(2, 3))
X = RNG.uniform(size=(6, 2))


def run(built: Schedule, value: int) -> np.ndarray:
    return build(built.registers, built.segments, built.values[value])(X)


def chain(depth: int, size: int) -> list[Affine | Apply]:
    nodes: list[Affine | Apply] = []
    for n in range(depth):
        W = RNG.normal(size=(size, 2 if n == 0 else size)) / 2
        nodes += [
            Affine(f"affine {n}", len(nodes), W, np.zeros(size)),
            Apply(f"tanh {n}", len(nodes) + 1, RECIPES["tanh"]),
        ]
    return nodes


@pytest.mark.parametrize("r", [math.inf, 45.0])
def test_two_branches_share_a_segment(r: float) -> None:
    """Two maps of the input run at the same time; the deeper branch decides the depth."""
    nodes = [
        Affine("left", 0, A, np.ones(3)),
        Affine("right", 0, -A, np.zeros(3)),
        Apply("tanh", 1, RECIPES["tanh"]),
        Apply("sine", 2, RECIPES["sin"]),
        Affine("on", 4, C, np.zeros(2)),
        Apply("gelu", 5, RECIPES["gelu"]),
    ]
    built = schedule(2, nodes, 6, constant=False, r=r)
    assert [s.label for s in built.segments] == ["left and right", "tanh and sine", "on", "gelu"]
    assert built.ready == (-1, 0, 0, 1, 1, 2, 3)
    pre = np.sin(-X @ A.T) @ C.T
    np.testing.assert_allclose(run(built, 6), pre * ndtr(pre), atol=1e-14)


@pytest.mark.parametrize("r", [math.inf, 45.0])
def test_an_affine_value_with_several_readers(r: float) -> None:
    """Read by a function and by another map: it has registers of its own, and the function a copy."""
    nodes = [Affine("mu", 0, A, np.ones(3)), Apply("arctan", 1, RECIPES["arctan"]), Affine("sum", 1, B, np.zeros(4))]
    built = schedule(2, nodes, 3, constant=False, r=r)
    np.testing.assert_allclose(run(built, 3), (X @ A.T + 1) @ B.T, atol=1e-14)
    kept = schedule(2, nodes, 2, constant=False, r=math.inf)
    np.testing.assert_allclose(run(kept, 2), np.arctan(X @ A.T + 1), atol=1e-14)


def test_slots_are_used_again_only_after_they_decayed() -> None:
    """From the program itself: between two uses of a register by different groups there is a segment that decays it."""
    built = schedule(2, chain(5, 3), 10, constant=False, r=40.0)
    busy: dict[int, str] = {}
    for segment in built.segments:
        targets = {int(n): b.op.name for b in segment.blocks for ref in b.targets for n in ref.indices().ravel()}
        reads = {int(n) for b in segment.blocks for ref in b.operands for n in np.unique(ref.indices())}
        for register, name in targets.items():
            assert name == "decay" or busy.get(register) in (None, "decay"), f"{segment.label}: {register} is not free"
            assert register not in reads
        busy.update(targets)


@pytest.mark.parametrize("depth", [2, 3, 7])
def test_width_does_not_grow_with_depth(depth: int) -> None:
    assert schedule(2, chain(depth, 3), 2 * depth, constant=False, r=40.0).registers.width == 2 + 4 * 3
    assert schedule(2, chain(depth, 3), 2 * depth, constant=False, r=math.inf).registers.width == 2 + 9 * depth


@pytest.mark.parametrize(("depth", "r", "extra"), [(3, math.inf, 1), (3, 40.0, 0), (1, 40.0, 0), (0, 40.0, 1)])
def test_the_constant(depth: int, r: float, extra: int) -> None:
    """With decay the first input, which nobody reads any more, becomes 1; else it is a register more."""
    built = schedule(2, chain(depth, 3), 2 * depth, constant=True, r=r)
    without = schedule(2, chain(depth, 3), 2 * depth, constant=False, r=r)
    assert built.registers.width == without.registers.width + extra
    one = build(built.registers, built.segments, built.one)(X)
    np.testing.assert_allclose(one, 1.0, atol=1e-15)


def test_registers_are_named_after_what_they_hold() -> None:
    built = schedule(2, chain(2, 3), 4, constant=True, r=math.inf)
    assert [g.name for g in built.registers] == ["x", "x2", "alpha2", "lam2", "x4", "alpha4", "lam4", "one"]
