"""Ranges of networks, graphs and programs: bounds against sampled values and plain intervals, one pass and with
bisection. Times are processor time of one process."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

import integraph
from certificates import aimed, named, processed, table
from integraph import Bounds, Graph, Network, Program
from integraph.bounds.ranges.propagation import ranges as graph_ranges
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval, affine
from integraph.targets.activations import activation, value_range
from random_nets import net

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from range_programs import PROGRAMS
from sampled_registers import points, ratios
from torch_graphs import lenet
from transformers import to_graph, transformer

Rows = Iterator[tuple[object, ...]]

SAMPLES, SEEDS = 100_000, range(3)
PASSES = (  # sizes, activation, radius of the box, seconds and width/sampled that one pass may take
    ((2, 16, 16, 1), "tanh", 1.0, 0.005, 1.3),
    ((2, 16, 16, 1), "sigmoid", 1.0, 0.005, 1.3),
    ((4, 256, 256, 2), "tanh", 0.1, 1.0, 1.3),
    ((2, 16, 16, 1), "relu", 1.0, np.inf, np.inf),
    ((12, 64, 64, 3), "tanh", 0.1, np.inf, np.inf),
    ((784, 128, 10), "tanh", 0.01, np.inf, np.inf),
)
BISECTED = (((2, 16, 16, 1), 1.0), ((3, 32, 32, 2), 0.5), ((4, 32, 32, 1), 0.5), ((4, 256, 256, 2), 0.1))
GAP = 0.005  # on either side, so that the width is within 1 %
BOX, TRAJECTORIES = (-1.0, 1.0), 400  # of programs
ENDS = (lambda x: x.low), (lambda x: x.high)
KINDS: dict[str, float | None] = {"Glorot": None, "uniform": 1.0}  # weights from scale·[−1, 1]


MANY = 16  # inputs
SAME = 1e-12  # of the width: two roundings of the same number
NEVER = "never wider than intervals"


def main() -> None:
    table("one pass", PASS_COLUMNS, passes())
    table("graphs, one pass, around a random input", GRAPH_COLUMNS, graphs())
    table("a trained controller, 2-16-16-1, and its program", CONTROLLER_COLUMNS, controllers())
    table(f"bisected until within {GAP:g} on either side", BISECTED_COLUMNS, bisected())
    table("programs on [−1, 1]^d: outputs in one pass, and registers at all times", PROGRAM_COLUMNS, programs())
    table("registers of other programs on [−1, 1]^d at all times", REGISTER_COLUMNS, registers())


def sampled(network: Network, radius: float, bounds: Bounds) -> Floats:
    """The width of each output among samples, in a climb from the best of them, and at the points of the bounds. Among
    many inputs random steps lead nowhere; corners that the slopes point at do."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-radius, radius, (SAMPLES // max(1, network.inputs // 50), network.inputs))
    values = network(x)
    ends = [np.where(sign > 0, values.max(0), -values.min(0)) for sign in (1, -1)]
    for index, sign in enumerate((1.0, -1.0)):
        for output in range(network.outputs):
            best, step = x[np.argmax(sign * values[:, output])], 0.3 * radius
            for _ in range(3 if network.inputs > MANY else 0):  # the corner that the slopes point at
                moved = best + 1e-4 * radius * np.eye(network.inputs)
                corner = radius * np.sign(sign * (network(moved) - network(best)))[:, output]
                best = max(best, corner, key=lambda point: sign * network(point)[output])
            for _ in range(40 if network.inputs <= MANY else 0):
                near = np.clip(best + step * rng.normal(size=(200, network.inputs)), -radius, radius)
                near = np.concatenate([best[None], near])
                best, step = near[np.argmax(sign * network(near)[:, output])], 0.8 * step
            ends[index][output] = max(ends[index][output], sign * network(best)[output])
    return np.maximum(ends[0] + ends[1], bounds.attained_high - bounds.attained_low)


def intervals(network: Network, low: float, high: float) -> Interval:
    """Every output in interval arithmetic."""
    x = Interval(np.full(network.inputs, low), np.full(network.inputs, high))
    for layer in network.layers:
        x = value_range(activation(layer.activation, layer.slope), affine(layer.A, layer.b, x))
    return x


def inside(bounds: Bounds, plain: Interval, off: float = 0.0) -> str:
    """Whether no output has wider bounds than plain intervals, which a program may be `off` by."""
    spare = SAME * (plain.high - plain.low) + off
    within = (bounds.low >= plain.low - spare) & (bounds.high <= plain.high + spare)
    return "yes" if within.all() else "NO"


PASS_COLUMNS = ("net", "weights", "radius", "cells", "time", "width / sampled", "intervals / sampled", NEVER)


