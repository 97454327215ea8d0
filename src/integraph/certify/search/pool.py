"""Do jobs in processes of this machine.

The first second of a search runs here, and all of it where jobs take no time; otherwise processes are started
(spawned, so that no thread or lock of this one is copied), and until they are ready the work goes on here. Each gets
the work, a function of a job, once and then jobs in batches. A batch lost with its process is repeated, by another
process and finally here, where a fault of the job itself then shows. The processes do not import the running script, so
it needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import ModuleType
from typing import Any, Generic

from threadpoolctl import threadpool_limits

from integraph.certify.search.work import Job, Result, Work
from integraph.clock import check_deadline, seconds_left

PATIENCE = 1.0  # seconds before processes are started
WORTH = 5e-4  # seconds that a job takes if it is worth sending
BATCHES = 4  # per process and round, so that none waits long for the last one
LOSSES = 8  # processes that may be lost before all is done here


@dataclass(eq=False, slots=True)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    ready: bool = False  # it has started, and has the work

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Pool(Generic[Job, Result]):
    def __init__(self, work: Work[Job, Result], workers: int | None = None) -> None:
        self._work, self._wanted = work, workers or os.cpu_count() or 1
        self._team: list[_Worker] = []
        self._losses, self._begun = 0, time.monotonic()
        self._spent, self._done = 0.0, 0  # seconds and jobs here

    @property
    def pids(self) -> list[int | None]:
        return [worker.process.pid for worker in self._team]

    def run(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """In the order of the jobs; `DeadlineError` when the time is over."""
        for number, job in enumerate(jobs):
            now = time.monotonic()
            if len(jobs) - number > 1 and self._pays(now) and self._ready(len(jobs) - number):
                yield from self._shared(jobs[number:])
                return
            results = self._work(job)
            self._spent, self._done = self._spent + time.monotonic() - now, self._done + 1
            yield results

    def _pays(self, now: float) -> bool:
        return self._wanted > 1 and now >= self._begun + PATIENCE and self._spent >= WORTH * self._done

    def _ready(self, needed: int) -> bool:
        """Whether a process has started; until then the work goes on here."""
        self._hire(needed)
        self._admit([worker.pipe for worker in self._team if worker.pipe.poll()])
        return any(worker.ready for worker in self._team)

    def _shared(self, jobs: Sequence[Job]) -> Iterator[Result]:
        size = -(-len(jobs) // (BATCHES * self._wanted))
        batches = [jobs[first : first + size] for first in range(0, len(jobs), size)]
        waiting = deque(range(len(batches)))
        busy: dict[Any, tuple[_Worker, int]] = {}  # by pipe
        done: dict[int, list[Result]] = {}
        try:
            for number in range(len(batches)):
                while number not in done:
                    self._hire(len(waiting) + len(busy))
                    idle = [worker for worker in self._team if worker.ready and worker.pipe not in busy]
                    for worker, batch in zip(idle, [*waiting], strict=False):
                        if self._tell(worker, batches[batch]):
                            waiting.remove(batch)
                            busy[worker.pipe] = worker, batch
                    check_deadline()
                    if not self._team and self._losses > LOSSES:
                        waiting.remove(number)
                        done[number] = [self._work(job) for job in batches[number]]
                    starting = [worker.pipe for worker in self._team if not worker.ready]
                    heard = wait([*busy, *starting], _patience()) if busy or starting else []
                    self._admit(heard)
                    for pipe in [pipe for pipe in heard if pipe in busy]:
                        worker, batch = busy.pop(pipe)
                        results = self._hear(worker)
                        if results is None:
                            waiting.appendleft(batch)
                        else:
                            done[batch] = results
                yield from done.pop(number)
        finally:
            for worker, _ in busy.values():  # whoever still works works for nobody
                self._dismiss(worker)

    def _hire(self, needed: int) -> None:
        """Start as many processes as are wanted and have work."""
        while len(self._team) < min(self._wanted, needed) and self._losses <= LOSSES:
            try:
                self._team.append(_start())
            except (OSError, ValueError, RuntimeError, AssertionError) as error:  # no process may be started from here
                self._refuse(str(error))
                return

    def _admit(self, pipes: Sequence[Any]) -> None:
        """Send the work to the processes that have announced themselves."""
        for worker in [worker for worker in self._team if not worker.ready and worker.pipe in pipes]:
            try:
                worker.pipe.recv()
                worker.pipe.send(self._work)
                worker.ready = True
            except (EOFError, OSError):
                self._lose(worker)
            except Exception as error:  # whatever the classes of the work raise when they are sent
                self._dismiss(worker)
                self._refuse(str(error))

    def _tell(self, worker: _Worker, batch: Sequence[Job]) -> bool:
        try:
            worker.pipe.send(batch)
        except OSError:
            self._lose(worker)
            return False
        return True

    def _hear(self, worker: _Worker) -> list[Result] | None:
        try:
            answer: list[Result] | str = worker.pipe.recv()
        except (EOFError, OSError):
            self._lose(worker)
            return None
        if isinstance(answer, str):
            self._dismiss(worker)
            self._refuse(answer)
            return None
        return answer

    def _lose(self, worker: _Worker) -> None:
        self._dismiss(worker)
        if self._losses == LOSSES:
            self._refuse(f"{LOSSES + 1} of them ended before their work was done")
        else:
            self._losses += 1

    def _refuse(self, reason: str) -> None:
        """Do the rest here."""
        if self._losses <= LOSSES:
            self._losses = LOSSES + 1
            warnings.warn(f"one process goes on with the proof, others cannot: {reason}", RuntimeWarning, stacklevel=2)

    def _dismiss(self, worker: _Worker) -> None:
        self._team.remove(worker)
        worker.end()

    def close(self) -> None:
        while self._team:
            self._dismiss(self._team[-1])


def _patience() -> float | None:
    """Seconds to wait, None for as long as it takes."""
    seconds = seconds_left()
    return None if seconds == inf else seconds


def _start() -> _Worker:
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = SpawnProcess(target=_serve, args=(there,), daemon=True)
    try:
        with _alone():
            process.start()
    except BaseException:
        here.close()
        raise
    finally:
        there.close()
    return _Worker(process, here)


@contextmanager
def _alone() -> Iterator[None]:
    """Processes started inside ignore Ctrl-C, which is ours to answer, and do not see the main script, which they would
    run."""
    main, mask = sys.modules["__main__"], None
    resource_tracker.ensure_running()  # which else is started in between, and lets Ctrl-C through again
    if hasattr(signal, "pthread_sigmask"):
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _serve(pipe: Connection) -> None:
    """The main loop of a process: announce itself, receive the work, then batches, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be blocked
    with suppress(Exception), threadpool_limits(1):  # there are as many processes as cores
        pipe.send("ready")
        try:
            work: Work[Any, Any] = pipe.recv()
        except Exception as error:
            pipe.send(f"the work cannot be read there, {error}")
            return
        while True:
            batch: Sequence[Any] = pipe.recv()
            pipe.send([work(job) for job in batch])
