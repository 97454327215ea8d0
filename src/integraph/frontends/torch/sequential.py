"""`nn.Sequential` of plain layers, read from its attributes: no example input, no tracing, the same rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from integraph.errors import SourceError
from integraph.frontends.tensor_builder import Operand, TensorBuilder
from integraph.frontends.torch.call import TorchCall
from integraph.frontends.torch.operations import RULES

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


def draw(module: Any, inputs: int, builder: TensorBuilder) -> tuple[list[int], list[str]]:
    """The node of the output of a plain module, and notes."""
    notes = list[str]()
    x: Operand = builder.input("x", (1, inputs))
    for number, (path, layer) in enumerate(_flat(module, ""), 1):
        name = type(layer).__name__
        if name == "Flatten":
            continue
        where = f"layer {number} {name}" + (f" ({path})" if path else "")
        rule, attributes = LAYERS[name]
        features = x.shape[-1]
        takes = getattr(layer, "in_features", getattr(layer, "num_features", features))
        if takes != features:
            raise SourceError(f"{where} takes {takes} inputs, but {features} values come in: they must agree")
        args = {attribute: getattr(layer, attribute) for attribute in attributes}
        builder.text = f"{path} {rule}" if path else rule
        value = RULES[rule](TorchCall(builder, where, {"self": x, "input": x, **args}, notes))
        assert not isinstance(value, tuple)
        x = builder.lift(value, where)
        builder.mark(where)
    return [builder.node(x, "the output")], notes


def _flat(module: Any, path: str) -> Iterator[tuple[str, Any]]:
    if type(module).__name__ != "Sequential":
        yield path, module
        return
    for name, child in module._modules.items():  # a layer may be there twice
        yield from _flat(child, f"{path}.{name}" if path else name)
