"""Modules that are graphs and no feedforward nets, and what they give, in float64."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from integraph.frontends import torch as reader
from integraph.targets.graph import Graph
from lazy import Lazy
from torch_modules import Forward

torch, nn, F = Lazy("torch"), Lazy("torch.nn"), Lazy("torch.nn.functional")

Shapes = Sequence[tuple[int, ...]]
INF = float("inf")


def shapes_of(inputs: Any) -> Shapes:
    """As `inputs=` is written: a number, a shape, or a list of shapes."""
    if isinstance(inputs, int):
        return [(inputs,)]
    return [inputs] if isinstance(inputs, tuple) else inputs


def outputs(module: Any, x: np.ndarray[Any, Any], shapes: Shapes, batch: bool = True) -> np.ndarray[Any, Any]:
    """Row by row, all tensors that are returned one after the other."""
    module = copy.deepcopy(module).double().eval()
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    rows = []
    with torch.no_grad():
        for row in x:
            parts = zip(np.split(row, cuts), shapes, strict=True)
            given = [torch.tensor(part).reshape((1, *shape) if batch else shape) for part, shape in parts]
            leaves = torch.utils._pytree.tree_leaves(module(*given))
            rows.append(np.concatenate([leaf.reshape(-1).numpy() for leaf in leaves if leaf is not None]))
    return np.stack(rows)


def check(module: Any, inputs: Any, low: float = -1.0, high: float = 1.0, batch: bool = True) -> Graph:
    """The graph of a module, if it does what the module does."""
    graph = reader.read_graph(module, inputs)
    x = np.random.default_rng(3).uniform(low, high, (4, graph.inputs))
    wanted = outputs(module, x, shapes_of(inputs), batch)
    scale = max(1.0, float(np.abs(wanted).max()))
    np.testing.assert_allclose(graph.values(x), wanted, rtol=0, atol=1e-12 * scale)
    return graph


def of(forward: Callable[..., Any]) -> Any:
    """A module that computes a function of its input, in float64, as the type of its buffer says."""
    return Forward(lambda m, x: forward(x), unit=torch.ones(1, dtype=torch.float64))


def fixed(*shape: int) -> Any:
    """Weights that are the same every time."""
    return torch.tensor(np.random.default_rng(shape).normal(size=shape))


def double(module: Any) -> Any:
    return module.double()


def lenet(activation: str = "Tanh", pool: str = "AvgPool2d") -> Any:
    """LeNet-5 for images of 28×28."""
    act, pooled = getattr(nn, activation), getattr(nn, pool)
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), act(), pooled(2), nn.Conv2d(6, 16, 5), act(), pooled(2),
        nn.Flatten(), nn.Linear(400, 120), act(), nn.Linear(120, 84), act(), nn.Linear(84, 10),
    ).double()  # fmt: skip


def encoder(**options: Any) -> Any:
    return nn.TransformerEncoderLayer(8, 2, 16, **{"batch_first": True, **options}).double()


def causal() -> Any:
    """An encoder layer that sees earlier tokens only, each with the embedding of its place."""

    class Causal(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.places = encoder(), nn.Embedding(5, 8)
            self.register_buffer("numbers", torch.arange(5))

        def forward(self, x: Any) -> Any:
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            return self.layer(x + self.places(self.numbers), src_mask=mask, is_causal=True)

    return Causal().double()


def residual() -> Any:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.gate, self.back = nn.LayerNorm(6), nn.Linear(6, 8), nn.Linear(4, 6)

        def forward(self, x: Any) -> Any:
            return x + self.back(F.glu(self.gate(self.norm(x))))

    return nn.Sequential(Block(), Block(), nn.RMSNorm(6, eps=1e-6)).double()


MODULES: dict[str, tuple[Callable[[], Any], Any]] = {
    "residual blocks with gates and norms": (residual, 6),
    "multi-head attention": (lambda: double(nn.MultiheadAttention(8, 2, batch_first=True)), [(5, 8), (3, 8), (3, 8)]),
    "encoder layer": (encoder, (5, 8)),
    "encoder layer, norm first, gelu": (lambda: encoder(norm_first=True, activation="gelu"), (5, 8)),
    "causal encoder layer with places": (causal, (5, 8)),
    "encoder": (lambda: double(nn.TransformerEncoder(encoder(), 2, nn.LayerNorm(8))), (4, 8)),
    "decoder layer": (lambda: double(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)), [(4, 8), (5, 8)]),
    "LeNet": (lenet, (1, 28, 28)),
    "convolutions with groups and dilation": (
        lambda: double(nn.Sequential(
            nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2), nn.BatchNorm2d(6), nn.SiLU(),
            nn.Conv2d(6, 2, 2, dilation=2, padding="same"), nn.GroupNorm(2, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )),
        (4, 7, 6),
    ),
    "convolution over time": (lambda: double(nn.Sequential(nn.Conv1d(3, 4, 3), nn.Mish(), nn.MaxPool1d(2))), (3, 9)),
    "volumes": (lambda: double(nn.Sequential(nn.Conv3d(2, 3, 2), nn.ELU(), nn.AvgPool3d(2))), (2, 3, 4, 5)),
    "LSTM": (lambda: double(nn.LSTM(3, 4, batch_first=True)), (4, 3)),
    "two LSTMs in both directions": (lambda: double(nn.LSTM(3, 2, 2, batch_first=True, bidirectional=True)), (3, 3)),
    "GRU": (lambda: double(nn.GRU(3, 4, batch_first=True)), (4, 3)),
    "bilinear": (lambda: double(nn.Bilinear(3, 4, 2)), [(3,), (4,)]),
}  # fmt: skip


def put(x: Any) -> Any:
    y = torch.zeros(1, 2, 6, dtype=x.dtype)
    y[:, 0] = x[:, 1]
    y[:, 1, 2:] = x[:, 0, :4] ** 2
    return y


def replace_some(x: Any) -> Any:
    y = x.clone()
    y[:, :, torch.tensor([0, 2])] = 1.5
    return y


def attention(x: Any, **options: Any) -> Any:
    return F.scaled_dot_product_attention(x, 2 * x, x + 1, **options)


def scores(x: Any, mask: Any) -> Any:
    return F.softmax((x @ x.mT).masked_fill(mask, -INF), -1) @ x


OPERATIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {  # a function of x, and the shape of x
    "glu": (lambda x: F.glu(x), 8),
    "rms_norm": (lambda x: F.rms_norm(x, (8,)), 8),
    "group_norm": (lambda x: F.group_norm(x, 2), (8, 3)),
    "instance_norm": (lambda x: F.instance_norm(x), (8, 3)),
    "layer_norm of two axes": (lambda x: F.layer_norm(x, (4, 3)), (4, 3)),
    "elu": (lambda x: F.elu(5 * x, 1.3), 8),
    "selu": (lambda x: F.selu(5 * x), 8),
    "celu": (lambda x: F.celu(5 * x, 0.7), 8),
    "mish": (lambda x: F.mish(5 * x), 8),
    "softsign": (lambda x: F.softsign(5 * x), 8),
    "hardsigmoid": (lambda x: F.hardsigmoid(5 * x), 8),
    "hardswish": (lambda x: F.hardswish(5 * x), 8),
    "hardtanh": (lambda x: F.hardtanh(5 * x, -2, 3), 8),
    "relu6": (lambda x: F.relu6(9 * x), 8),
    "logsigmoid": (lambda x: F.logsigmoid(5 * x), 8),
    "softshrink": (lambda x: F.softshrink(5 * x, 0.7), 8),
    "tanhshrink": (lambda x: F.tanhshrink(5 * x), 8),
    "rrelu": (lambda x: F.rrelu(x), 8),
    "prelu of channels": (lambda x: F.prelu(x, torch.tensor([0.1, -0.3], dtype=x.dtype)), (2, 3)),
    "threshold": (lambda x: F.threshold(x, 0.1, 0.1), 8),
    "softmax of an inner axis": (lambda x: F.softmax(x, 1), (4, 3)),
    "log_softmax": (lambda x: F.log_softmax(x, 1), (4, 3)),
    "logsumexp": (lambda x: torch.logsumexp(x, (1, 2), keepdim=True), (4, 3)),
    "clamp": (lambda x: x.clamp(-0.2, 0.3) + x.clamp(max=torch.linspace(-1, 1, 8)) + x.clamp(-INF, 0.4), 8),
    "maximum": (lambda x: torch.maximum(x, x.flip(-1)) - torch.min(x, 1 - x), 7),
    "amax": (lambda x: x.amax((1, 2)) + x.amin(1).sum(-1), (3, 5)),
    "max along an axis": (lambda x: x.max(-1)[0], (3, 7)),
    "variance": (lambda x: torch.stack([x.var(-1), x.std(-1, unbiased=False), x.var(-1, correction=2)]), (2, 6)),
    "norms": (lambda x: x.norm(dim=-1) + x.norm(1, dim=-1) + torch.linalg.vector_norm(x, INF, -1), (2, 5)),
    "normalize": (lambda x: F.normalize(x, dim=-1), 8),
    "cosine similarity": (lambda x: F.cosine_similarity(x, 2 * x + 1), 8),
    "sums": (lambda x: x.sum((1, 2)) + x.mean(1).sum(-1) + x.prod(-1).sum(-1), (3, 4)),
    "cumsum": (lambda x: x.cumsum(1), (3, 4)),
    "einsum": (lambda x: torch.einsum("bhqd,bhkd->bhqk", x, x), (2, 3, 4)),
    "powers": (lambda x: 2.0**x + (x + 3) ** x + (x + 3) ** 1.5 + x**3 + torch.exp2(x), 5),
    "roots": (lambda x: torch.rsqrt(x + 3) + torch.sqrt(x + 2) + 1 / (x + 3) + x / (x + 3), 5),
    "logarithms": (lambda x: torch.log(x + 3) + torch.log2(x + 3) + torch.log10(x + 3) + torch.log1p(x / 2), 5),
    "functions": (lambda x: torch.sinh(x) + torch.atanh(x / 2) + torch.cos(x) + torch.asin(x / 2) + torch.tan(x), 5),
    "decompositions": (
        lambda x: torch.lerp(x, 2 * x, 0.3) + torch.addcmul(x, x, x, value=0.5) + torch.logaddexp(x, 1 - x)
        + torch.hypot(x, x + 3) + torch.logit(0.1 * x + 0.5) + torch.xlogy(x, x + 3) + torch.erfc(x),
        5,
    ),
    "distances": (lambda x: torch.cdist(x, x + 1), (3, 2)),
    "roll and flip": (lambda x: x.roll(1, -1) + x.flip(1), (2, 6)),
    "repeat": (lambda x: torch.cat([x.repeat(1, 2, 1), x.tile(1, 2, 1), x.repeat_interleave(2, 1)], 1), (2, 3)),
    "split": (lambda x: torch.cat((*x.split(2, -1)[::-1], *x.chunk(3, -1)), -1), (2, 6)),
    "stack": (lambda x: torch.stack(x.unbind(-1), 1), (2, 6)),
    "index": (lambda x: x[:, [1, 0], 1:4], (2, 6)),
    "index by two": (lambda x: x[:, torch.tensor([0, 1, 1]), torch.tensor([2, 3, 4])], (2, 6)),
    "select and slice": (lambda x: x[:, 1, ::2] + x[..., 3:].flip(-1)[:, 0], (2, 6)),
    "diagonal": (lambda x: torch.diagonal(x, dim1=1, dim2=2), (3, 4)),
    "windows of a series": (lambda x: x.unfold(2, 3, 1), (2, 6)),
    "axes": (lambda x: x.mT.movedim(1, 2).swapaxes(1, 2).permute(0, 2, 1), (2, 6)),
    "triangles": (lambda x: x.tril(1) + 2 * x.triu(), (3, 4)),
    "where": (lambda x: torch.where(torch.arange(6) > 2, x, x * x) + torch.where(torch.arange(6) > 4, 1.0, x), (2, 6)),
    "masked_fill": (lambda x: x.masked_fill(torch.arange(6) > 2, -5.0), (2, 6)),
    "assignment": (put, (2, 6)),
    "assignment of a constant": (replace_some, (2, 6)),
    "average pooling": (lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), (2, 4, 5)),
    "adaptive pooling": (lambda x: F.adaptive_avg_pool2d(x, 2), (2, 4, 6)),
    "adaptive pooling of uneven windows": (lambda x: F.adaptive_avg_pool2d(x, (3, 2)), (2, 4, 5)),
    "transposed convolution": (
        lambda x: F.conv_transpose2d(x, fixed(4, 3, 3, 2), fixed(3), (3, 2), (1, 0), (2, 1), 1, (2, 1)), (4, 3, 4)
    ),
    "transposed convolution in groups": (
        lambda x: F.conv_transpose1d(x, fixed(4, 3, 3), None, 2, 1, groups=2), (4, 5)
    ),
    "interpolation": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear").sum(1)
        + F.interpolate(x, (4, 6), mode="bilinear", align_corners=True).sum(1),
        (2, 2, 3),
    ),
    "interpolation of other kinds": (
        lambda x: F.interpolate(x, size=7, mode="linear").sum(-1) * F.interpolate(x, scale_factor=0.5).sum(-1),
        (2, 4),
    ),
    "interpolation without aliases": (
        lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear", antialias=True), (2, 4, 6)
    ),
    "norms of windows": (lambda x: F.lp_pool2d(x, 2, 2, 1) + F.lp_pool2d(x, 4.0, (2, 2), (1, 1)), (2, 4, 5)),
    "max pooling": (lambda x: F.max_pool2d(x, 3, 2, 1), (2, 4, 5)),
    "adaptive max pooling": (lambda x: F.adaptive_max_pool2d(x, 2), (2, 4, 4)),
    "padding": (lambda x: F.pad(x, (1, 2, 0, 1), value=0.5), (2, 4)),
    "padding and cutting": (lambda x: F.pad(x, (-1, 2)), (2, 4)),
    "reflected": (lambda x: F.pad(x, (1, 1), mode="reflect") + F.pad(x, (1, 1), mode="circular"), (2, 4)),
    "upsampling": (lambda x: F.interpolate(F.pixel_shuffle(x, 2), scale_factor=2), (4, 2, 2)),
    "unfold": (lambda x: F.unfold(x, 2), (2, 4, 4)),
    "causal attention": (lambda x: attention(x, is_causal=True), (2, 4, 3)),
    "attention with a mask": (lambda x: attention(x, attn_mask=torch.ones(4, 4).tril().bool()), (2, 4, 3)),
    "attention with added scores": (lambda x: attention(x, attn_mask=x @ x.mT, scale=0.3), (2, 4, 3)),
    "attention of groups": (
        lambda x: F.scaled_dot_product_attention(x, x[:, :2], x[:, :2], enable_gqa=True), (4, 3, 2)
    ),
    "mask with −∞": (lambda x: scores(x, torch.ones(3, 3).triu(1).bool()), (3, 2)),
    "several outputs": (lambda x: (x, {"a": 2 * x.sum(-1)}, None), (2, 6)),
}  # fmt: skip
