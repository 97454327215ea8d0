"""What a kind of random source is, and how the check of one case ended."""

from __future__ import annotations

import importlib
import importlib.util
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

AGREES, REFUSED, UNDECIDED, FAILS = STATUSES = ("agrees", "refused", "undecided", "fails")  # from good to bad
NAMES = ("onnx", "formula", "network", "torch", "jax")  # of modules `fuzz.<name>`, each with its KIND


@dataclass(frozen=True)
class Outcome:
    """`detail` of a failure begins with "value:", "shape:", "crash:", "promise:" or "law:"; else it is the reason."""

    status: str
    detail: str = ""

    @property
    def failure(self) -> str:
        """What sort of failure it is: the word before the colon, and the exception of a crash."""
        word, _, rest = self.detail.partition(":")
        return f"{word}:{rest.split(':')[0]}" if word == "crash" else word


class Kind(Protocol):
    name: str
    needs: tuple[str, ...]  # modules without which it is skipped

    def draw(self, rng: np.random.Generator) -> Any:
        """A case: plain frozen data, from which everything else is made."""

    def check(self, case: Any) -> Outcome:
        """Always the same for the same case. An exception that is not ours is a failure, "crash:"."""

    def smaller(self, case: Any) -> Iterator[Any]:
        """Simpler cases to try, the most drastic first."""

    def show(self, case: Any) -> str:
        """A small program, or a formula and its box, that repeats the case."""


class Absent(Exception):
    """A kind that cannot run here, and why."""


def known() -> tuple[str, ...]:
    """The names of the kinds that exist."""
    return tuple(name for name in NAMES if importlib.util.find_spec(f"fuzz.{name}"))


def load(name: str) -> Kind:
    """A kind by its name; `Absent` if something it needs is not installed."""
    try:
        kind: Kind = importlib.import_module(f"fuzz.{name}").KIND
    except ModuleNotFoundError as reason:
        if reason.name is None or reason.name.split(".")[0] in ("fuzz", "integraph"):
            raise
        raise Absent(f"{reason.name} is not installed") from None
    for module in kind.needs:
        if importlib.util.find_spec(module) is None:
            raise Absent(f"{module} is not installed")
    return kind


def case(kind: Kind, seed: int, number: int) -> Any:
    """Case `number` of a run: each has a generator of its own, so that one can be repeated alone."""
    return kind.draw(np.random.default_rng((seed, zlib.crc32(kind.name.encode()), number)))