def passes() -> Rows:
    for sizes, kind, radius, seconds, ratio in PASSES:
        for weights, scale in KINDS.items():
            network = net(sizes, scale, kind)
            integraph.bound(network, (-radius, radius))  # compiles what is compiled
            runs = [processed(integraph.bound, network, (-radius, radius)) for _ in range(20 if max(sizes) < 50 else 3)]
            bounds, spent = runs[0].value, min(run.seconds for run in runs)
            true, plain = sampled(network, radius, bounds), intervals(network, -radius, radius)
            wide = float((bounds.width / true).max())
            yield (
                f"{named(sizes)}, {kind}", weights, radius, bounds.cells,
                aimed(f"{1e3 * spent:.1f} ms", spent, seconds), aimed(f"{wide:.3f}", wide, ratio),
                f"{((plain.high - plain.low) / true).max():.1f}", inside(bounds, plain),
            )  # fmt: skip


GRAPH_COLUMNS = (
    "graph", "inputs that move", "by", "time", "width / attained, median", "worst", "intervals / attained, median",
    NEVER,
)  # fmt: skip


def sources() -> Iterator[tuple[str, Graph, tuple[tuple[int, float], ...]]]:
    """Name, graph, and how many inputs move by how much."""
    whole, image = 16 * 32, 28 * 28
    yield "transformer 2 × (16 × 32)", to_graph(transformer()), ((whole, 3e-4), (whole, 1e-3))
    try:
        import torch
    except ImportError:
        return
    torch.manual_seed(0)
    for kind, pool in itertools.product(("Tanh", "ReLU"), ("AvgPool2d", "MaxPool2d")):
        graph = integraph.graph(lenet(kind, pool).eval(), inputs=(1, 28, 28))
        yield f"LeNet-5, {kind}, {pool}", graph, ((image, 0.01), (image, 0.1))


def graphs() -> Rows:
    """Widths over what is attained at points, rigorously: a transformer has 512 outputs, too many to sample."""
    for name, graph, boxes in sources():
        x = np.random.default_rng(0).uniform(size=graph.inputs)
        for count, radius in boxes:
            moved = np.where(np.arange(len(x)) < count, radius, 0.0)
            low, high = x - moved, x + moved
            bounds, spent = processed(integraph.bound, graph, np.stack([low, high], 1))
            known = graph_ranges(graph, low, high)
            plain = Interval(*(np.concatenate([end(known[n]).ravel() for n in graph.outputs]) for end in ENDS))
            true = bounds.attained_high - bounds.attained_low
            ratios, plainly = bounds.width / true, (plain.high - plain.low) / true
            yield (
                name, count, radius, f"{spent:.1f} s", f"{np.median(ratios):.3f}", f"{ratios.max():.3f}",
                f"{np.median(plainly):.3g}", inside(bounds, plain),
            )  # fmt: skip


CONTROLLER_COLUMNS = (
    "box", "sampled", "bound, one pass", "width / sampled ≤ 1.3", "of the program", "intervals", NEVER,
)  # fmt: skip


def trained() -> Network:
    """A controller that is fitted to u = tanh(−2θ − ω) + θω/2: hidden layers at random, then all weights by least
    squares."""
    rng = np.random.default_rng(0)
    sizes, x = (2, 16, 16, 1), rng.uniform(-1, 1, (600, 2))
    wanted = np.tanh(-2 * x[:, 0] - x[:, 1]) + 0.5 * x[:, 0] * x[:, 1]
    shapes = [shape for a, b in pairwise(sizes) for shape in ((b, a), (b,))]
    cuts = np.cumsum([np.prod(shape) for shape in shapes])[:-1]

    def layers(flat: Floats) -> list[Floats]:
        return [part.reshape(shape) for part, shape in zip(np.split(flat, cuts), shapes, strict=True)]

    def off(flat: Floats) -> Floats:
        A, a, B, b, C, c = layers(flat)
        return (np.tanh(np.tanh(x @ A.T + a) @ B.T + b) @ C.T + c)[:, 0] - wanted

    start = np.concatenate([rng.normal(size=np.prod(shape)) / np.sqrt(shape[-1]) for shape in shapes])
    A, a, B, b, C, c = layers(least_squares(off, start, max_nfev=60).x)
    return integraph.network([(A, a, "tanh"), (B, b, "tanh"), (C, c)])


def controllers() -> Rows:
    """The range of a net that does something, on the box of a verification tool and on all of [−1, 1]²."""
    network = trained()
    program = integraph.compile(network, 1e-6, box=BOX)
    for low, high in ((0.0, 0.1), BOX):
        grid = np.stack(np.meshgrid(*[np.linspace(low, high, 400)] * 2), -1).reshape(-1, 2)
        values = network(grid)
        bounds, flow = (integraph.bound(each, (low, high)) for each in (network, program))
        wide = float(bounds.width[0] / np.ptp(values))
        plainly = intervals(network, low, high)
        yield (
            f"[{low:g}, {high:g}]²", f"[{values.min():.5f}, {values.max():.5f}]",
            f"[{bounds.low[0]:.5f}, {bounds.high[0]:.5f}]", aimed(f"{wide:.4f}", wide, 1.3),
            f"[{flow.low[0]:.5f}, {flow.high[0]:.5f}]", f"[{plainly.low[0]:.3f}, {plainly.high[0]:.3f}]",
            inside(bounds, plainly),
        )  # fmt: skip


