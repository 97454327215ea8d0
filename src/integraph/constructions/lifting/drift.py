"""How fast a lifted system leaves the manifold where new variables equal their formulas, and how far from 1 they are:
a choice among equals.

Off the manifold by g = w − φ(x), a solution moves with g' = N(x) g to first order, where N = ∂W/∂w − Dφ ∂X/∂w for
x' = X and w' = W. An eigenvalue of N with a large positive real part amplifies what integrators leave. No rule that
writes monomials as products is always the best, so the growth is computed at points, the same for all candidates:
of the size of the start, where the source says how a system begins. Where that decides nothing, variables of moderate
size are better: they lose fewer digits, and a machine in fixed point can hold them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.targets import float_arithmetic
from integraph.targets.expression import Expression

if TYPE_CHECKING:
    from integraph.constructions.lifting.quadratic_system import QuadraticSystem

POINTS = 12
LOW, HIGH = 0.25, 1.5  # parts of the start, or of 1: positive, so that roots and logarithms have values
STEP = 1e-5  # of central differences, as a part of the same
DIGITS = 6  # that decide; what is equal to these is equal


def preference(system: QuadraticSystem) -> tuple[float, float]:
    """The smallest is the best of equals."""
    return growth(system), spread(system)


def spread(system: QuadraticSystem) -> float:
    """How many powers of ten lie between 1 and the new variable that is farthest from it, in the mean over the points;
    0 where no point has values."""
    if system.definitions is None:
        return 0.0
    with np.errstate(all="ignore"):  # the logarithm of 0
        decades = np.abs(np.log10(np.abs(float_arithmetic.values(system.definitions, _points(system)[0]))))
    finite = decades[np.isfinite(decades).all(1)]
    return float(f"{finite.max(1).mean():.{DIGITS}g}") if len(finite) else 0.0


def growth(system: QuadraticSystem) -> float:
    """The mean of the largest real part of an eigenvalue of N, where the formulas have values; 0 where none has."""
    if system.definitions is None:
        return 0.0
    with np.errstate(all="ignore"):  # points without a value are left out
        normal = _normal(system, system.definitions)
    finite = normal[np.isfinite(normal).all((1, 2))]
    if not len(finite):
        return 0.0
    rates = np.linalg.eigvals(finite).real.max(1)
    return float(f"{rates.mean():.{DIGITS}g}")


def _points(system: QuadraticSystem) -> tuple[Floats, Floats]:
    """Where systems are compared, and the sizes of states and inputs there."""
    start = np.array(system.source.start or np.zeros(len(system.source.variables)))
    size = np.where(start == 0.0, 1.0, start)
    return size * np.random.default_rng(5).uniform(LOW, HIGH, (POINTS, len(size))), size


def _normal(system: QuadraticSystem, definitions: Expression) -> Floats:
    """N at the points, (points, new, new)."""
    d = len(system.source.variables)
    x, size = _points(system)
    formulas = float_arithmetic.values(definitions, x)
    steps = np.diag(STEP * size)
    shifted = (x[:, None] + np.concatenate([steps, -steps])).reshape(-1, d)
    ends = float_arithmetic.values(definitions, shifted).reshape(POINTS, 2, d, -1)
    slopes = np.swapaxes(ends[:, 0] - ends[:, 1], 1, 2) / (2 * STEP * size)  # (points, new, states)
    jacobians = jacobian(system, np.concatenate([x, formulas], 1))
    normal: Floats = jacobians[:, d:, d:] - slopes @ jacobians[:, :d, d:]
    return normal


def jacobian(system: QuadraticSystem, y: Floats) -> Floats:
    """∂y'/∂y of the lifted system at points, (B, n, n)."""
    index = np.array([term[:3] for term in system.terms], np.int64).reshape(-1, 3)
    value = np.array([float(term.value) for term in system.terms])
    n = system.width
    result = np.zeros((n * n, len(y)))
    ones = np.concatenate([y.T, np.ones((1, len(y)))])  # the index −1 is the constant 1
    for own, other in ((1, 2), (2, 1)):
        some = index[index[:, own] >= 0]
        factors = value[index[:, own] >= 0, None] * ones[some[:, other]]
        np.add.at(result, some[:, 0] * n + some[:, own], factors)
    return result.T.reshape(-1, n, n)
