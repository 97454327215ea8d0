"""Frameworks that a test file names at its top: imported when a test first uses them, so that collecting is quick."""

from __future__ import annotations

import locale
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

REASONS = {  # why a test is skipped
    "antimony": "needs Antimony: pip install 'integraph[exports]'",
    "basico": "needs COPASI: pip install 'integraph[exports]'",
    "distributed": "needs dask.distributed: pip install 'integraph[cluster]'",
    "equinox": "needs equinox: pip install 'integraph[oracles]'",
    "flax": "needs flax: pip install 'integraph[oracles]'",
    "fmpy": "needs FMPy: pip install 'integraph[exports]'",
    "haiku": "needs haiku: pip install 'integraph[oracles]'",
    "h5py": "needs h5py: pip install 'integraph[keras]'",
    "heyoka": "needs heyoka: pip install 'integraph[exports]'",
    "jax": "needs JAX: pip install 'integraph[jax]'",
    "keras": "needs Keras: pip install 'integraph[oracles]'",
    "libsbml": "needs libSBML: pip install 'integraph[exports]'",
    "lucipy": "needs lucipy: pip install 'integraph[exports]'",
    "onnx": "needs onnx: pip install 'integraph[onnx]'",
    "optax": "needs optax: pip install 'integraph[learn]'",
    "onnxruntime": "needs onnxruntime: pip install 'integraph[oracles]'",
    "onnxscript": "needs onnxscript, torch's exporter: pip install 'integraph[oracles]'",
    "pandas": "needs pandas: pip install 'integraph[oracles]'",
    "playwright": "needs Playwright: pip install 'integraph[browser]'",
    "polars": "needs polars: pip install 'integraph[oracles]'",
    "pymoca": "needs pymoca: pip install 'integraph[exports]'",
    "roadrunner": "needs libRoadRunner: pip install 'integraph[exports]'",
    "rumoca": "needs rumoca: pip install 'integraph[exports]'",
    "sklearn": "needs scikit-learn: pip install 'integraph[sklearn]'",
    "sympy": "needs sympy: pip install 'integraph[sympy]'",
    "torch": "needs PyTorch: pip install 'integraph[torch]'",
}


@contextmanager
def same_encoding() -> Iterator[None]:
    """COPASI leaves the encoding of ASCII, for all texts that are read later: when it is imported, and when it runs."""
    encoding = locale.setlocale(locale.LC_CTYPE)
    try:
        yield
    finally:
        locale.setlocale(locale.LC_CTYPE, encoding)


@same_encoding()
def framework(name: str) -> Any:
    """A module of a framework, or the test is skipped."""
    return pytest.importorskip(name, reason=REASONS[name.partition(".")[0]])


class Lazy:
    """A module by its name. The test that asks for an attribute of it is skipped where its framework is not installed.

    What the package itself needs is no framework: without it the test fails.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks everything whether it is a test
            raise AttributeError(name)
        optional = self._name.partition(".")[0] in REASONS
        return getattr(framework(self._name) if optional else import_module(self._name), name)


def needs(name: str) -> pytest.MarkDecorator:
    """`pytestmark = needs("jax")`: for a file whose tests all need a framework, also those that do not name it."""
    return pytest.mark.skipif(find_spec(name) is None, reason=REASONS[name])


def needs_command(name: str, package: str) -> pytest.MarkDecorator:
    """For tests that run a program of somebody else's: a compiler, a simulator."""
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"needs {name}: apt-get install {package}")
