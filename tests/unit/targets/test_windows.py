"""Convolutions and pooling as sums of views, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError
from integraph.targets import windows
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from integraph.targets.windows import Axis
from lazy import Lazy, needs

torch = Lazy("torch")

CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "one axis": ((3, 9), (2, 3, 4), {}),
    "stride and padding": ((2, 7, 6), (3, 2, 3, 2), {"stride": (2, 1), "padding": (1, 2)}),
    "dilation": ((2, 8, 9), (3, 2, 3, 2), {"dilation": (2, 3), "stride": (1, 2)}),
    "groups": ((6, 5, 5), (4, 3, 2, 3), {"groups": 2, "padding": 1}),
    "one channel a group": ((4, 6, 6), (4, 1, 3, 3), {"groups": 4}),
    "1 × 1": ((3, 4, 4), (5, 3, 1, 1), {}),
    "one position": ((3, 4, 5), (2, 3, 4, 5), {}),
    "one position, padded and dilated": ((2, 3, 3), (2, 2, 3, 3), {"padding": 1, "dilation": 2}),
}
POOLS = (
    {"kernel_size": (2, 2)},
    {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 1)},
    {"kernel_size": (3, 3), "stride": (2, 3), "padding": (1, 0), "ceil_mode": True},
    {"kernel_size": (2, 3), "stride": (3, 3), "ceil_mode": True},
    {"kernel_size": (7, 8)},
)


def axes(sizes: Any, **options: Any) -> list[Axis]:
    def both(name: str, default: int) -> tuple[int, ...]:
        value = options.get(name, default)
        return value if isinstance(value, tuple) else (value,) * len(sizes)

    columns = zip(sizes, both("stride", 1), both("dilation", 1), both("padding", 0), strict=True)
    return [Axis(n, step, apart, zeros, zeros, options.get("ceil_mode", False)) for n, step, apart, zeros in columns]


def drawn(shape: tuple[int, ...], draw: Any) -> Graph:
    b = Builder()
    return b.graph([draw(b, b.input("x", shape))])


def agree(graph: Graph, x: Any, want: Any, tolerance: float = 1e-13) -> None:
    assert graph.nodes[graph.outputs[0]].shape == want.shape
    values = graph.values(x.reshape(1, -1))
    assert np.abs(values - want.reshape(1, -1)).max() <= tolerance
    program = integraph.compile(graph, method="exact", box=(-4, 4))
    assert np.abs(program(x.reshape(1, -1)) - want.reshape(1, -1)).max() <= tolerance


@needs("torch")
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution(name: str) -> None:
    shape, size, options = CONVOLUTIONS[name]
    rng = np.random.default_rng(2)
    x, kernel = rng.normal(size=(1, *shape)), rng.normal(size=size)
    own = {key: value for key, value in options.items() if key != "groups"}
    graph = drawn(x.shape, lambda b, n: windows.convolve(b, n, kernel, axes(size[2:], **own), options.get("groups", 1)))
    functional = (torch.nn.functional.conv1d, torch.nn.functional.conv2d)[len(shape) - 2]
    agree(graph, x, functional(torch.tensor(x), torch.tensor(kernel), **options).numpy())


@needs("torch")
@pytest.mark.parametrize("options", POOLS, ids=str)
@pytest.mark.parametrize("count_zeros", [False, True])
def test_a_mean_pool(options: dict[str, Any], count_zeros: bool) -> None:
    x = np.random.default_rng(3).normal(size=(1, 2, 7, 8))
    window = axes(options["kernel_size"], **{"stride": options["kernel_size"]} | options)
    graph = drawn(x.shape, lambda b, n: windows.mean_pool(b, n, window, count_zeros))
    want = torch.nn.functional.avg_pool2d(torch.tensor(x), **options, count_include_pad=count_zeros).numpy()
    agree(graph, x, want)


@needs("torch")
@pytest.mark.parametrize("options", [*POOLS, {"kernel_size": (2, 3), "dilation": (2, 2), "padding": (1, 1)}], ids=str)
def test_a_max_pool(options: dict[str, Any]) -> None:
    """Exact as a graph; a program is exact up to its tolerance."""
    x = np.random.default_rng(4).normal(size=(1, 2, 7, 8))
    window = axes(options["kernel_size"], **{"stride": options["kernel_size"]} | options)
    graph = drawn(x.shape, lambda b, n: windows.max_pool(b, n, window))
    want = torch.nn.functional.max_pool2d(torch.tensor(x), **options).numpy()
    assert graph.nodes[graph.outputs[0]].shape == want.shape
    assert (graph.values(x.reshape(1, -1)) == want.reshape(1, -1)).all()
    program = integraph.compile(graph, eps=1e-3, box=(-4, 4))
    assert np.abs(program(x.reshape(1, -1)) - want.reshape(1, -1)).max() <= 1e-3


def test_zeros_around_and_entries_cut_off() -> None:
    x = np.arange(12.0).reshape(3, 4)
    graph = drawn(x.shape, lambda b, n: windows.padded(b, n, [(1, -1), (-2, 3)], 5.0))
    want = np.pad(x[:2, 2:], [(1, 0), (0, 3)], constant_values=5.0)
    assert (graph.values(x.reshape(1, -1)) == want.reshape(1, -1)).all()


def test_no_weight_is_copied_for_a_position() -> None:
    """Neither of the kernel nor of the bias, in the graph and in the program."""
    b = Builder()
    x = b.input("x", (1, 2, 20, 20))
    total = windows.convolve(b, x, np.random.default_rng(1).normal(size=(3, 2, 5, 5)), [Axis(5, 1, 1, 2, 2)] * 2)
    biased = b.apply("add", total, b.constant(np.arange(1.0, 4.0).reshape(3, 1, 1)))
    program = integraph.compile(b.graph([b.apply("tanh", biased)]))
    weights = sum(block.tensors[name].size for s in program.segments for block in s.blocks for name in block.tensors)
    assert 3 * 2 * 25 + 3 <= weights <= 3 * 2 * 25 + 3 + 400  # 400: the zeros around
    assert program.depth == 3  # zeros around, the sums, tanh
    assert program.width == 2 * 400 + 2 * 24 * 24 + 3 * 3 * 400  # x, x with zeros, the sums, the two registers of tanh


def test_what_is_read_by_many_is_computed_once() -> None:
    """The mean of four, by each of the nine places of the next kernel."""
    b = Builder()
    pooled = windows.mean_pool(b, b.input("x", (1, 1, 12, 12)), [Axis(2, 2)] * 2, False)
    graph = b.graph([windows.convolve(b, pooled, np.ones((1, 1, 3, 3)), [Axis(3)] * 2)])
    assert integraph.compile(graph).width == 144 + 36 + 16


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda b, x: windows.convolve(b, x, np.ones((2, 2, 3, 3)), [Axis(3)] * 2), "in 1 groups does not fit 3"),
        (lambda b, x: windows.convolve(b, x, np.ones((2, 3, 3)), [Axis(3)]), "has 1 axes, and moves over"),
        (lambda b, x: windows.convolve(b, x, np.ones((2, 3, 9, 9)), [Axis(9)] * 2), "size 9, stride 1, dilation 1"),
        (lambda b, x: windows.mean_pool(b, x, [Axis(1, 1, 1, 1, 1)] * 2, False), "outside of .5, 5. and has no mean"),
        (lambda b, x: windows.max_pool(b, x, [Axis(1, 1, 1, 1, 1)] * 2), "outside of an axis of 5"),
        (lambda b, x: windows.padded(b, x, [(0, 0), (-2, -2), (0, 0), (0, 0)]), "nothing is left"),
        (lambda b, x: windows.mean_pool(b, x, [Axis(100, 1, 1, 99, 99)] * 2, True), "at most 4096 are read"),
    ],
)
def test_what_does_not_fit(draw: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        drawn((1, 3, 5, 5), draw)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_transposed_convolution(groups: int) -> None:
    """Every entry puts the kernel into the result, `stride` apart; the definition, place by place."""
    rng = np.random.default_rng(2)
    x, kernel = rng.normal(size=(2, 4, 3, 2)), rng.normal(size=(4, 3, 2, 3))
    moves, extra = [Axis(2, 3, 2, 1, 0), Axis(3, 2, 1, 0, 1)], [2, 1]
    long = np.zeros((2, 3 * groups, (3 - 1) * 3 + 2 + 1 + 2, (2 - 1) * 2 + 2 + 1 + 1))
    for c, i, j, k, m in np.ndindex(4, 3, 2, 2, 3):
        outputs = slice(3 * (c * groups // 4), 3 * (c * groups // 4) + 3)
        long[:, outputs, 3 * i + 2 * k, 2 * j + m] += x[:, c, i, j, None] * kernel[c, :, k, m]
    graph = drawn(x.shape, lambda b, n: windows.transposed(b, n, kernel, moves, extra, groups))
    agree(graph, x, long[:, :, 1:, :-1])
