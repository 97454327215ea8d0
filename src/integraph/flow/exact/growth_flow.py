"""Steps of `powers`, `spiral` and `power_spiral`: one compiled pass over registers that are listed one by one.

Imported lazily (numba costs half a second); compiled once and cached on disk. `gadgets/growth.py` has the formulas and
is the reference.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from integraph.flow.exact.affine_steps import Step
from integraph.gadgets.functions.elementary import LARGE
from integraph.gadgets.growth import Growth
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.jit import cached_njit
from integraph.program import Block

Registers = NDArray[np.uint32]

LARGEST = np.finfo(np.float64).max
SMALL = 1e-8  # e^x is 1 + x to all digits of a correction that is as small as rounding errors are
FAILED, FINE, DOUBTFUL = 0, 1, 2


@njit(inline="always")
def _corrected(factor: float, a: float, x: float, base: float) -> float:
    """factor · ((1 + x)/base)^a: what rounding took from 1 + x is put back."""
    lost = 1.0 - (base - x) if abs(x) > 1.0 else x - (base - 1.0)
    error = a * (lost / base)
    return factor * (1.0 + error if abs(error) < SMALL else math.exp(error))


@njit(error_model="numpy")
def _times_power(factor: Floats, p: Floats, a: float, t: float, reach: float) -> bool:
    """factor · (1 + t p)^a for one p of all inputs; False where it must be done with more care, or cannot be."""
    fine = True
    for column in range(len(p)):
        x = t * p[column]
        base = 1.0 + x
        if a == -0.5:
            power = 1.0 / math.sqrt(base)
        elif a == -1.0:
            power = 1.0 / base
        elif a == 0.5:
            power = math.sqrt(base)
        else:
            power = base**a
        fine &= base > 0.0 and 1.0 / reach < power < reach
        factor[column] *= _corrected(power, a, x, base)
    return fine


@njit(error_model="numpy")
def _factors(
    states: Floats, p: Registers, x: Registers, a: Floats, w: Floats, b: Floats, t: float, factor: Floats
) -> bool:
    """What a group of lanes is multiplied by, e^{t(w·x + b)} Π (1 + t p)^a; False if a factor alone goes too far."""
    groups, columns = factor.shape
    rows, count = p.shape
    reach = LARGE ** (1.0 / (count + 1))  # as in the closed form
    far, fine = math.log(reach), True
    grows = x.shape[1] > 0 or bool(b.any())
    for g in range(groups):
        factor[g] = b[g]
        for r in range(x.shape[1]):
            for column in range(columns):
                factor[g, column] += w[g, r] * states[x[g, r], column]
        for column in range(columns):
            exponent = t * factor[g, column]
            fine &= abs(exponent) < far
            factor[g, column] = math.exp(exponent) if grows else 1.0
        for k in range(count):
            fine &= _times_power(factor[g], states[p[g * rows // groups, k]], a[g, k], t, reach)
    return fine


@njit(error_model="numpy")
def _scale(states: Floats, lanes: Registers, factor: Floats) -> bool:
    """Multiplies each group of lanes by its factor; True if all are finite."""
    groups, columns = factor.shape
    share, failed = len(lanes) // groups, 0
    single = states[:, 0]
    for g in range(groups):
        grown = factor[g]
        for lane in range(g * share, (g + 1) * share):
            if columns == 1:  # a loop of one turn takes thrice as long
                value = single[lanes[lane]] * grown[0]
                single[lanes[lane]] = value
                failed |= not (abs(value) <= LARGEST)
            else:
                row = states[lanes[lane]]
                for column in range(columns):
                    row[column] *= grown[column]
                    failed |= not (abs(row[column]) <= LARGEST)
    return failed == 0


@njit(error_model="numpy")
def _turn(states: Floats, u: Registers, v: Registers, registers: Registers, c: Floats, d: Floats, t: float) -> bool:
    """Turns each pair by the angle t(c·registers + d); True if all are finite."""
    failed = 0
    for lane in range(len(u)):
        for column in range(states.shape[1]):
            angle = d[lane]
            for s in range(registers.shape[1]):
                angle += c[lane, s] * states[registers[lane, s], column]
            sin, cos = math.sin(t * angle), math.cos(t * angle)
            x, y = states[u[lane], column], states[v[lane], column]
            x, y = x * cos + y * sin, y * cos - x * sin
            states[u[lane], column], states[v[lane], column] = x, y
            failed |= not (abs(x) <= LARGEST and abs(y) <= LARGEST)
    return failed == 0


@cached_njit(nogil=True, error_model="numpy")
def growth_flow(
    states: Floats,
    p: Registers,
    lanes: Registers,
    x: Registers,
    turn: Registers,
    a: Floats,
    w: Floats,
    b: Floats,
    c: Floats,
    d: Floats,
    factor: Floats,
    t: float,
    settles: bool,
) -> int:
    """Advance the registers `lanes`, (1, n) or pairs (2, n), by t; and p, (rows, K), if it `settles`.

    The lanes of a group, one after the other, share a row of x, a, w, b and of the buffer `factor`, and the groups of a
    row share its p. DOUBTFUL: nothing has been changed, and the closed form may do better.
    """
    if not _factors(states, p, x, a, w, b, t, factor):
        return DOUBTFUL
    fine = True
    for part in range(len(lanes)):
        fine &= _scale(states, lanes[part], factor)
    if len(lanes) == 2:
        fine &= _turn(states, lanes[0], lanes[1], turn, c, d, t)
    if settles:
        for base in p.ravel():
            for column in range(states.shape[1]):
                states[base, column] /= 1.0 + t * states[base, column]
                fine &= abs(states[base, column]) <= LARGEST
    return FINE if fine else FAILED


def growth_step(block: Block, states: Floats, t: float, live: tuple[bool, ...], closed_form: Step) -> Step:
    """One call of the kernel, whatever the lanes read; a chunk with a doubtful lane goes to the closed form."""
    settles = block.op.targets[0] == "p" and live[0]
    given = (states, *_listed(block, states.shape[1]), t, settles)

    def step() -> bool:
        verdict = growth_flow(*given)
        return closed_form() if verdict == DOUBTFUL else verdict == FINE

    return step


def _listed(block: Block, count: int) -> tuple[Any, ...]:
    """A block as the kernel takes it: all registers and weights one by one, and a buffer for `count` inputs."""
    op = block.op
    assert isinstance(op, Growth)
    every, powered = np.arange(block.targets[-1].size), op.targets[0] == "p"
    groups = _groups(op, block, every) if powered else every
    p = block.targets[0].indices().reshape(-1, block.targets[0].shape[-1]) if powered else np.zeros((1, 0))
    lanes = np.stack([ref.indices().ravel() for ref in block.targets[powered:]])
    (a, _), (w, x), (b, _) = (_weighed(op, block, name, groups) for name in ("a", "w", "b"))
    (c, turn), (d, _) = (_weighed(op, block, name, every) for name in ("c", "d"))
    registers = [part.astype(np.uint32) for part in (p, lanes, x, turn)]
    return *registers, a, w, b.sum(1), c, d.sum(1), np.empty((len(groups), count))


def _groups(op: Growth, block: Block, lanes: Indices) -> Indices:
    """The first lane of every group with one factor: a row, if its lanes have the same weights, or each lane alone."""
    firsts = lanes[:: block.targets[-1].shape[-1]]
    alike = block.operands[0].shape[-1] == 0
    for name in {"a", "b"} & set(block.tensors):
        values = op.values(block, name, lanes).reshape(
            len(firsts), -1, 1 if name == "b" else block.targets[0].shape[-1]
        )
        alike = alike and bool((values == values[:, :1]).all())
    return firsts if alike else lanes


def _weighed(op: Growth, block: Block, name: str, lanes: Indices) -> tuple[Floats, Indices]:
    """A tensor's values at the lanes, and the registers that it weighs; nothing where there is no such tensor."""
    if name not in block.tensors:
        return np.zeros((len(lanes), 0)), np.zeros((len(lanes), 0), np.int64)
    return np.ascontiguousarray(op.values(block, name, lanes)), op.reads(block, name, lanes).astype(np.int64)
