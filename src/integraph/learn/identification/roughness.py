"""The noise of samples, whatever they follow: what is left of each after a cubic through its neighbours.

Five samples of anything smooth nearly lie on a cubic. What does not is noise, or a sampling step that is too long: so
the estimate is an upper one, and a model that is farther from the samples does not describe them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from integraph.learn.identification.trajectories import Trajectory
from integraph.numbers.arrays import Floats

NEAR = 5  # samples that a cubic does not pass in general
FEWEST = 12  # groups of them that say what noise there is
TIMES = 3.0  # a fit that leaves more than so many times the noise is in doubt
NOTHING = 0.9  # of the size of a state: a fit that leaves more explains nothing
MEDIAN = 0.6745  # of the sizes of normal numbers with a standard deviation of 1, which a few outliers do not change
ROUNDING = 1e-9  # of the size of a state: not worth a word


def roughness(data: Sequence[Trajectory]) -> Floats | None:
    """The standard deviation of the noise of each state; None if samples are too few to tell."""
    left = _all_left(data)
    if left is None:
        return None
    size: Floats = np.sqrt(np.mean(left**2, axis=0))
    return size


def _all_left(data: Sequence[Trajectory]) -> Floats | None:
    left = [_left(one) for one in data if len(one) >= NEAR]
    return np.concatenate(left) if sum(map(len, left)) >= FEWEST else None


def _left(one: Trajectory) -> Floats:
    """What the divided differences of order four leave, scaled so that noise has its own standard deviation."""
    groups = np.arange(len(one) - NEAR + 1)[:, None] + np.arange(NEAR)
    t = one.times[groups]
    gaps = (t[:, :, None] - t[:, None, :]) / (t[:, -1:, None] - t[:, :1, None])
    weights = 1.0 / np.where(np.eye(NEAR, dtype=bool), 1.0, gaps).prod(2)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    result: Floats = np.einsum("gk,gks->gs", weights, one.states[groups])
    return result


def doubt(data: Sequence[Trajectory], names: Sequence[str], noise: Floats) -> str:
    """A sentence on a fit that leaves more than the noise of the samples; "" if there is nothing to say."""
    left = _all_left(data)
    if left is None:
        return ""
    rough, sizes = np.sqrt(np.mean(left**2, axis=0)), np.concatenate([one.states for one in data]).std(0)
    least = ROUNDING * np.where(sizes > 0, sizes, 1.0)
    share = noise / np.maximum(rough, least)
    worst = int(share.argmax())
    if share[worst] > TIMES:
        return (
            f"the system does not follow the data: it is off by {noise[worst]:.2g} in {names[worst]}, whose samples "
            f"are smooth to {rough[worst]:.2g}. The vector field is not quadratic in these states: give functions of "
            "them that it has, such as functions='x1^2', or states that were not measured"
        )
    usual = np.median(np.abs(left), axis=0) / MEDIAN
    lost = np.flatnonzero((noise > NOTHING * sizes) & (noise > TIMES * np.maximum(usual, least)) & (sizes > 0))
    if not len(lost):
        return ""
    return (
        f"nothing explains how {names[lost[0]]} moves: solutions are off by {noise[lost[0]]:.2g}, although most "
        f"samples are smooth to {usual[lost[0]]:.2g}. Look for outliers and jumps, and split the trajectory there"
    )
