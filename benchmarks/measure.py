"""How benchmarks time and show: as `integraph bench` does, rivals take turns in one run."""

from __future__ import annotations

import resource
from pathlib import Path

from rich.console import Console
from rich.table import Table

from integraph.cli.timing import clock as clock
from integraph.cli.timing import race as race

CONSOLE = Console(highlight=False, width=130)


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


def peak_memory() -> float:
    """In MB. Where it is there, /proc is asked: what getrusage says is inherited from the process that started this."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(float(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
