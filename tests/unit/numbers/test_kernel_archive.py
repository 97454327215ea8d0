"""Kernels that were compiled ahead: loaded where they fit, and otherwise compiled."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest
from numba import float64, njit
from numba.core.registry import cpu_target

from integraph.numbers import kernel_archive
from integraph.numbers.kernel_archive import FEATURES, ArchiveCache, load, versions, write

ROOT = Path(__file__).parents[3]
FITS = platform.system() == "Linux" and platform.machine() == "x86_64"


def cube(x: float) -> float:
    return x * x * x


NAME = f"{cube.__module__}.{cube.__qualname__}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one function."""
    monkeypatch.setattr(kernel_archive, "FOLDER", tmp_path)
    monkeypatch.setattr(kernel_archive, "_runs", lambda: True)
    dispatcher = njit(cube)
    dispatcher.enable_caching()
    own = dispatcher._cache._cache_file
    own._cache_path, own._index_path = str(tmp_path), str(tmp_path / "cube.nbi")
    assert dispatcher(2.0) == 8.0
    (compiled,) = dispatcher.overloads.values()
    write(tmp_path, NAME, (float64,), compiled._reduce())
    return tmp_path


def loaded() -> Any:
    cpu_target.target_context.refresh()
    return load(NAME, (float64,), cpu_target.target_context)


def test_a_function_is_loaded(folder: Path) -> None:
    dispatcher = njit(cube)
    dispatcher._cache = ArchiveCache(cube)
    assert dispatcher(3.0) == 27.0
    assert sum(dispatcher.stats.cache_hits.values()) == 1
    assert dispatcher(3) == 27  # another type, which is compiled
    assert sum(dispatcher.stats.cache_misses.values()) == 1


def test_where_it_does_not_fit_it_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded() is not None
    with monkeypatch.context() as change:
        change.setattr(kernel_archive, "_runs", lambda: False)
        assert loaded() is None
    with monkeypatch.context() as change:
        change.setattr(kernel_archive, "versions", lambda: versions() + " and others")
        assert loaded() is None
    assert load(NAME + "_changed", (float64,), cpu_target.target_context) is None


def test_features_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    right = kernel_archive._runs.__wrapped__
    for has in (True, False):
        monkeypatch.setattr(llvm, "get_host_cpu_features", lambda has=has: dict.fromkeys(FEATURES, True) | {"fma": has})
        assert right() is has


FIRST = """
import sys
from pathlib import Path
import integraph.numbers.kernel_archive as archive
archive.FOLDER = Path(sys.argv[1])
import numba.core.event as event
import integraph

compiled = []

class Listener(event.Listener):
    def on_start(self, seen):
        compiled.append(seen.data["dispatcher"].py_func.__qualname__)

    def on_end(self, seen):
        pass

event.register("numba:compile", Listener())
setting = dict(period=0.2, steps=3, start={"x": (0.8, 0.9), "v": (0.5, 0.6)}, progress=False)
for activation in ("tanh", "sigmoid", "relu", "leaky_relu", "gelu"):
    net = integraph.network([([[1.0, 0.5], [0.2, -1.0]], [0.0, 0.1], activation), ([[-0.5, 0.3]], [0.0])])
    for more in ({}, {"disturbances": {"w": (-0.1, 0.1)}}, {"limits": (-0.1, 0.1)}):
        noise = " + w" if "disturbances" in more else ""
        result = integraph.loop(
            {"x": "v", "v": "-sin(x) - 0.5*v + u/(2 + x)" + noise}, net, spec="x^2 + v^2 <= 4 always", **setting, **more
        )
        assert result.answer.value == "proved", result
        assert integraph.check(result, result, workers=1)
assert not compiled, compiled
"""


@pytest.mark.slow
@pytest.mark.skipif(not FITS, reason="object code is made for Linux on x86-64")
def test_the_first_loops_of_a_machine_compile_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kernels"
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, str(ROOT / "tools" / "kernels.py"), str(path)], check=True, env=env)
    assert sum(file.stat().st_size for file in path.iterdir()) < 4_000_000
    done = subprocess.run(
        [sys.executable, "-c", FIRST, str(path)], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
