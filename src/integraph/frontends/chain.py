"""Affine maps and activations in a row, and the layers that they are: maps are joined where that is exact in float64.

A map is (A, b) with A a matrix, or a vector for one factor for each unit: normalisation of 10⁵ inputs is two vectors.
scikit-learn, Keras and verification tools store such a row; `dense`, `scaling` and `division` check each step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats, numbers
from integraph.targets import Layer, Network, merge
from integraph.targets.affine_maps import Map
from integraph.text import counted

TINY = 2.0**-960  # products below could lose bits
FULL = 1 << 26  # entries of all elementwise maps that have to be stored as layers of their own, full matrices


@dataclass(frozen=True, slots=True, eq=False)
class ActivationLayer:
    """An activation between maps."""

    name: str
    slope: float | Floats
    units: int


Step = Map | ActivationLayer


def times(factors: Floats, rows: Floats) -> Floats | None:
    """Row k times factor k, or None if a product would be rounded: if its odd parts need more than 53 bits."""
    factors = factors.reshape(-1, *(1,) * (rows.ndim - 1))
    with np.errstate(over="ignore", under="ignore"):
        product = factors * rows
    fits = (_odd(factors) * _odd(rows) < 2.0**53) & (np.abs(product) > TINY) & (np.abs(product) < np.inf)
    exact = fits | (factors == 0) | (rows == 0)
    return product if exact.all() else None


def scaled(factor: float, array: Floats) -> tuple[Floats, bool]:
    """factor · array, and whether no product was rounded."""
    exact = times(np.array([factor]), array.reshape(1, -1))
    with np.errstate(over="ignore"):
        return (factor * array, False) if exact is None else (exact.reshape(array.shape), True)


def _odd(x: Floats) -> Floats:
    """The odd whole number m of |x| = m·2^k."""
    whole = np.ldexp(np.frexp(np.abs(x))[0], 53).astype(np.int64)
    return np.asarray(whole // np.maximum(whole & -whole, 1), np.float64)


def plus(a: Floats, b: Floats) -> Floats | None:
    """a + b, or None if a sum would be rounded."""
    merged = merge((np.ones((1, 2)), np.zeros(1)), (np.stack([a.ravel(), b.ravel()]), np.zeros(2)))
    return None if merged is None else merged[0].reshape(a.shape)


def sum_is_exact(a: Floats, b: Floats) -> bool:
    return not (a.any() and b.any()) or plus(a, b) is not None


def compose(second: Map, first: Map) -> Map | None:
    """second(first(x)) as one map, or None if that would be rounded or need more numbers than the two."""
    (A2, b2), (A1, b1) = second, first
    if A2.ndim == 1:
        A, shift = times(A2, A1), times(A2, b1)
        b = None if shift is None else plus(shift, b2)
    elif A1.ndim == 1:
        A = times(A1, A2.T)
        A = None if A is None else A.T
        bias = merge(second, (np.zeros((len(A1), 1)), b1))
        b = None if bias is None else bias[1]
    else:
        if len(A2) * A1.shape[1] > A2.size + A1.size:
            return None
        return merge(second, first)
    return None if A is None or b is None else (A, b)


def layers(parts: Iterable[Step], inputs: int) -> list[Layer]:
    """Maps and functions in order as layers. Maps that do not join exactly stay, with the identity as activation."""
    stack: list[Step] = []
    for part in parts:
        if isinstance(part, tuple) and _is_identity(part):
            continue
        joint = compose(part, stack[-1]) if isinstance(part, tuple) and stack and isinstance(stack[-1], tuple) else None
        if joint is None:
            stack.append(part)
        elif _is_identity(joint):
            stack.pop()
        else:
            stack[-1] = joint
    return _layers(stack or [(np.ones(inputs), np.zeros(inputs))])


def _layers(stack: Sequence[Step]) -> list[Layer]:
    alone = [_units(part) for before, part in pairwise([None, *stack]) if _stands_alone(before, part)]
    if sum(n**2 for n in alone) > FULL:
        raise SourceError(
            f"{len(alone)} elementwise maps of up to {max(alone)} units cannot join their neighbours exactly, and as "
            f"layers of their own need matrices of more than {FULL} entries: fold normalisations into the weights first"
        )
    chain, waiting = [], None
    for part in stack:
        if isinstance(part, ActivationLayer):
            A, b = waiting or (np.ones(part.units), np.zeros(part.units))
            chain.append(Layer(_matrix(A), b, part.name, part.slope))
            waiting = None
            continue
        if waiting is not None:
            chain.append(Layer(_matrix(waiting[0]), waiting[1]))
        waiting = part
    if waiting is not None:
        chain.append(Layer(_matrix(waiting[0]), waiting[1]))
    return chain


def _stands_alone(before: Step | None, part: Step | None) -> bool:
    """Whether a part becomes a square matrix that the source does not have."""
    if isinstance(part, ActivationLayer):
        return not isinstance(before, tuple)
    return part is not None and part[0].ndim == 1


def _units(part: Step | None) -> int:
    return part.units if isinstance(part, ActivationLayer) else len(part[0]) if part else 0


def _is_identity(part: Map) -> bool:
    A, b = part
    return A.ndim == 1 and bool((A == 1).all()) and not b.any()


def _matrix(A: Floats) -> Floats:
    return np.diag(A) if A.ndim == 1 else A


def dense(A: Floats, b: Floats, where: str) -> Map:
    """A z + b."""
    try:
        layer = Layer(A, b)
    except SourceError as error:
        raise SourceError(f"{where}: {error}") from None
    return layer.A, layer.b


def scaling(factor: Floats, shift: Floats, where: str) -> Map:
    """factor · z + shift, each value alone."""
    factors = [numbers(given, f"factors of {where}", SourceError) for given in (factor, shift)]
    if factors[0].ndim != 1 or factors[0].shape != factors[1].shape:
        raise SourceError(f"{where} has {factors[0].shape} factors and {factors[1].shape} shifts: they must agree")
    if not np.isfinite(factors).all():
        raise SourceError(f"{where} has a factor or a shift that is not finite")
    return factors[0], factors[1]


def division(mean: Floats, scale: Floats, where: str, notes: list[str]) -> Map:
    """(z − mean) / scale, each value alone; where 1/scale or mean/scale is rounded, a note says so."""
    mean, scale = scaling(mean, scale, where)
    if not scale.all():
        raise SourceError(f"{where} divides by 0")
    with np.errstate(over="ignore"):
        factor, shift = scaling(1.0 / scale, mean / scale, where)
    one, back = times(scale, factor), times(scale, shift)
    if one is None or back is None or (one != 1).any() or (back != mean).any():
        notes.append(f"1/scale and mean/scale of {where} are rounded to float64")
    return scaling(factor, -shift, where)


def network(steps: Sequence[Step], inputs: int, source: str, notes: Sequence[str]) -> Network:
    """The steps as layers; a step that does not fit the one before is refused."""
    if all(isinstance(step, tuple) and step[0].ndim == 1 for step in steps):
        raise SourceError("there is no weight matrix and no activation, so this is not a network")
    width = inputs
    for step in steps:
        takes, gives = (
            (step.units, step.units) if isinstance(step, ActivationLayer) else (step[0].shape[-1], len(step[0]))
        )
        if takes != width:
            raise SourceError(f"a layer takes {counted(takes, 'value')}, but {width} come in: they must agree")
        width = gives
    return Network(tuple(layers(steps, inputs)), source, tuple(dict.fromkeys(notes)))
