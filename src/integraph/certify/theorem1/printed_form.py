"""The normal form of programs of Theorem 1 as printed and as remarked, from the stored controls.

The bootstrap is followed register by register: ψ_k up to what step 2 leaves behind, logarithms ln(ψ_k + σ_k) and
ln(t_j + Δ_j) up to a ball η, and lanes that start at 1 up to a ball. Lemma 3 makes a lane the product
a·Π(t_j + Δ_j)^{n_j}·Π(ψ_k + σ_k), times a ball around 1 that goes into a. Because Σψ_l = 1, for one variable

    Σ_k a_k (ψ_k + σ_k) + a = Σ_l ψ_l (a_l + Σ_k a_k σ_k + a),

which takes the terms to polynomials of cells. σ_k is 0 as printed and 1 as remarked.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from flint import arb

from integraph.certify.problem import Unprovable
from integraph.certify.readout import output_weights
from integraph.certify.theorem1.bumps import BallBumps
from integraph.certify.theorem1.cells import Cells, Objects, cells
from integraph.certify.theorem1.entry import entry, exact_segments, form, registers, weighted
from integraph.certify.theorem1.lemma4_step2 import ideal_controls, remainder, stored_controls
from integraph.certify.theorem1.register_contents import (
    Content,
    Lane,
    Log,
    NumberContent,
    Share,
    TanhContent,
    ValueContent,
)
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, size, symmetric
from integraph.program import Block, Program
from integraph.program.engine import DOUBLE
from integraph.program.terms import concatenate

Term = tuple[tuple[int, ...], tuple[int, ...], arb]  # n, k and a; k_j = −1 is no ψ


def read(program: Program, box: Balls) -> Cells:
    """The normal form, for inputs in the box."""
    return _PrintedReader(program, box).run()


class _PrintedReader:
    def __init__(self, program: Program, box: Balls) -> None:
        self.program, self.box, self.d, self.entry = program, box, program.inputs, entry(program)
        e = self.entry
        self.cube = [s * x + h for s, x, h in zip(e.scale, box, e.shift, strict=True)]
        self.held: dict[int, Content] = {t: ValueContent(j) for j, t in enumerate(e.t)}
        self.lost = set(range(program.inputs)) - set(e.t)
        self.bumps: list[BallBumps | None] = [None] * self.d
        self.sigma: dict[tuple[int, int | None], arb] = {}  # of (j, k); Δ_j of (j, None)
        self.sums: dict[int, list[Term]] = {}

    def run(self) -> Cells:
        for number, segment in exact_segments(self.program, self.entry.segments):
            for block in segment.blocks:
                rule = getattr(self, f"_{block.op.name}", None)
                if rule is None:
                    raise Unprovable(f"segment {segment.label!r}: there is no rule for {block.op.name}")
                rule(block, number)
        if any(b is None for b in self.bumps):
            raise Unprovable("a variable has no partition of unity")
        bumps = tuple(b for b in self.bumps if b is not None)
        tables = []
        for row in output_weights(self.program):
            terms = [(n, k, weight * a) for register, weight in row for n, k, a in self._sum(register)]
            tables.append(self._table(bumps, terms))
        centre = [-self.sigma.get((j, None), ZERO) for j in range(self.d)]
        return cells(self.entry.scale, self.entry.shift, bumps, centre, tables, self.box)

    def _holds(self, register: int) -> Content:
        check_deadline()
        if register in self.lost or register in self.sums:
            raise Unprovable(f"{self.program.registers.name(register)} is read after it was used up")
        return self.held.get(register, NumberContent(ZERO))

    def _ramp(self, block: Block, number: int) -> None:
        (z,), b = registers(block), np.broadcast_to(block.tensors["b"], block.targets[0].shape)
        for register, value in zip(z, b.reshape(-1).tolist(), strict=True):
            held = self._holds(register)
            if isinstance(held, NumberContent):
                self.held[register] = NumberContent(held.ball + value)
            elif isinstance(held, ValueContent | Share):
                self.held[register] = replace(held, plus=held.plus + value)
            else:
                raise Unprovable("a constant is added to what is not a number")

    def _tanh(self, block: Block, number: int) -> None:
        alpha, lam, x = registers(block)
        for one, two, of, a, b in zip(alpha, lam, x, *(part.tolist() for part in form(block)), strict=True):
            value, start = self._holds(of), (self._holds(one), self._holds(two))
            fresh = all(isinstance(s, NumberContent) and s.ball == 0 for s in start)
            if not (fresh and isinstance(value, ValueContent) and value.is_input):
                raise Unprovable("tanh does not start from 0, or is not taken of an input")
            self.held[one], self.held[two] = TanhContent(value.j, a, b, False), TanhContent(value.j, a, b, True)

    def _partition(self, block: Block, number: int) -> None:
        (lam, mu), (x,) = block.targets, block.operands
        terms = concatenate(list(self.program.segment_terms(number)))
        a, b = (block.tensors.get(name, np.array(default)) for name, default in (("a", 1.0), ("b", 0.0)))
        rows = zip(
            lam.indices().reshape(-1, lam.shape[-1]).tolist(),
            mu.indices().reshape(-1, mu.shape[-1]).tolist(),
            x.indices().reshape(-1).tolist(),
            *(np.broadcast_to(part, mu.shape).reshape(-1, mu.shape[-1]).tolist() for part in (a, b)),
            strict=True,
        )
        for row, cleared, of, slopes, offsets in rows:
            value = self._holds(of)
            if not (isinstance(value, ValueContent) and value.is_input):
                raise Unprovable("step 2 of Lemma 4 is not that of an input")
            bumps = self._steps(row, cleared, value.j)
            if self.program.bits > DOUBLE:
                step = ideal_controls(slopes, offsets, self.program.bits)
            else:
                step = stored_controls(terms, self.program.segments[number].duration, row, cleared, of)
            off, rest = remainder(step, bumps, self.cube[value.j])
            for k, (register, ball) in enumerate(zip(row, off, strict=True)):
                self.held[register] = ValueContent(value.j, k, ZERO, ball)
            self.held.update({register: NumberContent(ball) for register, ball in zip(cleared, rest, strict=True)})

    def _steps(self, lam: list[int], mu: list[int], j: int) -> BallBumps:
        """λ is 1 and tanh z_1 … tanh z_N, μ is z_1 tanh z_1 …: which z."""
        first, *others = (self._holds(register) for register in lam)
        last = [self._holds(register) for register in mu]
        if not (isinstance(first, NumberContent) and first.ball == 1 and self.bumps[j] is None):
            raise Unprovable("step 2 of Lemma 4 does not start from 1 and tanh")
        steps = []
        for one, two in zip(others, last, strict=True):
            if not (
                isinstance(one, TanhContent) and one.j == j and not one.times_z and two == replace(one, times_z=True)
            ):
                raise Unprovable("step 2 of Lemma 4 does not start from 1 and tanh")
            steps.append((one.a, one.b))
        if len({a for a, _ in steps}) != 1:
            raise Unprovable("the steps of one variable are not equally steep")
        self.bumps[j] = bumps = BallBumps(steps[0][0], tuple(b for _, b in steps))
        return bumps

    def _least(self, value: ValueContent) -> arb:
        """A number > 0 that 1 + value is not below in the box, without what is off."""
        t = self.cube[value.j]
        if value.k is None:
            least = t.lower()
        else:
            bumps = self.bumps[value.j]
            assert bumps is not None
            least = bumps.at(t.lower())[value.k].min(bumps.at(t.upper())[value.k])
        least = (least + (1 + value.plus)).lower()
        if not least > size(value.off):
            raise Unprovable("a logarithm may be that of a negative number: the controls are too coarse for it")
        return least

    def _ln(self, block: Block, number: int) -> None:
        for p, z in zip(*registers(block), strict=True):
            of, start = self._holds(p), self._holds(z)
            if not (isinstance(of, ValueContent) and isinstance(start, NumberContent)):
                raise Unprovable("a logarithm is not that of an input or of a bump")
            known = self.sigma.setdefault((of.j, of.k), 1 + of.plus)
            if not known == 1 + of.plus:
                raise Unprovable("two logarithms of one input are shifted differently")
            eta = start.ball + symmetric(size(of.off) / self._least(of)).log1p()
            self.held[p], self.held[z] = Share(of), Log(of, start.ball, eta)

    def _exp(self, block: Block, number: int) -> None:
        z, x = registers(block)
        for one, log, a, b in zip(z, x, *(part.tolist() for part in form(block)), strict=True):
            share, of = self._holds(one), self._holds(log)
            fits = isinstance(share, Share) and isinstance(of, Log) and share.of is of.of and b == 0
            if not (fits and isinstance(share, Share) and isinstance(of, Log)):
                raise Unprovable("a register is not multiplied by its own logarithm's exponential")
            if share.left is None and a == 1 and share.plus == 0:
                self.held[one] = replace(share, left=of.left)
            elif share.left is not None and a == -1 and share.plus == 1:
                least = self._least(share.of) - size(share.of.off)
                moved = size((-of.left).expm1()) / least
                self.held[one] = Lane(ONE + symmetric(moved))  # (1 + of·e^left)/((1 + of)e^left)
            else:
                raise Unprovable("the lanes are not led back to 1")

    def _monomial(self, block: Block, number: int) -> None:
        reads, w, b = weighted(block)
        if not (w == np.round(w)).all():
            raise Unprovable("a power of a product is not a whole number")
        for z, row, weights, constant in zip(registers(block)[0], reads.tolist(), w.tolist(), b.tolist(), strict=True):
            lane = self._holds(z)
            if not isinstance(lane, Lane):
                raise Unprovable("a product is not made in a lane that holds 1")
            powers = dict(lane.powers)
            for register, weight in zip(row, weights, strict=True):
                if weight and not isinstance(self._holds(register), Log):  # now, not when the product is summed up
                    raise Unprovable("a product is made of something that is not a logarithm yet")
                powers[register] = powers.get(register, 0) + int(weight)
            kept = tuple(sorted((register, power) for register, power in powers.items() if power))
            self.held[z] = Lane(lane.start, kept, lane.b + constant)

    def _affine(self, block: Block, number: int) -> None:
        reads, w, b = weighted(block)
        if b.any():
            raise Unprovable("a constant is added to a sum of products")
        for z, row, weights in zip(registers(block)[0], reads.tolist(), w.tolist(), strict=True):
            terms = self._sum(z)
            terms += [self._term(self._holds(r), weight) for r, weight in zip(row, weights, strict=True) if weight]

    def _fresh(self, register: int) -> list[Term]:
        held = self._holds(register)
        if not (isinstance(held, NumberContent) and held.ball == 0):
            raise Unprovable("a sum of products does not start from 0")
        self.held.pop(register, None)
        return self.sums.setdefault(register, [])

    def _sum(self, register: int) -> list[Term]:
        return self.sums[register] if register in self.sums else self._fresh(register)

    def _term(self, lane: Content, weight: float) -> Term:
        if not isinstance(lane, Lane):
            raise Unprovable("a sum is not one of products")
        n, k, eta = [0] * self.d, [-1] * self.d, ZERO
        for register, power in lane.powers:
            log = self._holds(register)
            if not isinstance(log, Log):
                raise Unprovable("a product has a factor that is not a logarithm's")
            eta += power * log.eta
            if log.of.k is None and power > 0:
                n[log.of.j] = power
            elif log.of.k is not None and power == 1 and k[log.of.j] < 0:
                k[log.of.j] = log.of.k
            else:
                raise Unprovable("a product is not one of powers of inputs and one bump for each")
        return tuple(n), tuple(k), arb(weight) * lane.start * (lane.b + eta).exp()

    def _table(self, bumps: tuple[BallBumps, ...], terms: list[Term]) -> dict[tuple[int, ...], Objects]:
        """{n: coefficients of the cells}, by the sum of the ψ_l."""
        tables: dict[tuple[int, ...], Objects] = {}
        grid = tuple(b.N + 2 for b in bumps)
        for n, k, a in terms:
            table = tables.setdefault(n, np.full(grid, ZERO, object))
            table[k] += a
        for n, table in tables.items():
            check_deadline()
            for j, b in enumerate(bumps):
                sigma = np.array([self.sigma.get((j, k), ZERO) for k in range(b.N + 1)] + [ONE], object)
                shared = np.expand_dims(np.tensordot(table, sigma, (j, 0)), j)
                table = np.take(table, range(b.N + 1), j) + shared
            tables[n] = table
        return tables
