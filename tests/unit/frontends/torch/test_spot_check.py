"""What no graph shows: modules that do something else when they run."""

from __future__ import annotations

import contextlib
import logging
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from integraph.errors import SourceError
from integraph.frontends import torch as reader
from slow import mostly_slow
from torch_modules import Forward, agree, check, linear, nn, points, refused, torch

pytestmark = pytest.mark.usefixtures("seeded_torch")


def counted() -> nn.Module:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l, self.calls = linear(), 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return self.l(x) * self.calls

    return Counted()


def loud() -> nn.Module:
    class Loud(nn.DataParallel):
        def forward(self, x: Any) -> Any:
            return 5 * self.module(x)

    return Loud(linear())


def child() -> nn.Module:
    class Child(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._orig_mod = linear()

        def forward(self, x: Any) -> Any:
            return 5 * self._orig_mod(x)

    return Child()


def _halved(m: Any, x: Any) -> Any:
    with torch.no_grad():
        m.l.weight.mul_(0.5)
    return m.l(x)


UNSEEN: dict[str, Callable[[], nn.Module]] = {  # what no graph shows: read rightly, or refused
    "a shared activation": lambda: nn.Sequential(linear(3, 4), tanh := nn.Tanh(), linear(4, 4), tanh, linear(4, 2)),
    "a shared block": lambda: nn.Sequential(block := nn.Sequential(linear(3, 3), nn.Tanh()), block, block),
    "a child called _orig_mod": child,
    "a wrapper with a forward of its own": loud,
    "calls are counted": counted,
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


@mostly_slow("name", UNSEEN, quick=3)
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


@pytest.mark.slow
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


@pytest.mark.slow
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
