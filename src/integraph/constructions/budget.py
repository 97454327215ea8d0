"""The error of a built network, layer by layer: section by section the same step, whatever the construction.

e is the deviation of the registers that hold a layer's values, ρ[role] what is left of earlier values in the registers of
an activation. Then M = x + A e + ρ[argument] is what the flow sees, and

    |e⁺| ≤ sup|f'|·(|A||e| + ρ[argument] + rounding) + (error from the wrong start, bounds/perturbation.py)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from integraph.bounds import intervals
from integraph.bounds.deviation import APPROXIMATION, RESIDUE, ROUNDING, UP, Deviation
from integraph.bounds.intervals import U, Interval
from integraph.bounds.perturbation import RELU, WRONG
from integraph.constructions.layers import Readout, Stretch
from integraph.program.views import Floats

CONTROL = 4 * U  # a stored control is weight · start scale · r/(1 − e^−r): each factor and product rounded once


class Parts(NamedTuple):
    """The largest error at any output, by cause; infinite where nothing can be promised."""

    approximation: float
    residue: float
    rounding: float

    @property
    def total(self) -> float:
        return UP * sum(self)


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """Behind a layer: how far its values are off, and how large every other register of it can be; `reach` bounds the
    norm of all arguments together."""

    e: Deviation
    ends: dict[str, Floats]
    reach: float


def through(layer: Stretch, z: Interval, e: Deviation, rho: Mapping[str, Floats], rho_norm: float = np.inf) -> Passed:
    """One layer: affine map, then activation from registers that hold ρ; `rho_norm` bounds the norm of ρ[argument]."""
    recipe = layer.recipe
    size = np.abs(layer.A) @ z.size + np.abs(layer.b)
    lost = CONTROL * size + layer.lost
    delta = e.through(layer.A, layer.norm).plus(RESIDUE, rho[recipe.argument], rho_norm).plus(ROUNDING, lost)
    M = layer.argument.widened(delta.total)
    wrong_start = WRONG[layer.f.name]
    extra = {"K": layer.steepness, "switching": layer.steepness > 0, "scale": np.abs(_scale(recipe.starts.get("s")))}
    rounded = {
        role: rho[role] + np.abs(_scale(start)) * lost if role != recipe.argument else rho[role]
        for role, start in recipe.starts.items()
    }
    with np.errstate(over="ignore", invalid="ignore"):
        left, _ = wrong_start(M, {**rho, **extra})
        wrong, ends = wrong_start(M, {**rounded, **extra})
        roundoff = np.where(wrong > left, wrong - left, 0.0) + 16 * U * layer.values.size  # and constants of the flow
        after = delta.times(intervals.steepest(layer.f, M)).plus(RESIDUE, left).plus(ROUNDING, roundoff)
        if layer.steepness.any():
            near = np.divide(RELU, layer.steepness, out=np.zeros(layer.units), where=layer.steepness > 0)
            after = after.plus(APPROXIMATION, near)
    reach = layer.norm * float(np.linalg.norm(z.size)) + float(np.linalg.norm(layer.b)) + float(delta.norm.sum())
    return Passed(after, {role: UP * end for role, end in ends.items()}, UP * reach)


def _scale(start: object) -> Floats:
    return np.asarray(0.0 if start is None else start[0])  # type: ignore[index]


def outputs(readout: Readout, z: Interval, e: Deviation, constant: float) -> Parts:
    """The parts at the outputs C z + b, where the constant 1 that carries b may be off by `constant`."""
    last = e.through(readout.C, readout.norm).plus(RESIDUE, constant * np.abs(readout.b))
    last = last.plus(ROUNDING, 2 * U * (np.abs(readout.C) @ z.size) + readout.lost)
    worst = np.nan_to_num(last.each.max(1), nan=np.inf)
    return Parts(*(float(worst[cause]) for cause in (APPROXIMATION, RESIDUE, ROUNDING)))
