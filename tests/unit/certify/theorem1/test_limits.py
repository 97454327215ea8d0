"""Programs that look like those of Theorem 1 and are something else: never proved to be what they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import integraph
from integraph import Registers, build, gadgets, segment
from integraph.certify.problem import Box, Unprovable
from integraph.certify.theorem1.difference import Theorem1Difference
from integraph.frontends import function
from integraph.gadgets.ramp import Ramp
from integraph.program import Block, Segment

STEP = "1.5 - 0.5*tanh(8*x - 4)"


def bootstrapped(*more: Segment, early: bool) -> integraph.Program:
    """ln(ψ + 1) of one step, and a lane that holds 1; a product in the lane before or after the logarithm is there."""
    r = Registers()
    alpha = r.inputs("alpha", 1)
    lam, beta, mu, acc = r.new("lam", 2, 1), r.new("beta", 1), r.new("mu", 2, 1), r.new("acc", 1)
    tanh = gadgets.tanh(lam[1:], mu[1:], alpha.broadcast((1, 1)), a=8.0, b=np.array([[-4.0]]))
    partition = gadgets.partition(lam.transpose(), mu[1:].transpose(), alpha, a=8.0, b=np.array([-4.0]))
    product = segment("product", gadgets.monomial(alpha, mu[0], w=np.ones(1)))
    logarithm = segment("ln", gadgets.ln(lam.reshape(2), mu.reshape(2)))
    segments = [
        segment("tanh", tanh, gadgets.ramp(lam[0], b=1.0)),
        segment("partition", partition),
        segment("shift", gadgets.ramp(alpha, b=0.25)),
        segment("ln", gadgets.ln(alpha, beta)),
        segment("restore", gadgets.exp(alpha, beta)),
        segment("plus 1", gadgets.ramp(alpha, b=1.0)),
        segment("ones", gadgets.exp(alpha, beta, a=-1.0)),
        *((product, logarithm) if early else (logarithm, product)),
        segment("sum", gadgets.affine(acc, alpha, w=np.ones(1))),
    ]
    return build(r, segments, acc)


def test_a_product_reads_what_is_there_when_it_is_made() -> None:
    """Before its logarithm is written, a register holds 0 and the product is 1, whatever comes later."""
    program = bootstrapped(early=True)
    assert abs(program([0.1])[0] - 1.0) < 1e-12
    proof = integraph.certify(program, STEP, 1e-2)
    assert proof.status == "unknown"
    assert "logarithm" in proof.reason


@pytest.mark.slow
def test_differences_that_underflow_are_not_0() -> None:
    program = integraph.compile("sin(x)*sin(y)*sin(z)*sin(w)", 1e-1, order=1)
    zero = replace(
        program,
        budget=None,
        segments=tuple(
            replace(
                s,
                blocks=tuple(
                    Block(b.op, b.targets, b.operands, {**b.tensors, "w": 0 * b.tensors["w"]})
                    if b.op.name in ("bilinear", "affine")
                    else b
                    for b in s.blocks
                ),
            )
            for s in program.segments
        ),
    )
    tiny = integraph.function("2e-323", variables=["x", "y", "z", "w"])
    g = 3 / 28
    proof = integraph.certify(zero, tiny, 1.0, box=[(g - 1e-9, g + 1e-9)] * 4)
    assert proof.lower <= proof.upper
    assert proof.upper >= 2e-323


def test_a_gadget_under_another_ones_name_is_not_believed() -> None:
    class Twice(Ramp):
        equations = (("z", 2, "b"),)

    r = Registers()
    x, y = r.inputs("x", 1), r.new("y", 1)
    program = build(r, [segment("twice", Twice()(y, b=1.0)), segment("add", gadgets.affine(y, x))], y)
    assert program([0.5], engine="taylor")[0] == pytest.approx(2.5)
    proof = integraph.certify(program, "x + 1", 1e-3)
    assert proof.status == "unknown"
    assert "is not the gadget of this name" in proof.reason


def test_polynomials_of_absurd_degree_are_refused() -> None:
    r = Registers()
    y = r.inputs("x", 1)
    segments = []
    for number in range(12):
        square = r.new(f"y{number}", 1)
        segments.append(segment("square", gadgets.product(square, y, y)))
        y = square
    program = build(r, segments, y)
    expression = function("x^1000").expression
    assert expression is not None
    with pytest.raises(Unprovable, match="degree"):
        Theorem1Difference(program, expression, Box((0.0,), (1.0,)))
    assert integraph.certify(program, "x^1000", 1e-2).status == "refuted"  # as formulas they can be told apart
    assert integraph.certify(program, "(x^64)^64").proven == 0.0
