"""Compile the kernels of closed loops ahead, into the archive that the package ships (`numbers/kernel_archive.py`).

A first process runs loops of every kind and compiles what they call, for processors of the last ten years, into a cache
of its own. A second one loads that: what it loads is what Python calls, without the functions inside, and is written.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import integraph
from integraph.numbers import kernel_archive
from integraph.numbers.kernel_archive import PROCESSOR, entry

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


def collect() -> dict[str, bytes]:
    """What `run` loads from numba's cache, as it is stored there."""
    from numba.core.caching import CompileResultCacheImpl
    from numba.core.serialize import dumps

    compiled: dict[str, bytes] = {}
    rebuild = CompileResultCacheImpl.rebuild

    def recorded(self: Any, target: Any, payload: Any) -> Any:
        described, signature = payload[1], payload[3]
        compiled[entry(f"{described.modname}.{described.qualname}", signature.args)] = dumps(payload)
        return rebuild(self, target, payload)

    CompileResultCacheImpl.rebuild = recorded
    run()
    return compiled


def main(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = {"NUMBA_CACHE_DIR": folder, "NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": ""}
        for part in ("run", "collect"):
            subprocess.run([sys.executable, str(Path(__file__)), part, str(path)], env=os.environ | own, check=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", _]:
            kernel_archive.ARCHIVE = Path(os.devnull)
            run()
        case ["collect", path]:
            kernel_archive.ARCHIVE = Path(os.devnull)
            kernel_archive.write(Path(path), collect())
        case [path]:
            main(Path(path))
        case _:
            main(kernel_archive.ARCHIVE)
