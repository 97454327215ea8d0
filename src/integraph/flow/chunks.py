"""Run inputs in chunks that fit the cache, over threads if wanted, with BLAS on one thread so that they do not
compete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Piece = tuple[int, int]  # inputs a … b − 1
Result = TypeVar("Result")


def over_chunks(run: Callable[[Piece], Result], count: int, size: int, threads: int) -> list[Result]:
    """Call `run` on every piece of at most `size` of `count` inputs, in order."""
    pieces = [(a, min(a + size, count)) for a in range(0, count, size)]
    if len(pieces) <= 1:
        return [run(piece) for piece in pieces]
    with _one_blas_thread(), ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        return list(pool.map(run, pieces) if pool else map(run, pieces))


_lock = Lock()
_limits: list[Any] = []  # one entry for each call under way; the first holds the limit


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Keep BLAS on one thread. The number belongs to the process: the first of several simultaneous calls sets it,
    the last restores it."""
    with _lock:
        _limits.append(_blas().limit(limits=1) if not _limits else None)
    try:
        yield
    finally:
        with _lock:
            _limits.pop() if len(_limits) > 1 else _limits.pop().restore_original_limits()


@cache
def _blas() -> ThreadpoolController:
    """The loaded BLAS libraries. Searching them takes a millisecond, so it is done once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
