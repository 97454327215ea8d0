"""Kernels that were compiled ahead: loaded where they fit, and otherwise compiled."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba import float64, njit
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from integraph.numbers import kernel_archive
from integraph.numbers.kernel_archive import ArchiveCache, entry, load, versions, write

ROOT = Path(__file__).parents[3]
FITS = platform.system() == "Linux" and platform.machine() == "x86_64"


def cube(x: float) -> float:
    return x * x * x


NAME = f"{cube.__module__}.{cube.__qualname__}"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive with one function."""
    monkeypatch.setattr(kernel_archive, "ARCHIVE", tmp_path / "kernels.zip")
    monkeypatch.setattr(kernel_archive, "FEATURES", ())
    dispatcher = njit(cube)
    dispatcher.enable_caching()
    dispatcher._cache._cache_file._index_path = str(tmp_path / "cube.nbi")
    dispatcher._cache._cache_file._cache_path = str(tmp_path)
    assert dispatcher(2.0) == 8.0
    (compiled,) = dispatcher.overloads.values()
    write(tmp_path / "kernels.zip", {entry(NAME, (float64,)): dumps(compiled._reduce())})
    return tmp_path / "kernels.zip"


def loaded(argument: Any = float64) -> Any:
    kernel_archive._archive.cache_clear()
    cpu_target.target_context.refresh()
    return load(NAME, (argument,), cpu_target.target_context)


def test_a_function_is_loaded(archive: Path) -> None:
    dispatcher = njit(cube)
    dispatcher._cache = ArchiveCache(cube)
    kernel_archive._archive.cache_clear()
    assert dispatcher(3.0) == 27.0
    assert sum(dispatcher.stats.cache_hits.values()) == 1
    assert dispatcher(3) == 27  # another type, which is compiled
    assert sum(dispatcher.stats.cache_misses.values()) == 1


def test_another_archive_is_not_used(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded() is not None
    with monkeypatch.context() as change:
        change.setattr(kernel_archive, "FEATURES", ("a feature that no processor has",))
        assert loaded() is None
    with monkeypatch.context() as change:
        change.setattr(kernel_archive, "versions", lambda: versions() + " and others")
        assert loaded() is None
    archive.write_bytes(b"no archive")
    assert loaded() is None
    archive.unlink()
    assert loaded() is None


FIRST = """
import sys
from pathlib import Path
import integraph.numbers.kernel_archive as archive
archive.ARCHIVE = Path(sys.argv[1])
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
    path = tmp_path / "kernels.zip"
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, str(ROOT / "tools" / "kernels.py"), str(path)], check=True, env=env)
    assert path.stat().st_size < 2_000_000
    done = subprocess.run(
        [sys.executable, "-c", FIRST, str(path)], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
