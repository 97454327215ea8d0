"""Random graphs, their programs with every way to free registers, and programs that are slightly another: the
difference, in many bits, at random points, at corners and after a climb, is within the bound that is proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from integraph import Graph
from integraph.certify.graph.difference import GraphDifference
from integraph.certify.problem import Box, Unprovable
from integraph.numbers.arrays import Floats
from integraph.program import Program
from law import examples
from random_graphs import graphs

BITS = 200
OFF = st.sampled_from([0.0, 0.0, 1e-12, 1e-6])  # relative, of controls


def slightly(program: Program, off: float, seed: int) -> Program:
    """The program with the weights of all sums off by so much, each to its own side."""
    if not off:
        return program
    rng = np.random.default_rng(seed)

    def moved(name: str, x: Floats) -> Floats:
        return x * (1.0 + off * rng.choice([-1.0, 0.0, 1.0], x.shape)) if name in "wb" else x

    segments = [
        replace(part, blocks=tuple(
            replace(block, tensors={name: moved(name, x) for name, x in block.tensors.items()})
            if block.op.additive else block for block in part.blocks
        ))
        for part in program.segments
    ]  # fmt: skip
    return replace(program, segments=tuple(segments), budget=None)


def largest(difference: GraphDifference, low: Floats, high: Floats, rng: np.random.Generator) -> float:
    """The largest difference that is seen."""
    points = [low, high, np.where(rng.random(len(low)) < 0.5, low, high), *rng.uniform(low, high, (3, len(low)))]
    seen = [(difference.at(tuple(x.tolist()), BITS)[0][0], tuple(x.tolist())) for x in points]
    near = np.clip(np.array(max(seen)[1]) + 0.2 * (high - low) * rng.normal(size=(3, len(low))), low, high)
    return max(max(seen)[0], *(difference.at(tuple(x.tolist()), BITS)[0][0] for x in near))


@pytest.mark.slow
@given(graphs(), st.sampled_from(["keep", "clean", "decay"]), OFF, st.floats(1e-3, 1.0), st.integers(0, 999))
@examples(25, deadline=None)
def test_differences_are_within_the_bound(graph: Graph, free: str, off: float, width: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.uniform(-0.5, 0.5, graph.inputs)
    high = low + width
    program = integraph.compile(graph, free=free, box=np.stack([low, high], 1))
    difference = GraphDifference(slightly(program, off, seed), graph)
    try:
        upper = difference.upper(Box(tuple(low.tolist()), tuple(high.tolist())), 64)[0]
        seen = largest(difference, low, high, rng)
    except Unprovable:
        assert off  # a program as it was compiled is proved; controls that are off may be rounded where they are summed
        return
    assert seen <= upper
    assert off or upper < 1e-9
