"""Kernels compiled ahead: an archive inside the package, from which numba loads what it would compile otherwise.

An entry is what numba stores in its own cache: object code for `FEATURES`, which every x86-64 processor of the last ten
years has, under the name of the function (with the fingerprint of its sources, `jit`) and its signature. The archive
names the versions that it was made with; others, and functions that have changed since, compile as ever.
`tools/kernels.py` writes it.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
import sys
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler import CompileResult

ARCHIVE = Path(__file__).with_name("kernels.zip")
PROCESSOR, FEATURES = "x86-64-v3", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
VERSIONS = "versions"  # the entry that names them


def versions() -> str:
    """What object code and its description depend on."""
    parts = numba.__version__, llvmlite.__version__, *sys.version_info[:2], platform.system(), platform.machine()
    return " ".join(map(str, parts))


def entry(function: str, arguments: Any) -> str:
    """The name of a compiled function in the archive."""
    return f"{function}-{hashlib.sha256(str(tuple(arguments)).encode()).hexdigest()[:16]}"


def write(path: Path, compiled: Mapping[str, bytes]) -> None:
    """An archive of entries."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {VERSIONS: versions().encode(), **compiled}.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


@cache
def _archive(path: Path) -> zipfile.ZipFile | None:
    """The archive, if there is one that fits."""
    try:
        archive = zipfile.ZipFile(path)
        fits = archive.read(VERSIONS).decode() == versions()
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    features = llvm.get_host_cpu_features()
    return archive if fits and all(features.get(name) for name in FEATURES) else None


def load(function: str, arguments: Any, target: Any) -> CompileResult | None:
    """A compiled function, or None."""
    archive = _archive(ARCHIVE)
    name = entry(function, arguments)
    if archive is None or name not in archive.NameToInfo:
        return None
    stored = pickle.loads(archive.read(name))
    compiled: CompileResult = CompileResult._rebuild(target, *stored)  # type: ignore[no-untyped-call]
    return compiled


class ArchiveCache(NullCache):
    """Of a function that cannot be stored: the archive alone."""

    def __init__(self, function: Any) -> None:
        self.function = f"{function.__module__}.{function.__qualname__}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        return load(self.function, sig, target_context)


class KernelCache(FunctionCache):
    """numba's cache on disk, then the archive."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self.archive = ArchiveCache(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        stored = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        return self.archive.load_overload(sig, target_context) if stored is None else stored
