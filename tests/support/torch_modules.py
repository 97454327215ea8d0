"""Modules for tests of the PyTorch reader, and how to check what was read."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from integraph.errors import SourceError
from integraph.frontends import torch as reader
from integraph.targets import Network
from lazy import Lazy

torch, nn, F = Lazy("torch"), Lazy("torch.nn"), Lazy("torch.nn.functional")

RNG = np.random.default_rng(5)

ROWS = 64

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "tanh": lambda: nn.Tanh(),
    "sigmoid": lambda: nn.Sigmoid(),
    "softplus": lambda: nn.Softplus(),
    "silu": lambda: nn.SiLU(),
    "gelu": lambda: nn.GELU(),
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "relu": lambda: nn.ReLU(),
    "leaky_relu": lambda: nn.LeakyReLU(0.2),
    "identity": lambda: nn.Identity(),
}


@cache
def classes() -> SimpleNamespace:
    """Made when the first is wanted, and torch is there."""

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

    class Traced(nn.Module):
        """The same layers behind a forward of their own, so that they go through torch.export."""

        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Any) -> Any:
            return self.inner(x)

    return SimpleNamespace(Forward=Forward, Traced=Traced)


def Forward(forward: Callable[[Any, Any], Any], **parts: Any) -> nn.Module:
    return classes().Forward(forward, **parts)


def Traced(inner: nn.Module) -> nn.Module:
    return classes().Traced(inner)


def linear(d: int = 3, m: int = 4, **options: Any) -> nn.Linear:
    return nn.Linear(d, m, dtype=torch.float64, **options)


def points(d: int, scale: float = 1.0) -> Any:
    return torch.from_numpy(scale * np.random.default_rng(5).standard_normal((ROWS, d)))


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


def mlp(d: int, widths: tuple[int, ...], act: Callable[[], nn.Module], dtype: Any = None) -> nn.Sequential:
    parts: list[nn.Module] = []
    for first, second in zip((d, *widths), widths, strict=False):
        parts += [nn.Linear(first, second, dtype=dtype or torch.float64), act()]
    return nn.Sequential(*parts[:-1])


def parts() -> dict[str, Any]:
    return {
        "l": linear(),
        "l2": linear(4, 2),
        "mean": torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64),
        "std": torch.tensor([0.7, 1.3, 3.0], dtype=torch.float64),
        "four": nn.Parameter(torch.tensor([0.5, -0.25, 2.0, 0.1], dtype=torch.float64)),
    }


def refused(module: Any, *wanted: str, inputs: int | None = None, error: type[Exception] = SourceError) -> None:
    with pytest.raises(error) as caught:
        reader.read(module, inputs)
    message = str(caught.value)
    assert "\n" not in message
    for part in wanted:
        assert part in message, message
    assert caught.value.__cause__ is None
    assert len(message) < 700, message
