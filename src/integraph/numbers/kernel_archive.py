"""Kernels compiled ahead: a folder inside the package, from which numba loads what it would compile otherwise.

Its files are those of numba's own cache: object code for `FEATURES`, which nearly every x86-64 processor of ten
years has, found by the name of the function (with the fingerprint of its sources, `jit`) and its signature. They name
the versions that they were made with; with others, and of functions that have changed since, numba compiles as ever.
`tools/kernels.py` writes them.
"""

from __future__ import annotations

import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.compiler import CompileResult

FOLDER = Path(__file__).with_name("kernels")
PROCESSOR, FEATURES = "x86-64-v3", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")


def versions() -> str:
    """What object code and its description depend on, besides the version of numba."""
    parts = llvmlite.__version__, *sys.version_info[:2], platform.system(), platform.machine()
    return " ".join(map(str, parts))


def write(folder: Path, function: str, arguments: Any, compiled: Any) -> None:
    """Store what numba's cache holds of a compiled function."""
    folder.mkdir(exist_ok=True)
    _file(folder, function).save(_key(arguments), compiled)


def load(function: str, arguments: Any, target: Any) -> Any:
    """A compiled function, or None."""
    if not _runs():
        return None
    stored = _file(FOLDER, function).load(_key(arguments))
    return None if stored is None else CompileResult._rebuild(target, *stored)  # type: ignore[no-untyped-call]


def _file(folder: Path, function: str) -> Any:
    return IndexDataCacheFile(str(folder), function, versions())  # type: ignore[no-untyped-call]


def _key(arguments: Any) -> tuple[str, ...]:
    return tuple(map(str, arguments))


@cache
def _runs() -> bool:
    """Whether this processor has all features."""
    features = llvm.get_host_cpu_features()
    return all(features.get(name) for name in FEATURES)


class ArchiveCache(NullCache):
    """Of a function that cannot be stored: the folder alone."""

    def __init__(self, function: Any) -> None:
        self.function = f"{function.__module__}.{function.__qualname__}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        return load(self.function, sig, target_context)


class KernelCache(FunctionCache):
    """numba's cache on disk, then the folder."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self.ahead = ArchiveCache(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        stored = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        return self.ahead.load_overload(sig, target_context) if stored is None else stored
