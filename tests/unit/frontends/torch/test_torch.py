"""PyTorch modules read as networks, against the modules themselves."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from integraph.frontends import torch as reader
from slow import mostly_slow
from torch_modules import (
    ACTIVATIONS,
    RNG,
    F,
    Forward,
    Traced,
    agree,
    check,
    linear,
    mlp,
    nn,
    parts,
    points,
    same,
    torch,
)

pytestmark = pytest.mark.usefixtures("seeded_torch")


@mostly_slow("name", ACTIVATIONS, quick=6)
@pytest.mark.parametrize("depth", [1, 2, 4, 6])
def test_random_nets(name: str, depth: int) -> None:
    d = int(RNG.integers(1, 21))
    widths = tuple(int(n) for n in RNG.integers(1, 24, depth))
    net = mlp(d, widths, ACTIVATIONS[name])
    found = check(net)
    if name != "identity":
        assert found.sizes == (d, *widths)
        assert [layer.activation for layer in found.layers] == [name] * (depth - 1) + ["identity"]
        stored = [m for m in net if isinstance(m, nn.Linear)]
        for layer, m in zip(found.layers, stored, strict=True):
            np.testing.assert_array_equal(layer.A, m.weight.detach().numpy())
            np.testing.assert_array_equal(layer.b, m.bias.detach().numpy())


@mostly_slow("name", ACTIVATIONS, quick=1)
def test_sequential_and_forward_give_the_same_network(name: str) -> None:
    net = mlp(5, (7, 3, 2), ACTIVATIONS[name])
    same(reader.read(net), check(Traced(net)))


@mostly_slow("dtype", ["float32", "float64", "bfloat16", "float16"], quick=2)
@pytest.mark.parametrize("wrap", [lambda net: net, Traced])
def test_weights_are_as_stored(dtype: str, wrap: Callable[[nn.Module], nn.Module]) -> None:
    net = mlp(3, (5, 2), nn.Tanh, getattr(torch, dtype))
    found = reader.read(wrap(net))
    np.testing.assert_array_equal(found.layers[0].A, net[0].weight.detach().double().numpy())
    np.testing.assert_array_equal(found.layers[1].b, net[2].bias.detach().double().numpy())
    agree(found, net)
    assert not found.notes


def test_nested_flat_dropout_and_no_bias() -> None:
    inner = nn.Sequential(linear(4, 4, bias=False), nn.Dropout(0.5), nn.ReLU(inplace=True))
    net = nn.Sequential(nn.Flatten(), linear(), nn.Tanh(), inner, nn.Identity(), nn.Sequential(), linear(4, 2))
    found = check(net)
    assert found.sizes == (3, 4, 4, 2)
    same(found, check(Traced(net)))


def test_activation_first_and_last() -> None:
    net = nn.Sequential(nn.Tanh(), linear(), nn.Sigmoid())
    assert check(net).sizes == (3, 3, 4)
    same(reader.read(net), check(Traced(net)))
    assert check(nn.Sequential(nn.Tanh()), inputs=2).sizes == (2, 2)
    assert check(Traced(nn.Tanh()), inputs=2).sizes == (2, 2)
    assert check(linear()).sizes == (3, 4)
    assert check(nn.Sequential(), inputs=2).sizes == (2, 2)


@pytest.mark.parametrize("wrap", [lambda net: net, Traced])
def test_batch_norm_uses_its_running_statistics(wrap: Callable[[nn.Module], nn.Module]) -> None:
    net = nn.Sequential(nn.BatchNorm1d(3), linear(), nn.BatchNorm1d(4, affine=False), nn.Tanh(), linear(4, 4)).double()
    for _ in range(5):
        net(3 * points(3) + 1)
    before = copy.deepcopy(net.state_dict())
    found = check(wrap(net))
    assert sum("running statistics, rounded" in note for note in found.notes) == 2
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())


@pytest.mark.slow
def test_prelu() -> None:
    net = nn.Sequential(linear(), nn.PReLU(dtype=torch.float64), linear(4, 4), nn.PReLU(4, dtype=torch.float64))
    with torch.no_grad():
        net[3].weight.copy_(torch.tensor([0.1, -0.2, 0.3, 1.5]))
    found = check(net)
    np.testing.assert_array_equal(found.layers[1].slope, net[3].weight.detach().numpy())
    same(found, check(Traced(net)))


@mostly_slow("beta", [1.0, 2.0, 3.0], quick=2)
def test_softplus(beta: float) -> None:
    net = nn.Sequential(linear(), nn.Softplus(beta), linear(4, 2))
    found = check(net)
    same(found, check(Traced(net)))
    assert any("torch returns x where" in note for note in found.notes)
    assert any("rounded" in note for note in found.notes) == (beta == 3)
    agree(found, net, scale=100.0, rtol=3e-9)  # e^−20


FORWARDS: dict[str, Callable[[Any, Any], Any]] = {
    "F.linear": lambda m, x: F.linear(x, m.l.weight, m.l.bias),
    "matmul": lambda m, x: x @ m.l.weight.t() + m.l.bias,
    "matmul, transposed": lambda m, x: (m.l.weight @ x.t() + m.l.bias[:, None]).t(),
    "mm": lambda m, x: torch.mm(x, m.l.weight.T),
    "mv": lambda m, x: torch.mv(m.l.weight, x.reshape(-1)) + m.l.bias,
    "addmv": lambda m, x: torch.addmv(m.l.bias, m.l.weight, x.reshape(-1)),
    "dot": lambda m, x: torch.dot(m.mean, x.reshape(-1)),
    "vector": lambda m, x: x @ m.mean,
    "addmm": lambda m, x: torch.addmm(m.l.bias, x, m.l.weight.t(), beta=2, alpha=0.5),
    "bmm": lambda m, x: torch.bmm(x[None], m.l.weight.t()[None])[0],
    "inner": lambda m, x: torch.inner(x, m.l.weight) @ m.l.weight + torch.ones(3, dtype=x.dtype),
    "inner, weights first": lambda m, x: torch.inner(m.l.weight, x).T,
    "view of weights": lambda m, x: F.linear(x, m.l.weight[:2, :], m.l.bias[2:]),
    "computed weights": lambda m, x: F.linear(x, 0.5 * m.l.weight.abs() + torch.outer(m.four, m.mean)),
    "tied weights": lambda m, x: torch.tanh(torch.tanh(m.l(x)) @ m.l.weight),
    "normalised": lambda m, x: m.l((x - m.mean) / m.std),
    "normalised, eps": lambda m, x: m.l((x - m.mean) / (m.std + 1e-8)),
    "scaled outputs": lambda m, x: m.l(x) * m.four + 2 * m.four,
    "rsub": lambda m, x: 1 - m.l(1.5 - x),
    "rsub, alpha": lambda m, x: m.l(torch.rsub(x, 2, alpha=3)),
    "sub, alpha": lambda m, x: m.l(torch.sub(x, m.mean, alpha=3)),
    "add, alpha": lambda m, x: m.l(torch.add(m.mean, x, alpha=-3)),
    "neg": lambda m, x: -torch.tanh(-m.l(x)),
    "other names": lambda m, x: torch.negative(
        torch.arctan(torch.multiply(torch.subtract(torch.divide(m.l(x), 4), 1), 2))
    ),
    "itself": lambda m, x: m.l(x + x - x * 0.5),
    "siren": lambda m, x: m.l2(torch.sin(30 * m.l(x))),
    "rbf": lambda m, x: m.l2(torch.exp(-(m.l(x) ** 2))),
    "rbf, square": lambda m, x: m.l2(torch.exp(-0.5 * torch.square(m.l(x)))),
    "rbf, product": lambda m, x: m.l2(gauss(m.l(x))),
    "swish by hand": lambda m, x: m.l2(by_hand(m.l(x))),
    "swish, k": lambda m, x: m.l2(by_hand(m.l(x), 1.702)),
    "gelu by hand": lambda m, x: m.l2(gelu(m.l(x))),
    "gelu tanh by hand": lambda m, x: m.l2(gelu_tanh(m.l(x))),
    "exp": lambda m, x: m.l2(torch.exp(m.l(x))),
    "erf": lambda m, x: m.l2(torch.special.erf(torch.erf(m.l(x)))),
    "atan": lambda m, x: m.l2(torch.atan(m.l(x))),
    "expit": lambda m, x: m.l2(torch.special.expit(m.l(x))),
    "functional": lambda m, x: m.l2(F.silu(F.gelu(F.leaky_relu(m.l(x), 0.3)), inplace=True)),
    "prelu": lambda m, x: m.l2(F.prelu(m.l(x), m.four)),
    "softplus": lambda m, x: m.l2(F.softplus(m.l(x), beta=2)),
    "dropout": lambda m, x: F.dropout(m.l(x), 0.5, m.training),
    "views": lambda m, x: m.l(x.flatten(1).view(x.size(0), -1).reshape(-1, 3).squeeze().unsqueeze(0)),
    "copies": lambda m, x: m.l(x.contiguous().clone().detach().to(torch.float64).double().type_as(x)),
    "permute": lambda m, x: m.l(x[:, None, :].permute(1, 0, 2).transpose(0, 1).flatten(1)),
    "another order": lambda m, x: m.l(x[:, [2, 0, 1]]),
    "transposed features": lambda m, x: torch.tanh(m.l(x)).view(-1, 2, 2).transpose(1, 2).flatten(1) @ m.l.weight,
    "part of the input": lambda m, x: x[:, 1:] @ m.l.weight[:, :2].t(),
    "in place": lambda m, x: in_place(m.l(x)),
    "no_grad": lambda m, x: quiet(m, x),
    "constant in forward": lambda m, x: m.l(x * torch.tensor([1.0, 2.0, 3.0]) + torch.ones(3)),
    "what is not used": lambda m, x: (x.cos().sum(), m.l(x))[1],
    "own attributes": lambda m, x: remember(m, x),
    "identity": lambda m, x: x * m.mean / m.mean,
    "power 1": lambda m, x: torch.tanh(m.l(x) ** 1),
}


def gauss(z: Any) -> Any:
    return torch.exp(-z * z)


def by_hand(z: Any, k: float = 1.0) -> Any:
    return z * torch.sigmoid(k * z)


def gelu(z: Any) -> Any:
    return 0.5 * z * (1 + torch.erf(z / math.sqrt(2)))


def gelu_tanh(z: Any) -> Any:
    return 0.5 * z * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))


def in_place(z: Any) -> Any:
    kept = z
    z += 1
    z.mul_(2)
    torch.tanh_(z)
    return kept


def quiet(module: Any, x: Any) -> Any:
    with torch.no_grad():
        x = x - module.mean
    return module.l(x)


def remember(module: Any, x: Any) -> Any:
    module.last = module.l(x)
    return torch.tanh(module.last)


@mostly_slow("name", FORWARDS, quick=2)
def test_forward(name: str) -> None:
    module = Forward(FORWARDS[name], **parts())
    before = {key for m in module.modules() for key in vars(m)}
    check(module)
    assert {key for m in module.modules() for key in vars(m)} == before


def test_one_point_forward() -> None:
    """A forward that takes (d,), not a batch."""
    module = Forward(lambda m, x: m.l.weight @ x + m.l.bias, l=linear())
    found = reader.read(module)
    x = points(3)
    expected = x @ module.l.weight.detach().t() + module.l.bias.detach()
    np.testing.assert_allclose(found(x.numpy()), expected.numpy(), rtol=0, atol=1e-14)


def test_one_tensor_in_a_dictionary() -> None:
    module = Forward(lambda m, x: {"y": m.l(x)}, l=linear())
    same(reader.read(module), reader.read(module.l))


@pytest.mark.slow
def test_composites_become_one_layer() -> None:
    for name, wanted in (
        ("siren", "sin"),
        ("rbf", "gaussian"),
        ("swish by hand", "silu"),
        ("gelu by hand", "gelu"),
        ("gelu tanh by hand", "gelu_tanh"),
    ):
        found = reader.read(Forward(FORWARDS[name], **parts()))
        assert [layer.activation for layer in found.layers if layer.activation != "identity"] == [wanted]


def test_siren_has_all_digits() -> None:
    class Sine(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.sin(30.0 * x)

    net = nn.Sequential(linear(2, 32), Sine(), linear(32, 32), Sine(), linear(32, 1))
    check(net, rtol=1e-12)


@pytest.mark.slow
def test_the_layer_that_is_used_first_gives_the_inputs() -> None:
    """Registered in another order than used."""
    module = Forward(lambda m, x: m.last(torch.tanh(m.first(x))), last=linear(7, 1), first=linear(3, 7))
    assert check(module).sizes == (3, 7, 1)
    module = Forward(
        lambda m, x: m.last(torch.tanh(m.first(x - m.mean))),
        last=linear(1, 1),
        first=linear(3, 1),
        mean=torch.zeros(3),
    )
    found = check(module)
    assert found.inputs == 3
    assert "taken to have 3 inputs" in found.notes[-1]
    one = check(module, inputs=1)
    assert one.inputs == 1
    assert not one.notes


def test_attributes_that_forward_sets_are_undone() -> None:
    module = Forward(FORWARDS["own attributes"], **parts())
    reader.read(module)
    assert "last" not in vars(module)
