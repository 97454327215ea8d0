"""Hooks, wrappers, modes and precision around a module: nothing is overlooked, and it is left as it was."""

from __future__ import annotations

import copy
import logging
import warnings
from typing import Any

import numpy as np
import pytest

from integraph.frontends import torch as reader
from torch_modules import F, Forward, Traced, check, linear, nn, refused, same, torch

pytestmark = pytest.mark.usefixtures("seeded_torch")


@pytest.mark.slow
def test_hooks_parametrizations_and_subclasses_are_not_overlooked() -> None:
    from torch.nn.utils.parametrizations import weight_norm

    hooked = nn.Sequential(linear(), nn.Tanh())
    hooked[0].register_forward_hook(lambda module, args, output: 2 * output)
    check(hooked)
    before = nn.Sequential(linear(), nn.Tanh())
    before[1].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    check(before)
    check(nn.Sequential(weight_norm(linear()), nn.Tanh()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = nn.Sequential(nn.utils.weight_norm(linear()), nn.Tanh())
    weight = old[0].weight
    reader.read(old)
    assert old[0].weight is weight

    class Doubled(nn.Sequential):
        def forward(self, x: Any) -> Any:
            return 2 * super().forward(x)

    class Louder(nn.Linear):
        def forward(self, x: Any) -> Any:
            return super().forward(x) + 1

    check(Doubled(linear(), nn.Tanh()))
    check(nn.Sequential(Louder(3, 4, dtype=torch.float64), nn.Tanh()))
    patched = nn.Sequential(linear(), nn.Tanh())
    patched[1].forward = torch.sin
    assert reader.read(patched).layers[0].activation == "sin"


def test_global_hooks() -> None:
    net = nn.Sequential(linear(), nn.Tanh())
    handle = nn.modules.module.register_module_forward_hook(
        lambda module, args, output: output + 1 if isinstance(module, nn.Tanh) else None
    )
    try:
        check(net)
    finally:
        handle.remove()


@pytest.mark.slow
def test_wrappers() -> None:
    net = nn.Sequential(linear(), nn.Tanh())
    wanted = reader.read(net)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled, inside = torch.compile(net), nn.Sequential(torch.compile(net[0]), nn.Tanh())
        parallel = nn.DataParallel(net)
    for module in (compiled, inside, parallel, torch.fx.symbolic_trace(net)):
        same(reader.read(module), wanted)
    assert wanted.source == "PyTorch Sequential"


def test_the_module_is_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    net = Traced(nn.Sequential(linear(), nn.Dropout(), nn.BatchNorm1d(4, dtype=torch.float64), nn.Tanh()))
    net.train()
    net.inner[1].eval()
    flags = [m.training for m in net.modules()]
    state, attributes = copy.deepcopy(net.state_dict()), [dict(vars(m)) for m in net.modules()]
    random, numpy_random = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    silenced = logging.root.manager.disable
    check(net)
    assert [m.training for m in net.modules()] == flags
    assert [dict(vars(m)) for m in net.modules()] == attributes
    assert all(torch.equal(state[name], tensor) for name, tensor in net.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random)
    assert np.array_equal(np.random.get_state()[1], numpy_random)  # noqa: NPY002
    assert logging.root.manager.disable == silenced
    assert torch.is_grad_enabled()
    assert all(p.requires_grad for p in net.parameters())
    assert capfd.readouterr() == ("", "")


def test_a_forward_that_seeds_does_not_seed_for_others() -> None:
    module = Forward(lambda m, x: (torch.manual_seed(3), m.l(x))[1], l=linear())
    before = torch.get_rng_state()
    reader.read(module)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.slow
def test_grad_and_inference_modes_do_not_matter() -> None:
    net = Traced(nn.Sequential(linear(), nn.Tanh()))
    wanted = reader.read(net)
    with torch.inference_mode():
        same(reader.read(net), wanted)
        made = Traced(nn.Sequential(linear(), nn.Tanh()))
        refused(made, "inference tensor")
    with torch.no_grad():
        same(reader.read(net), wanted)


def test_weights_that_are_views_of_others() -> None:
    module = Forward(lambda m, x: F.linear(x, m.view) + m.bias)
    module.whole = nn.Parameter(torch.randn(5, 4, dtype=torch.float64))
    object.__setattr__(module, "view", module.whole[1:4, :3])  # not a leaf, not a parameter
    object.__setattr__(module, "bias", module.whole.detach()[1:4, 3])
    found = reader.read(module, inputs=3)
    np.testing.assert_array_equal(found.layers[0].A, module.view.detach().numpy())
    np.testing.assert_array_equal(found.layers[0].b, module.bias.numpy())


def test_autocast_around_does_not_round_weights() -> None:
    net = Traced(nn.Linear(3, 4))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = reader.read(net)
    np.testing.assert_array_equal(found.layers[0].A, net.inner.weight.detach().double().numpy())


def test_computed_constants_are_float64() -> None:
    """What forward computes from float32 weights is computed in float64, so it agrees with module.double()."""
    module = Forward(lambda m, x: m.l(x / (m.std + 1e-8)), l=nn.Linear(3, 4), std=torch.tensor([0.1, 0.2, 0.7]))
    check(module)


@pytest.mark.slow
def test_low_precision_is_noted() -> None:
    module = Forward(lambda m, x: m.l(x.bfloat16().float()), l=nn.Linear(3, 4))
    assert "torch rounds values to torch.bfloat16" in reader.read(module).notes[0]
