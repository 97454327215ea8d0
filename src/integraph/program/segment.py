"""A segment: a stretch of time on which the controls are constant."""

from __future__ import annotations

import math
from dataclasses import dataclass

from integraph.errors import SpecError
from integraph.numbers.arrays import real
from integraph.program.block import Block
from integraph.text import NAME, clean


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """`duration` of flow along `rate · Σ blocks`. Rescaling time trades one for the other; rate < 0 runs backwards."""

    label: str
    blocks: tuple[Block, ...]
    duration: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.label, str):
            raise SpecError(f"a segment begins with its label, a text, got {self.label!r}: segment('name', block, …)")
        object.__setattr__(self, "label", clean(self.label, NAME))
        object.__setattr__(self, "blocks", tuple(self.blocks))
        if not all(isinstance(block, Block) for block in self.blocks):
            raise SpecError(f"segment {self.label!r}: blocks come from gadget functions, got {self.blocks!r}")
        for name in ("duration", "rate"):
            object.__setattr__(
                self, name, real(getattr(self, name), f"the {name} of segment {self.label!r}", SpecError)
            )
        if not (math.isfinite(self.duration) and self.duration > 0):
            raise SpecError(f"segment {self.label!r}: duration must be finite and > 0, got {self.duration}")
        if not math.isfinite(self.rate) or self.rate == 0:
            raise SpecError(f"segment {self.label!r}: rate must be finite and not 0, got {self.rate}")

    @property
    def tau(self) -> float:
        """How far along the blocks' own flow the segment goes."""
        return self.duration * self.rate


def segment(label: str, *blocks: Block, duration: float = 1.0) -> Segment:
    """`segment("tanh 1", tanh(alpha, lam, mu))`."""
    return Segment(label, blocks, duration)
