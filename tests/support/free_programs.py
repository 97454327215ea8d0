"""Programs of blocks without closed forms, as learned models have them."""

from __future__ import annotations

import numpy as np

from integraph import Program, Registers, build, segment
from integraph.gadgets import affine, decay, low_rank, ramp, raw
from integraph.program import Domain
from integraph.program.views import dense


def two_segments(block: str) -> Program:
    """Two inputs that stand still, two registers, two segments of rank 2."""
    rng, r = np.random.default_rng(4), Registers()
    x, y = r.inputs("x", 2), r.new("y", 2)
    parts = []
    for number in range(2):
        U, V1, V2, A, b = (0.5 * rng.normal(size=shape) for shape in ((2, 2), (2, 4), (2, 4), (2, 4), (2,)))
        Q = np.einsum("is,sj,sk->ijk", U, V1, V2)
        made = low_rank(y, x, U=U, V1=V1, V2=V2, A=A, b=b) if block == "low_rank" else raw(y, x, A=A, b=b, Q=Q)
        parts.append(segment(f"s{number}", made))
    return build(r, parts, y).annotate(domain=Domain(-0.5 * np.ones(2), 0.5 * np.ones(2)))


def learned(size: float = 0.3) -> Program:
    """What an estimator makes: units of the model, two segments of six registers and rank 4, units of the target."""
    rng, r = np.random.default_rng(5), Registers()
    x, _, out = r.inputs("x", 2), r.new("h", 4), r.new("out", 1)
    y, shapes = dense(0, (6,)), ((6, 4), (4, 6), (4, 6), (6, 6), (6,))
    parts = [segment("centre", ramp(x, b=np.array([0.5, -0.5]))), segment("scale", decay(x, r=np.log([2.0, 1.5])))]
    for number in range(2):
        U, V1, V2, A, b = (size * rng.normal(size=shape) for shape in shapes)
        parts.append(segment(f"learned {number + 1}", low_rank(y, U=U, V1=V1, V2=V2, A=A, b=b)))
    parts.append(segment("output", affine(out, y, w=rng.normal(size=(1, 6)), b=np.array([0.2]))))
    return build(r, parts, out, source="a learned quadratic ODE, free, rank 4")
