"""`torch.export` on a module of the user's: in eval mode, silent, and with the module left as it was."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

from integraph.errors import SourceError
from integraph.frontends.torch.aten import complete
from integraph.frontends.torch.decompositions import of_others, own, rewriting
from integraph.frontends.torch.input_shapes import FIX, Requested, Shapes, check_signature, guesses, shown

STATE = ("_parameters", "_buffers", "_modules")


def export(torch: Any, module: Any, given: Requested | None) -> tuple[Any, Shapes, list[str]]:
    """The functional ATen graph of `forward`, the shapes of its arguments, with a batch axis or else without, and
    notes."""
    check_signature(module, given)
    tries = guesses(torch, module) if given is None else given.tries
    first = None
    with borrowed(torch, module):
        for shapes in tries:
            try:
                return _program(torch, module, shapes), shapes, _doubts(torch, module, shapes) if given is None else []
            except Exception as reason:  # forward is the user's code: anything can come out of it
                at = _where(torch, reason)
                if _depends_on_values(reason):
                    raise SourceError(
                        f"forward of {_name(module)} depends on values of its input{at} (an `if`, a loop, .item() …): "
                        "a network does the same for every input; use tensor operations, such as torch.maximum"
                    ) from None
                first = first or (shapes, _cause(module, reason, at))
    assert first is not None
    tried = " and ".join(dict.fromkeys(shown(shapes) for shapes in tries))
    hint = f"if it takes another, {FIX}" if given is None else "is that the right shape of one input?"
    if any(isinstance(part, torch.nn.Embedding) for part in module.modules()):
        hint = "token numbers are no real inputs: compile what comes after the embedding, or make the tokens a buffer"
    raise SourceError(
        f"{first[1]}. That was with an input of shape {shown(first[0])}; tried: {tried}; {hint}", argument="inputs"
    )


def _program(torch: Any, module: Any, shapes: Shapes) -> Any:
    """With operations that have rules left whole, and those without written in smaller ones."""
    program = _export(torch, module, shapes).run_decompositions(own(torch))
    return program if complete(program) else program.run_decompositions(of_others(torch))


def _export(torch: Any, module: Any, shapes: Shapes) -> Any:
    kind = dtype(torch, module)
    examples = tuple(torch.zeros(shape, dtype=kind, device="cpu") for shape in shapes)
    with rewriting(torch):
        return torch.export.export(module, examples, strict=False)


def _doubts(torch: Any, module: Any, shapes: Shapes) -> list[str]:
    """What should be said if one input would do as well, because weights before the first layer repeat it."""
    (shape,) = shapes
    if shape[-1] == 1:
        return []
    try:
        _export(torch, module, ((*shape[:-1], 1),))
    except Exception:  # as it should be
        return []
    return [f"taken to have {shape[-1]} inputs; one, repeated by broadcasting, fits too: if that is meant, {FIX}"]


def dtype(torch: Any, module: Any) -> Any:
    """The precision of the module's numbers."""
    kinds = (t.dtype for t in (*module.parameters(), *module.buffers()))
    return next((kind for kind in kinds if kind.is_floating_point), torch.get_default_dtype())


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
        fast = torch.backends.mha.get_fastpath_enabled()  # one operation for a whole layer, of which nobody knows more
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            for m, _, _ in before:
                vars(m)["training"] = False
            yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)
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
