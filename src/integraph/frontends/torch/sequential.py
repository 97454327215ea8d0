"""`nn.Sequential` of plain layers, read from its attributes: no example input, no tracing, the same rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from integraph.errors import SourceError
from integraph.frontends.torch.call import TorchCall
from integraph.frontends.torch.operations import RULES
from integraph.frontends.tracer import Tracer
from integraph.targets import Network
from integraph.text import counted

NORM = ("weight", "bias", "running_mean", "running_var", "eps")
LAYERS: dict[str, tuple[str, tuple[str, ...]]] = {  # of torch.nn: the rule, and the attributes that it takes
    "BatchNorm1d": ("batch_norm", NORM),
    "Dropout": ("clone", ()),
    "GELU": ("gelu", ("approximate",)),
    "Identity": ("clone", ()),
    "LeakyReLU": ("leaky_relu", ("negative_slope",)),
    "Linear": ("linear", ("weight", "bias")),
    "PReLU": ("prelu", ("weight",)),
    "ReLU": ("relu", ()),
    "SiLU": ("silu", ()),
    "Sigmoid": ("sigmoid", ()),
    "Softplus": ("softplus", ("beta", "threshold")),
    "Tanh": ("tanh", ()),
}
HOOKS = ("_forward_hooks", "_forward_pre_hooks")
GLOBAL_HOOKS = ("_global_forward_hooks", "_global_forward_pre_hooks")


def plain(torch: Any, module: Any) -> bool:
    """Whether attributes tell all: known layers, not subclasses, no hooks, no forward of their own."""
    if any(getattr(torch.nn.modules.module, name, None) for name in GLOBAL_HOOKS):
        return False
    if any(getattr(module, name, None) for name in HOOKS) or "forward" in vars(module):
        return False
    kind = type(module)
    if kind is torch.nn.Sequential:
        return all(plain(torch, child) for child in module)
    if kind is torch.nn.Flatten:
        return (module.start_dim, module.end_dim) == (1, -1)
    return kind.__name__ in LAYERS and kind is getattr(torch.nn, kind.__name__)


def size(module: Any) -> int | None:
    """How many inputs a plain module takes, if a layer says so before the size changes."""
    for _, layer in _flat(module, ""):
        features = getattr(layer, "in_features", getattr(layer, "num_features", None))
        if features is not None:
            return int(features)
    return None


def trace(module: Any, inputs: int, source: str) -> Network:
    """The network of a plain module."""
    tracer, notes = Tracer(source), list[str]()
    x = tracer.input((1, inputs))
    for number, (path, layer) in enumerate(_flat(module, ""), 1):
        name = type(layer).__name__
        if name == "Flatten":
            continue
        where = f"layer {number} {name}" + (f" ({path})" if path else "")
        rule, attributes = LAYERS[name]
        takes = getattr(layer, "in_features", getattr(layer, "num_features", x.features))
        if takes != x.features:
            raise SourceError(
                f"{where} takes {counted(takes, 'input')}, but {counted(x.features, 'value')} come in: they must agree"
            )
        args = {attribute: getattr(layer, attribute) for attribute in attributes}
        value = RULES[rule](TorchCall(tracer, where, {"self": x, "input": x, **args}, notes))
        x = replace(value, shape=(1, value.features))
    network = tracer.network(x)
    return replace(network, notes=(*network.notes, *dict.fromkeys(notes)))


def _flat(module: Any, path: str) -> Iterator[tuple[str, Any]]:
    if type(module).__name__ != "Sequential":
        yield path, module
        return
    for name, child in module._modules.items():  # a layer may be there twice
        yield from _flat(child, f"{path}.{name}" if path else name)
