"""PyTorch modules → networks: a plain `nn.Sequential` from its attributes, anything else through `torch.export`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from integraph.errors import SourceError, UsageError
from integraph.frontends.extras import need
from integraph.frontends.torch import export, graph, layers
from integraph.targets import Network


def read(module: Any, inputs: int | None = None) -> Network:
    """The network in a module, as it is in eval mode; the module itself is left as it was.

    `inputs` is how many numbers the network takes, needed only where no weight tells it."""
    torch = need("torch", "torch")
    if inputs is not None and (isinstance(inputs, bool) or not isinstance(inputs, int | np.integer) or inputs < 1):
        raise UsageError(f"inputs = {inputs!r}: the number of inputs is an integer ≥ 1")
    module = _unwrapped(torch, module)
    _check(torch, module)
    source = f"PyTorch {type(module).__name__}"
    with torch.no_grad():
        if layers.plain(torch, module):
            count = layers.size(module) if inputs is None else int(inputs)
            if count is not None:
                return layers.trace(module, count, source)
        program, shape, notes = export.export(torch, module, None if inputs is None else int(inputs))
        network = graph.trace(torch, program, shape, source)
        return replace(network, notes=(*network.notes, *notes))


def _unwrapped(torch: Any, module: Any) -> Any:
    """The module inside torch.compile, DataParallel and DistributedDataParallel."""
    wrappers = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    while True:
        if not isinstance(module, torch.nn.Module):
            raise UsageError(f"needs a torch.nn.Module, got {type(module).__name__}")
        if "_modules" not in vars(module):
            raise SourceError(f"__init__ of {type(module).__name__} did not call super().__init__()")
        if "_orig_mod" in module._modules:
            module = module._orig_mod
        elif isinstance(module, wrappers):
            module = module.module
        else:
            return module


def _check(torch: Any, module: Any) -> None:
    """A module that torch.export can trace, with weights that can be read."""
    name = type(module).__name__
    nn = torch.nn
    others = (nn.modules.conv._ConvNd, nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention, nn.Embedding, nn.EmbeddingBag)
    for path, part in module.named_modules():
        if isinstance(part, others):
            raise SourceError(
                f"{name} has {path or 'as itself'} {type(part).__name__}: a feedforward net has dense layers and "
                "activations, no convolution, recurrence, attention or table"
            )
        if isinstance(part, torch.jit.ScriptModule):
            raise SourceError(
                f"{name} has a ScriptModule, which torch.export does not trace: use the module it was made from"
            )
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is None:
            raise SourceError(
                f"{type(part).__name__} of {name} has no running statistics, so outputs depend on the other rows: "
                "train with track_running_stats=True"
            )
    for what, tensor in (*module.named_parameters(), *module.named_buffers()):
        if torch.nn.parameter.is_lazy(tensor):
            raise SourceError(
                f"{what!r} of {name} is not initialised yet (a lazy module): call the module once on data"
            )
        if tensor.device.type == "meta":
            raise SourceError(f"{what!r} of {name} is on the meta device and has no values: load the weights first")
        if tensor.device.type != "cpu":
            raise SourceError(f"{what!r} of {name} is on {tensor.device}: move the module with module.cpu() first")
