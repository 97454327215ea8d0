"""numba's njit with its cache on disk, or without one where no folder can be written, and with kernels compiled ahead.

numba looks for changes in the file of a function alone, and compiles code and constants of other files into it. So each
function is cached under a name with a fingerprint of all sources that can be in it.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event
from numba.core.types import unliteral

from integraph.numbers.kernel_archive import ArchiveCache, KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILED = (
    "integraph.flow.",
    "integraph.numbers.models.",
    "integraph.certify.loops.",
    "integraph.gadgets.functions.",
)  # packages with what kernels are made of


def cached_njit(**options: Any) -> Callable[[Function], Function]:
    """`njit(cache=True, …)`, and what was compiled ahead; other kernels compile anew in every process if neither the
    package nor the home can be written."""

    def decorate(function: Function) -> Function:
        with suppress(OSError):  # no source
            function.__qualname__ += f"_{fingerprint(function.__module__)}"
        dispatcher = njit(**options)(function)
        try:
            dispatcher._cache = KernelCache(function)
        except (RuntimeError, OSError):  # no locator available
            dispatcher._cache = ArchiveCache(function)
        return cast(Function, _general(dispatcher))

    return decorate


class _Listener(event.Listener):
    def __init__(self, say: Callable[[], None]) -> None:
        self.say = say

    def on_start(self, _: Any) -> None:
        self.say()

    def on_end(self, _: Any) -> None:
        """Nothing to say."""


@contextmanager
def compiling(say: Callable[[], None]) -> Iterator[None]:
    """Call `say` whenever a kernel is compiled, and not loaded."""
    with event.install_listener("numba:compile", _Listener(say)):
        yield


def _general(dispatcher: Any) -> Any:
    """The same without a compilation of its own for every number that another kernel passes: these are most of the time
    of a first call."""
    template = dispatcher.get_call_template
    plain: Callable[[Any], Any] = unliteral
    dispatcher.get_call_template = lambda args, kws: template(
        tuple(map(plain, args)), {name: plain(a) for name, a in kws.items()}
    )
    return dispatcher


@cache
def fingerprint(module: str) -> str:
    """Of the sources of a module and of all that it imports from, as far as they can be compiled.

    An import inside a function does not count: whether that module is loaded depends on what ran before.
    """
    sources: dict[str, str] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in sources and name in sys.modules and name.startswith(COMPILED):
            sources[name] = inspect.getsource(sys.modules[name])
            nodes = [node for node in ast.parse(sources[name]).body if isinstance(node, ast.ImportFrom)]
            todo += [part for n in nodes for part in (n.module or "", *(f"{n.module}.{one.name}" for one in n.names))]
    return hashlib.sha256("".join(sources[name] for name in sorted(sources)).encode()).hexdigest()[:16]
