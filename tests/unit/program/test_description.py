"""What `describe` prints: a legend once, equations before sentences, sums of blocks in one line."""

from __future__ import annotations

import re

import numpy as np

from integraph import Registers, build, segment
from integraph.gadgets import affine, decay, ramp, tanh
from integraph.program.description import described, legend


def test_a_legend_once() -> None:
    r = Registers()
    x, z = r.inputs("x", 2), r.new("z", label="the <sum>")
    program = build(
        r, [segment("add", affine(z, x, w=[[1.0, 1.0]])), segment("again", affine(z, x, w=[[1.0, 1.0]]))], z
    )
    assert legend(program) == [
        ("x1, x2", "inputs, in properties x0, x1"),
        ("z", "the <sum>"),
        ("w", "stored numbers, different in each block"),
    ]
    assert program.describe() == (
        "x1, x2  inputs, in properties x0, x1\n"
        "z       the <sum>\n"
        "w       stored numbers, different in each block\n"
        "\n"
        "segment 0: add (duration 1)\n"
        "    z' = x1 + x2\n"
        "    affine, 2 weights: adds Σ w·x to z\n"
        "segment 1: again (duration 1)\n"
        "    z' = x1 + x2\n"
        "    affine, 2 weights: adds Σ w·x to z\n"
        "output = z"
    )


def test_what_several_blocks_add_is_one_equation() -> None:
    """Of a segment with many terms the equations are those of whole groups."""
    r = Registers()
    x, z, y = r.inputs("x", 6), r.new("z", 6), r.new("y", 6)
    blocks = (affine(z, x, w=np.ones((6, 6))), ramp(z, b=1.0), decay(y, r=2.0))
    shown = described(build(r, [segment("add", *blocks)], z), 0)
    assert shown.equations == ["z' = Σ w·x + b", "y' = −r·y"]
    assert shown.sentences == [
        "affine × 6, 6 weights each: adds Σ w·x to z", "ramp × 6: adds b to z", "decay × 6: y(1) = e^(−r)·y(0)",
    ]  # fmt: skip


def test_equations_are_those_of_the_program() -> None:
    """Read back from the text and evaluated, they give the right-hand side."""
    r = Registers()
    x, alpha, lam = (r.inputs(name, 2) for name in ("x", "alpha", "lam"))
    program = build(r, [segment("tanh", tanh(alpha, lam, x, a=[2.0, -3.0], b=[0.5, 0.0]))], alpha)
    y = np.random.default_rng(0).normal(size=6)
    names = dict(zip((r.name(n) for n in range(6)), y, strict=True))
    slopes = dict.fromkeys(names, 0.0)
    for equation in described(program, 0).equations:
        left, right = equation.split("' = ")
        text = re.sub(r"(\w+)²", r"\1**2", right.replace("−", "-").replace("·", "*"))
        slopes[left] = eval(text, {}, names)
    np.testing.assert_allclose(list(slopes.values()), program.rhs(0.5, y), rtol=1e-12)