BISECTED_COLUMNS = ("net", "weights, seed", "radius", "cells", "time ≤ 10 s", "gap", "width / sampled ≤ 1.01", NEVER)


def bisected() -> Rows:
    for sizes, radius in BISECTED:
        for weights, scale in KINDS.items():
            for seed in SEEDS[:1] if max(sizes) > 100 else SEEDS:
                network = net(sizes, scale, seed=seed)
                box, options = (-radius, radius), {"seconds": 10.0, "workers": 1, "progress": False}
                bounds, seconds = processed(integraph.bound, network, box, gap=GAP, **options)
                wide = float((bounds.width / sampled(network, radius, bounds)).max())
                yield (
                    named(sizes), f"{weights}, {seed}", radius, bounds.cells,
                    aimed(f"{seconds:.2f} s", seconds, 10.0), f"{bounds.gap.max():.4f}",
                    aimed(f"{wide:.4f}", wide, 1.01), inside(bounds, intervals(network, *box)),
                )  # fmt: skip


PROGRAM_COLUMNS = (
    "program",
    "W",
    "D",
    "time",
    "width / source ≤ 1.2",
    "registers / sampled ≤ 1.2, median",
    "worst",
    "time",
    NEVER,
)
LEAN = 1e-3  # error of the program of Theorem 1


def compiled() -> Iterator[tuple[str, Any, Program]]:
    """Programs of all kinds, with their sources."""
    network = net((2, 16, 16, 1), None, "tanh")
    for method in ("narrow", "wide"):
        yield f"2-16-16-1, {method}", network, integraph.compile(network, method=method, box=BOX)
    for formula in ("sin(3*x)*exp(-y)/(2 + x*y)", "tanh(x)*sqrt(1 + x^2)"):
        yield formula, formula, integraph.compile(formula, box=BOX)
    yield "sin(3*x), lean", "sin(3*x)", integraph.compile("sin(3*x)", LEAN, method="lean", box=BOX)


def programs() -> Rows:
    """The outputs of a program against those of its source, and the registers against sampled trajectories."""
    for name, source, program in compiled():
        integraph.bound(program, BOX)
        bounds, seconds = processed(integraph.bound, program, BOX)
        wide = float((bounds.width / integraph.bound(source, BOX).width).max())
        graph = integraph.graph(source) if isinstance(source, str) else None
        ends = [np.full(program.inputs, end) for end in BOX]
        plain = intervals(source, *BOX) if graph is None else graph_ranges(graph, *ends)[graph.outputs[0]]
        ranges, spent = processed(lambda given: given.registers, bounds)
        x = np.random.default_rng(0).uniform(*BOX, (TRAJECTORIES, program.inputs))
        corners = np.array(np.meshgrid(*[BOX] * program.inputs)).reshape(program.inputs, -1).T
        states = np.concatenate([program.trajectory(point).states for point in (*corners, *x)])
        seen = np.ptp(states, axis=0)
        moved = seen > 1e-3 * np.abs(states).max(0)
        ratios = ((ranges.high.max(0) - ranges.low.min(0)) / np.where(moved, seen, 1.0))[moved]
        yield (
            name, program.width, program.depth, f"{1e3 * seconds:.0f} ms", aimed(f"{wide:.4f}", wide, 1.2),
            aimed(f"{np.median(ratios):.3f}", float(np.median(ratios)), 1.2), f"{ratios.max():.3f}", f"{spent:.1f} s",
            inside(bounds, plain, LEAN if name.endswith("lean") else 0.0),
        )  # fmt: skip


REGISTER_COLUMNS = ("program", "W", "D", "cells", "registers / sampled ≤ 1.2, median", "worst", "time")
POINTS = 4000  # and corners


def registers() -> Rows:
    """The ranges of registers of nets, formulas and programs of Theorem 1, against samples at 9 times of each."""
    for name, compiled in PROGRAMS.items():
        program = compiled()
        ranges, seconds = processed(lambda given: given.ranges(progress=False), program)
        low, high = (np.full(program.inputs, end) for end in BOX)
        corners = np.array(np.meshgrid(*[BOX] * program.inputs)).reshape(program.inputs, -1).T
        found = ratios(program, ranges, np.concatenate([corners, points(low, high, POINTS)]))
        yield (
            name, program.width, program.depth, ranges.cells, f"{np.median(found):.3f}",
            aimed(f"{found.max():.3f}", float(found.max()), 1.2), f"{seconds:.1f} s",
        )  # fmt: skip


if __name__ == "__main__":
    main()
