"""The cache of compiled kernels: what is changed is compiled again, and nothing else."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numba import njit

from integraph.flow.taylor import kernel
from integraph.numbers import jit
from taylor_programs import tanh_program


@pytest.fixture(autouse=True)
def _fingerprints_anew() -> Iterator[None]:
    """Of the sources as they are."""
    jit.fingerprint.cache_clear()
    yield
    jit.fingerprint.cache_clear()


@pytest.mark.parametrize(
    ("kernel_module", "changed", "reaches"),
    [
        ("taylor.kernel", "flow.taylor.kernel", True),
        ("taylor.kernel", "flow.taylor.simd", True),  # by way of series too
        ("taylor.kernel", "flow.taylor.series", True),
        ("taylor.kernel", "flow.taylor.components", False),
        ("exact.riccati_flow", "flow.exact.exponential", True),
        ("exact.growth_flow", "gadgets.functions.elementary", True),  # a constant
    ],
)
def test_a_change_of_the_compiled_modules_reaches_the_cache(
    kernel_module: str, changed: str, reaches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba's cache on disk looks at the file of a kernel only, and finds it by its name."""
    name = f"integraph.flow.{kernel_module}"
    importlib.import_module(name)
    before, source = jit.fingerprint(name), inspect.getsource

    def edited(module: Any) -> str:
        return source(module) + "# edited" * (module.__name__ == f"integraph.{changed}")

    monkeypatch.setattr(inspect, "getsource", edited)
    jit.fingerprint.cache_clear()
    assert (before != jit.fingerprint(name)) == reaches


def test_what_else_is_loaded_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`affine_steps`, from which steps of softmax import a type, loads `linear_kernels` when it needs them."""
    softmax, linear = (importlib.import_module(f"integraph.flow.exact.{n}") for n in ("softmax_flow", "linear_kernels"))
    jit.fingerprint.cache_clear()  # it is asked for while a module is loaded
    before = jit.fingerprint(softmax.__name__)
    jit.fingerprint.cache_clear()
    monkeypatch.delitem(sys.modules, linear.__name__)
    assert jit.fingerprint(softmax.__name__) == before


def test_the_cache_is_found_by_the_fingerprint() -> None:
    tanh_program(1).flow([0.5], "taylor").check()
    print_of = jit.fingerprint(kernel.__name__)
    assert kernel.integrate.py_func.__qualname__ == f"integrate_{print_of}"  # type: ignore[attr-defined]
    assert list(Path(kernel.__file__).parent.glob(f"__pycache__/*integrate_{print_of}*.nbi"))


def test_what_is_compiled_is_said() -> None:
    def cube(x: float) -> float:
        return x * x * x

    said: list[str] = []
    kernel = njit(cube)
    with jit.compiling(lambda: said.append("compiled")):
        assert kernel(2.0) == 8.0
        assert kernel(3.0) == 27.0
    assert said == ["compiled"]
    assert kernel(3) == 27  # compiled too, when nobody listens
    assert said == ["compiled"]
