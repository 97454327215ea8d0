"""Modules that are no feedforward net: one clear error each."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from integraph.errors import UsageError
from slow import mostly_slow
from torch_modules import F, Forward, Traced, linear, nn, parts, refused, torch

pytestmark = pytest.mark.usefixtures("seeded_torch")


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], tuple[str, ...]]] = {
    "cos": (
        lambda m, x: torch.cos(m.l(x)),
        ("op 2 aten.cos", ".py line", "no part of a feedforward net"),
    ),
    "softmax": (lambda m, x: F.softmax(m.l(x), -1), ("aten.softmax", "no part of a feedforward net")),
    "layer norm": (lambda m, x: F.layer_norm(m.l(x), (4,)), ("aten.layer_norm", "no part of a feedforward net")),
    "bilinear": (
        lambda m, x: F.bilinear(x, x, torch.zeros(2, 3, 3, dtype=x.dtype)),
        ("aten.mul", "repeats features"),
    ),
    "sum": (lambda m, x: m.l(x).sum(), ("aten.sum",)),
    "residual": (lambda m, x: x.repeat(1, 1) + m.back(torch.tanh(m.l(x))), ("aten.add", "residual connections")),
    "skip": (lambda m, x: m.l(x) + torch.tanh(m.back(m.l(x)) @ m.l.weight.t()), ("residual connections",)),
    "gate": (lambda m, x: torch.tanh(m.l(x)) * torch.sigmoid(m.l3(x)), ("gates",)),
    "attention": (lambda m, x: m.l(x) @ m.l(x).t(), ("two computed tensors",)),
    "square": (lambda m, x: m.l(x) ** 2, ("aten.pow", "not a known activation")),
    "square root": (lambda m, x: m.l(x) ** 0.5, ("the power 0.5",)),
    "power of a number": (lambda m, x: 2 ** m.l(x), ("aten.pow.Scalar", "no part of a feedforward net")),
    "reciprocal": (lambda m, x: 3 / m.l(x), ("aten.reciprocal",)),
    "division": (lambda m, x: m.mean / m.back(m.l(x)), ("divides by a computed tensor",)),
    "division by 0": (lambda m, x: m.l(x / 0), ("divides by 0",)),
    "integer division": (lambda m, x: m.l(x // 2), ("rounds to integers",)),
    "rounded division": (lambda m, x: torch.div(m.l(x), 2, rounding_mode="floor"), ("rounds to integers",)),
    "integers": (lambda m, x: m.l(x.to(torch.int32).double()), ("int32", "real numbers")),
    "two outputs": (lambda m, x: (m.l(x), x), ("has 2 outputs: a network has one",)),
    "no output": (lambda m, x: None, ("returns",)),
    "constant output": (lambda m, x: m.l.bias * 2, ("does not depend on its input",)),
    "if": (
        lambda m, x: m.l(x) if x.sum() > 0 else -m.l(x),
        ("depends on values of its input", ".py line"),
    ),
    "item": (lambda m, x: m.l(x * x.sum().item()), ("number of Python", "keep it a tensor")),
    "loop": (lambda m, x: [m.l(x) for _ in range(int(x.sum()))][-1], ("depends on values of its input",)),
    "cond": (
        lambda m, x: torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y * 3, (x,)),
        ("aten.gt", "chosen by the data"),
    ),
    "numpy": (lambda m, x: torch.tensor(m.l(x).detach().numpy()), ("torch.export cannot trace", "numpy")),
    "raises": (lambda m, x: [][0], ("torch.export cannot trace", "IndexError", ".py line")),
    "random": (lambda m, x: m.l(x + torch.rand(3, dtype=x.dtype)), ("aten.rand", "is random")),
    "dropout": (lambda m, x: m.l(F.dropout(x)), ("is random", "training=self.training")),
    "batch statistics": (
        lambda m, x: F.batch_norm(m.l(torch.cat([x, x])), None, None, training=True),
        ("statistics of its batch",),
    ),
    "state": (lambda m, x: m.l(x - m.mean.add_(1)), ("changes its buffer 'mean'",)),
    "positions": (lambda m, x: m.one(x[..., None]).flatten(1), ("aten.linear", "takes all 3 features at once")),
    "outer product": (lambda m, x: m.one.weight @ x, ("takes all 3 features at once",)),
    "threshold": (lambda m, x: F.softplus(m.l(x), threshold=2), ("threshold = 2", "jumps by 0.13")),
    "beta": (lambda m, x: F.softplus(m.l(x), beta=0), ("beta = 0",)),
    "overflow": (lambda m, x: m.l(x) * m.l.weight.new_tensor(1e308) * 1e308, ("larger than float64",)),
    "complex": (lambda m, x: (m.l(x) * 1j).real, ("complex128", "real numbers")),
    "infinite constant": (lambda m, x: m.l(x) + float("inf"), ("finite",)),
    "bits": (lambda m, x: m.l(x) * m.four.float().view(torch.int32), ("aten.view.dtype", "depends on their type")),
    "empty": (lambda m, x: m.l(x)[:, :0], ("keeps none of the entries", "(1, 4)")),
}


@mostly_slow("name", REFUSED, quick=2)
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


@mostly_slow("value", [math.nan, math.inf], quick=1)
@pytest.mark.parametrize("wrap", [lambda net: net, Traced])
def test_weights_that_are_not_finite(value: float, wrap: Callable[[nn.Module], nn.Module]) -> None:
    for index in (0, 2):
        net = nn.Sequential(linear(), nn.Tanh(), linear(4, 4), nn.BatchNorm1d(4, dtype=torch.float64))
        with torch.no_grad():
            net[index].weight[1, 2] = value
        refused(wrap(net), str(value), "[1, 2]", "finite")
    net = nn.Sequential(linear(), nn.BatchNorm1d(4, dtype=torch.float64))
    net[1].running_var[2] = value
    refused(wrap(net), "finite")


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
    refused(nn.Bilinear(3, 3, 2), "input1, input2", "the shapes of all")
    refused(nn.Sequential(nn.LazyLinear(4)), "not initialised", "call the module once")
    refused(nn.Linear(3, 4, device="meta"), "meta device", "load the weights")
    refused(Traced(nn.Tanh()), "give inputs=")
    refused(nn.Sequential(nn.Tanh()), "give inputs=")
    refused(nn.Sequential(linear(3, 4), linear(5, 2)), "layer 2 Linear (1) takes 5 inputs", "4 values")
    refused(Traced(nn.Sequential(linear(3, 4), linear(5, 2))), "torch.export cannot trace", "give inputs=")
    refused(linear(3, 4), "takes 3 inputs, but 5", inputs=5)
    refused(Traced(linear(3, 4)), "tried: (1, 5) and (5,)", inputs=5)
    refused(nn.Conv1d(1, 2, 3), "give inputs=(1, W)")
    refused(nn.Sequential(nn.Linear(3, 4), nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 3)), "2 Conv1d", "give inputs=")
    refused(nn.ReLU6(), "give inputs=")
    refused(nn.Sequential(linear(), nn.ReLU6()), "layer '1'", "no part of a feedforward net")
    refused(nn.Sequential(linear(), nn.ELU()), "aten.elu")
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


def test_no_forward() -> None:
    refused(nn.Module(), "give inputs=")
    refused(nn.ModuleList([linear()]), "ModuleList")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        empty = nn.Linear(3, 0)
    refused(empty, "(1, 0)")
    refused(Traced(empty), "(1, 0)", inputs=3)

    class Hollow(nn.Module):
        def __init__(self) -> None:
            pass

    refused(Hollow(), "did not call super().__init__()")


@pytest.mark.slow
def test_a_plain_sequential_does_not_start_the_tracer() -> None:
    code = (
        "import sys, torch\nfrom torch import nn\nbefore = set(sys.modules)\n"
        "from integraph.frontends.torch import read\n"
        "read(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))\n"
        "print([m for m in set(sys.modules) - before if m.startswith('torch')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
