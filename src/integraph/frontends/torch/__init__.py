"""PyTorch modules → networks: a plain `nn.Sequential` from its attributes, anything else through `torch.export`.

Read `sequential` (attributes), `export` (the user's module, borrowed), `aten` (the graph of its
operations), `call` and `operations` (one rule each, over `frontends.tracer`), `spot_check` (the module beside the net
that was read). torch is handed on as an argument, and is imported here alone.
"""

from __future__ import annotations

from dataclasses import replace
from threading import RLock
from typing import Any

import numpy as np

from integraph.errors import IntegraphError, SourceError, UsageError
from integraph.frontends.extras import need
from integraph.frontends.torch import aten, export, sequential
from integraph.frontends.torch.spot_check import trial
from integraph.targets import Network

WRAPPERS = {"DataParallel": "module", "DistributedDataParallel": "module", "OptimizedModule": "_orig_mod"}
LOCK = RLock()


def read(module: Any, inputs: int | None = None) -> Network:
    """The network in a module, as it is in eval mode; the module itself is left as it was.

    `inputs` is how many numbers the network takes, needed only where no weight tells it."""
    torch = need("torch", "torch")
    with LOCK:  # modules are borrowed and logging is silenced: one at a time
        return _read(torch, module, inputs)


def _read(torch: Any, module: Any, inputs: int | None) -> Network:
    if inputs is not None and (isinstance(inputs, bool) or not isinstance(inputs, int | np.integer) or inputs < 1):
        raise UsageError("the number of inputs is an integer ≥ 1", argument="inputs", value=inputs)
    module = _unwrapped(torch, module)
    _check(torch, module)
    source = f"PyTorch {type(module).__name__}"
    with torch.no_grad():
        network, shape, notes = _plain(torch, module, inputs, source) or _traced(torch, module, inputs, source)
        with export.borrowed(torch, module):
            notes += trial(torch, module, network, shape, export.dtype(torch, module))
    return replace(network, notes=(*network.notes, *notes))


Found = tuple[Network, tuple[int, ...], list[str]]  # the network, the shape of one input, notes


def _plain(torch: Any, module: Any, inputs: int | None, source: str) -> Found | None:
    """From attributes, if they tell all."""
    try:
        if not sequential.plain(torch, module):
            return None
        count = sequential.size(module) if inputs is None else int(inputs)
        return None if count is None else (sequential.trace(module, count, source), (1, count), [])
    except IntegraphError:
        raise
    except (AttributeError, TypeError, ValueError, RecursionError):  # attributes that were tampered with
        return None


def _traced(torch: Any, module: Any, inputs: int | None, source: str) -> Found:
    program, shape, notes = export.export(torch, module, None if inputs is None else int(inputs))
    return aten.trace(torch, program, shape, source), shape, notes


def _unwrapped(torch: Any, module: Any) -> Any:
    """The module inside torch.compile, DataParallel and DistributedDataParallel, if they do nothing of their own."""
    while True:
        if not isinstance(module, torch.nn.Module):
            raise UsageError(f"needs a torch.nn.Module, got {type(module).__name__}")
        if isinstance(module, torch.jit.ScriptModule):
            raise SourceError("a ScriptModule cannot be traced by torch.export: use the module it was made from")
        if "_modules" not in vars(module):
            raise SourceError(f"__init__ of {type(module).__name__} did not call super().__init__()")
        kind = type(module)
        inside = WRAPPERS.get(kind.__name__) if kind.__module__.startswith("torch.") else None
        if inside is None:
            return module
        if any(getattr(module, hooks, None) for hooks in sequential.HOOKS):
            raise SourceError(f"the {kind.__name__} around the module has hooks: pass the module inside")
        module = module._modules[inside]


def _check(torch: Any, module: Any) -> None:
    """A module that torch.export can trace, with weights that can be read."""
    name = type(module).__name__
    nn = torch.nn
    others = (nn.modules.conv._ConvNd, nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention, nn.Embedding, nn.EmbeddingBag)
    for path, part in module.named_modules():
        if isinstance(part, others):
            raise SourceError(
                f"{name} contains {type(part).__name__}{path and f' {path!r}'}: a feedforward net has dense layers and "
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
