"""Timing on a noisy machine: rivals take turns in one run, and what counts is the ratio of their best times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Timer = Callable[[], float]


def race(
    rivals: Mapping[str, Callable[[], object]],
    seconds: float = 1.0,
    rounds: int = 3,
    timer: Timer = time.perf_counter,
) -> dict[str, float]:
    """Best time of each in seconds. One warm-up call each, then at least `rounds` rounds and `seconds` in all. With
    `time.process_time`, other work on the machine does not count."""
    for run in rivals.values():
        run()
    best = dict.fromkeys(rivals, float("inf"))
    end = time.perf_counter() + seconds
    done = 0
    while done < rounds or time.perf_counter() < end:
        for name, run in rivals.items():
            best[name] = min(best[name], clock(run, timer))
        done += 1
    return best


def clock(run: Callable[[], object], timer: Timer = time.perf_counter) -> float:
    """Seconds of one call."""
    start = timer()
    run()
    return timer() - start
