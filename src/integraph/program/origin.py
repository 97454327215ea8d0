"""What a program was compiled from, and how: the facts behind `Program.source`, which is a text for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from types import MappingProxyType
from typing import Any

from integraph.errors import SpecError
from integraph.program.annotations import Domain
from integraph.text import NAME, clean
from integraph.version import VERSION

Option = str | int | float | bool

LENGTH = 10_000  # characters of a source: the longest formula that is read
OPTIONS = 32  # at most
FORMULA, NETWORK, GRAPH, FUNCTION, PROGRAM, UNKNOWN = "formula", "network", "graph", "function", "program", "unknown"
DATA = "data"
KINDS = (FORMULA, NETWORK, GRAPH, FUNCTION, DATA, PROGRAM, UNKNOWN)
EXACT, INVERSE, COMPOSITION, LIFT = "exact", "inverse", "composition", "lift"
THEOREM1 = ("lean", "remark", "paper")
HELD_OUT, RMS = "held-out rows", "RMS"  # options of data: how many rows measured the error, and its root mean square
LOOK = "looks like"  # the option that says what a function that was called looks like, if that is not smooth


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """What a program was compiled from, by which method, for which tolerance and box.

    `source` is the whole formula, which `integraph.function` reads again, or the name of a network, graph or function.
    `options` are those of the method, as they were given or chosen: `free`, `bound`, `order`, `N` …
    """

    source: str
    kind: str
    method: str
    eps: float | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    variables: tuple[str, ...] = ()  # of a formula, in order
    box: Domain | None = None
    version: str = VERSION  # of Integraph

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SpecError(f"the kind of an origin is {self.kind!r}: needs {', '.join(KINDS)}")
        if self.eps is not None and not (math.isfinite(self.eps) and self.eps > 0):
            raise SpecError(f"the eps of an origin must be finite and > 0, got {self.eps}")
        if len(self.options) > OPTIONS:
            raise SpecError(f"an origin has at most {OPTIONS} options, got {len(self.options)}")
        object.__setattr__(self, "source", clean(self.source, LENGTH))
        for name in ("method", "version"):
            object.__setattr__(self, name, clean(getattr(self, name), NAME))
        object.__setattr__(self, "variables", tuple(clean(name, NAME) for name in self.variables))
        options = {clean(name, NAME): _option(name, value) for name, value in self.options.items()}
        object.__setattr__(self, "options", MappingProxyType(options))

    def __reduce__(self) -> tuple[Any, ...]:
        rest = self.method, self.eps, dict(self.options), self.variables, self.box, self.version
        return Origin, (self.source, self.kind, *rest)

    def repeated(self, rounds: int) -> Origin:
        """That of a flow that was followed so many times: it lasts as long as its segments say."""
        name = f"{self.source}, {rounds} times"
        if self.method != LIFT:
            return Origin(name, PROGRAM, COMPOSITION)
        facts = {key: value for key, value in self.options.items() if key != "T"}
        return replace(self, source=name, options=facts | {"rounds": rounds * int(facts.get("rounds", 1))})

    def __str__(self) -> str:
        """How it was compiled, in a line."""
        parts = [self.method] if self.eps is None else [self.method, f"eps = {self.eps:g}"]
        said = (name if value is True else f"{name} = {value}" for name, value in self.options.items())
        return ", ".join([*parts, *said])


def _option(name: str, value: object) -> Option:
    """A plain value, which a file can hold."""
    if isinstance(value, str):
        return clean(value, NAME)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise SpecError(f"the option {name} of an origin is {value!r}: needs a text, a finite number or a truth value")
