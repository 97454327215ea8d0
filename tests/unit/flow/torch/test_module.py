"""Programs as modules of PyTorch: values against the exact engine, training against jax."""

from __future__ import annotations

import copy
import io
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import export_programs
import integraph
from free_programs import two_segments
from integraph.errors import UsageError
from lazy import Lazy, needs, needs_command
from slow import mostly_slow

jax = Lazy("jax")
torch = Lazy("torch")
pytestmark = needs("torch")


@mostly_slow("name", export_programs.PROGRAMS, quick=1)
def test_values_and_float32(name: str) -> None:
    program = export_programs.PROGRAMS[name]()
    x = export_programs.inputs(program, 20)
    module = program.to_torch()
    exact = program(x)
    assert np.abs(module(torch.tensor(x)).detach().numpy() - exact).max() <= 1e-13
    assert module(torch.tensor(x[0])).shape == (program.outputs,)
    single = module.float()(torch.tensor(x, dtype=torch.float32))
    assert single.dtype == torch.float32
    assert np.abs(single.detach().numpy() - exact).max() <= 1e-4


@pytest.mark.slow
@needs("jax")
@pytest.mark.parametrize("name", ["wide", "narrow", "formula"])
def test_a_step_of_descent_is_that_of_jax(name: str) -> None:
    program = export_programs.PROGRAMS[name]()
    x = export_programs.inputs(program, 10)
    module = program.to_torch()
    optimiser = torch.optim.SGD(module.parameters(), lr=1e-3)
    (module(torch.tensor(x)) ** 2).mean().backward()
    optimiser.step()
    function, params = program.to_jax()
    with jax.enable_x64(True):
        loss: Any = lambda p: (function(p, x) ** 2).mean()  # noqa: E731
        gradient = jax.grad(loss)({key: jax.numpy.asarray(value) for key, value in params.items()})
    for key, value in params.items():
        moved = value - 1e-3 * np.asarray(gradient[key])
        assert np.abs(module.controls[key].detach().numpy() - moved).max() <= 1e-13 * max(1.0, np.abs(moved).max())


@pytest.mark.slow
@needs("jax")
@pytest.mark.parametrize("block", ["low_rank", "raw"])
def test_blocks_without_closed_forms(block: str) -> None:
    """Values against the engine `taylor`, gradients against jax, NaN where a solution ends."""
    program = two_segments(block)
    module, x = program.to_torch(), np.random.default_rng(1).uniform(-0.5, 0.5, (5, 2))
    outputs = module(torch.tensor(x))
    assert np.abs(outputs.detach().numpy() - program(x, engine="taylor")).max() <= 1e-13
    (outputs**2).sum().backward()
    function, params = program.to_jax()
    with jax.enable_x64(True):
        variables = {key: jax.numpy.asarray(value) for key, value in params.items()}
        gradient = jax.grad(lambda params: (function(params, x) ** 2).sum())(variables)
    for key in params:
        assert np.abs(module.controls[key].grad.numpy() - np.asarray(gradient[key])).max() <= 1e-12
    ends = export_programs.escaping().to_torch()(torch.tensor([[0.5], [2.0]], dtype=torch.float64))
    assert abs(ends[0, 0].item() - 1.0) <= 1e-14
    assert bool(ends[1].isnan())


@pytest.mark.slow
def test_export() -> None:
    program = export_programs.wide()
    module, x = program.to_torch(), torch.tensor(export_programs.inputs(program, 9))
    batch = torch.export.Dim("batch", min=2)
    exported = torch.export.export(module, (x,), dynamic_shapes=({0: batch},))
    assert np.abs(exported.module()(x[:5]).detach().numpy() - program(x[:5].numpy())).max() <= 1e-13


@pytest.mark.slow
def test_export_of_steps_that_depend_on_the_inputs_is_refused() -> None:
    with pytest.raises(UsageError, match=r"torch\.export cannot record steps that .* export with jax"):
        torch.export.export(export_programs.escaping().to_torch(), (torch.tensor([[0.5]], dtype=torch.float64),))


@pytest.mark.slow
@needs_command("gcc", "gcc")
@pytest.mark.filterwarnings("default")
def test_compile() -> None:
    program = export_programs.formula()
    x = export_programs.inputs(program, 9)
    compiled = torch.compile(program.to_torch(), fullgraph=True)
    assert np.abs(compiled(torch.tensor(x)).detach().numpy() - program(x)).max() <= 1e-13


def test_state_is_saved_and_loaded() -> None:
    program = export_programs.formula()
    module, other = program.to_torch(), program.to_torch()
    with torch.no_grad():
        module.controls["readout"] *= 2.0
    other.load_state_dict(module.state_dict())
    x = torch.tensor([[0.5, 0.25]], dtype=torch.float64)
    assert torch.equal(other(x), module(x))


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_copies_and_pickles(kind: str) -> None:
    """As averaging of models, snapshots of the best one, and `torch.save` need them."""
    x = torch.tensor([[0.5, 0.25]], dtype=getattr(torch, kind))
    module = export_programs.formula().to_torch().to(x.dtype)
    with torch.no_grad():
        module.controls["readout"] *= 2.0
    buffer = io.BytesIO()
    torch.save(module, buffer)
    buffer.seek(0)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), torch.load(buffer, weights_only=False)):
        assert torch.equal(other(x), module(x))
        before = module(x).detach().clone()
        with torch.no_grad():
            other.controls["readout"] *= 2.0
        assert torch.equal(other(x), 2.0 * before)
        assert torch.equal(module(x), before)


@needs("jax")
@pytest.mark.slow
@pytest.mark.parametrize("text", ["tanh(x)", "atan(x) + asinh(x)", "log(cosh(x)) + exp(x) - 1"])
def test_derivatives_at_0_are_those_of_jax(text: str) -> None:
    """Of the functions themselves, written in jax: first and second ones, where closed forms have |x| and 0/0."""
    module = integraph.compile(text, box=(-1, 1)).to_torch()
    plain = {
        "tanh(x)": lambda np, x: np.tanh(x),
        "atan(x) + asinh(x)": lambda np, x: np.arctan(x) + np.arcsinh(x),
        "log(cosh(x)) + exp(x) - 1": lambda np, x: np.log(np.cosh(x)) + np.exp(x) - 1.0,
    }[text]
    for place in (0.0, -0.0, 0.3):
        x = torch.tensor([place], dtype=torch.float64, requires_grad=True)
        (first,) = torch.autograd.grad(module(x)[0], x, create_graph=True)
        (second,) = torch.autograd.grad(first[0], x)
        with jax.enable_x64(True):
            slope = jax.grad(lambda x: plain(jax.numpy, x))
            assert abs(first.item() - float(slope(place))) <= 1e-12
            assert abs(second.item() - float(jax.grad(slope)(place))) <= 1e-9


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = export_programs.formula()
    module = program.to_torch()
    with pytest.raises(UsageError, match="shape"):
        module(torch.zeros(3, 3, dtype=torch.float64))
    with pytest.raises(UsageError, match=r"x = 'ndarray': needs a tensor of torch.float64, as torch.tensor\(x\)"):
        module(np.zeros((3, 2)))
    with pytest.raises(UsageError, match=r"module\.to"):
        module(torch.zeros(3, 2))
    with pytest.raises(UsageError, match="float32 or float64"):
        module.half()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match=r"integraph\[torch\]"):
        program.to_torch()
