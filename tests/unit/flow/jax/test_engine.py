"""The engine `jax`: in float64 whatever jax is set to, failures as the exact engine explains them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    x = np.random.default_rng(2).uniform(size=(5200, program.inputs))
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
def test_a_program_inside_a_transformation_is_told_of_to_jax() -> None:
    program = export_programs.formula()
    for engine in (None, "jax"):
        with pytest.raises(UsageError, match=r"jax traces x, .*: call the function that to_jax\(\) gives"):
            jax.jit(lambda x, engine=engine: program(x, engine=engine))(np.zeros(2))


@needs("jax")
def test_states_are_refused() -> None:
    with pytest.raises(UsageError, match="engine='exact'"):
        export_programs.formula().flow([0.5, 0.5], "jax", states=True)


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setattr("integraph.program.engine.find_spec", lambda name: None)
    program = export_programs.formula()
    with pytest.raises(UsageError, match=r"integraph\[jax\]"):
        program([0.5, 0.5], engine="jax")
    with pytest.raises(UsageError, match=r"integraph\[jax\]"):
        program.to_jax()
    assert np.isfinite(program([0.5, 0.5])).all()


@needs("jax")
def test_jax_is_chosen_for_long_work_on_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The accelerator is a processor that says it is one."""
    program = export_programs.wide()
    x = np.random.default_rng(3).uniform(size=(2048, program.inputs))
    assert program.flow(x).engine == "exact"  # a processor
    jax.numpy.zeros(1)
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    assert program.flow(x).engine == "exact"  # not enough work to pay for compiling
    monkeypatch.setattr("integraph.flow.jax.engine.DUE", 3 * 2048 * program.terms)
    assert [program.flow(x).engine for _ in range(2)] == ["exact", "jax"]
    assert np.abs(program(x) - program(x, engine="exact")).max() <= 1e-13
    assert program.flow(x[:100]).engine == program.flow(x, states=True).engine == "exact"
    monkeypatch.setattr("jax.default_backend", no_device)
    assert program.flow(x).engine == "exact"
    monkeypatch.setitem(sys.modules, "jax", None)
    assert program.flow(x).engine == "exact"


@needs("jax")
def test_failures_of_a_chosen_engine_are_those_of_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    program = integraph.compile("x*ln(x)", box=(0.1, 1))
    x = np.linspace(-0.001, 1.0, 1500)
    jax.numpy.zeros(1)
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    monkeypatch.setattr("integraph.flow.jax.engine.DUE", 0)
    ours, exact = program.flow(x), program.flow(x, "exact")
    assert (ours.engine, len(exact.failures)) == ("jax", 2)
    assert ours.failures == exact.failures


def no_device() -> str:
    raise RuntimeError("Unable to initialize backend 'cuda'")


@needs("jax")
def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    program = export_programs.formula()
    function, params = program.to_jax()
    monkeypatch.setattr("jax.default_backend", no_device)
    for call in (lambda: program([0.5, 0.5], engine="jax"), lambda: function(params, [0.5, 0.5])):
        with pytest.raises(UsageError, match="JAX_PLATFORMS"):
            call()


CODE = """
import sys
for name in ("numba", "llvmlite", "flint", "rich", "typer", "safetensors", "threadpoolctl", "matplotlib"):
    sys.modules[name] = None
sys.path.insert(0, sys.argv[1])
import numpy as np
import jax
import integraph
from transformers import to_graph, transformer
jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)
layers = [(rng.normal(size=(4, 2)), rng.normal(size=4), "tanh"), (rng.normal(size=(1, 4)), rng.normal(size=1), None)]
net = integraph.network(layers)
model = transformer(tokens=3, width=4, heads=2, hidden=5, layers=1)
cases = (
    (integraph.compile(net, 1e-6), net),
    (integraph.compile(net, method="wide"), net),
    (integraph.compile("sin(x)*tanh(y)"), lambda x: np.sin(x[:, :1]) * np.tanh(x[:, 1:])),
    (integraph.compile(to_graph(model), box=(-1, 1)), model.forward),
)
for program, source in cases:
    function, params = program.to_jax()
    x = rng.uniform(size=(5, program.inputs))
    assert np.abs(jax.jit(lambda x: function(params, x))(x) - source(x)).max() < 1e-6
    assert np.isfinite(jax.grad(lambda x: function(params, x).sum())(x)).all()
"""


@pytest.mark.slow
@needs("jax")
def test_a_bare_machine() -> None:
    """Compiling and `to_jax` need numpy, scipy and jax."""
    support = str(Path(__file__).parents[3] / "support")
    done = subprocess.run([sys.executable, "-c", CODE, support], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
