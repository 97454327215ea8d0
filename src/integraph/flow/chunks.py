"""Inputs in chunks that fit the cache, over threads if wanted, with BLAS on one thread so that they do not fight."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Piece = tuple[int, int]  # inputs a … b − 1
Result = TypeVar("Result")


def over_chunks(run: Callable[[Piece], Result], count: int, size: int, threads: int) -> list[Result]:
    """`run` on every piece of at most `size` of `count` inputs, in order."""
    pieces = [(a, min(a + size, count)) for a in range(0, count, size)]
    if len(pieces) <= 1:
        return [run(piece) for piece in pieces]
    with _blas().limit(limits=1), ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        return list(pool.map(run, pieces) if pool else map(run, pieces))


@cache
def _blas() -> ThreadpoolController:
    """Finding the loaded BLAS libraries takes a millisecond: once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
