"""A linear estimate of the coefficients: x' = Θφ in its weak form, −∫ψ'x = Θ∫ψφ for bumps ψ, which needs no derivative
of the data. Bumps of several lengths are tried; the one with the smallest residual is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from integraph.learn.identification.features import Features
from integraph.learn.identification.trajectories import Trajectory
from integraph.numbers.arrays import Floats

LENGTHS = (4, 8, 16, 32, 64, 128)  # intervals of a bump
ORDER = 8  # ψ = (1 − τ²)^8
OVERLAP = 8  # bumps start after so many parts of their length


class LinearSystem(NamedTuple):
    """matrix·Θᵀ ≈ sides."""

    matrix: Floats
    sides: Floats

    def residual(self) -> float:
        """What least squares leave, relative to the sides."""
        scale = np.linalg.norm(self.matrix, axis=0)
        scale[scale == 0.0] = 1.0
        theta = np.linalg.lstsq(self.matrix / scale, self.sides, rcond=None)[0] / scale[:, None]
        left = float(np.linalg.norm(self.sides - self.matrix @ theta))
        return left / max(float(np.linalg.norm(self.sides)), 1e-300)


def weak_form(data: Sequence[Trajectory], features: Features) -> LinearSystem:
    """The equations of the length of bumps that fits best; there are at least as many as features."""
    best, least = None, np.inf
    for length in LENGTHS:
        rows = [_equations(one, features, min(length, len(one) - 1)) for one in data]
        system = LinearSystem(*(np.concatenate(part) for part in zip(*rows, strict=True)))
        few = len(system.matrix) < len(features)
        if best is not None and few:
            break
        residual = system.residual()
        if best is None or residual < least:
            best, least = system, residual
    assert best is not None
    return best


def _equations(one: Trajectory, features: Features, length: int) -> tuple[Floats, Floats]:
    phi = features.values(one.states, one.inputs)
    starts = np.arange(0, len(one) - length, max(1, length // OVERLAP))
    window = starts[:, None] + np.arange(length + 1)
    t = one.times[window]
    centre, radius = 0.5 * (t[:, :1] + t[:, -1:]), 0.5 * (t[:, -1:] - t[:, :1])
    tau = (t - centre) / radius
    bump = (1.0 - tau**2) ** ORDER
    slope = -2.0 * ORDER * tau * (1.0 - tau**2) ** (ORDER - 1) / radius
    gaps = np.diff(t, axis=1)
    weights = 0.5 * (np.pad(gaps, ((0, 0), (1, 0))) + np.pad(gaps, ((0, 0), (0, 1))))
    matrix = np.einsum("sk,skf->sf", bump * weights, phi[window])
    sides = -np.einsum("sk,ske->se", slope * weights, one.states[window])
    return matrix, sides
