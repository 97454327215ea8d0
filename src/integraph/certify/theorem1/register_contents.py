"""What a register can hold in a program of Theorem 1 as printed or as remarked.

A ball stands for one of its numbers, another one for every x. Contents that are only known to be in balls are never
compared: a logarithm belongs to the value that it was taken of.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from integraph.numbers.arb.conversion import ZERO


@dataclass(frozen=True, slots=True)
class NumberContent:
    """A number of the ball."""

    ball: arb


@dataclass(frozen=True, slots=True)
class TanhContent:
    """tanh z of z = a·t_j + b, or z tanh z."""

    j: int
    a: float
    b: float
    times_z: bool


@dataclass(frozen=True, slots=True)
class ValueContent:
    """t_j + plus, or ψ_k(t_j) + plus + off; what a logarithm is taken of is 1 more."""

    j: int
    k: int | None = None
    plus: arb = ZERO
    off: arb = ZERO

    @property
    def is_input(self) -> bool:
        """t_j itself."""
        return self.k is None and bool(self.plus == 0)


@dataclass(frozen=True, slots=True)
class Log:
    """left + ln(1 + of), which is eta more than ln(t_j + plus + 1) or ln(ψ_k + plus + 1)."""

    of: ValueContent
    left: arb
    eta: arb


@dataclass(frozen=True, slots=True)
class Share:
    """of/(1 + of), until it is times e^log = (1 + of)e^left, and 1 is added."""

    of: ValueContent
    left: arb | None = None
    plus: arb = ZERO


@dataclass(frozen=True, slots=True)
class Lane:
    """start·e^(Σ power·log + b), with the registers that hold the logarithms."""

    start: arb
    powers: tuple[tuple[int, int], ...] = ()
    b: arb = ZERO


Content = NumberContent | TanhContent | ValueContent | Log | Share | Lane
