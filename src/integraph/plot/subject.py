"""What is shown: a program, what it was compiled from, where, and what was proved of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from integraph.bounds.intervals import Interval
from integraph.program import Program
from integraph.program.views import Floats
from integraph.targets import Function, Network
from integraph.targets.graph import Graph

if TYPE_CHECKING:
    from integraph.certify.proof import Proof

Target = Network | Function | Graph
Values = Callable[[Floats], Floats]  # (B, d) → (B, outputs)


@dataclass(frozen=True)
class Subject:
    """A program with its context. Without a source there is no error to look at."""

    program: Program
    target: Target | None
    box: Interval
    proof: Proof | None = None

    @cached_property
    def values(self) -> Values | None:
        """The source in float64, as far as it has values."""
        if self.target is None:
            return None
        if isinstance(self.target, Function):
            return self.target.values
        return self.target if isinstance(self.target, Network) else self.target.values
