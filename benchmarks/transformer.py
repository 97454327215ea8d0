"""A transformer as one ODE: its exact flow against numpy, read-out only, in the same run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from integraph import Program, Registers, Segment, View, build, segment
from integraph.gadgets import affine, gelu, powers, product, ramp, softmax
from measure import show, verdict

Floats = NDArray[np.float64]
EPS = 1e-5  # of layer norms
SHIFT = 4.0  # softmax's c: every row has a score above −4


@dataclass(frozen=True, slots=True)
class Size:
    layers: int
    tokens: int
    width: int
    heads: int
    hidden: int

    def __str__(self) -> str:
        plural = "s" * (self.layers > 1)
        return f"{self.layers} layer{plural}, {self.tokens} tokens × {self.width}, {self.heads} heads, {self.hidden}"


CASES = ((Size(2, 16, 32, 4, 128), 1, 1.4), (Size(2, 16, 32, 4, 128), 100, 1.4), (Size(1, 128, 768, 12, 3072), 1, 1.5))


def weights(size: Size, seed: int = 0) -> list[dict[str, Floats]]:
    """For each layer, matrices that multiply rows from the right, and biases."""
    rng, n = np.random.default_rng(seed), size.width
    shapes = {"mixed": (n, 3 * n), "out": (n, n), "up": (n, size.hidden), "down": (size.hidden, n)}
    layers = []
    for _ in range(size.layers):
        layer = {name: rng.normal(size=shape) / math.sqrt(shape[0]) for name, shape in shapes.items()}
        layers.append(layer | {f"{name} bias": 0.1 * rng.normal(size=shape[1]) for name, shape in shapes.items()})
    return layers


def normal(x: Floats) -> Floats:
    x = x - x.mean(-1, keepdims=True)
    x /= np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
    return x


def values(size: Size, layers: list[dict[str, Floats]], x: Floats) -> Floats:
    """(B, tokens, width) → the same, as one writes it in numpy."""
    batch, tokens, width = x.shape
    reach = width // size.heads
    for w in layers:
        mixed = (normal(x) @ w["mixed"] + w["mixed bias"]).reshape(batch, tokens, 3, size.heads, reach)
        q, k, v = mixed.transpose(2, 0, 3, 1, 4)
        s = q @ k.swapaxes(-1, -2)
        s *= 1 / math.sqrt(reach)
        s -= s.max(-1, keepdims=True)
        np.exp(s, out=s)
        s /= s.sum(-1, keepdims=True)
        x = x + ((s @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ w["out"] + w["out bias"])
        hidden = normal(x) @ w["up"] + w["up bias"]
        half = scipy.special.erf(hidden * math.sqrt(0.5))
        half += 1.0
        half *= hidden
        half *= 0.5
        x = x + (half @ w["down"] + w["down bias"])
    return x


def program(size: Size, layers: list[dict[str, Floats]]) -> Program:
    """The same by gadgets, on registers that are kept."""
    r = Registers()
    x = r.inputs("x", size.tokens, size.width)
    segments: list[Segment] = []
    for number, w in enumerate(layers, 1):
        x = attention(r, segments, number, size, w, x)
        x = perceptron(r, segments, number, size, w, x)
    return build(r, segments, x)


def normalised(r: Registers, segments: list[Segment], name: str, x: View) -> View:
    tokens, width = x.shape
    d, p = r.new(f"d{name}", tokens, width), r.new(f"p{name}", tokens, 1)
    segments += [
        segment(f"centre {name}", affine(d, x), affine(d, x[:, None, :], w=np.full(1, -1 / width))),
        segment(f"variance {name}", product(p, d[:, None, :], d[:, None, :], w=1 / width), ramp(p, b=EPS - 1.0)),
        segment(f"normalise {name}", powers(p, d, a=-0.5)),
    ]
    return d


def attention(r: Registers, segments: list[Segment], number: int, size: Size, w: dict[str, Floats], x: View) -> View:
    tokens, width, heads = size.tokens, size.width, size.heads
    reach, row = width // heads, 3 * width
    z = normalised(r, segments, f"{number}a", x)
    mixed, s, a, u = (
        r.new(f"mixed{number}", tokens, row),
        *(r.new(f"{n}{number}", heads, tokens, tokens) for n in "sau"),
    )
    m, seen, end = (
        r.new(f"m{number}", heads, tokens),
        r.new(f"seen{number}", tokens, width),
        r.new(f"y{number}", *x.shape),
    )
    q = View(mixed.offset, (heads, tokens, 1, reach), (reach, row, 0, 1))
    k = View(mixed.offset + width, (heads, 1, tokens, reach), (reach, 0, row, 1))
    v = View(mixed.offset + 2 * width, (1, heads, reach, tokens), (0, reach, 1, row))
    looked = View(a.offset, (tokens, heads, 1, tokens), (tokens, tokens**2, 0, 1))
    share = 1 / tokens
    segments += [
        segment(f"query, key, value {number}", affine(mixed, z[:, None, :], w=w["mixed"].T, b=w["mixed bias"])),
        segment(f"scores {number}", product(s, q, k, w=1 / math.sqrt(reach))),
        segment(
            f"load {number}",
            ramp(a, b=share),
            affine(u, s, w=share, b=SHIFT * share),
            affine(m, s, w=np.full(1, share), b=SHIFT),
        ),
        segment(f"softmax {number}", softmax(a, u, m, s, c=SHIFT)),
        segment(f"mix {number}", product(seen.reshape(tokens, heads, reach), looked, v)),
        segment(f"project {number}", affine(end, x), affine(end, seen[:, None, :], w=w["out"].T, b=w["out bias"])),
    ]
    return end


def perceptron(r: Registers, segments: list[Segment], number: int, size: Size, w: dict[str, Floats], x: View) -> View:
    z = normalised(r, segments, f"{number}b", x)
    up, rate, h, g = (r.new(f"{name}{number}", size.tokens, size.hidden) for name in ("up", "w", "h", "g"))
    end = r.new(f"z{number}", *x.shape)
    segments += [
        segment(f"up {number}", affine(up, z[:, None, :], w=w["up"].T, b=w["up bias"])),
        segment(f"load gelu {number}", affine(h, up, w=1 / math.sqrt(2 * math.pi)), affine(g, up, w=0.5)),
        segment(f"gelu {number}", gelu(rate, h, g, up)),
        segment(f"down {number}", affine(end, x), affine(end, g[:, None, :], w=w["down"].T, b=w["down bias"])),
    ]
    return end


def medians(runs: list[Callable[[], object]], seconds: float = 4.0) -> list[float]:
    """Median times of runs that take turns."""
    times: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    end = time.perf_counter() + seconds
    while len(times[0]) < 5 or time.perf_counter() < end:
        for run, found in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            found.append(time.perf_counter() - start)
    return [median(found) for found in times]


def main() -> None:
    rows: list[tuple[object, ...]] = []
    with threadpool_limits(1):
        for size, count, limit in CASES:
            layers = weights(size)
            ode = program(size, layers)
            x = np.random.default_rng(1).normal(size=(count, size.tokens, size.width))
            flat = x.reshape(count, -1)
            ours, numpy = medians(
                [lambda p=ode, x=flat: p.flow(x, "exact"), lambda n=size, w=layers, x=x: values(n, w, x)]
            )
            error = np.abs(ode(flat) - values(size, layers, x).reshape(count, -1)).max()
            each = f"{1e6 * ours / count:.0f}"
            cost = f"{ours / numpy:.2f}", verdict(ours / numpy, limit)
            rows.append((size, count, ode.width, ode.depth, each, *cost, f"{error:.1e}", verdict(error, 1e-13)))
    columns = ("transformer", "B", "W", "D", "µs/input", "against numpy", "target", "largest difference", "target")
    show("exact flow of transformers against numpy, one thread", columns, rows)


if __name__ == "__main__":
    main()
