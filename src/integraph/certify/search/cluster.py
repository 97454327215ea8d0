"""Do jobs on a dask cluster, given the address of its scheduler.

The work, a function of a job, is sent once and kept by the workers, jobs go in batches. A batch lost with its worker
is repeated, by another worker and finally here. The precision of balls belongs to a process, so that a worker does one
batch at a time whatever its number of threads.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import Any, Generic

from integraph.certify.search.work import Job, Result, Work
from integraph.clock import check_deadline, deadline, seconds_left
from integraph.errors import UsageError

ANSWER = 5.0  # seconds that a scheduler and its first worker may take to answer
BATCHES = 4  # per thread and round
TRIES = 3  # on the cluster, before a batch is done here

_one_at_a_time = threading.Lock()


class Cluster(Generic[Job, Result]):
    def __init__(self, work: Work[Job, Result], scheduler: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise UsageError(
                f"it needs dask.distributed ({error}): pip install 'integraph[cluster]'",
                argument="scheduler",
                value=scheduler,
            ) from None
        self._work, self._client = work, _client(distributed.Client, scheduler)
        self._sent: Any = None
        self._there = True  # does the scheduler still answer?

    def run(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """In the order of the jobs; `DeadlineError` when the time is over."""
        size = -(-len(jobs) // (BATCHES * self._threads()))
        batches = [jobs[first : first + size] for first in range(0, len(jobs), size)]
        asked: list[Any] = []
        try:
            for batch in batches:
                asked.append(self._ask(batch))
            for number, batch in enumerate(batches):
                answer = None
                for tried in range(TRIES):
                    if tried:
                        self._sent = None  # it may have been lost with the batch
                        asked[number] = self._ask(batch)
                    check_deadline()
                    if asked[number] is not None and (answer := _answer(asked[number], seconds_left())) is not None:
                        break
                yield from map(self._work, batch) if answer is None else answer
        finally:
            if self._there:
                with suppress(Exception):
                    self._client.cancel([future for future in asked if future is not None])

    def _threads(self) -> int:
        try:
            return max(1, sum(self._client.nthreads().values())) if self._there else 1
        except Exception as error:
            self._leave(error)
            return 1

    def _ask(self, batch: Sequence[Job]) -> Any:
        """A future, or None where no worker can take the batch."""
        if not self._there:
            return None
        try:
            if self._sent is None:
                self._sent = self._client.scatter(self._work, broadcast=True, hash=False)
            return self._client.submit(done, self._sent, batch, seconds_left(), pure=False)
        except Exception as error:
            self._leave(error)
            return None

    def _leave(self, error: Exception) -> None:
        """Do the rest here."""
        self._there = False
        warnings.warn(f"one process goes on with the proof, the cluster cannot: {error}", RuntimeWarning, stacklevel=2)

    def close(self) -> None:
        with suppress(Exception):
            self._client.close()


def done(work: Work[Any, Any], batch: Sequence[Any], seconds: float) -> list[Any]:
    """What a worker does; it stops when nobody waits any more."""
    with _one_at_a_time, deadline(seconds):
        return [work(job) for job in batch]


def _answer(future: Any, seconds: float) -> list[Any] | None:
    """The results, or None where the batch was lost or failed; a fault of the batch itself will show here."""
    try:
        results: list[Any] = future.result(timeout=None if seconds == inf else seconds)
    except Exception:
        return None
    return results


def _connected(Client: Any, scheduler: str) -> Any:
    """A client. One that cannot connect is closed here and now: left to the garbage collector, it would wait for a
    lock of distributed's event loops in whatever thread collects it, and no other loop could start meanwhile."""
    client = Client.__new__(Client)
    try:
        client.__init__(scheduler, timeout=ANSWER, set_as_default=False)
    except BaseException:
        client.close()
        raise
    return client


def _client(Client: Any, scheduler: str) -> Any:
    try:
        client = _connected(Client, scheduler)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"no dask scheduler answers there ({error}): give the address it prints, such as tcp://host:8786",
            argument="scheduler",
            value=scheduler,
        ) from None
    try:
        client.wait_for_workers(1, timeout=ANSWER)
    except TimeoutError:
        client.close()
        raise UsageError(
            "this dask scheduler has no workers: start one with dask worker", argument="scheduler", value=scheduler
        ) from None
    return client
