"""`torch.export` on a module of the user's: in eval mode, silent, and with the module left as it was."""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import os
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

from integraph.errors import SourceError
from integraph.text import counted

TRIES = 8  # sizes of parameters that the input is tried with
STATE = ("_parameters", "_buffers", "_modules")
FIX = "say how many inputs it has"

Shape = tuple[int, ...]


def export(torch: Any, module: Any, inputs: int | None) -> tuple[Any, Shape, list[str]]:
    """The functional ATen graph of `forward`, the shape of its input, (1, d) or else (d,), and notes."""
    _check_signature(module)
    sizes = [inputs] if inputs else candidates(module)
    if not sizes:
        raise SourceError(
            f"{_name(module)} has no weights that would tell how many inputs it takes: {FIX}", argument="inputs"
        )
    first = None
    with borrowed(torch, module):
        for shape in [shape for d in sizes for shape in ((1, d), (d,))]:
            try:
                program = _export(torch, module, shape).run_decompositions({})
                return program, shape, [] if inputs else _doubts(torch, module, shape)
            except Exception as reason:  # forward is the user's code: anything can come out of it
                at = _where(torch, reason)
                if _depends_on_values(reason):
                    raise SourceError(
                        f"forward of {_name(module)} depends on values of its input{at} (an `if`, a loop, .item() …): "
                        "a network does the same for every input; use tensor operations"
                    ) from None
                first = first or (shape, _cause(module, reason, at))
    assert first is not None
    tried = f"{inputs or ' and '.join(map(str, sizes))} inputs"
    hint = "is that the right number?" if inputs else f"if it takes another number, {FIX}"
    raise SourceError(
        f"{first[1]}. That was with an input of shape {first[0]}; tried: {tried}; {hint}", argument="inputs"
    )


def _export(torch: Any, module: Any, shape: Shape) -> Any:
    example = torch.zeros(shape, dtype=dtype(torch, module), device="cpu")
    return torch.export.export(module, (example,), strict=False)


def _doubts(torch: Any, module: Any, shape: Shape) -> list[str]:
    """What should be said if one input would do as well, because weights before the first layer repeat it."""
    if shape[-1] == 1:
        return []
    try:
        _export(torch, module, (*shape[:-1], 1))
    except Exception:  # as it should be
        return []
    return [
        f"taken to have {counted(shape[-1], 'input')}; one, repeated by broadcasting, fits too: if that is meant, {FIX}"
    ]


def candidates(module: Any) -> list[int]:
    """What d can be, likeliest first: what layers say they take, then the axes of parameters and buffers."""
    said = [getattr(m, name, None) for m in module.modules() for name in ("in_features", "num_features")]
    tensors = [*module.parameters(), *module.buffers()]
    axes = [n for t in tensors for n in (*t.shape[:0:-1], *t.shape[:1])]
    sizes = list(dict.fromkeys(n for n in (*said, *axes) if isinstance(n, int) and n > 0))
    # one input broadcasts against any number of weights: that it works proves nothing, so 1 is tried last
    return [n for n in sizes if n > 1][:TRIES] + [1] * (1 in sizes)


def dtype(torch: Any, module: Any) -> Any:
    """The precision of the module's numbers."""
    kinds = (t.dtype for t in (*module.parameters(), *module.buffers()))
    return next((kind for kind in kinds if kind.is_floating_point), torch.get_default_dtype())


def _check_signature(module: Any) -> None:
    try:
        given = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [p.name for p in given if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if len(needed) > 1:
        raise SourceError(
            f"forward of {_name(module)} takes {', '.join(needed)}: only networks of one input are read; put the "
            "inputs into one tensor, or the constant ones into buffers"
        )
    if all(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in given):
        raise SourceError(f"forward of {_name(module)} takes no input")


@contextlib.contextmanager
def borrowed(torch: Any, module: Any) -> Iterator[None]:
    """Eval mode, no gradients, no noise; afterwards every attribute, flag and random state is as before."""
    before = [(m, dict(vars(m)), {name: dict(vars(m)[name]) for name in STATE}) for m in list(module.modules())]
    off = logging.root.manager.disable
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stderr(io.StringIO()),  # torch writes whole graphs there
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),
        torch.no_grad(),
        torch.autocast("cpu", enabled=False),
    ):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            for m, _, _ in before:
                vars(m)["training"] = False
            yield
        finally:
            logging.disable(off)
            for m, attributes, state in before:
                _restore(vars(m), attributes)
                for name, entries in state.items():
                    _restore(vars(m)[name], entries)


def _restore(now: dict[str, Any], before: dict[str, Any]) -> None:
    now.update(before)
    for name in now.keys() - before.keys():
        del now[name]


def _where(torch: Any, reason: Exception) -> str:
    """The line of the user's code that was reached."""
    others = (os.path.dirname(torch.__file__), os.path.dirname(__file__), "<")  # not the user's code
    frames = [f for f in traceback.extract_tb(reason.__traceback__) if not f.filename.startswith(others)]
    frames = [f for f in frames if os.sep + "contextlib.py" not in f.filename]
    return f" at {os.path.basename(frames[-1].filename)} line {frames[-1].lineno}: {frames[-1].line}" if frames else ""


def _depends_on_values(reason: BaseException | None) -> bool:
    """Whether torch needed a number where it has a symbol: that, or its cause, is an exception of such a name."""
    return reason is not None and ("DataDependent" in type(reason).__name__ or _depends_on_values(reason.__cause__))


def _cause(module: Any, reason: Exception, at: str) -> str:
    """One line: what went wrong."""
    said = (str(reason).strip().splitlines() or ["no reason given"])[0].rstrip(".")
    return f"torch.export cannot trace forward of {_name(module)}{at} ({type(reason).__name__}: {said[:200]})"


def _name(module: Any) -> str:
    return type(module).__name__
