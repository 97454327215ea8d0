"""Compiled networks: speed against the net, decay rates against the paper's, time and memory to compile."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

import integraph
from measure import peak_memory, race, show, verdict
from random_nets import net

EPS = 1e-6
SPEED = (8, 64, 64, 64, 1)
METHODS: dict[str, dict[str, str]] = {
    "narrow": {},
    "wide": {"method": "wide"},
    "wide, decay": {"method": "wide", "free": "decay"},
}
RATES = ((2, 16, 16, 1), (8, 32, 32, 32, 1), (2, 64, 64, 1), (8, 64, 64, 64, 1), (8, *[64] * 4, 1), (64, *[64] * 4, 1))
LARGE = (784, 512, 512, 10)


def main() -> None:
    with threadpool_limits(1):
        show(f"compiled {'-'.join(map(str, SPEED))} against the net in numpy, one thread", *speed())
    show(f"largest rate of the narrow construction, ε = {EPS:g}", *rates())
    show("compiling 784-512-512-10", *compiling())


def speed() -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    network = net(SPEED, None)
    rows: list[tuple[object, ...]] = []
    for count in (1, 1_000, 100_000):
        x = np.random.default_rng(0).uniform(size=(count, SPEED[0]))
        programs = {name: integraph.compile(network, EPS, **options) for name, options in METHODS.items()}
        rivals = {name: lambda p=p, x=x: p.flow(x, "exact") for name, p in programs.items()}
        best = race({"numpy": lambda x=x: network(x), **rivals}, seconds=3.0)
        for name, program in programs.items():
            ratio = best[name] / best["numpy"]
            error = np.abs(program(x) - network(x)).max()
            target = verdict(ratio, 2.5) if count == 100_000 else ""
            good = "" if name == "narrow" else verdict(error, 1e-12)
            rows.append((name, count, f"{1e6 * best[name] / count:.3g}", f"{ratio:.2f}", target, f"{error:.1e}", good))
    return ("method", "B", "µs/input", "against numpy", "target", "largest difference", "target"), rows


def rates() -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    rows: list[tuple[object, ...]] = []
    for sizes in RATES:
        for kind, scale in (("glorot", None), ("uniform", 1.0)):
            network = net(sizes, scale)
            tight = integraph.compile(network, EPS)
            paper = integraph.compile(network, EPS, bound="paper")
            x = np.random.default_rng(0).uniform(size=(1000, sizes[0]))
            seen = np.abs(tight(x) - network(x)).max()
            name = "-".join(map(str, sizes))
            rows.append((name, kind, f"{tight.rate:.1f}", verdict(tight.rate, 25), f"{paper.rate:.0f}", f"{seen:.1e}"))
    return ("net", "weights", "tight", "target", "paper", "largest difference found"), rows


def compiling() -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    rows: list[tuple[object, ...]] = []
    for activation in ("tanh", "relu", "gelu"):
        for name in METHODS:
            command = [sys.executable, __file__, activation, name]
            shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            seconds, peak = float(shown[0]), float(shown[1])
            sizes = tuple(shown[2:])
            times = verdict(seconds, 5, "s"), verdict(peak, 1000, "MB")
            rows.append((activation, name, *sizes, f"{seconds:.2f} s", times[0], f"{peak:.0f} MB", times[1]))
    return ("activation", "method", "W", "D", "terms", "time", "target", "peak RSS", "target"), rows


def one(activation: str, method: str) -> None:
    """Seconds and peak memory of one compilation, in a process of its own."""
    network = net(LARGE, None, activation)
    start = time.perf_counter()
    program = integraph.compile(network, EPS, **METHODS[method])
    seconds = time.perf_counter() - start
    peak = peak_memory()
    print(seconds, peak, program.width, program.depth, program.terms)


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()
