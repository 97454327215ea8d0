"""Timing on a noisy machine: rivals take turns in one run, and what counts is the ratio of their best times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from rich.console import Console
from rich.table import Table

CONSOLE = Console(highlight=False, width=130)


def race(rivals: Mapping[str, Callable[[], object]], seconds: float = 1.0, rounds: int = 3) -> dict[str, float]:
    """Best time of each in seconds. One warm-up call each, then at least `rounds` rounds and `seconds` in all."""
    for run in rivals.values():
        run()
    best = dict.fromkeys(rivals, float("inf"))
    end = time.perf_counter() + seconds
    done = 0
    while done < rounds or time.perf_counter() < end:
        for name, run in rivals.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
        done += 1
    return best


def clock(run: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def show(title: str, columns: tuple[str, ...], rows: list[tuple[object, ...]], note: str = "") -> None:
    table = Table(title=title, title_justify="left", caption=note or None, caption_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    CONSOLE.print(table)


def verdict(value: float, limit: float, unit: str = "", *, at_least: bool = False) -> str:
    """`met` or `MISSED`, with the target."""
    good = value >= limit if at_least else value <= limit
    target = f"{limit:g} {unit}".strip()
    return f"{'≥' if at_least else '≤'} {target} {'met' if good else 'MISSED'}"
