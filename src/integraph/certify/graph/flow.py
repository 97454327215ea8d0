"""What the registers of a program hold, segment by segment: of each an atom, and how far it may be from it.

Blocks that only add are read as the terms of eq. (1). Any other block has a rule in `rules`. Whatever results is
resolved: it is an atom that is there already, up to rounding, or gets a name.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from integraph.certify.graph.activation_rules import STARTS, activation, decay
from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.growth_rules import growth, ln
from integraph.certify.graph.polynomials import (
    ONE,
    Polynomials,
    by_row,
    most_by_row,
    of_atoms,
    polynomials,
    scaled,
    total,
)
from integraph.certify.graph.roles import Held, Rule
from integraph.certify.graph.row_rules import score_rows
from integraph.certify.problem import Unprovable
from integraph.clock import check_deadline
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import quiet
from integraph.numbers.roundoff import UP, U
from integraph.program import ONE as ONE_REGISTER
from integraph.program import Block, Program, Segment, Terms
from integraph.program.lowering import stream_segment
from integraph.program.terms import concatenate
from integraph.program.views import mark

RULES: dict[str, Rule] = {
    **dict.fromkeys(STARTS, activation),
    **dict.fromkeys(("powers", "monomial", "spiral", "power_spiral"), growth),
    **dict.fromkeys(("shifted_softmax", "log_softmax", "log_sum_exp"), score_rows),
    "decay": decay,
    "ln": ln,
}


class Registers:
    """`atom[r]` and `off[r]` of register r: it is within `off` of its atom; `share` as in a perturbed start."""

    def __init__(self, program: Program, atoms: Atoms, inputs: Indices) -> None:
        self.program, self.atoms = program, atoms
        self.atom = np.full(program.width, atoms.zero)
        self.off = np.zeros(program.width)
        self.share = np.full(program.width, np.inf)
        self._strange = ""
        self._number = 0  # of the segment
        self._loads: dict[int, Terms] = {}  # what was added, by segment
        self._written = np.full(program.width, -1)  # the last segment that changed a register
        self._first, self._length = np.zeros(program.width, np.int64), np.zeros(program.width, np.int64)
        self._rest = np.full(program.width, np.inf)  # how far from 0 it was before it was loaded
        self.atom[: program.inputs] = inputs

    def run(self) -> None:
        for number, segment in enumerate(self.program.segments):
            check_deadline()
            self._number = number
            self._segment(segment)

    def _segment(self, segment: Segment) -> None:
        """All blocks begin with what the registers hold before it."""
        tau = Fraction(segment.duration) * Fraction(segment.rate)
        adding = [block for block in segment.blocks if block.op.additive]
        rest = [block for block in segment.blocks if not block.op.additive]
        ends = [self._gadget(segment, block, tau) for block in rest]
        if adding:
            self._add(replace(segment, blocks=tuple(adding)))
        for block, held in zip(rest, ends, strict=True):
            for ref, (atom, off) in zip(block.targets, held, strict=True):
                mark(ref, self.atom, atom.reshape(ref.shape))
                mark(ref, self.off, off.reshape(ref.shape))
                mark(ref, self.share, np.inf)
                mark(ref, self._written, self._number)
                mark(ref, self._rest, np.inf)

    def _add(self, segment: Segment) -> None:
        """Blocks that add, by their terms as they are stored."""
        terms = concatenate(list(stream_segment(segment, self.program.width, None)))
        j, k = terms.j, terms.k
        registers, row = np.unique(terms.i, return_inverse=True)
        row = row.reshape(-1)
        atom, off = np.append(self.atom, ONE), np.append(self.off, 0.0)  # index −1 is the constant 1
        added = polynomials(len(registers), row, (atom[j], atom[k]), terms.value)
        added = scaled(added, segment.duration) if segment.duration != 1 else added
        held, distance = self.atoms.resolve(total(of_atoms(self.atom[registers]), added))
        fresh = self.atom[registers] == self.atoms.zero
        self._rest[registers] = np.where(fresh, self.off[registers], np.inf)
        self._written[registers], self._loads[self._number] = self._number, terms
        self._length[registers] = np.bincount(row)
        self._first[registers] = np.cumsum(self._length[registers]) - self._length[registers]
        moved, square = self._moved(added, (atom[j], off[j]), (atom[k], off[k]))
        own = UP * (self.off[registers] + distance)
        square[~fresh] = np.nan
        self.share[registers] = self._share(held, square, own)
        self.atom[registers], self.off[registers] = held, UP * (own + moved)

    @quiet
    def _moved(self, p: Polynomials, x: tuple[Indices, Floats], y: tuple[Indices, Floats]) -> tuple[Floats, Floats]:
        """How far sums of products w·x·y are off because their factors are; and Σ w·off² of those that are sums of
        squares and a number, at least −1, else NaN."""
        size, (left, by_left), (right, by_right) = self.atoms.size(), x, y
        moved = _times(size[left], by_right) + _times(size[right], by_left) + _times(by_left, by_right)
        each = np.abs(p.weight) * moved
        squares = (left == right) & (left != ONE) & (p.weight > 0)
        by = p.weight * np.maximum(by_left, by_right) ** 2
        square = most_by_row(p.row, np.where(squares, by, 0.0), p.count)
        number = (left == ONE) & (right == ONE)
        square[p.row[~squares & ~number]] = np.nan
        square[by_row(p.row, np.where(number, p.weight, 0.0), p.count) < -1.0] = np.nan
        return UP * most_by_row(p.row, each, p.count), square

    @quiet
    def _share(self, held: Indices, square: Floats, own: Floats) -> Floats:
        """How far 1 + p is off relatively if p is a sum of squares and a number: |Δ√q| ≤ √(Σ w·off²)."""
        base = np.maximum(1.0 + self.atoms.low[held], 0.0) / UP
        share = UP * (2.0 * np.sqrt(square / base) + (square + own) / base)
        return np.where(share >= 0, share, np.inf)

    def _gadget(self, segment: Segment, block: Block, tau: Fraction) -> list[tuple[Indices, Floats]]:
        name, rule = block.op.name, RULES.get(block.op.name)
        if rule is None:
            raise Unprovable(f"segment {segment.label!r}: no proof of graphs knows the gadget {name}")
        if tau != 1 and name != "decay":
            raise Unprovable(f"segment {segment.label!r}: {name} runs for {float(tau):g}, and is proved for time 1")
        held = {
            role: Held(ref.of(self.atom), ref.of(self.off), ref.of(self.share), ref.indices())
            for role, ref in zip((*block.op.targets, *block.op.operands), block.refs(), strict=True)
        }
        self.atoms.asked.clear()
        try:
            ends = rule(self, block, held, tau)
        except (Unprovable, ValueError) as why:
            kind = type(why) if isinstance(why, Unprovable) else Unprovable
            raise kind(f"segment {segment.label!r}: {name}: {why}") from None
        if not self._strange and self.atoms.asked and self.atoms.asked[0]:
            self._strange = f"the first function that the graph does not have is {name} in segment {segment.label!r}"
        return [ends[role] for role in block.op.targets]

    @quiet
    def follows(self, starts: Indices, x: Indices, scale: float) -> Floats:
        """How far registers can be from scale·x, with the actual x: they were loaded from x, or with the terms of x
        times the scale, and x was not changed since. ∞ where that is not so."""
        result = np.full(len(starts), np.inf)
        for number in np.unique(self._written[starts]).tolist():
            terms = self._loads.get(number)
            here = np.flatnonzero((self._written[starts] == number) & (self._rest[starts] < np.inf))
            if terms is None or not len(here) or self.program.segments[number].duration != 1:
                continue
            s, argument = starts[here], x[here]
            one = terms[self._first[s]]
            alone = (self._length[s] == 1) & (one.j == ONE_REGISTER) & (one.k == argument)
            alone &= self._written[argument] < number
            away = np.abs(one.value - scale)
            size = self.atoms.size()[self.atom[argument]] + self.off[argument]
            result[here[alone]] = (self._rest[s] + _times(UP * away + U * scale * (away > 0), size))[alone]
            both = ~alone & (self._written[argument] == number) & (self._length[s] == self._length[argument])
            result[here[both]] = self._together(terms, s[both], argument[both], scale)
        return UP * result

    @quiet
    def combines(self, starts: Indices, x: Indices, weights: Floats, lost: Floats) -> Floats:
        """How far registers can be from Σ weights·x for the actual rows of registers x, which were not changed since;
        ∞ where they were loaded otherwise."""
        result = np.full(len(starts), np.inf)
        size = self.atoms.size()[self.atom] + self.off
        for number in np.unique(self._written[starts]).tolist():
            terms = self._loads.get(number)
            here = np.flatnonzero((self._written[starts] == number) & (self._written[x] < number).all(1))
            here = here[self._rest[starts[here]] < np.inf]
            if terms is None or not len(here) or self.program.segments[number].duration != 1:
                continue
            s, sources = starts[here], x[here]
            length = self._length[s]
            row = np.repeat(np.arange(len(s)), length)
            within = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
            mine = terms[self._first[s][row] + within]
            keys = (np.arange(len(s))[:, None] * self.program.width + sources).reshape(-1)
            order = np.argsort(keys)
            wanted = row * self.program.width + mine.k
            place = order[np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)]
            known = (keys[place] == wanted) & (mine.j == ONE_REGISTER) & (mine.k != ONE_REGISTER)
            actual = np.zeros(keys.shape)
            actual[place[known]] = mine.value[known]
            right, inexact = weights[here].reshape(-1), lost[here].reshape(-1)
            away = np.abs(actual - right)
            away = np.where(away > 0, UP * away + U * np.abs(right), 0.0) + inexact
            wrong = (away * size[sources].reshape(-1)).reshape(sources.shape).sum(1)
            strange = np.bincount(row, ~known, len(s)) > 0
            result[here] = np.where(strange, np.inf, UP * (self._rest[s] + wrong))
        return result

    def _together(self, terms: Terms, s: Indices, x: Indices, scale: float) -> Floats:
        """The same for registers that were loaded in the segment of x."""
        length = self._length[s]
        row = np.repeat(np.arange(len(s)), length)
        within = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
        mine, other = terms[self._first[s][row] + within], terms[self._first[x][row] + within]
        size = np.append(self.atoms.size()[self.atom] + self.off, 1.0)
        away = np.abs(mine.value - scale * other.value)
        away = np.where(away > 0, away + U * np.abs(other.value * scale), 0.0) + np.where(
            (np.frexp(scale)[0] == 0.5) | (scale == 1.0), 0.0, U * np.abs(other.value * scale)
        )
        wrong = most_by_row(row, away * size[mine.j] * size[mine.k], len(s))
        same = np.bincount(row, (mine.j != other.j) | (mine.k != other.k), len(s)) == 0
        return np.where(same, UP * (self._rest[s] + scale * self._rest[x] + wrong), np.inf)

    def strange(self) -> str:
        """The first segment that ends with a function that is no node of the graph, in words."""
        return self._strange and f": {self._strange}"


def _times(size: Floats, off: Floats) -> Floats:
    return np.where(off == 0, 0.0, size * off)
