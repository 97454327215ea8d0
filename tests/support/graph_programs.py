"""Programs of graphs with controls that are slightly off and registers that hold residues: whether the proven bound
contains the difference in many bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import integraph
from graph_arithmetic import OFF, Make, of
from integraph.certify.graph import row_rules
from integraph.certify.graph.difference import GraphDifference
from integraph.certify.graph.node_rules import read
from integraph.certify.problem import Box, PrecisionTooLow, Unprovable
from integraph.gadgets.decay import decay as decay_gadget
from integraph.gadgets.ramp import ramp
from integraph.numbers.arrays import Floats
from integraph.program import Block, Program, Segment, View
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder

RATE = 20.0  # of decay
BITS = 200
LARGEST = 1e-2  # of bounds
SMOOTH = (
    "tanh", "gelu", "erf", "softplus", "sigmoid", "atan", "silu", "exp", "sin", "asinh", "gelu_tanh", "log_cosh",
    "expm1", "sinh",
)  # fmt: skip
CONTROLS = "wbcd"  # tensors that are sums of registers
RNG = np.random.default_rng(0)
W = RNG.standard_normal((4, 4))


def variants(program: Program) -> Iterator[Program]:
    """Programs with controls that are slightly off: in all blocks, in one, in the read-out."""
    rng = np.random.default_rng(0)
    yield program
    yield _with(program, lambda block: block.op.additive, lambda x: x * (1.0 + OFF))
    yield _with(program, lambda block: block.op.additive, lambda x: x * (1.0 + OFF * rng.choice([-1.0, 1.0], x.shape)))
    for one in [block for part in program.segments for block in part.blocks if set(CONTROLS) & set(block.tensors)]:
        yield _with(program, lambda block, one=one: block is one, lambda x: x * (1.0 + OFF))
    readout = program.readout.copy()
    readout.data = readout.data * (1.0 + OFF)
    yield replace(program, readout=readout)


def residues(program: Program) -> Iterator[Program]:
    """Programs whose registers hold what is left of earlier values: all, and each one alone."""
    inputs, count = program.inputs, program.width - program.inputs
    for start, size in ((0, count), *((n, 1) for n in range(count))):
        view = View(inputs + start, (size,), (1,))
        for value in (1.0, -1.0) if size > 1 else (1.0,):
            before = (
                Segment("a value", (Block(ramp, (view,), tensors={"b": np.full(size, value)}),)),
                Segment("its decay", (Block(decay_gadget, (view,), tensors={"r": np.full(size, RATE)}),)),
            )
            yield replace(program, segments=(*before, *program.segments), budget=None)


def _with(program: Program, which: Callable[[Block], bool], change: Callable[[Floats], Floats]) -> Program:
    def new(block: Block) -> Block:
        tensors = {key: change(x) if key in CONTROLS else x for key, x in block.tensors.items()}
        return replace(block, tensors=tensors) if which(block) else block

    segments = (replace(part, blocks=tuple(map(new, part.blocks))) for part in program.segments)
    return replace(program, segments=tuple(segments), budget=None)


def contains(programs: Iterable[Program], graph: Graph, low: float, high: float) -> bool:
    """Whether values of the difference are within its bound, and there is one."""
    rng = np.random.default_rng(0)
    corners = np.where(rng.random((4, graph.inputs)) < 0.5, low, high)
    points = [tuple(x.tolist()) for x in (*corners, *rng.uniform(low, high, (2, graph.inputs)))]
    for program in programs:
        difference = GraphDifference(program, graph)
        try:
            upper = difference.upper(Box((low,) * graph.inputs, (high,) * graph.inputs), 64)[0]
        except (Unprovable, ValueError):
            return False
        if not max(difference.at(x, BITS)[0][0] for x in points) <= upper < LARGEST:
            return False
    return True


def case(
    make: Make,
    low: float = -1.0,
    high: float = 1.0,
    eps: float | None = None,
    shape: tuple[int, ...] = (2, 4),
    change: Callable[[Program], Iterator[Program]] = variants,
) -> Callable[[], bool]:
    def holds() -> bool:
        graph = of(make, shape)
        return contains(change(integraph.compile(graph, eps, box=(low, high))), graph, low, high)

    return holds


def norm(b: Builder, x: int) -> int:
    rows = b.nodes[x].shape[0]
    mean = b.apply("reshape", b.mean(x, (1,), "mean"), data=((rows, 1),))
    d = b.apply("sub", x, mean)
    variance = b.apply("reshape", b.mean(b.apply("mul", d, d), (1,), "variance"), data=((rows, 1),))
    return b.apply("mul", d, b.power(b.apply("add", variance, b.constant(0.1)), -0.5, "root"))


def dense(f: str) -> Make:
    return lambda b, x: b.apply(f, b.apply("matmul", x, b.constant(W)))


def attention(b: Builder, x: int) -> int:
    q, k = (b.apply("matmul", x, b.constant(W[:, part : part + 2])) for part in (0, 2))
    scores = b.apply("matmul", q, b.apply("transpose", k, data=(1, 0)))
    return b.apply("matmul", b.softmax(b.apply("div", scores, b.constant(np.sqrt(2.0)))), x)


def plus(x: float) -> Make:
    return lambda b, node: b.apply("add", node, b.constant(x))


def then(*parts: Make) -> Make:
    def make(b: Builder, x: int) -> int:
        for part in parts:
            x = part(b, x)
        return x

    return make


def op(name: str) -> Make:
    return lambda b, x: b.apply(name, x)


def reciprocal(b: Builder, x: int) -> int:
    return b.apply("div", b.constant(1.0), x)


def names_the_zero() -> bool:
    graph = of(reciprocal, (1,))
    with np.errstate(all="ignore"), pytest.raises(PrecisionTooLow, match="x may reach 0 on the box"):
        read(graph, Box((0.0,), (1.0,)))
    return True


def refuses_another_function() -> bool:
    """x/2 is not max(x, 0)/2 on a box with negative x."""
    half = of(lambda b, x: b.apply("mul", x, b.constant(0.5)), (1,))
    other = of(lambda b, x: b.apply("mul", b.apply("relu", x), b.constant(0.5)), (1,))
    difference = GraphDifference(integraph.compile(half, box=(-1, 1)), other)
    try:
        return difference.upper(Box((-1.0,), (0.5,)), 64)[0] >= 0.5
    except Unprovable:
        return True


def near(b: Builder, x: int) -> int:
    """Two nodes that differ by less than what a rounding may be."""
    return b.apply("concat", *(b.apply("mul", x, b.constant(w)) for w in (0.1, 0.1 * (1.0 - OFF))), data=(0,))


def nearly_another_logarithm() -> bool:
    """ln((x + 5)/4) as a program of ln(x + 5) less a number that is nearly ln 4."""
    number = 2.0 * np.log(2.0) * (1.0 + 1e-10)
    graph = of(then(plus(5.0), op("ln"), plus(-number)), (1,))
    quarter = of(then(plus(5.0), lambda b, x: b.apply("mul", x, b.constant(0.25)), op("ln")), (1,))
    return contains([integraph.compile(quarter, box=(-1, 1))], graph, -1.0, 1.0)


def weighted_argument() -> bool:
    """A gadget that reads 3x + 1/8."""
    graph = of(lambda b, x: b.apply("expm1", plus(0.125)(b, b.apply("mul", b.apply("silu", x), b.constant(3.0)))), (1,))
    program = integraph.compile(of(then(op("silu"), op("expm1")), (1,)), box=(-1, 1))

    def new(block: Block, factor: float) -> Block:
        tensors = {"a": np.array(3.0 * factor), "b": np.array(0.125)}
        return replace(block, tensors=tensors) if block.op.name == "expm1" else block

    programs = (
        replace(
            program,
            segments=tuple(
                replace(s, blocks=tuple(new(block, factor) for block in s.blocks)) for s in program.segments
            ),
        )
        for factor in (1.0, 1.0 + OFF)
    )
    return all(contains(variants(one), graph, -1.0, 1.0) for one in programs)


def without_combinations() -> bool:
    """The starts of an attention, whatever scores they were computed from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_rules, "LARGEST", 0)
        return case(attention)() and case(then(dense("tanh"), op("log_softmax")))()


