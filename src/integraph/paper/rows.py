"""An item of the paper and its reproduction: what the paper says, what was computed, whether they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from integraph.program.summary import above
from integraph.report.mathml import plain

HOLDS, MISPRINT, FLOAT64, FAILS = "holds", "misprint, shown", "float64 limit, shown", "fails"

Number = float | int
T = TypeVar("T")
Cells = tuple[tuple[str, ...], ...]  # a table, its head first


@dataclass(frozen=True)
class Finding:
    """The result of a computation: in words, with formulas between dollars, whether it agrees with the paper, and its
    numbers by name."""

    outcome: str
    good: bool
    numbers: dict[str, Number] = field(default_factory=dict)
    table: Cells = ()


@dataclass(frozen=True)
class PaperRow:
    """One line of the reproduction; `statement` is what the paper says and `outcome` what was computed, both with
    formulas between dollars, and `label` that of the paper's source, where it has one."""

    item: str
    statement: str
    outcome: str
    verdict: str
    label: str = ""
    erratum: bool = False
    numbers: dict[str, Number] = field(default_factory=dict)
    table: Cells = ()

    @property
    def says(self) -> str:
        """The statement as a terminal shows it."""
        return plain(self.statement)

    @property
    def computed(self) -> str:
        """The outcome as a terminal shows it."""
        return plain(self.outcome)


@dataclass(frozen=True)
class Item:
    """Something to reproduce. An erratum is good if what is printed fails and what we put in its place holds; a
    numerical one is no mistake of the paper: what is printed fails in float64 only."""

    name: str
    says: str
    compute: Callable[[], Finding]
    label: str = ""
    erratum: bool = False
    numerical: bool = False

    def row(self) -> PaperRow:
        try:
            finding = self.compute()
        except Exception as error:  # what cannot be computed is not reproduced
            finding = Finding(plain(f"not computed: {type(error).__name__}: {error}"), False)
        good = FLOAT64 if self.numerical else MISPRINT if self.erratum else HOLDS
        verdict = good if finding.good else FAILS
        return PaperRow(
            self.name, self.says, finding.outcome, verdict, self.label, self.erratum, finding.numbers, finding.table
        )


def item(name: str, says: str, label: str = "") -> Callable[[Callable[[], Finding]], Item]:
    """`@item("Lemma 1, tanh", "…", "lem:tanh")` on the function that computes it."""
    return lambda compute: Item(name, says, compute, label)


def erratum(name: str, says: str, *, numerical: bool = False) -> Callable[[Callable[[], Finding]], Item]:
    """The same for an erratum."""
    return lambda compute: Item(name, says, compute, erratum=True, numerical=numerical)


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
