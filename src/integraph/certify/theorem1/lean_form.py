"""The normal form of lean programs: every block carried out on symbols, from the stored controls.

A register holds a sum Σ_k φ_k P_k (a polynomial, if nothing depends on k), as a table for each power of t − ½; or
ℓ = ln cosh(a·t_j + b); or a bump, c·φ_k·e^δ. The rules are the gadgets' closed forms: sums and products of polynomials,
ℓ of a variable, e^(linear form) by Lemma 3, bumps times polynomials into a sum. What is none of these is not proved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from integraph.certify.problem import Unprovable
from integraph.certify.readout import output_weights
from integraph.certify.theorem1.bumps import BallBumps
from integraph.certify.theorem1.cells import ORDER, Cells, Objects, cells
from integraph.certify.theorem1.entry import entry, exact_segments, form, registers, weighted
from integraph.certify.theorem1.exponents import NONE, ExponentLanes, Exponents
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ONE, ZERO, Balls
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Block, Program

Power = tuple[int, ...]
Sum = dict[Power, Objects]  # m → coefficients of (t − ½)^m, an array that broadcasts to the cells
HALF = arb(0.5)


def read(program: Program, box: Balls) -> Cells:
    """The normal form, for inputs in the box."""
    return _LeanReader(program, box).run()


class _LeanReader:
    def __init__(self, program: Program, box: Balls) -> None:
        self.program, self.box, self.d = program, box, program.inputs
        self.entry = entry(program)
        self.variable = {register: j for j, register in enumerate(self.entry.t)}
        self.sums: dict[int, Sum] = {register: self._variable(j) for register, j in self.variable.items()}
        self.logs: dict[int, tuple[int, float, float]] = {}  # ln cosh(a·t_j + b) as (j, a, b)
        self.bump: dict[int, tuple[arb, Indices, arb]] = {}  # c, k and δ
        self.lost = set(range(program.inputs)) - set(self.entry.t)
        self._exponents: Exponents | None = None

    def run(self) -> Cells:
        for _, segment in exact_segments(self.program, self.entry.segments):
            for block in segment.blocks:
                check_deadline()
                rule = getattr(self, f"_{block.op.name}", None)
                if rule is None:
                    raise Unprovable(f"segment {segment.label!r}: there is no rule for {block.op.name}")
                rule(block)
        outputs: list[Sum] = []
        for row in output_weights(self.program):
            total: Sum = {}
            for register, weight in row:
                self._into(total, self.sum_in(register), weight)
            outputs.append(total)
        e = self.entry
        return cells(e.scale, e.shift, self.bumps, [HALF] * self.d, outputs, self.box)

    def sum_in(self, register: int) -> Sum:
        """What a register holds, if that is a sum; never written is 0."""
        if register in self.lost or register in self.logs or register in self.bump:
            name = self.program.registers.name(register)
            raise Unprovable(f"{name} does not hold a sum of bumps and polynomials where one is needed")
        return self.sums.get(register, {})

    def target(self, register: int) -> Sum:
        total = self.sum_in(register)
        self.variable.pop(register, None)
        return self.sums.setdefault(register, total)

    def _variable(self, j: int) -> Sum:
        return {self._unit(): self._one(HALF), self._unit(j): self._one(ONE)}

    def _unit(self, j: int | None = None) -> Power:
        return tuple(int(i == j) for i in range(self.d))

    def _one(self, value: arb) -> Objects:
        return np.full((1,) * self.d, value, object)

    def _into(self, total: Sum, part: Sum, weight: Any) -> None:
        check_deadline()
        for m, table in part.items():
            total[m] = total[m] + weight * table if m in total else weight * table

    def _product_of(self, a: Sum, b: Sum) -> Sum:
        """Polynomials times whatever: φ_k φ_l would be something else."""
        if any(table.size > 1 for table in a.values()) and any(table.size > 1 for table in b.values()):
            raise Unprovable("two sums over bumps are multiplied")
        degree = _degree(a) + _degree(b)
        if degree >= ORDER:  # before it is multiplied out, which takes minutes
            raise Unprovable(f"polynomials of degree {degree} are more than can be read")
        product: Sum = {}
        for m, table in a.items():
            self._into(product, {tuple(map(sum, zip(m, n, strict=True))): other for n, other in b.items()}, table)
        return product

    def _ramp(self, block: Block) -> None:
        (z,), b = registers(block), np.broadcast_to(block.tensors["b"], block.targets[0].shape)
        for register, value in zip(z, b.reshape(-1).tolist(), strict=True):
            self._into(self.target(register), {self._unit(): self._one(ONE)}, arb(value))

    def _affine(self, block: Block) -> None:
        reads, w, b = weighted(block)
        for z, row, weights, constant in zip(registers(block)[0], reads, w, b.tolist(), strict=True):
            total = self.target(z)
            if constant:
                self._into(total, {self._unit(): self._one(ONE)}, arb(constant))
            self._add(total, row, weights, {self._unit(): self._one(ONE)})

    def _add(self, total: Sum, reads: Indices, weights: Floats, times: Sum) -> None:
        """total += Σ w·register·times; bumps all at once."""
        used = [n for n, w in enumerate(weights.tolist()) if w]
        bumps = [n for n in used if int(reads[n]) in self.bump]
        for n in (n for n in used if int(reads[n]) not in self.bump):
            self._into(total, self._product_of(self.sum_in(int(reads[n])), times), arb(float(weights[n])))
        if bumps:
            self._scatter(total, [self.bump[int(reads[n])] for n in bumps], weights[bumps], times)

    def _scatter(self, total: Sum, bumps: list[tuple[arb, Indices, arb]], weights: Floats, times: Sum) -> None:
        """total += Σ w·c·φ_k·e^δ·times; `times` must not depend on the variables of the bumps."""
        k = np.array([cell for _, cell, _ in bumps])
        factors = np.array([_risen(c, delta) for c, _, delta in bumps], object) * weights
        used = (k != NONE).any(0)
        if (k[:, used] == NONE).any():
            raise Unprovable("bumps of different variables are in one sum")
        grid = tuple(b.N + 1 if u else 1 for b, u in zip(self.bumps, used, strict=True))
        where = tuple(np.where(used, k, 0).T)
        grid_values = np.full(grid, ZERO, object)
        np.add.at(grid_values, where, factors)
        for m, table in times.items():
            if any(a > 1 and b > 1 for a, b in zip(table.shape, grid, strict=True)):
                raise Unprovable("two bumps of one variable are multiplied")
            self._into(total, {m: grid_values}, table)

    def _product(self, block: Block) -> None:
        x, w, _ = weighted(block)
        v: Indices = block.operands[1].indices().reshape(x.shape)
        for z, *factors in zip(registers(block)[0], x.tolist(), v.tolist(), w.tolist(), strict=True):
            total = self.target(z)
            for one, other, weight in zip(*factors, strict=True):
                self._multiply(total, one, other, weight)

    def _multiply(self, total: Sum, one: int, other: int, weight: float) -> None:
        if one in self.bump:
            one, other = other, one
        times = self.sum_in(one)
        if other in self.bump:
            self._scatter(total, [self.bump[other]], np.array([weight]), times)
        else:
            self._into(total, self._product_of(times, self.sum_in(other)), arb(weight))

    def _bilinear(self, block: Block) -> None:
        z, x, v = registers(block)
        w = block.tensors["w"]
        for register, weights in zip(z, w, strict=True):
            total = self.target(register)
            for number, other in enumerate(v):
                self._add(total, np.array(x), weights[:, number], self.sum_in(other))

    def _log_cosh(self, block: Block) -> None:
        m, l, x = registers(block)
        a, b = form(block)
        if any(self.sum_in(register) for register in (*m, *l)):
            raise Unprovable("ln cosh does not start from 0")
        if any(register not in self.variable for register in x):
            raise Unprovable("ln cosh is taken of something that is not an input")
        if self._exponents is not None:
            raise Unprovable("ln cosh is taken after bumps were made")
        self.lost.update(m)
        steps = zip(l, x, a.tolist(), b.tolist(), strict=True)
        self.logs.update({register: (self.variable[t], slope, offset) for register, t, slope, offset in steps})

    @property
    def bumps(self) -> tuple[BallBumps, ...]:
        return self.exponents.bumps

    @property
    def exponents(self) -> Exponents:
        """Of the steps that were read; there are no more once this is asked for."""
        if self._exponents is None:
            rows = []
            for j in range(self.d):
                steps = [(a, b) for i, a, b in self.logs.values() if i == j]
                if len({a for a, _ in steps}) > 1:
                    raise Unprovable("the steps of one variable are not equally steep")
                rows.append(
                    BallBumps(steps[0][0] if steps else 1.0, tuple(sorted((b for _, b in steps), reverse=True)))
                )
            e = self.entry
            cube = [s * x + h for s, x, h in zip(e.scale, self.box, e.shift, strict=True)]
            self._exponents = Exponents(tuple(rows), cube)
        return self._exponents

    def _column(self, register: int) -> int:
        if register in self.variable:
            return self.exponents.column(self.variable[register], 0)
        if register not in self.logs:
            raise Unprovable("a bump is made of something that is neither an input nor ln cosh of one")
        j, _, offset = self.logs[register]
        return self.exponents.column(j, 1 + self.bumps[j].offsets.index(offset))

    def _monomial(self, block: Block) -> None:
        reads, w, b = weighted(block)
        columns = {int(register): self._column(int(register)) for register in np.unique(reads)}
        z = registers(block)[0]
        old = [self._started(register) for register in z]
        before = ExponentLanes(np.array([cell for _, cell, _ in old]), np.array([delta for *_, delta in old], object))
        now = self.exponents.grown(before, np.vectorize(columns.__getitem__, [np.int64])(reads), w, b)
        for register, (c, _, _), cell, delta in zip(z, old, now.cells, now.delta, strict=True):
            self.bump[register] = c, cell, delta
            self.sums.pop(register, None)
            self.variable.pop(register, None)

    def _started(self, register: int) -> tuple[arb, Indices, arb]:
        """A bump, or the number that it starts from."""
        check_deadline()
        if register in self.bump:
            return self.bump[register]
        held = self.sum_in(register)
        if any(m != self._unit() or table.size > 1 for m, table in held.items()):
            raise Unprovable("a bump does not start from a number")
        value = held[self._unit()].flat[0] if held else ZERO
        return value, np.full(self.d, NONE, np.int64), ZERO


def _risen(c: arb, delta: arb) -> arb:
    check_deadline()
    return c * delta.exp()


def _degree(total: Sum) -> int:
    return max(map(sum, total), default=0)
