"""Packages that only some sources need: the one place that imports them, or says how to install them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from integraph.errors import UsageError

READS = {
    "antimony": "Antimony",
    "h5py": "Keras files and MATLAB files of version 7.3",
    "jax": "functions written in jax.numpy",
    "libsbml": "SBML",
    "onnx": "ONNX",
    "sklearn": "scikit-learn estimators",
    "sympy": "sympy expressions",
    "torch": "PyTorch modules",
}


def need(package: str, extra: str) -> ModuleType:
    """The imported package, or a UsageError with the command that installs it."""
    if package not in READS:
        raise UsageError(f"{package!r} is not an optional package: those are {', '.join(READS)}")
    try:
        return import_module(package)
    except ImportError as reason:
        raise UsageError(
            f"reading {READS[package]} needs the {package} package: pip install 'integraph[{extra}]' ({reason})"
        ) from None
