"""Timing on a noisy machine: rivals take turns in one run, and what counts is the ratio of their best times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def race(rivals: Mapping[str, Callable[[], object]], seconds: float = 1.0, rounds: int = 3) -> dict[str, float]:
    """Best time of each in seconds. One warm-up call each, then at least `rounds` rounds and `seconds` in all."""
    for run in rivals.values():
        run()
    best = dict.fromkeys(rivals, float("inf"))
    end = time.perf_counter() + seconds
    done = 0
    while done < rounds or time.perf_counter() < end:
        for name, run in rivals.items():
            best[name] = min(best[name], clock(run))
        done += 1
    return best


def clock(run: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
