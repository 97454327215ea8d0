"""The tight error budget of Theorem 2, layer by layer, the same for both constructions.

e is the deviation of the registers that hold a layer's values, ρ[role] what is left of earlier values in the registers
of an activation. Then the flow computes with M = x + A e + ρ[argument], and

    |e⁺| ≤ sup|f'|·(|A||e| + ρ[argument] + rounding) + (error from the wrong start, `bounds/perturbation`)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from integraph.bounds.perturbation.activation_errors import WRONG, over
from integraph.bounds.perturbation.deviation import APPROXIMATION, RESIDUE, ROUNDING, Deviation
from integraph.bounds.perturbation.deviation import norm as euclidean
from integraph.constructions.theorem2.network_plan import LayerPlan, Readout
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP, U
from integraph.targets.activations import steepest_slope

CONTROL = 5 * U  # a stored control is weight · start scale · r/(1 − e^−r): two factors and two products are rounded
CONSTANTS = 8 * U  # and what an activation itself has of them, relative to its value or to 1


SMALLEST = 2e-323  # what a control below the normal numbers may be off by


class Parts(NamedTuple):
    """The largest error at any output, by cause; infinite where there is no bound."""

    approximation: float
    residue: float
    rounding: float

    @property
    def total(self) -> float:
        return UP * sum(self)


@dataclass(frozen=True, slots=True, eq=False)
class LayerError:
    """Behind a layer: how far its values are off, how large every other register of it can be, and the norm of all
    registers of a role together, infinite where only the bounds of single ones are known."""

    e: Deviation
    ends: dict[str, Floats]
    norms: dict[str, float]


def through(
    layer: LayerPlan, z: Interval, e: Deviation, rho: Mapping[str, Floats], norms: Mapping[str, float] | None = None
) -> LayerError:
    """One layer: affine map, then activation from registers that hold ρ; `norms` bounds the norms of ρ[role]."""
    recipe = layer.recipe
    norm = {role: min(float(euclidean(rho[role])), (norms or {}).get(role, np.inf)) for role in recipe.starts}
    inside = z.size + e.total
    size = np.abs(layer.A) @ inside + np.abs(layer.b)
    lost = CONTROL * size + layer.lost + SMALLEST * (1.0 + inside.sum())
    delta = e.through(layer.A, layer.norm).plus(RESIDUE, rho[recipe.argument], norm[recipe.argument])
    delta = delta.plus(ROUNDING, lost)
    M = layer.argument.widened(delta.total)
    wrong_start = WRONG[layer.f.name]
    extra = {"K": layer.steepness, "switching": layer.steepness > 0, "scale": np.abs(_scale(recipe.starts.get("s")))}
    rounded = {
        role: rho[role] if role == recipe.argument else rho[role] + np.abs(_scale(start)) * lost
        for role, start in recipe.starts.items()
    }
    left, _ = wrong_start(M, {**rho, **extra})
    wrong, ends = wrong_start(M, {**rounded, **extra})
    roundoff = np.where(wrong <= left, 0.0, wrong - left) + _leaks(layer, M)  # NaN is no 0
    if recipe.stages:
        roundoff = roundoff + CONSTANTS * (1.0 + layer.values.size)
    after = delta.times(steepest_slope(layer.f, M)).plus(RESIDUE, left, _together(layer, M, norm, extra))
    after = after.plus(ROUNDING, roundoff).plus(APPROXIMATION, layer.near)
    reach = layer.norm * float(euclidean(z.size)) + float(euclidean(layer.b)) + float(delta.norm.sum())
    known = {"x": UP * reach} if recipe.argument == "x" else {}  # x is frozen: it still holds the argument
    if layer.f.name == "tanh":
        start = float(over(np.array(norm["lam"]), rho["lam"].max()))
        known["lam"] = UP * (reach + start)  # |λ| ≤ |M| + |λ₀|/(1 − |λ₀|)
    return LayerError(after, {role: UP * end for role, end in ends.items()}, known)


def _leaks(layer: LayerPlan, M: Interval) -> Floats:
    """Rounding of k(1 + c) and k·c in a leaky ReLU's equation s' = k(1 + c)xs − ks² − kcx². It moves the right-hand
    side by U·k·C·x², and the flow from the middle sums that up with weight ½sech²(v/2) + tanh(v/2)/v, v = k(1 − c)x.
    Where (1 − c)² is as small as the rounding, there may be no equilibrium left."""
    c, k, X = layer.slope, layer.steepness, M.size
    if not k.any():
        return np.zeros_like(X)
    C = (np.abs(c) + np.abs(1.0 + c)) * np.maximum(1.0, np.abs(c)) + np.abs(c)
    gap = np.where(k > 0, np.abs(1.0 - c), 1.0)
    moved = 2.0 * U * C * X * np.minimum(k * X, 2.0 / gap)
    result: Floats = np.where(k > 0, np.where(gap * gap > 16.0 * C * U, moved, np.inf), 0.0)
    return result


def _together(layer: LayerPlan, M: Interval, norm: Mapping[str, float], extra: Mapping[str, Floats]) -> float:
    """A bound of the norm of all errors from a wrong start. Each is a sum of shares of the ρ[role], and a share grows
    with ρ and |M|: at the largest M, with norms in place of ρ, the same formula bounds the norm."""
    hull = Interval(M.low.min(keepdims=True), M.high.max(keepdims=True))
    widest = {name: np.max(value, keepdims=True).reshape(1) for name, value in extra.items()}
    errors, _ = WRONG[layer.f.name](hull, {**{role: np.array([n]) for role, n in norm.items()}, **widest})
    return float(errors[0]) if np.isfinite(errors[0]) else np.inf


def _scale(start: object) -> Floats:
    return np.asarray(0.0 if start is None else start[0])  # type: ignore[index]


def outputs(readout: Readout, e: Deviation, constant: float) -> Parts:
    """The parts at the outputs C z + b, where the constant 1 that carries b may be off by `constant`."""
    last = e.through(readout.C, readout.norm) if readout.C.ndim == 2 else e.times(np.abs(readout.C))
    last = last.plus(RESIDUE, constant * np.abs(readout.b))
    last = last.plus(ROUNDING, readout.lost)
    worst = last.each.max(1)
    worst = np.where(np.isnan(worst), np.inf, worst)
    return Parts(*(float(worst[cause]) for cause in (APPROXIMATION, RESIDUE, ROUNDING)))
