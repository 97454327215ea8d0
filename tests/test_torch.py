"""PyTorch modules read as networks, against the modules themselves."""

from __future__ import annotations

import contextlib
import copy
import logging
import math
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from integraph.errors import SourceError, UsageError
from integraph.frontends import torch as reader
from integraph.targets import Network

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'integraph[torch]'")
nn, F = torch.nn, torch.nn.functional

RNG = np.random.default_rng(5)
ROWS = 64

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "softplus": nn.Softplus,
    "silu": nn.SiLU,
    "gelu": nn.GELU,
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "relu": nn.ReLU,
    "leaky_relu": lambda: nn.LeakyReLU(0.2),
    "identity": nn.Identity,
}


class Forward(nn.Module):
    """A module whose forward is the function given, with what it needs as attributes."""

    def __init__(self, forward: Callable[[Any, Any], Any], **parts: Any) -> None:
        super().__init__()
        self.function = forward
        for name, part in parts.items():
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(7)
        yield


def linear(d: int = 3, m: int = 4, **options: Any) -> nn.Linear:
    return nn.Linear(d, m, dtype=torch.float64, **options)


def points(d: int, scale: float = 1.0) -> Any:
    return torch.from_numpy(scale * RNG.standard_normal((ROWS, d)))


def by_torch(module: nn.Module, x: Any) -> np.ndarray[Any, Any]:
    """Outputs of the module in float64 and eval mode, row by row, so that its batch axis does not matter."""
    module = copy.deepcopy(module).double().eval()
    with torch.no_grad():
        return np.stack([module(row[None]).reshape(-1).numpy() for row in x])


def agree(network: Network, module: nn.Module, scale: float = 1.0, rtol: float = 1e-12) -> Network:
    """The network, if it does what the module does."""
    x = points(network.inputs, scale)
    expected = by_torch(module, x)
    np.testing.assert_allclose(
        network(x.numpy()), expected, rtol=0, atol=rtol * max(1.0, float(np.abs(expected).max()))
    )
    return network


def check(module: nn.Module, inputs: int | None = None, rtol: float = 1e-12) -> Network:
    return agree(reader.read(module, inputs), module, rtol=rtol)


def same(one: Network, other: Network) -> None:
    assert len(one.layers) == len(other.layers)
    for a, b in zip(one.layers, other.layers, strict=True):
        np.testing.assert_array_equal(a.A, b.A)
        np.testing.assert_array_equal(a.b, b.b)
        assert a.activation == b.activation
        np.testing.assert_array_equal(a.slope, b.slope)


def mlp(d: int, widths: tuple[int, ...], act: Callable[[], nn.Module], dtype: Any = torch.float64) -> nn.Sequential:
    parts: list[nn.Module] = []
    for first, second in zip((d, *widths), widths, strict=False):
        parts += [nn.Linear(first, second, dtype=dtype), act()]
    return nn.Sequential(*parts[:-1])


