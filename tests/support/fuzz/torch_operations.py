"""What a random module is made of: what the reader of torch knows, as people write it. The batch axis is 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from fuzz.straight import NUMBERS, Operation, Shape, nested, nothing, numbers

Rng = np.random.Generator


def _numbers(rng: Rng, *shape: int) -> Any:
    return nested(numbers(rng, *shape))


def _positive(rng: Rng, n: int) -> Any:
    return nested(np.round(rng.uniform(0.2, 2.0, n), 3))


def _row(shapes: Sequence[Shape]) -> int | None:
    return shapes[0][1] if len(shapes[0]) == 2 else None


def _linear(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    n, m = _row(shapes), int(rng.integers(1, 7))
    return None if n is None else (_numbers(rng, m, n), _numbers(rng, m) if rng.random() < 0.7 else None)


def _matrix(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    n = _row(shapes)
    return None if n is None else (_numbers(rng, n, int(rng.integers(1, 7))),)


def _affine(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    n, m = _row(shapes), int(rng.integers(1, 7))
    return (
        None
        if n is None
        else (_numbers(rng, n, m), _numbers(rng, m), float(rng.choice([1, 2, -0.5])), float(rng.choice([1, 0.5])))
    )


def _vector(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    """One number, or one for each entry of the last axis."""
    return (float(rng.choice(NUMBERS)),) if rng.random() < 0.4 else (_numbers(rng, *shapes[0][-1:]),)


def _divisor(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    return (float(rng.choice([0.5, 2.0, 3.0, -0.7])),) if rng.random() < 0.4 else (_positive(rng, shapes[0][-1]),)


def _norm(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    if len(shapes[0]) not in (2, 3):
        return None
    n = shapes[0][1]
    return (_numbers(rng, n), _positive(rng, n), _numbers(rng, n), _numbers(rng, n))


def _channels(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    return (_numbers(rng, 1 if rng.random() < 0.5 or len(shapes[0]) < 2 else shapes[0][1]),)


def _shape(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    left, found = math.prod(shapes[0]), [1]
    while left > 1 and len(found) < 3:
        found.append(int(rng.choice([n for n in range(1, left + 1) if left % n == 0])))
        left //= found[-1]
    return ((*found, left),)


def _order(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    return ((0, *(1 + rng.permutation(len(shapes[0]) - 1)).tolist()),)


def _chosen(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    n = shapes[0][-1]
    return (tuple(rng.integers(0, n, int(rng.integers(1, n + 2))).tolist()),)


def _part(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    return tuple(sorted(rng.choice(shapes[0][-1] + 1, 2, replace=False).tolist()))


def _one(*choices: Any) -> Any:
    return lambda rng, shapes: (choices[int(rng.integers(len(choices)))],)


def _last(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    """Weights for each entry of the last axis, if there are several."""
    n = shapes[0][-1]
    return (numbers(rng, n), numbers(rng, n)) if n > 1 else None


def _kernel(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    """A kernel over series, a stride and zeros around."""
    if len(shapes[0]) != 3:
        return None
    size = int(rng.integers(1, 4))
    kernel = numbers(rng, int(rng.integers(1, 3)), shapes[0][1], size)
    return (kernel, int(rng.integers(1, 3)), int(rng.integers(0, 2)))


def _series(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    return () if len(shapes[0]) == 3 and shapes[0][2] > 1 else None


def _rows(rng: Rng, shapes: Sequence[Shape]) -> tuple[Any, ...] | None:
    return () if len(shapes[0]) == 3 else None


def _unary(f: Any, text: str) -> Operation:
    return Operation(1, nothing, f, text)


OPERATIONS: dict[str, Operation] = {
    **{
        name: _unary(getattr(torch, name), f"torch.{name}({{0}})")
        for name in (
            "tanh",
            "sigmoid",
            "relu",
            "sin",
            "exp",
            "erf",
            "atan",
            "neg",
            "square",
            "clone",
        )
    },
    "silu": _unary(F.silu, "F.silu({0})"),
    "gelu": Operation(
        1, _one("none", "tanh"), lambda x, a: F.gelu(x, approximate=a), "F.gelu({0}, approximate={d[0]})"
    ),
    "softplus": Operation(  # with a threshold that is never reached: at 20, torch itself is 2e-9 off
        1, _one(1.0, 2.0, 0.5, -1.0), lambda x, b: F.softplus(x, b, 1000.0), "F.softplus({0}, {d[0]}, 1000.0)"
    ),
    "leaky_relu": Operation(1, _one(0.01, 0.3, -0.2, 1.0, 0.0, 2.0), F.leaky_relu, "F.leaky_relu({0}, {d[0]})"),
    "prelu": Operation(1, _channels, F.prelu, "F.prelu({0}, {d[0]})"),
    "linear": Operation(1, _linear, F.linear, "F.linear({0}, {d[0]}, {d[1]})"),
    "matmul": Operation(1, _matrix, torch.matmul, "{0} @ {d[0]}"),
    "einsum": Operation(
        1, _matrix, lambda x, w: torch.einsum("bi,ij->bj", x, w), "torch.einsum('bi,ij->bj', {0}, {d[0]})"
    ),
    "addmm": Operation(
        1,
        _affine,
        lambda x, w, b, p, q: torch.addmm(b, x, w, alpha=p, beta=q),
        "torch.addmm({d[1]}, {0}, {d[0]}, alpha={d[2]}, beta={d[3]})",
    ),
    "batch_norm": Operation(
        1, _norm, lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), "F.batch_norm({0}, {d[0]}, {d[1]}, {d[2]}, {d[3]})"
    ),
    "plus": Operation(1, _vector, lambda x, c: x + c, "{0} + {d[0]}"),
    "minus": Operation(1, _vector, lambda x, c: x - c, "{0} - {d[0]}"),
    "from": Operation(1, _vector, lambda x, c: c - x, "{d[0]} - {0}"),
    "times": Operation(1, _vector, lambda x, c: c * x, "{d[0]} * {0}"),
    "over": Operation(1, _divisor, lambda x, c: x / c, "{0} / {d[0]}"),
    "scaled_sum": Operation(
        1,
        lambda rng, s: (_numbers(rng, s[0][-1]), float(rng.choice([2, -0.5, 0]))),
        lambda x, c, a: torch.add(x, c, alpha=a),
        "torch.add({0}, {d[0]}, alpha={d[1]})",
    ),
    "reverse": Operation(
        1, _one(2.0, 0.0, -1.5), lambda x, c: torch.rsub(x, c, alpha=2), "torch.rsub({0}, {d[0]}, alpha=2)"
    ),
    "twice": _unary(lambda x: x + x, "{0} + {0}"),
    "half_twice": _unary(lambda x: x - 0.5 * x, "{0} - 0.5 * {0}"),
    "swish": Operation(
        1, _one(1.0, 2.0, 0.5), lambda x, b: x * torch.sigmoid(b * x), "{0} * torch.sigmoid({d[0]} * {0})"
    ),
    "gelu_written": _unary(
        lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))), "0.5 * {0} * (1 + torch.erf({0} / math.sqrt(2)))"
    ),
    "gelu_spread": _unary(
        lambda x: 0.5 * (x + x * torch.erf(math.sqrt(0.5) * x)), "0.5 * ({0} + {0} * torch.erf(math.sqrt(0.5) * {0}))"
    ),
    "gelu_tanh": _unary(
        lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        "0.5 * {0} * (1 + torch.tanh(math.sqrt(2 / math.pi) * ({0} + 0.044715 * {0} ** 3)))",
    ),
    "silu_tanh": _unary(lambda x: x * 0.5 * (1 + torch.tanh(x / 2)), "{0} * 0.5 * (1 + torch.tanh({0} / 2))"),
    "gaussian": _unary(lambda x: torch.exp(-(x**2)), "torch.exp(-({0} ** 2))"),
    "power": Operation(1, _one(1, 2, 3), lambda x, n: x**n, "{0} ** {d[0]}"),
    "sum": Operation(2, lambda rng, s: () if s[0] == s[1] else None, lambda x, y: x + y, "{0} + {1}"),
    "product": Operation(2, lambda rng, s: () if s[0] == s[1] else None, lambda x, y: x * y, "{0} * {1}"),
    "reshape": Operation(1, _shape, lambda x, s: x.reshape(s), "{0}.reshape({d[0]})"),
    "flatten": _unary(lambda x: x.flatten(1), "{0}.flatten(1)"),
    "permute": Operation(1, _order, lambda x, o: x.permute(o), "{0}.permute({d[0]})"),
    "transpose": Operation(
        1, lambda rng, s: () if len(s[0]) > 2 else None, lambda x: x.transpose(-1, -2), "{0}.transpose(-1, -2)"
    ),
    "unsqueeze": Operation(1, _one(1, -1), lambda x, a: x.unsqueeze(a), "{0}.unsqueeze({d[0]})"),
    "squeeze": Operation(1, lambda rng, s: () if len(s[0]) > 2 else None, lambda x: x.squeeze(-1), "{0}.squeeze(-1)"),
    "index": Operation(1, _chosen, lambda x, i: x[..., list(i)], "{0}[..., list({d[0]})]"),
    "slice": Operation(1, _part, lambda x, a, b: x[..., a:b], "{0}[..., {d[0]}:{d[1]}]"),
    "expand": Operation(
        1,
        lambda rng, s: (3,) if s[0][-1] == 1 else None,
        lambda x, n: x.expand(*x.shape[:-1], n),
        "{0}.expand(*{0}.shape[:-1], {d[0]})",
    ),
    "cos": _unary(torch.cos, "torch.cos({0})"),
    "sqrt": _unary(lambda x: torch.sqrt(x * x + 1), "torch.sqrt({0} * {0} + 1)"),
    "inverse": _unary(lambda x: 1 / (x * x + 1), "1 / ({0} * {0} + 1)"),
    "elu": _unary(F.elu, "F.elu({0})"),
    "mish": _unary(F.mish, "F.mish({0})"),
    "softsign": _unary(F.softsign, "F.softsign({0})"),
    "logsigmoid": _unary(F.logsigmoid, "F.logsigmoid({0})"),
    "clamp": Operation(1, _one(0.5, 1.0), lambda x, c: x.clamp(-c, c), "{0}.clamp(-{d[0]}, {d[0]})"),
    "softmax": _unary(lambda x: F.softmax(x, -1), "F.softmax({0}, -1)"),
    "softmax of channels": _unary(lambda x: F.softmax(x, 1), "F.softmax({0}, 1)"),
    "log_softmax": _unary(lambda x: F.log_softmax(x, -1), "F.log_softmax({0}, -1)"),
    "logsumexp": _unary(lambda x: torch.logsumexp(x, -1, True), "torch.logsumexp({0}, -1, True)"),
    "layer_norm": Operation(
        1,
        _last,
        lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
        "F.layer_norm({0}, {0}.shape[-1:], {d[0]}, {d[1]})",
    ),
    "rms_norm": Operation(
        1,
        _last,
        lambda x, w, b: F.rms_norm(x, x.shape[-1:], w, 0.1) + b,
        "F.rms_norm({0}, {0}.shape[-1:], {d[0]}, 0.1) + {d[1]}",
    ),
    "total": _unary(lambda x: x.sum(-1, keepdim=True), "{0}.sum(-1, keepdim=True)"),
    "mean": _unary(lambda x: x.mean(1, keepdim=True), "{0}.mean(1, keepdim=True)"),
    "variance": _unary(lambda x: x.var(-1, correction=0, keepdim=True), "{0}.var(-1, correction=0, keepdim=True)"),
    "cumsum": _unary(lambda x: x.cumsum(-1), "{0}.cumsum(-1)"),
    "flip": _unary(lambda x: x.flip(-1), "{0}.flip(-1)"),
    "roll": _unary(lambda x: x.roll(1, -1), "{0}.roll(1, -1)"),
    "halves": _unary(lambda x: torch.cat(x.chunk(2, -1)[::-1], -1), "torch.cat({0}.chunk(2, -1)[::-1], -1)"),
    "gram": Operation(1, _rows, lambda x: x @ x.mT, "{0} @ {0}.mT"),
    "attention": Operation(
        1,
        _rows,
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        "F.scaled_dot_product_attention({0}, {0}, {0}, is_causal=True)",
    ),
    "conv1d": Operation(
        1, _kernel, lambda x, w, s, p: F.conv1d(x, w, None, s, p), "F.conv1d({0}, {d[0]}, None, {d[1]}, {d[2]})"
    ),
    "avg_pool1d": Operation(1, _series, lambda x: F.avg_pool1d(x, 2, 1), "F.avg_pool1d({0}, 2, 1)"),
    "max_pool1d": Operation(1, _series, lambda x: F.max_pool1d(x, 2), "F.max_pool1d({0}, 2)"),
    "pad": _unary(lambda x: F.pad(x, (1, 0), value=0.5), "F.pad({0}, (1, 0), value=0.5)"),
    "join": Operation(
        2,
        lambda rng, s: () if s[0][:-1] == s[1][:-1] else None,
        lambda x, y: torch.cat([x, y], -1),
        "torch.cat([{0}, {1}], -1)",
    ),
    "larger": Operation(2, lambda rng, s: () if s[0] == s[1] else None, torch.maximum, "torch.maximum({0}, {1})"),
    "dropout": _unary(lambda x: F.dropout(x, 0.5, training=False), "F.dropout({0}, 0.5, training=False)"),
}


def layer(op: str, data: Sequence[Any]) -> Any:
    """The layer of torch.nn that does the same, if there is one."""
    nn = torch.nn
    simple = {"tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "relu": nn.ReLU, "silu": nn.SiLU, "dropout": nn.Dropout}
    if op in simple:
        return simple[op]()
    if op == "softplus":
        return nn.Softplus(*data, threshold=1000.0)
    if op in ("gelu", "leaky_relu"):
        return {"gelu": nn.GELU, "leaky_relu": nn.LeakyReLU}[op](*data)  # type: ignore[operator]
    if op == "flatten":
        return nn.Flatten()
    if op == "linear":
        found = nn.Linear(data[0].shape[1], data[0].shape[0], data[1] is not None)
        return _with(found, weight=data[0], bias=data[1])
    if op == "prelu":
        return _with(nn.PReLU(len(data[0])), weight=data[0])
    if op == "batch_norm":
        found = nn.BatchNorm1d(len(data[0]))
        found.running_mean, found.running_var = data[0].detach().clone(), data[1].detach().clone()
        return _with(found, weight=data[2], bias=data[3])
    return None


def _with(made: Any, **tensors: Any) -> Any:
    for name, tensor in tensors.items():
        if tensor is not None:
            setattr(made, name, torch.nn.Parameter(tensor.detach().clone()))
    return made
