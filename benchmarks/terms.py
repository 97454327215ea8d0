"""Building, lowering, saving, loading: a program of 1e6 terms; `terms.py long` adds one of 1e9, never materialised."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import integraph
from integraph import Program, Registers, build, segment, tensor
from integraph.gadgets import affine, tanh
from measure import clock, peak_memory, show, verdict


def million() -> Program:
    n = 1000
    r = Registers()
    x, mu, alpha, lam = r.inputs("x", n), r.new("mu", n), r.new("alpha", n), r.new("lam", n)
    w = np.random.default_rng(0).normal(size=(n, n))
    return build(r, [segment("affine", affine(mu, x, w=w, b=w[0])), segment("tanh", tanh(alpha, lam, mu))], alpha)


def billion(tokens: int) -> Program:
    """tokens × 768 → 3072 → 768: two matrices of 19 MB each, used once for every token."""
    rng = np.random.default_rng(0)
    up, down = tensor(rng.normal(size=(3072, 768)) / 28), tensor(rng.normal(size=(768, 3072)) / 55)
    r = Registers()
    x, h, z = r.inputs("x", tokens, 768), r.new("h", tokens, 3072), r.new("z", tokens, 768)
    first, second = affine(h, x[:, None, :], w=up), affine(z, h[:, None, :], w=down)
    return build(r, [segment("up", first), segment("down", second)], z[0])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.safetensors"
        made: list[Program] = []
        steps = {"build": lambda: made.append(million())}
        steps["lower"] = lambda: sum(len(batch) for _, batch in made[0].stream())
        steps["save"] = lambda: made[0].save(file)
        steps["load"] = lambda: integraph.load(file)
        seconds = {name: clock(step) for name, step in steps.items()}
        again = min(clock(steps["lower"]) for _ in range(5))
        terms, total = made[0].terms, sum(seconds.values())
        rows = [(name, f"{1e3 * t:.0f} ms") for name, t in seconds.items()]
        rows.append(("all", f"{1e3 * total:.0f} ms", verdict(total, 2.0, "s")))
        rows.append(("lower, per term", f"{1e9 * again / terms:.1f} ns", verdict(1e9 * again / terms, 50, "ns")))
        show(f"a program of {terms:,} terms", ("step", "time", "target"), [(*r, "")[:3] for r in rows])
    if "long" in sys.argv:
        large()


def large() -> None:
    """1e9 terms: minutes, most of them hashing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.safetensors"
        made: list[Program] = []
        rows = [("build", clock(lambda: made.append(billion(213))))]
        program = made[0]
        x = np.random.default_rng(1).normal(size=(1, program.inputs))
        rows.append(("evaluate one input", clock(lambda: program(x))))
        rows.append(("save", clock(lambda: program.save(file))))
        rows.append(("load", clock(lambda: integraph.load(file))))
        peak = peak_memory()
        size = file.stat().st_size / 1e6
    cells = [(name, f"{t:.2f} s") for name, t in rows] + [("peak memory", f"{peak:.0f} MB"), ("file", f"{size:.0f} MB")]
    show(f"a program of {program.terms:,} terms, {program.width:,} registers", ("step", "measured"), cells)


if __name__ == "__main__":
    main()
