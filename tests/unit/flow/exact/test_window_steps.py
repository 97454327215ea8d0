"""Sums that move a window, as one step: against the closed forms, block by block."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import integraph
from integraph import Registers, build, segment
from integraph.flow.exact.binding import advance
from integraph.flow.exact.engine import EXACT
from integraph.flow.exact.window_steps import COPY, alike
from integraph.gadgets import affine, ramp
from integraph.program import Options, Program
from integraph.targets import windows
from integraph.targets.graph_builder import Builder
from integraph.targets.windows import Axis

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], int]] = {
    "one axis": ((2, 9), (3, 2, 4), {}, 1),
    "two axes": ((1, 7, 6), (4, 1, 3, 2), {"stride": 2}, 1),
    "padding": ((2, 5, 5), (3, 2, 3, 3), {"before": 1, "after": 2}, 1),
    "dilation": ((2, 9, 9), (3, 2, 2, 3), {"dilation": 2}, 1),
    "groups": ((4, 6, 6), (6, 2, 3, 3), {}, 2),
    "more than is copied at once": ((3, 40, 40), (2, 3, 5, 5), {}, 1),
}


def program(name: str, **options: Any) -> Program:
    """tanh of the convolution, with biases, of the tanh of x."""
    shape, kernel, more, groups = CASES[name]
    rng, b = np.random.default_rng(4), Builder()
    x = b.apply("tanh", b.input("x", (1, *shape)))
    axes = [Axis(n, **more) for n in kernel[2:]]
    total = windows.convolve(b, x, rng.normal(size=kernel), axes, groups)
    biased = b.apply("add", total, b.constant(rng.normal(size=(kernel[0], *(1,) * len(axes)))))
    return integraph.compile(b.graph([b.apply("tanh", biased)]), box=(-1, 1), **options)


def by_blocks(program: Program, x: Any) -> Any:
    states = np.zeros((program.width, len(x)))
    states[: program.inputs] = x.T
    for part in program.segments:
        for block in part.blocks:
            advance(block, states, part.tau)
    return (program.readout @ states).T


@pytest.mark.parametrize("free", ["keep", "clean"])
@pytest.mark.parametrize("name", CASES)
def test_the_same_as_block_by_block(name: str, free: str) -> None:
    """From registers that are 0, and from others: with `clean` the sum is subtracted again."""
    made = program(name, free=free)
    for count in (1, 7):
        x = np.random.default_rng(5).uniform(-1, 1, (count, made.inputs))
        assert np.abs(made.flow(x, "exact").outputs - by_blocks(made, x)).max() <= 1e-14


def test_another_horizon() -> None:
    made = program("padding", horizon=2.5)
    x = np.random.default_rng(6).uniform(-1, 1, (3, made.inputs))
    assert np.abs(made.flow(x, "exact").outputs - by_blocks(made, x)).max() <= 1e-14


def test_one_step_for_all_places() -> None:
    made = program("two axes")
    plan = EXACT.prepare(made, False).plan
    assert len(plan.planned) >= 6 + 2
    assert len(plan.bind(4).steps) == len(plan.planned) - 5


def test_several_copies() -> None:
    """The last case is copied in parts."""
    _, kernel, _, _ = CASES["more than is copied at once"]
    assert np.prod(kernel[1:]) * 36 * 36 > COPY


def test_what_is_not_finite_is_found() -> None:
    made = program("two axes")
    x = np.zeros((3, made.inputs))
    x[1, 5] = 1e308
    with np.errstate(all="ignore"):
        outputs = made.flow(x, "exact").outputs
    assert np.isfinite(outputs).all()  # tanh of x is 1
    wide = windowed_overflow()
    flow = wide.flow(np.array([[0.5] * 9, [1.0] * 9]), "exact")
    assert [failure.input for failure in flow.failures] == [1]
    assert np.isfinite(flow.outputs[0]).all()
    assert np.isnan(flow.outputs[1]).all()


def windowed_overflow() -> Program:
    """Its sums are 1.6e308 at 0.5 and too large at 1."""
    b = Builder()
    x = b.input("x", (1, 1, 9))
    total = windows.convolve(b, x, np.full((2, 1, 2), 1.6e308), [Axis(2)])
    return integraph.compile(b.graph([total]))


def test_other_registers_are_no_window() -> None:
    blocks = [block for s in program("groups").segments for block in s.blocks if block.op.name == "affine"]
    pairs = [(one, other, alike(one, other)) for one, other in itertools.combinations(blocks, 2)]
    assert sum(same for _, _, same in pairs) == 9 * 8 // 2  # the nine places of the kernel
    assert all(one.targets == other.targets for one, other, same in pairs if same)


def test_two_ramps_of_one_register_are_no_window() -> None:
    """They add to the same registers, and read none."""
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 2)
    twice = build(r, [segment("twice", ramp(z, b=1.0), ramp(z, b=2.0), affine(z, x, w=np.ones((2, 1))))], z)
    assert twice([4.0]).tolist() == [7.0, 7.0]
    assert EXACT.run(twice, np.array([[4.0]]), Options(states=True)).outputs.tolist() == [[7.0, 7.0]]
