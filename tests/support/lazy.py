"""Frameworks that a test file names at its top: imported when a test first uses them, so that collecting is quick."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

REASONS = {  # why a test is skipped
    "distributed": "needs dask.distributed: pip install 'integraph[cluster]'",
    "h5py": "needs h5py: pip install 'integraph[keras]'",
    "jax": "needs JAX: pip install 'integraph[jax]'",
    "keras": "needs Keras: pip install 'integraph[oracles]'",
    "onnx": "needs onnx: pip install 'integraph[onnx]'",
    "onnxruntime": "needs onnxruntime: pip install 'integraph[oracles]'",
    "sklearn": "needs scikit-learn: pip install 'integraph[sklearn]'",
    "sympy": "needs sympy: pip install 'integraph[sympy]'",
    "torch": "needs PyTorch: pip install 'integraph[torch]'",
}


class Lazy:
    """A module by its name. The test that asks for an attribute of it is skipped where it is not installed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks everything whether it is a test
            raise AttributeError(name)
        module = pytest.importorskip(self._name, reason=REASONS.get(self._name.partition(".")[0]))
        return getattr(module, name)


def needs(name: str) -> pytest.MarkDecorator:
    """`pytestmark = needs("jax")`: for a file whose tests all need a framework, also those that do not name it."""
    return pytest.mark.skipif(find_spec(name) is None, reason=REASONS[name])
