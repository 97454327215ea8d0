"""How far outputs move on a machine whose coefficients and integrators are a little off.

The worst case is linearised, at sampled inputs; perturbed programs, the worst one included, show what really happens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.gadgets import raw
from integraph.machine.sensitivity import SegmentSensitivity, sensitivities
from integraph.numbers.arrays import Floats, real
from integraph.program import ONE, Program, Segment
from integraph.program.box import where
from integraph.program.engine import DOUBLE
from integraph.program.summary import input_names, inputs_in
from integraph.program.terms import Terms, concatenate, terms
from integraph.program.views import dense
from integraph.text import counted

TERMS = 200_000  # of a program, at most: every one of them is perturbed
ROWS = 8  # of registers, and of terms, in a table
NUMBERS = 50_000_000  # sensitivities that are held at a time: 400 MB


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one coefficient can do to an output."""

    segment: int
    label: str
    term: str
    movement: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tolerance:
    """Movements of each output, if every coefficient is off by `coefficients` of itself and every y' by `offsets`."""

    coefficients: float
    offsets: float
    by_coefficients: Floats  # (outputs,): the worst case, linearised, over the sampled inputs
    by_offsets: Floats
    sampled: Floats  # (outputs,): the largest movement of perturbed programs; ∞ if one of them escapes
    registers: Floats  # (W, outputs): the part of the worst case that enters through each register's derivative
    names: tuple[str, ...]
    largest: tuple[tuple[Contribution, ...], ...]  # for each output the coefficients that matter most
    inputs: Floats  # where it was sampled
    where: str

    @property
    def worst(self) -> Floats:
        """(outputs,): coefficients and offsets together."""
        return self.by_coefficients + self.by_offsets

    def __repr__(self) -> str:
        return (
            f"Tolerance at {counted(len(self.inputs), 'input')} with {self.where}: outputs move by up to "
            f"{self.worst.max(initial=0.0):.3g} if coefficients are off by {self.coefficients:g} of themselves and "
            f"every integrator by {self.offsets:g} in a unit of time; perturbed programs moved by "
            f"{self.sampled.max(initial=0.0):.3g}"
        )

    def __str__(self) -> str:
        return f"{self!r}\n{self.table()}"

    def table(self) -> str:
        """For each output the movement by coefficients, by offsets and as sampled, and where it comes from."""
        lines = [f"{'output':<8}{'coefficients':>14}{'offsets':>12}{'together':>12}{'sampled':>12}"]
        columns = (self.by_coefficients, self.by_offsets, self.worst, self.sampled)
        for n, (first, *rest) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            lines.append(f"{n:<8}{first:>14.4g}" + "".join(f"{value:>12.4g}" for value in rest))
        for n, contributions in enumerate(self.largest):
            order = np.argsort(-self.registers[:, n], kind="stable")[:ROWS]
            parts = [f"{self.names[r]} {self.registers[r, n]:.3g}" for r in order if self.registers[r, n] > 0]
            lines.append(f"output {n}, by registers: {', '.join(parts) or 'none'}")
            lines += [f"    {c.movement:.3g}  segment {c.segment} {c.label}: {c.term}" for c in contributions]
        return "\n".join(lines)


