"""Compile the kernels of closed loops ahead, into the folder that the package ships (`numbers/kernel_archive.py`).

A first process runs loops of every kind and compiles what they call, for processors of the last ten years, into a cache
of its own. A second one loads that: what it loads is what Python calls, without the functions inside, and is written.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import integraph
from integraph.numbers import kernel_archive

PENDULUM: dict[str, Any] = {
    "plant": {"x": "v", "v": "-sin(x) - 0.5*v + u + w"},
    "period": 0.2,
    "steps": 2,
    "start": {"x": (0.8, 0.9), "v": (0.5, 0.6)},
    "spec": "x^2 + v^2 <= 4 always",
    "progress": False,
}


def run() -> None:
    """Loops that call every kernel with every type of argument."""
    rng = np.random.default_rng(1)
    layers = [(rng.normal(size=(8, 2)), np.zeros(8)), (rng.normal(size=(1, 8)) / 8, np.zeros(1))]
    nets = [integraph.network([(*layers[0], name), layers[1]]) for name in ("tanh", "silu")]
    noise = ({"disturbances": {"w": (-0.01, 0.01)}}, {"parameters": {"w": 0.01}})
    steps = {"plant": {"x": "x + 0.1*v", "v": "v - 0.1*x + u + w"}, "discrete": True}
    for controller, w in itertools.product((*nets, "-x - v", "max(-1, min(-x, 1))"), noise):
        for change in ({"limits": (-1, 1)}, {"spec": "x <= 0.2 at end", "cells": 2}, steps):
            integraph.loop(controller=controller, **PENDULUM | w | change)


def collect(folder: Path) -> None:
    """Write what `run` loads from numba's cache, as it is stored there."""
    from numba.core.caching import CompileResultCacheImpl

    rebuild = CompileResultCacheImpl.rebuild

    def recorded(self: Any, target: Any, stored: Any) -> Any:
        described, signature = stored[1], stored[3]
        kernel_archive.write(folder, f"{described.modname}.{described.qualname}", signature.args, stored)
        return rebuild(self, target, stored)

    CompileResultCacheImpl.rebuild = recorded
    run()


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as cache:
        own = {"NUMBA_CACHE_DIR": cache, "NUMBA_CPU_NAME": kernel_archive.PROCESSOR, "NUMBA_CPU_FEATURES": ""}
        for part in ("run", "collect"):
            subprocess.run([sys.executable, str(Path(__file__)), part, str(folder)], env=os.environ | own, check=True)
    print(f"{folder}: {sum(path.stat().st_size for path in folder.iterdir()):,} bytes")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", folder]:
            kernel_archive.FOLDER = Path(folder)  # empty: what was made before is not loaded, but compiled
            run()
        case ["collect", folder]:
            collect(Path(folder))
        case [folder]:
            main(Path(folder))
        case _:
            main(kernel_archive.FOLDER)
