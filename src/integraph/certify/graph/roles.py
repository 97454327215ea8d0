"""What a rule of a gadget sees: the atoms that its registers hold, how far these are from them, and how they came to
be."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.polynomials import Polynomials, scaled, total
from integraph.certify.problem import Unprovable
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.program import Block

LEAST = 1e-3  # beside which a start that should be 0 is looked at


class Held(NamedTuple):
    """What the registers of a role hold: atoms, how far they are off, and how far a base 1 + p is off relatively."""

    atom: Indices
    off: Floats
    share: Floats
    registers: Indices

    def range(self, atoms: Atoms) -> Interval:
        return atoms.span(self.atom)


class State(Protocol):
    """What a rule may ask of the registers."""

    atoms: Atoms

    def follows(self, starts: Indices, x: Indices, scale: float) -> Floats:
        """How far registers can be from scale·x for the actual x; ∞ where nothing is known."""

    def combines(self, starts: Indices, x: Indices, weights: Floats, lost: Floats) -> Floats:
        """The same of Σ weights·x, for rows of registers x, weights that are off by `lost`."""


Roles = dict[str, Held]
Ends = dict[str, tuple[Indices, Floats]]
Rule = Callable[[State, Block, Roles, Fraction], Ends]


def apart(atoms: Atoms, actual: Polynomials, wanted: Polynomials, role: str) -> Floats:
    """How far a start is from the one that is wanted; Unprovable where that is more than rounding."""
    whole = np.maximum(atoms.bound(wanted), LEAST)
    distance, alike = atoms.vanishing(total(actual, scaled(wanted, -1.0)), whole)
    if not alike.all():
        raise Unprovable(f"the register {role} does not start as it should")
    return distance
