"""PyTorch modules → graphs and networks: a plain `nn.Sequential` from its attributes, anything else through
`torch.export`.

A module is read as a graph, by one table of operations; whether that is a feedforward net, `frontends.feedforward`
says. torch is handed on as an argument, and is imported here alone.

Read `sequential` (attributes), `export` (the user's module, borrowed), `input_shapes`, `aten` (the graph of its calls),
`call` (one of them) and `operations` (the table), then the rules by subject: `arithmetic`, `activations`, `products`,
`reductions`, `structure`, `windows`. `decompositions` is what torch writes in smaller operations; `spot_check` runs the
module beside what was read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, TypeVar

from integraph.errors import IntegraphError, SourceError, UsageError
from integraph.frontends.composer import ExactComposer
from integraph.frontends.drawn_model import DrawnModel
from integraph.frontends.extras import need
from integraph.frontends.options import Inputs
from integraph.frontends.tensor_builder import TensorBuilder
from integraph.frontends.torch import aten, export, sequential
from integraph.frontends.torch.input_shapes import Requested, Shapes, requested
from integraph.frontends.torch.spot_check import BatchError, trial
from integraph.frontends.tracer import BUDGET
from integraph.targets import Network
from integraph.targets.graph import Graph

WRAPPERS = {"DataParallel": "module", "DistributedDataParallel": "module", "OptimizedModule": "_orig_mod"}
LOCK = RLock()
T = TypeVar("T", bound=Network | Graph)


def read(module: Any, inputs: Inputs = None) -> Network:
    """The network in a module, as it is in eval mode; the module itself is left as it was.

    `inputs` is how many numbers the network takes, or the shape of one input without the batch axis, or a list of the
    shapes of several. It is needed only where no weight tells it."""
    return _read(module, inputs, _TorchModel.network)


def read_graph(module: Any, inputs: Inputs = None) -> Graph:
    """The graph of a module, for a batch of one. x is the flat input, all arguments one after the other, and so are the
    outputs."""
    return _read(module, inputs, _TorchModel.graph)


def read_either(module: Any, inputs: Inputs = None) -> Network | Graph:
    """The network in a module, or, where it is no feedforward net, its graph."""
    return _read(module, inputs, _TorchModel.either)


@dataclass(frozen=True, slots=True, eq=False)
class _TorchModel(DrawnModel):
    """A module, with arguments of these shapes."""

    shapes: Shapes = ()
    batch: bool = False  # whether their first axis is one


def _read(module: Any, inputs: Inputs, target: Callable[[_TorchModel], T]) -> T:
    torch = need("torch", "torch")
    given = requested(inputs)
    with LOCK, torch.no_grad():  # modules are borrowed and logging is silenced: one at a time
        module = _unwrapped(torch, module)
        _check(torch, module)
        drawing = _plain(torch, module, given) or _traced(torch, module, given)
        try:
            return _compared(torch, module, drawing, target(drawing))
        except BatchError as reason:
            if given is None or not given.sequences:
                raise
            mixed = reason
        try:
            drawing = _traced(torch, module, given.alone())
        except SourceError:
            raise mixed from None
        result = _compared(torch, module, drawing, target(drawing))
    said = "rows of a batch see each other, so the module is read as taking one point without a batch axis"
    return replace(result, notes=(*result.notes, f"{said}, of shape {', '.join(map(str, drawing.shapes))}"))


def _compared(torch: Any, module: Any, drawing: _TorchModel, result: T) -> T:
    """With what was noted when the module was run beside it."""
    with export.borrowed(torch, module):
        notes = trial(torch, module, result, drawing.shapes, drawing.batch, export.dtype(torch, module))
    return replace(result, notes=(*result.notes, *notes))


def _plain(torch: Any, module: Any, given: Requested | None) -> _TorchModel | None:
    """From attributes, if they tell all."""
    try:
        if not sequential.plain(torch, module):
            return None
        count = sequential.size(module) if given is None else given.count
        if count is None:
            return None
        builder = _builder(module)
        outputs, notes = sequential.draw(module, count, builder)
        return _TorchModel(builder, outputs, tuple(notes), shapes=((1, count),), batch=True)
    except IntegraphError:
        raise
    except (AttributeError, TypeError, ValueError, RecursionError):  # attributes that were tampered with
        return None


def _traced(torch: Any, module: Any, given: Requested | None) -> _TorchModel:
    program, shapes, notes = export.export(torch, module, given)
    builder = _builder(module)
    outputs, more = aten.draw(torch, program, shapes, builder)
    batch = len(shapes[0]) > 1 if given is None else shapes != given.shapes
    return _TorchModel(builder, outputs, (*notes, *more), shapes=shapes, batch=batch)


def _builder(module: Any) -> TensorBuilder:
    return TensorBuilder(ExactComposer(f"PyTorch {type(module).__name__}"), BUDGET)


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
    for part in module.modules():
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
