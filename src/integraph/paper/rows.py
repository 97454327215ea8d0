"""An item of the paper and its reproduction: what the paper says, what was computed, whether they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from integraph.program.summary import above

HOLDS, MISPRINT, FAILS = "holds", "misprint, shown", "fails"

Number = float | int
T = TypeVar("T")
Cells = tuple[tuple[str, ...], ...]  # a table, its head first


@dataclass(frozen=True)
class Finding:
    """The result of a computation: in words, whether it agrees with the paper, and its numbers by name."""

    computed: str
    good: bool
    numbers: dict[str, Number] = field(default_factory=dict)
    table: Cells = ()


@dataclass(frozen=True)
class PaperRow:
    """One line of the reproduction; `label` is that of the paper's source, where it has one."""

    item: str
    says: str
    computed: str
    verdict: str
    label: str = ""
    erratum: bool = False
    numbers: dict[str, Number] = field(default_factory=dict)
    table: Cells = ()


@dataclass(frozen=True)
class Item:
    """Something to reproduce. An erratum is good if what is printed fails and what we put in its place holds."""

    name: str
    says: str
    compute: Callable[[], Finding]
    label: str = ""
    erratum: bool = False

    def row(self) -> PaperRow:
        try:
            outcome = self.compute()
        except Exception as error:  # what cannot be computed is not reproduced
            outcome = Finding(f"not computed: {type(error).__name__}: {error}", False)
        verdict = (MISPRINT if self.erratum else HOLDS) if outcome.good else FAILS
        return PaperRow(
            self.name, self.says, outcome.computed, verdict, self.label, self.erratum, outcome.numbers, outcome.table
        )


def item(name: str, says: str, label: str = "", *, erratum: bool = False) -> Callable[[Callable[[], Finding]], Item]:
    """`@item("Lemma 1, tanh", "…", "lem:tanh")` on the function that computes it."""
    return lambda compute: Item(name, says, compute, label, erratum)


def erratum(name: str, says: str) -> Callable[[Callable[[], Finding]], Item]:
    return item(name, says, erratum=True)


def size(error: Number) -> str:
    """How large an error was, in three digits, never less than it was."""
    return above(float(error))


_SHARED: list[Any] = []


def shared(compute: Callable[..., T]) -> Callable[..., T]:
    """Compute once what several rows need, and keep it until `clear_cache`."""
    cached = cache(compute)
    _SHARED.append(cached)
    return cached


def clear_cache() -> None:
    for cached in _SHARED:
        cached.cache_clear()
