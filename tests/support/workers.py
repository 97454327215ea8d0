"""Searches that several processes share: who worked, who is killed, and whether the result is the same."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from integraph.certify.search import pool
from integraph.certify.search.branch_and_bound import SearchResult


def share_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes before the first job, and leave all jobs to them."""
    monkeypatch.setattr(pool, "PATIENCE", 0.0)
    monkeypatch.setattr(pool, "WORTH", 0.0)
    monkeypatch.setattr(pool.Pool, "_ready", lambda self, needed: True)


def same(result: SearchResult, other: SearchResult) -> bool:
    """In all but the time it took."""
    return dataclasses.replace(result, seconds=0.0) == dataclasses.replace(other, seconds=0.0)


def pids(log: Path) -> set[int]:
    """Of the processes that evaluated a box."""
    return {int(line) for line in log.read_text().split()} if log.exists() else set()


@contextmanager
def killer(log: Path, count: int) -> Iterator[set[int]]:
    """Kills so many of the processes in the log, one after the other, but not this one; gives their pids."""
    killed: set[int] = set()

    def kill() -> None:
        last = time.monotonic() + 30
        while len(killed) < count and time.monotonic() < last:
            for pid in pids(log) - {os.getpid()} - killed:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
                break
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    yield killed
    thread.join()
