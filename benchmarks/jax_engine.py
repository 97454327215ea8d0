"""Programs as functions of jax: against the same net or formula in jax, and the engine `jax` against `exact`.

One thread, float64, B = 1e5. Started alone, it pins itself to one processor before jax counts them.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import numpy as np

import integraph
from integraph import Program
from measure import CONSOLE, race, show, verdict
from random_nets import FORMULA, formula_in_jax, net, net_in_jax

COUNT = 100_000
NETS = ((2, 32, 32, 1), (8, 64, 64, 64, 1))
LIMITS = {"narrow": 2.0, "wide": 1.1, "formula": 3.0}


def main() -> None:
    if find_spec("jax") is None:
        CONSOLE.print("needs jax: pip install 'integraph[jax]'")
        return
    import jax

    with jax.enable_x64(True):
        cases = list(_cases())
        show(f"jax on a processor, B = {COUNT:.0e}: time against the same in jax", *_against_jax(cases))
        show(f"engine jax against exact, B = {COUNT:.0e}", *_against_exact(cases))


def _cases() -> Any:
    """(kind, name, program, the source in jax)."""
    for sizes in NETS:
        network, name = net(sizes, None), "-".join(map(str, sizes))
        for kind, options in (("narrow", {}), ("wide", {"method": "wide"})):
            yield kind, name, integraph.compile(network, 1e-6, **options), net_in_jax(network)

    yield "formula", FORMULA, integraph.compile(FORMULA), formula_in_jax()


def _against_jax(cases: list[tuple[str, str, Program, Any]]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    import jax

    rows: list[tuple[object, ...]] = []
    for kind, name, program, source in cases:
        function, params = program.to_jax()
        x = jax.numpy.asarray(np.random.default_rng(0).uniform(size=(COUNT, program.inputs)))
        pair = {"ours": lambda x, f=function, p=params: f(p, x), "source": source}
        values = {key: jax.jit(f) for key, f in pair.items()}
        slopes = {key: jax.jit(jax.grad(lambda x, f=f: f(x).sum())) for key, f in pair.items()}
        value, slope = (
            race({key: lambda f=f, x=x: jax.block_until_ready(f(x)) for key, f in one.items()}, seconds=2.0)
            for one in (values, slopes)
        )
        ratio = value["ours"] / value["source"]
        limit = verdict(ratio, LIMITS[kind])
        rows.append((kind, name, f"{ratio:.2f}", limit, f"{slope['ours'] / slope['source']:.2f}"))
    return ("program", "of", "value", "target", "gradient in x"), rows


def _against_exact(cases: list[tuple[str, str, Program, Any]]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    rows: list[tuple[object, ...]] = []
    for kind, name, program, _ in cases:
        x = np.random.default_rng(0).uniform(size=(COUNT, program.inputs))
        best = race({engine: lambda e=engine, p=program, x=x: p.flow(x, e) for engine in ("exact", "jax")}, seconds=2.0)
        error = np.abs(program(x, engine="jax") - program(x)).max()
        ratio = f"{best['jax'] / best['exact']:.2f}"
        rows.append((kind, name, f"{1e6 * best['exact'] / COUNT:.3g}", ratio, f"{error:.1e}"))
    return ("program", "of", "exact, µs/input", "jax / exact", "largest difference"), rows


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    main()
