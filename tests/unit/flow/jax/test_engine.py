"""The engine `jax`: in float64 whatever jax is set to, failures as the exact engine explains them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import export_programs
import integraph
from integraph.errors import UsageError
from lazy import Lazy, needs

jax = Lazy("jax")


@needs("jax")
def test_float64_in_chunks_and_no_setting_changes() -> None:
    program = export_programs.formula()
    x = np.random.default_rng(2).uniform(size=(1500, program.inputs))
    before = jax.config.jax_enable_x64
    assert np.abs(program(x, engine="jax") - program(x)).max() <= 1e-14
    assert jax.config.jax_enable_x64 == before
    assert program(x[:0], engine="jax").shape == (0, 1)


@needs("jax")
def test_failures_are_explained() -> None:
    program = integraph.compile("x*ln(x)", box=(0.1, 1))
    x = [0.5, -0.5, 0.7]
    ours, exact = program.flow(x, "jax"), program.flow(x, "exact")
    assert ours.failures == exact.failures
    assert np.allclose(ours.outputs, exact.outputs, rtol=1e-14, equal_nan=True)


@needs("jax")
def test_states_and_raw_blocks_are_refused() -> None:
    with pytest.raises(UsageError, match="engine='exact'"):
        export_programs.formula().flow([0.5, 0.5], "jax", states=True)
    with pytest.raises(UsageError, match="no closed form"):
        export_programs.escaping()([0.1], engine="jax")


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setattr("integraph.program.engine.find_spec", lambda name: None)
    program = export_programs.formula()
    with pytest.raises(UsageError, match=r"integraph\[jax\]"):
        program([0.5, 0.5], engine="jax")
    with pytest.raises(UsageError, match=r"integraph\[jax\]"):
        program.to_jax()
    assert np.isfinite(program([0.5, 0.5])).all()


CODE = """
import sys
sys.modules["numba"] = sys.modules["flint"] = None
import integraph
program = integraph.compile("sin(x)*tanh(y)")
function, params = program.to_jax()
assert abs(function(params, [0.5, 0.25])[0] - 0.117418) < 1e-5
"""


@pytest.mark.slow
@needs("jax")
def test_neither_numba_nor_flint_is_needed() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
