"""numba's njit with its cache on disk, or without one where no folder can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def cached_njit(**options: Any) -> Callable[[Function], Function]:
    """`njit(cache=True, …)`; compiles anew in every process if neither the package nor the home can be written."""

    def decorate(function: Function) -> Function:
        try:
            return cast(Function, njit(cache=True, **options)(function))
        except RuntimeError:  # no locator available
            return cast(Function, njit(**options)(function))

    return decorate
