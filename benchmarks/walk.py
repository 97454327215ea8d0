"""How often the work changes layers: calls from one folder of src/integraph into another.

    .venv/bin/python benchmarks/walk.py [SRC]

traces a compilation, an evaluation, a proof and a report, each after a first run that has imported everything. `SRC` is
the source folder of another version of Integraph, to compare with. The second column counts `numbers/` and the small
shared modules (errors, text, clock, …) as part of the layer that calls them.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

LAYERS = ("program", "gadgets", "flow", "targets", "bounds", "constructions", "certify", "frontends")
SHARED = ("errors", "text", "clock", "progress", "files", "numbers")
FORMULA, SIZES = "sin(3*x)*exp(-y)", (2, 8, 1)
EPS = 1e-3


def layer(file: Path, root: Path) -> str:
    """The layer of a source file: its folder, or `faces`."""
    name = file.relative_to(root).parts[0].removesuffix(".py")
    return name if name in LAYERS + SHARED else "faces"


def walk(run: Callable[[], Any], root: Path) -> tuple[int, Counter[tuple[str, str]], int]:
    """The calls of functions of the package; those from one layer into another; those between layers but SHARED."""
    layers: dict[str, str] = {}
    calls, large = 0, 0
    crossings: Counter[tuple[str, str]] = Counter()

    def where(frame: FrameType) -> str:
        name = frame.f_code.co_filename
        if name not in layers:
            layers[name] = layer(Path(name), root) if name.startswith(str(root)) else ""
        return layers[name]

    def caller(frame: FrameType, skip: tuple[str, ...]) -> str:
        """The layer of the nearest frame below that is in none of these."""
        back = frame.f_back
        while back is not None and where(back) in skip:
            back = back.f_back
        return "" if back is None else where(back)

    def record(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls, large
        if event != "call" or not where(frame) or frame.f_code.co_name == "<module>":
            return
        calls += 1
        here, before = where(frame), caller(frame, ("",))
        if before and before != here:
            crossings[before, here] += 1
        if here not in SHARED:
            large += caller(frame, ("", *SHARED)) not in ("", here)

    sys.setprofile(record)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls, crossings, large


def tasks(folder: Path) -> dict[str, Callable[[], Any]]:
    import numpy as np

    import integraph

    rng = np.random.default_rng(7)
    shapes = [(m, n) for n, m in pairwise(SIZES)]
    activations = ["tanh"] * (len(shapes) - 1) + [None]
    layers = [(rng.uniform(-1, 1, s), rng.uniform(-1, 1, s[0]), a) for s, a in zip(shapes, activations, strict=True)]
    net = integraph.network(layers)
    formula, compiled = integraph.compile(FORMULA), integraph.compile(net, EPS)
    x = rng.uniform(-1, 1, (100, 2))
    return {
        "compile a formula": lambda: integraph.compile(FORMULA),
        "compile a net": lambda: integraph.compile(net, EPS),
        "evaluate a formula": lambda: formula(x),
        "evaluate a net": lambda: compiled(x),
        "certify a formula": lambda: integraph.certify(formula, FORMULA, workers=1, progress=False),
        "certify a net": lambda: integraph.certify(compiled, net, EPS, workers=1, progress=False),
        "report": lambda: integraph.report(compiled, folder / "report.html", net),
    }


def main() -> None:
    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])
    import integraph

    root = Path(str(integraph.__file__)).parent
    print(f"{'':20} {'calls':>8} {'switches':>9} {'without numbers':>16}   most frequent")
    with tempfile.TemporaryDirectory() as folder:
        for name, run in tasks(Path(folder)).items():
            run()
            calls, crossings, large = walk(run, root)
            often = ", ".join(f"{a} → {b} {count:,}" for (a, b), count in crossings.most_common(3))
            print(f"{name:20} {calls:8,} {crossings.total():9,} {large:16,}   {often}")


if __name__ == "__main__":
    main()