def tolerance(
    program: Program,
    box: ArrayLike | None = None,
    *,
    coefficients: float = 1e-3,
    offsets: float = 1e-4,
    samples: int = 8,
    trials: int = 8,
    seed: int = 0,
) -> Tolerance:
    """Movements of the outputs over `samples` inputs of the box, with `trials` perturbed programs beside the worst."""
    for name, value in (("coefficients", coefficients), ("offsets", offsets)):
        number = real(value, name)
        if isinstance(value, bool) or not 0 <= number < 1:
            raise UsageError("needs a number ≥ 0 and below 1", argument=name, value=value)
    for name, whole, least in (("samples", samples, 1), ("trials", trials, 0), ("seed", seed, 0)):
        if not isinstance(whole, int | np.integer) or isinstance(whole, bool) or whole < least:
            raise UsageError(f"needs an integer ≥ {least}", argument=name, value=whole)
    if program.bits > DOUBLE:
        raise UsageError(f"the flow needs {program.bits} bits: no machine of this kind has them")
    if program.terms > TERMS or program.terms * samples * program.outputs > NUMBERS:
        raise UsageError(
            f"{program.terms:,} terms, {samples} samples and {program.outputs} outputs are too many: "
            f"up to {TERMS:,} terms and {NUMBERS:,} sensitivities are computed"
        )
    cube, rng = where(program, box), np.random.default_rng(seed)
    x = cube.low + rng.uniform(size=(samples, program.inputs)) * (cube.high - cube.low)
    x[0] = 0.5 * cube.low + 0.5 * cube.high
    x[1:3] = np.stack([cube.low, cube.high])[: max(samples - 1, 0)]
    parts = list(sensitivities(program, x))[::-1]
    shape = (program.width, samples, program.outputs)
    constants = sum((part.constants for part in parts), np.zeros(shape))
    by_register = np.zeros(shape)
    for part in parts:
        np.add.at(by_register, part.terms.i, coefficients * np.abs(part.coefficients * part.terms.value[:, None, None]))
    by_coefficients, by_offsets = by_register.sum(0), offsets * np.abs(constants).sum(0)
    worst = (by_coefficients + by_offsets).argmax(0)  # the sample at which each output moves most
    chosen = np.arange(program.outputs)
    signs = [_Signs([np.sign(p.coefficients[:, s, o] * p.terms.value) for p in parts], np.sign(constants[:, s, o]))
             for o, s in enumerate(worst.tolist())]  # fmt: skip
    signs += [_Signs([rng.uniform(-1, 1, len(p.terms)) for p in parts], rng.uniform(-1, 1, program.width))
              for _ in range(trials)]  # fmt: skip
    return Tolerance(
        coefficients, offsets, by_coefficients[worst, chosen], by_offsets[worst, chosen],
        _sampled(program, x, parts, signs, (coefficients, offsets)),
        (by_register + offsets * np.abs(constants))[:, worst, chosen],
        tuple(program.registers.name(n) for n in range(program.width)),
        tuple(_largest(program, parts, o, s, coefficients) for o, s in enumerate(worst.tolist())),
        x, inputs_in(cube.low, cube.high, input_names(program)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Signs:
    """By how much, from −1 to 1, each coefficient and each integrator is off."""

    terms: list[Floats]
    registers: Floats


def perturbed(program: Program, changed: list[Terms]) -> Program:
    """A program with other coefficients in its segments, for engines that see nothing but terms."""
    registers = dense(0, (program.width,))
    segments = []
    for old, part in zip(program.segments, changed, strict=True):
        index = np.stack([part.i, part.j, part.k], 1).astype(np.int64)
        segments.append(Segment(old.label, (raw(registers, index=index, value=part.value),), old.duration))
    return Program(program.registers.copy(), tuple(segments), program.readout)


def _sampled(
    program: Program,
    x: Floats,
    parts: list[SegmentSensitivity],
    signs: list[_Signs],
    sizes: tuple[float, float],
) -> Floats:
    """The largest movement of each output."""
    coefficients, offsets = sizes
    largest = np.zeros(program.outputs)
    before = program(x)
    everywhere = np.arange(program.width)
    for sign in signs:
        changed = []
        for part, by in zip(parts, sign.terms, strict=True):
            old = part.terms
            new = Terms(old.i, old.j, old.k, old.value * (1 + coefficients * by))
            drift = terms(everywhere, ONE, ONE, offsets * sign.registers)
            both = concatenate([new, drift])
            changed.append(both[np.argsort(both.i, kind="stable")])
        flow = perturbed(program, changed).flow(x, engine="taylor", rtol=1e-10)
        moved = np.abs(flow.outputs - before.reshape(flow.outputs.shape)).max(0)
        largest = np.maximum(largest, np.where(np.isnan(moved), np.inf, moved))
    return largest


def _largest(
    program: Program, parts: list[SegmentSensitivity], output: int, sample: int, size: float
) -> tuple[Contribution, ...]:
    """The coefficients that move an output most at one input."""
    listed: list[Contribution] = []
    for part in parts:
        moved = size * np.abs(part.coefficients[:, sample, output] * part.terms.value)
        for n in np.argsort(-moved, kind="stable")[:ROWS].tolist():
            i, j, k = (int(index[n]) for index in (part.terms.i, part.terms.j, part.terms.k))
            factors = "".join(f"·{program.registers.name(r)}" for r in (j, k) if r != ONE)
            text = f"{program.registers.name(i)}' ∋ {part.terms.value[n]:.6g}{factors}"
            listed.append(Contribution(part.number, program.segments[part.number].label, text, float(moved[n])))
    return tuple(sorted(listed, key=lambda c: -c.movement)[:ROWS])
