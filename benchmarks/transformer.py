"""A transformer as one ODE: compiled from its graph, and its exact flow against numpy, both in the same run."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import integraph
from measure import clock, peak_memory, show, verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from transformers import EPS, Transformer, to_graph, transformer

Floats = NDArray[np.float64]
BOX = (-4.0, 4.0)
PROVEN, SECONDS = 1e-9, 30.0  # of proofs
SMALL = {"tokens": 16, "width": 32, "heads": 4, "hidden": 128, "layers": 2}
LARGE = {"tokens": 128, "width": 768, "heads": 12, "hidden": 3072, "layers": 1}


@dataclass(frozen=True, slots=True)
class Case:
    """`slower` is the largest ratio to numpy that is aimed at, if one is, `compiled` the longest compilation in s."""

    name: str
    net: Transformer
    free: str
    batches: tuple[int, ...]
    slower: float | None
    compiled: float


CASES = (
    Case("2 layers of 16 × 32", transformer(**SMALL), "keep", (1, 100), 1.4, 0.1),
    Case("causal", transformer(**SMALL, causal=True), "keep", (1, 100), 1.4, 0.1),
    Case("causal, weights × 8", transformer(**SMALL, causal=True, gain=8.0), "keep", (1, 100), 1.4, 0.1),
    Case("cleaned", transformer(**SMALL), "clean", (1, 100), None, 0.1),
    Case("decayed", transformer(**SMALL), "decay", (1, 100), 1.4, 0.1),
    Case("1 layer of 128 × 768", transformer(**LARGE), "keep", (1,), 1.5, 10.0),
)


def normal(x: Floats, w: dict[str, Floats], which: str) -> Floats:
    x = x - x.mean(-1, keepdims=True)
    x /= np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
    x *= w[f"scale{which}"]
    x += w[f"shift{which}"]
    return x


def reference(net: Transformer) -> Callable[[Floats], Floats]:
    """(B, tokens · width) → the same, as one writes it in numpy when it should be fast."""
    names = ("query", "key", "value")
    joint = [
        (np.concatenate([w[n] for n in names], 1), np.concatenate([w[f"{n}_bias"] for n in names])) for w in net.layers
    ]
    mask = net.mask if net.causal else None
    reach = net.width // net.heads

    def run(flat: Floats) -> Floats:
        batch = len(flat)
        x = flat.reshape(batch * net.tokens, net.width)
        for w, (mixing, bias) in zip(net.layers, joint, strict=True):
            mixed = normal(x, w, "") @ mixing
            mixed += bias
            q, k, v = mixed.reshape(batch, net.tokens, 3, net.heads, reach).transpose(2, 0, 3, 1, 4)
            s = q @ k.swapaxes(-1, -2)
            s *= 1 / math.sqrt(reach)
            if mask is not None:
                s += mask
            s -= s.max(-1, keepdims=True)
            np.exp(s, out=s)
            s /= s.sum(-1, keepdims=True)
            x = x + ((s @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ w["out"] + w["out_bias"])
            hidden = normal(x, w, "2") @ w["up"]
            hidden += w["up_bias"]
            half = scipy.special.erf(hidden * math.sqrt(0.5))
            half += 1.0
            half *= hidden
            half *= 0.5
            x = x + (half @ w["down"] + w["down_bias"])
        return x.reshape(batch, -1)

    return run


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


def compiled(case: Case) -> tuple[integraph.Program, tuple[object, ...]]:
    """The program, and a row about how it was made."""
    graph, before = to_graph(case.net), peak_memory()
    made: dict[str, integraph.Program] = {}  # one at a time is in memory
    seconds = min(
        clock(lambda: made.update(program=integraph.compile(graph, free=case.free, box=BOX))) for _ in range(3)
    )
    memory = peak_memory() - before
    program, x = made["program"], np.random.default_rng(1).standard_normal((1, graph.inputs))
    wanted = case.net.forward(x)
    errors = [np.abs(program(x) - wanted).max() / np.abs(wanted).max()]
    if program.terms < 10_000_000:
        found = program(x, engine="taylor", rtol=1e-14)
        errors.append(np.abs(found - wanted).max() / np.abs(wanted).max())
    row = (
        case.name, program.width, program.depth, f"{program.terms:,}", f"{1e3 * seconds:.0f}",
        verdict(seconds, case.compiled, "s"), f"{memory:.0f}", verdict(memory, 500),
        *(f"{e:.1e}" for e in errors), *("–",) * (2 - len(errors)), verdict(max(errors), 1e-13),
    )  # fmt: skip
    return program, row


PROOFS = (  # weights times, around a random input or 0, what is done with registers, radius
    *((0.1, "a random input", free, radius) for free, radius in (
        ("keep", 0.01), ("keep", 0.1), ("clean", 0.1), ("decay", 0.1), ("keep", 0.5),
    )),
    (0.1, "0", "keep", 0.1), (0.1, "0", "keep", 0.5),
    (1.0, "a random input", "keep", 1e-3), (1.0, "a random input", "keep", 0.1), (1.0, "a random input", "keep", 0.5),
    (1.0, "0", "keep", 0.1), (1.0, "0", "keep", 0.5),
)  # fmt: skip


def proofs() -> list[tuple[object, ...]]:
    """Proofs of the small one; weights times 0.1 are as large as at the start of training. Processor time."""
    rows: list[tuple[object, ...]] = []
    for gain, around, free, radius in PROOFS:
        graph = to_graph(transformer(**SMALL, gain=gain))
        x = np.random.default_rng(0).standard_normal(graph.inputs) * (around != "0")
        box = np.stack([x - radius, x + radius], -1)
        program = integraph.compile(graph, free=free, box=box)
        start = time.process_time()
        proof = integraph.certify(program, graph, box=box, progress=False, seconds=300, workers=1)
        seconds = time.process_time() - start
        start = time.process_time()
        held = proof.certificate is not None and integraph.check(proof, program, graph).holds
        again = f"{time.process_time() - start:.1f}" if held else "–"
        numbers = f"{proof.proven:.1e}", verdict(proof.proven, PROVEN), f"{seconds:.1f}", verdict(seconds, SECONDS, "s")
        rows.append((gain, around, free, radius, *numbers, again))
    return rows


def main() -> None:
    made, run = [], []
    with threadpool_limits(1):
        for case in CASES:
            program, row = compiled(case)
            made.append(row)
            rival = reference(case.net)
            for count in case.batches:
                x = np.random.default_rng(2).standard_normal((count, program.inputs))
                ours, numpy = medians([lambda p=program, x=x: p(x), lambda r=rival, x=x: r(x)])
                target = verdict(ours / numpy, case.slower) if case.slower else "–"
                cost = f"{ours / numpy:.2f}", target
                run.append((case.name, count, f"{1e6 * ours / count:.0f}", f"{1e6 * numpy / count:.0f}", *cost))
    columns = ("transformer", "W", "D", "terms", "ms", "target", "MB", "target", "exact", "taylor", "target")
    show("compiled; largest error relative to the largest output", columns, made)
    columns = ("transformer", "B", "µs/input", "numpy", "ratio", "target")
    show("exact flow against numpy, one thread", columns, run)
    columns = ("weights ×", "around", "free", "radius", "proven", "target", "s", "target", "check, s")
    show("proofs, 2 layers of 16 × 32, processor time", columns, proofs())


if __name__ == "__main__":
    main()
