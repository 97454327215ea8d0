"""Who does the jobs of a search: this process, a pool of processes, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Protocol, TypeVar

from threadpoolctl import threadpool_limits

Job = TypeVar("Job")
Result = TypeVar("Result")
A = TypeVar("A", contravariant=True)
B = TypeVar("B", covariant=True)
Work = Callable[[Job], Result]  # it can be sent to another process


class Workers(Protocol[A, B]):
    def run(self, jobs: Sequence[A]) -> Iterator[B]:
        """In the order of the jobs; `DeadlineError` when the time is over."""

    def close(self) -> None: ...


def team(work: Work[Job, Result], workers: int | None, scheduler: str | None) -> Workers[Job, Result]:
    """Processes of this machine, by default one for each core; or the cluster of a dask scheduler."""
    if scheduler is None:
        from integraph.certify.search.pool import Pool

        return Pool(work, workers)
    from integraph.certify.search.cluster import Cluster

    return Cluster(work, scheduler)


def shared(workers: int | None) -> Callable[[Work[Job, Result], Sequence[Job]], Iterator[Result]]:
    """`map`, done by so many processes of this machine."""

    def run(work: Work[Job, Result], jobs: Sequence[Job]) -> Iterator[Result]:
        with closing(team(work, workers, None)) as helpers, threadpool_limits(1):  # as in other processes
            yield from helpers.run(jobs)

    return run
