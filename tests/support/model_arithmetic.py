"""The arithmetic of polynomial models as fresh modules, with changes of their text: faults that tests must notice.

Kernels are plain Python there, so that a change costs no compilation.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

PACKAGE = "integraph.numbers.models"
ORDER = (
    "monomials", "kernels", "models", "elementary_functions", "smooth_functions", "functions", "products",
    "row_functions", "polynomial_ranges",
)  # fmt: skip
COMPILED = '@cached_njit(error_model="numpy")\n'

Changes = Mapping[str, tuple[str, str]]  # by module: a text that occurs once, and what replaces it


def arithmetic(changes: Changes | None = None) -> Any:
    """The modules by name, as attributes."""
    changes = changes or {}
    names = {name: f"{PACKAGE}.{name}" for name in ORDER}
    saved = {full: sys.modules.get(full) for full in names.values()}
    try:
        return SimpleNamespace(**{name: _module(name, full, changes.get(name)) for name, full in names.items()})
    finally:
        for full, module in saved.items():
            if module is None:
                sys.modules.pop(full, None)
            else:
                sys.modules[full] = module


def _module(name: str, full: str, change: tuple[str, str] | None) -> types.ModuleType:
    text, path = source(name)
    if change is not None:
        before, after = change
        assert text.count(before) == 1, f"{name}: {before!r} occurs {text.count(before)} times"
        text = text.replace(before, after)
    module = types.ModuleType(full)
    module.__file__ = path
    sys.modules[full] = module
    exec(compile(text.replace(COMPILED, ""), path, "exec"), module.__dict__)
    return module


@cache
def source(name: str) -> tuple[str, str]:
    spec = importlib.util.find_spec(f"{PACKAGE}.{name}")
    assert spec is not None
    assert spec.origin is not None
    with open(spec.origin, encoding="utf-8") as file:
        return file.read(), spec.origin
