"""Programs as functions of jax: against the same net, formula or transformer in jax, and `jax` against `exact`.

One thread, float64, B = 1e5 (1e3 for the transformer), processor time. Started alone, it pins itself to one processor
before jax counts them.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from time import perf_counter, process_time
from typing import Any

import numpy as np

import integraph
from measure import CONSOLE, race, show, verdict
from random_nets import FORMULA, formula_in_jax, net, net_in_jax, transformer_in_jax
from transformer import BOX, EPS, SMALL, to_graph, transformer

COUNT = 100_000
NETS = ((2, 32, 32, 1), (8, 64, 64, 64, 1))
LIMITS = {"narrow": 2.0, "wide": 1.1, "formula": 2.5, "transformer": 1.15}
GRADIENTS = {"wide": 1.3}
FEWER = 1_000


def main() -> None:
    if find_spec("jax") is None:
        CONSOLE.print("needs jax: pip install 'integraph[jax]'")
        return
    import jax

    with jax.enable_x64(True):
        cases = list(_cases())
        show("jax on a processor: time against the same in jax", *_against_jax(cases))
        show("engine jax against exact", *_against_exact(cases))


def _cases() -> Any:
    """(kind, name, program, the source in jax, how many inputs)."""
    for sizes in NETS:
        network, name = net(sizes, None), "-".join(map(str, sizes))
        for kind, options in (("narrow", {}), ("wide", {"method": "wide"})):
            yield kind, name, integraph.compile(network, 1e-6, **options), net_in_jax(network), COUNT
    yield "formula", FORMULA, integraph.compile(FORMULA), formula_in_jax(), COUNT
    model = transformer(**SMALL)
    program = integraph.compile(to_graph(model), box=BOX)
    yield "transformer", "2 × (16 × 32)", program, transformer_in_jax(model, EPS), FEWER


def _against_jax(cases: list[Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    import jax

    rows: list[tuple[object, ...]] = []
    for kind, name, program, source, count in cases:
        function, params = program.to_jax()
        x = jax.numpy.asarray(np.random.default_rng(0).uniform(size=(count, program.inputs)))
        pair = {"ours": lambda x, f=function, p=params: f(p, x), "source": source}
        values = {key: jax.jit(f) for key, f in pair.items()}
        slopes = {key: jax.jit(jax.grad(lambda x, f=f: (f(x) ** 2).sum())) for key, f in pair.items()}
        value, slope = (
            race({key: lambda f=f, x=x: jax.block_until_ready(f(x)) for key, f in one.items()}, 2.0, 5, process_time)
            for one in (values, slopes)
        )
        ratio, steep = (best["ours"] / best["source"] for best in (value, slope))
        limit = verdict(steep, GRADIENTS[kind]) if kind in GRADIENTS else ""
        rows.append((kind, name, f"{ratio:.2f}", verdict(ratio, LIMITS[kind]), f"{steep:.2f}", limit))
    return ("program", "of", "value", "target", "gradient in x", "target"), rows


def _against_exact(cases: list[Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    rows: list[tuple[object, ...]] = []
    for kind, name, program, _, most in cases:
        for count in (FEWER, most)[most == FEWER :]:
            x = np.random.default_rng(0).uniform(size=(count, program.inputs))
            start = perf_counter()
            away = np.abs(program(x, engine="jax") - program(x, engine="exact")).max()
            first = perf_counter() - start
            rivals = {engine: lambda e=engine, p=program, x=x: p.flow(x, e) for engine in ("exact", "jax")}
            best = race(rivals, 1.0, 5, process_time)
            ratio, each = f"{best['jax'] / best['exact']:.2f}", f"{1e6 * best['exact'] / count:.3g}"
            rows.append((kind, name, count, each, ratio, f"{away:.1e}", f"{first:.1f} s"))
    return ("program", "of", "B", "exact, µs/input", "jax / exact", "largest difference", "first call"), rows


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    main()
