"""What is loaded when, and what is said where an extra is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "missing", "extra"),
    [
        ("QuadraticODE", "jax", "learn"),
        ("QuadraticODE", "equinox", "learn"),
        ("QuadraticODERegressor", "optax", "learn"),
        ("depth_study", "jax", "learn"),
        ("QuadraticIdentifier", "sklearn", "sklearn"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(name: str, missing: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
import integraph
try:
    integraph.learn.{name}
except integraph.errors.UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"learn.{name} needs the {missing} package: pip install 'integraph[{extra}]'"


def test_learn_itself_loads_nothing_heavy() -> None:
    code = "import sys, integraph.learn; print([m for m in ('jax', 'equinox', 'optax', 'sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