def residues_without_combinations() -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_rules, "LARGEST", 0)
        both = (case(op(f), shape=(1, 2), change=residues) for f in ("softmax", "log_softmax"))
        return all(holds() for holds in both)


PROGRAMS: dict[str, Callable[[], bool]] = {
    "zero": names_the_zero,
    "another function": refuses_another_function,
    "near": case(near, shape=(1,)),
    "argument": weighted_argument,
    "nearly another logarithm": nearly_another_logarithm,
    **{f: case(dense(f)) for f in SMOOTH},
    "gelu of x": case(op("gelu"), shape=(1,)),
    "erf of x": case(op("erf"), shape=(1,)),
    "two layers": case(then(dense("tanh"), dense("silu"), dense("tanh"))),
    "layer norm": case(norm),
    "attention": case(attention),
    "starts of attention": without_combinations,
    "log softmax": case(op("log_softmax")),
    "log softmax of 3": case(then(op("log_softmax"), op("log_softmax")), shape=(2, 3)),
    "softmax": case(op("softmax")),
    "logsumexp": case(then(dense("tanh"), op("logsumexp"))),
    "ln": case(then(plus(5.0), op("ln"))),
    "ln of less": case(then(plus(1.5), op("ln"), op("exp"))),
    "log2": case(then(plus(5.0), op("log2"))),
    "log10": case(then(plus(5.0), op("log10"))),
    "root": case(then(dense("tanh"), plus(5.0), op("sqrt"))),
    "reciprocal": case(then(dense("tanh"), plus(1.5), reciprocal)),
    "thirds": case(lambda b, x: b.apply("div", x, b.constant(3.0)), 0.5, 1.0, shape=(1,)),
    "products of functions": case(lambda b, x: b.apply("mul", dense("tanh")(b, x), dense("exp")(b, x))),
    "cubes": case(then(dense("tanh"), lambda b, x: b.power(x, 3))),
    **{f: case(dense(f), eps=1e-3) for f in ("relu", "abs")},
    "a kink": case(op("relu"), -0.0046, 0.0046, eps=1e-3, shape=(1,)),  # to where it is farthest off
    "leaky relu": case(lambda b, x: b.apply("leaky_relu", x, data=(0.1,)), eps=1e-3),
    **{f"a residue of {f}": case(op(f), shape=(1,), change=residues) for f in SMOOTH[:6]},
    "a residue of sums": case(dense("gelu"), shape=(1, 4), change=residues),
    "a residue of roots": case(then(op("tanh"), plus(3.0), op("sqrt")), shape=(1,), change=residues),
    "a residue of logarithms": case(then(op("tanh"), plus(3.0), op("ln")), shape=(1,), change=residues),
    "a residue of norms": case(norm, shape=(1, 2), change=residues),
    "a residue of softmax": case(op("softmax"), shape=(1, 2), change=residues),
    "a residue of log softmax": case(op("log_softmax"), shape=(1, 2), change=residues),
    "a residue of starts": residues_without_combinations,
}
