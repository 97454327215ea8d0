"""Programs in the frameworks of others, which are imported when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from integraph.errors import UsageError
from integraph.flow.precise import closed_forms
from integraph.gadgets.free_form import FreeForm
from integraph.program.engine import DOUBLE

if TYPE_CHECKING:
    from integraph.program import Program

PRECISIONS = ("highest", "high", "default")  # of jax


def to_jax(program: Program, precision: str) -> tuple[Callable[[Any, Any], Any], dict[str, Any]]:
    """A pure function of parameters and inputs, and the parameters."""
    if precision not in PRECISIONS:
        raise UsageError(f"precision is one of {', '.join(PRECISIONS)}", argument="precision", value=precision)
    _check(program, "jax")
    from integraph.flow.jax.function import to_jax

    return to_jax(program, precision)


def to_torch(program: Program) -> Any:
    """A module of PyTorch."""
    _check(program, "torch")
    from integraph.flow.torch.module import ProgramModule

    return ProgramModule(program)


def _check(program: Program, framework: str) -> None:
    try:
        import_module(framework)
    except ImportError as reason:
        raise UsageError(
            f"to_{framework}() needs the {framework} package: pip install 'integraph[{framework}]' ({reason})"
        ) from None
    if not closed_forms(program, FreeForm):
        raise UsageError(
            f"to_{framework}() knows gadgets, and a block of the program is not one of them: the engine taylor runs it"
        )
    if program.bits > DOUBLE:
        raise UsageError(
            f"the program needs {program.bits} bits, and {framework} computes in float64, which has {DOUBLE}: compile "
            "with method='remark' or 'lean'"
        )
