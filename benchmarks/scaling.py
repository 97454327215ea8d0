"""Cost against depth and width: linear in D, and in W like the net's own."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from measure import race, show
from tanh_net import compile_net, evaluate, random_net

COUNT = 2048


def main() -> None:
    with threadpool_limits(1):
        show("depth (width 64)", COLUMNS, [measure(64, depth) for depth in (2, 4, 8, 16, 32)])
        show("width (3 hidden layers)", COLUMNS, [measure(width, 3) for width in (16, 32, 64, 128, 256, 512)])


COLUMNS = ("net", "W", "D", "terms", "numpy µs/input", "exact µs/input", "ratio", "ns per term and input")


def measure(width: int, depth: int) -> tuple[object, ...]:
    layers, readout = random_net((8, *[width] * depth, 1), seed=1)
    program = compile_net(layers, readout)
    x = np.random.default_rng(0).uniform(size=(COUNT, 8))
    best = race({"numpy": lambda: evaluate(layers, readout, x), "exact": lambda: program.flow(x, "exact")})
    per = {name: 1e6 * t / COUNT for name, t in best.items()}
    return (
        f"8-{width}×{depth}-1",
        program.width,
        program.depth,
        program.terms,
        f"{per['numpy']:.2f}",
        f"{per['exact']:.2f}",
        f"{per['exact'] / per['numpy']:.2f}",
        f"{1e3 * per['exact'] / program.terms:.3f}",
    )


if __name__ == "__main__":
    main()