class Traced(nn.Module):
    """The same layers behind a forward of their own, so that they go through torch.export."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return self.inner(x)


@pytest.mark.parametrize("name", ACTIVATIONS)
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


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_sequential_and_forward_give_the_same_network(name: str) -> None:
    net = mlp(5, (7, 3, 2), ACTIVATIONS[name])
    same(reader.read(net), check(Traced(net)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("wrap", [lambda net: net, Traced])
def test_weights_are_as_stored(dtype: Any, wrap: Callable[[nn.Module], nn.Module]) -> None:
    net = mlp(3, (5, 2), nn.Tanh, dtype)
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


def test_prelu() -> None:
    net = nn.Sequential(linear(), nn.PReLU(dtype=torch.float64), linear(4, 4), nn.PReLU(4, dtype=torch.float64))
    with torch.no_grad():
        net[3].weight.copy_(torch.tensor([0.1, -0.2, 0.3, 1.5]))
    found = check(net)
    np.testing.assert_array_equal(found.layers[1].slope, net[3].weight.detach().numpy())
    same(found, check(Traced(net)))


@pytest.mark.parametrize("beta", [1.0, 2.0, 3.0])
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


def parts() -> dict[str, Any]:
    return {
        "l": linear(),
        "l2": linear(4, 2),
        "mean": torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64),
        "std": torch.tensor([0.7, 1.3, 3.0], dtype=torch.float64),
        "four": nn.Parameter(torch.tensor([0.5, -0.25, 2.0, 0.1], dtype=torch.float64)),
    }


@pytest.mark.parametrize("name", FORWARDS)
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


def test_attributes_that_forward_sets_are_undone() -> None:
    module = Forward(FORWARDS["own attributes"], **parts())
    reader.read(module)
    assert "last" not in vars(module)


def test_a_forward_that_seeds_does_not_seed_for_others() -> None:
    module = Forward(lambda m, x: (torch.manual_seed(3), m.l(x))[1], l=linear())
    before = torch.get_rng_state()
    reader.read(module)
    assert torch.equal(torch.get_rng_state(), before)


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


def test_low_precision_is_noted() -> None:
    module = Forward(lambda m, x: m.l(x.bfloat16().float()), l=nn.Linear(3, 4))
    assert "torch rounds values to torch.bfloat16" in reader.read(module).notes[0]


def refused(module: Any, *wanted: str, inputs: int | None = None, error: type[Exception] = SourceError) -> None:
    with pytest.raises(error) as caught:
        reader.read(module, inputs)
    message = str(caught.value)
    assert "\n" not in message
    for part in wanted:
        assert part in message, message
    assert caught.value.__cause__ is None
    assert len(message) < 700, message


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], tuple[str, ...]]] = {
    "cos": (
        lambda m, x: torch.cos(m.l(x)),
        ("op 2 aten.cos", "test_torch.py line", "not supported", "gelu", "softplus"),
    ),
    "logsigmoid": (lambda m, x: F.logsigmoid(m.l(x)), ("aten.log_sigmoid", "Supported are")),
    "softmax": (lambda m, x: F.softmax(m.l(x), -1), ("aten.softmax", "Supported are")),
    "layer norm": (lambda m, x: F.layer_norm(m.l(x), (4,)), ("aten.layer_norm", "Supported are")),
    "bilinear": (
        lambda m, x: F.bilinear(x, x, torch.zeros(2, 3, 3, dtype=x.dtype)),
        ("aten.bilinear", "Supported are"),
    ),
    "sum": (lambda m, x: m.l(x).sum(), ("aten.sum",)),
    "residual": (lambda m, x: x.repeat(1, 1) + m.back(torch.tanh(m.l(x))), ("aten.repeat",)),
    "skip": (lambda m, x: m.l(x) + torch.tanh(m.back(m.l(x)) @ m.l.weight.t()), ("residual connections",)),
    "gate": (lambda m, x: torch.tanh(m.l(x)) * torch.sigmoid(m.l3(x)), ("gates",)),
    "attention": (lambda m, x: m.l(x) @ m.l(x).t(), ("two computed tensors",)),
    "square": (lambda m, x: m.l(x) ** 2, ("aten.pow", "no activation")),
    "square root": (lambda m, x: m.l(x) ** 0.5, ("the power 0.5",)),
    "power of a number": (lambda m, x: 2 ** m.l(x), ("aten.pow.Scalar", "depends on the input")),
    "reciprocal": (lambda m, x: 3 / m.l(x), ("aten.reciprocal",)),
    "division": (lambda m, x: m.mean / m.back(m.l(x)), ("divides by a computed tensor",)),
    "division by 0": (lambda m, x: m.l(x / 0), ("divides by 0",)),
    "integer division": (lambda m, x: m.l(x // 2), ("aten.floor_divide",)),
    "rounded division": (lambda m, x: torch.div(m.l(x), 2, rounding_mode="floor"), ("rounds to integers",)),
    "integers": (lambda m, x: m.l(x.to(torch.int32).double()), ("int32", "real numbers")),
    "two outputs": (lambda m, x: (m.l(x), x), ("returns 2 values",)),
    "no output": (lambda m, x: None, ("returns",)),
    "constant output": (lambda m, x: m.l.bias * 2, ("does not depend on its input",)),
    "if": (lambda m, x: m.l(x) if x.sum() > 0 else -m.l(x), ("depends on values of its input", "test_torch.py line")),
    "item": (lambda m, x: m.l(x * x.sum().item()), ("aten.sum",)),
    "loop": (lambda m, x: [m.l(x) for _ in range(int(x.sum()))][-1], ("depends on values of its input",)),
    "cond": (lambda m, x: torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y * 3, (x,)), ("not supported",)),
    "numpy": (lambda m, x: torch.tensor(m.l(x).detach().numpy()), ("torch.export cannot trace", "numpy")),
    "raises": (lambda m, x: [][0], ("torch.export cannot trace", "IndexError", "test_torch.py line")),
    "random": (lambda m, x: m.l(x + torch.rand(3, dtype=x.dtype)), ("aten.rand", "is random")),
    "dropout": (lambda m, x: m.l(F.dropout(x)), ("is random", "training=self.training")),
    "batch statistics": (lambda m, x: F.batch_norm(m.l(torch.cat([x, x])), None, None, training=True), ("aten.cat",)),
    "state": (lambda m, x: m.l(x - m.mean.add_(1)), ("changes its buffer 'mean'",)),
    "positions": (lambda m, x: m.one(x[..., None]).flatten(1), ("last axis", "flatten the features")),
    "outer product": (lambda m, x: m.one.weight @ x, ("needs one column",)),
    "threshold": (lambda m, x: F.softplus(m.l(x), threshold=2), ("threshold = 2", "jumps by 0.13")),
    "beta": (lambda m, x: F.softplus(m.l(x), beta=0), ("beta = 0",)),
    "overflow": (lambda m, x: m.l(x) * m.l.weight.new_tensor(1e308) * 1e308, ("larger than float64",)),
    "complex": (lambda m, x: (m.l(x) * 1j).real, ("complex128", "real numbers")),
    "infinite constant": (lambda m, x: m.l(x) + float("inf"), ("finite",)),
    "bits": (lambda m, x: m.l(x) * m.four.float().view(torch.int32), ("aten.view.dtype", "depends on their type")),
    "empty": (lambda m, x: m.l(x)[:, :0], ("keeps none of 4",)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    forward, wanted = REFUSED[name]
    module = Forward(forward, back=linear(4, 3), **{**parts(), "l3": linear(), "one": linear(1, 4)})
    module.l, module.one = module.l, module.one
    refused(module, *wanted, inputs=3)
    assert capfd.readouterr() == ("", "")


def test_residual_connection_of_plain_layers() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = linear(3, 3)

        def forward(self, x: Any) -> Any:
            return x + torch.tanh(self.l(x))

    refused(nn.Sequential(Block(), linear()), "op 3 aten.add", "layer '0'", "residual connections")


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("wrap", [lambda net: net, Traced])
def test_weights_that_are_not_finite(value: float, wrap: Callable[[nn.Module], nn.Module]) -> None:
    for index in (0, 2):
        net = nn.Sequential(linear(), nn.Tanh(), linear(4, 4), nn.BatchNorm1d(4, dtype=torch.float64))
        with torch.no_grad():
            net[index].weight[1, 2] = value
        refused(wrap(net), str(value), "[1, 2]", "finite")
    net = nn.Sequential(linear(), nn.BatchNorm1d(4, dtype=torch.float64))
    net[1].running_var[2] = value
    refused(wrap(net), "finite") if value != math.inf or wrap is Traced else reader.read(net)


def test_negative_variance() -> None:
    net = nn.Sequential(linear(), nn.BatchNorm1d(4, dtype=torch.float64))
    net[1].running_var[2] = -1
    refused(net, "BatchNorm1d", "finite")


def test_batch_norm_without_statistics() -> None:
    refused(
        nn.Sequential(linear(), nn.BatchNorm1d(4, track_running_stats=False, dtype=torch.float64)),
        "no running statistics",
    )


def test_bad_modules() -> None:
    refused(3, "needs a torch.nn.Module, got int", error=UsageError)
    refused(linear, "got function", error=UsageError)
    refused(nn.Bilinear(3, 3, 2), "input1, input2", "one input")
    refused(nn.Sequential(nn.LazyLinear(4)), "not initialised", "call the module once")
    refused(nn.Linear(3, 4, device="meta"), "meta device", "load the weights")
    refused(Traced(nn.Tanh()), "inputs=n")
    refused(nn.Sequential(nn.Tanh()), "inputs=n")
    refused(nn.Sequential(linear(3, 4), linear(5, 2)), "layer 2 Linear (1) takes 5 inputs", "4 values")
    refused(Traced(nn.Sequential(linear(3, 4), linear(5, 2))), "torch.export cannot trace", "inputs=n")
    refused(linear(3, 4), "takes 3 inputs, but 5", inputs=5)
    refused(Traced(linear(3, 4)), "inputs=5", inputs=5)
    refused(nn.Conv1d(1, 2, 3), "has as itself Conv1d", "no convolution")
    refused(nn.Sequential(nn.Linear(3, 4), nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 3)), "has 2 Conv1d")
    refused(nn.ReLU6(), "inputs=n")
    refused(nn.Sequential(linear(), nn.ReLU6()), "layer '1'", "not supported")
    refused(nn.Sequential(linear(), nn.ELU()), "aten.elu", "not supported")
    refused(nn.Linear(3, 4, dtype=torch.complex64), "complex64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.script(nn.Sequential(linear(), nn.Tanh()))
    refused(script, "ScriptModule", "the module it was made from")
    refused(nn.Sequential(script, linear(4, 2)), "ScriptModule", "the module it was made from")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sparse = linear()
        sparse.weight = nn.Parameter(sparse.weight.detach().to_sparse_csr())
    refused(sparse, "sparse")
    for inputs in (0, -1, 2.5, True, "3"):
        refused(linear(), "the number of inputs", inputs=inputs, error=UsageError)  # type: ignore[arg-type]


def test_no_forward() -> None:
    refused(nn.Module(), "inputs=n")
    refused(nn.ModuleList([linear()]), "ModuleList")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        empty = nn.Linear(3, 0)
    refused(empty, "(0, 3)")
    refused(Traced(empty), "(0, 3)", inputs=3)

    class Hollow(nn.Module):
        def __init__(self) -> None:
            pass

    refused(Hollow(), "did not call super().__init__()")


def test_a_plain_sequential_does_not_start_the_tracer() -> None:
    code = (
        "import sys, torch\nfrom torch import nn\nbefore = set(sys.modules)\n"
        "from integraph.frontends.torch import read\n"
        "read(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))\n"
        "print([m for m in set(sys.modules) - before if m.startswith('torch')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l, self.calls = linear(), 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.l(x) * self.calls


class Loud(nn.DataParallel):
    def forward(self, x: Any) -> Any:
        return 5 * self.module(x)


class Child(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self._orig_mod = linear()

    def forward(self, x: Any) -> Any:
        return 5 * self._orig_mod(x)


def _halved(m: Any, x: Any) -> Any:
    with torch.no_grad():
        m.l.weight.mul_(0.5)
    return m.l(x)


UNSEEN: dict[str, Callable[[], nn.Module]] = {  # what no graph shows: read rightly, or refused
    "a shared activation": lambda: nn.Sequential(linear(3, 4), tanh := nn.Tanh(), linear(4, 4), tanh, linear(4, 2)),
    "a shared block": lambda: nn.Sequential(block := nn.Sequential(linear(3, 3), nn.Tanh()), block, block),
    "a child called _orig_mod": Child,
    "a wrapper with a forward of its own": lambda: Loud(linear()),
    "calls are counted": Counted,
    "random numbers": lambda: Forward(lambda m, x: m.l(x) * random.random(), l=linear()),
    "numbers from numpy": lambda: Forward(lambda m, x: m.l(x + torch.tensor(np.random.rand(3))), l=linear()),  # noqa: NPY002
    "weights that are changed": lambda: Forward(_halved, l=linear()),
    "divided by the batch": lambda: Forward(lambda m, x: m.l(x) / len(x), l=linear()),
    "times the batch": lambda: Forward(lambda m, x: m.l(x) * x.shape[0], l=linear()),
    "the first row": lambda: Forward(lambda m, x: m.l(x[0] * m.w), l=linear(), w=torch.ones(3).double()),
    "the mean of the batch": lambda: Forward(lambda m, x: m.l(x - x.mean(0)), l=linear()),
    "while compiling": lambda: Forward(
        lambda m, x: m.l(x) * (2.0 if torch.compiler.is_compiling() else 3.0), l=linear()
    ),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_no_graph_shows(name: str) -> None:
    """The network agrees with the module, row by row and in a batch, or there is none."""
    module = UNSEEN[name]()
    weights = [p.detach().clone() for p in module.parameters()]
    with contextlib.suppress(SourceError):
        network = reader.read(module)
        x = points(network.inputs)
        with torch.no_grad():
            np.testing.assert_allclose(network(x.numpy()), module.double()(x).numpy(), atol=1e-12)
    assert all(torch.equal(p, w) for p, w in zip(module.parameters(), weights, strict=True))


def test_shared_layers_are_read() -> None:
    for name in ("a shared activation", "a shared block", "a child called _orig_mod"):
        check(UNSEEN[name]())


def test_hooks_on_a_wrapper_are_not_overlooked() -> None:
    module = nn.DataParallel(linear())
    module.register_forward_hook(lambda m, x, y: 5 * y)
    refused(module, "has hooks")


def test_rounded_weights_are_noted_or_refused() -> None:
    w = torch.arange(12).reshape(4, 3) * 0.05
    module = Forward(lambda m, x: nn.functional.linear(x, torch.round(m.w / 0.1) * 0.1), w=nn.Parameter(w))
    with contextlib.suppress(SourceError):
        assert any("rounding matters" in note for note in reader.read(module, 3).notes)


def test_operations_of_others() -> None:
    """An operation called add that is not torch's add."""
    with torch.library._scoped_library("zz", "FRAGMENT") as library:
        library.define("add(Tensor self, Tensor other) -> Tensor")
        library.impl("add", lambda a, b: a * b, "CompositeExplicitAutograd")
        library.impl("add", lambda a, b: a * b, "Meta")
        module = Forward(lambda m, x: m.l(torch.ops.zz.add(x, m.mean)), l=linear(), mean=torch.ones(3).double())
        refused(module, "zz", inputs=3)


def test_threads() -> None:
    """Modules are read one at a time, and what is silenced meanwhile speaks again."""
    before = (sys.stdout, sys.stderr, logging.root.manager.disable)
    modules = [Forward(lambda m, x: torch.tanh(m.l(x)), l=linear()) for _ in range(6)]
    with ThreadPoolExecutor(3) as pool:
        networks = list(pool.map(reader.read, modules))
    for network, module in zip(networks, modules, strict=True):
        agree(network, module)
    assert (sys.stdout, sys.stderr, logging.root.manager.disable) == before


@pytest.mark.parametrize("name", ["no bias", "slope", "itself"])
def test_layers_that_were_tampered_with(name: str) -> None:
    module: Any = nn.Sequential(linear())
    if name == "no bias":
        del module[0].bias
    elif name == "slope":
        module.append(nn.LeakyReLU("x"))  # type: ignore[arg-type]
    else:
        module.append(module)
    refused(module)
