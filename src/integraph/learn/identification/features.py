"""The features φ of a vector field: 1, and the products of at most two of z = (states, given functions, inputs)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from integraph.learn.identification.tangents import tangents
from integraph.numbers.arrays import Floats, Indices
from integraph.targets import float_arithmetic
from integraph.targets.expression import Expression


@dataclass(frozen=True, eq=False)
class Features:
    """`functions` are formulas of the states; `texts` say what each entry of z is called."""

    states: int
    functions: Expression | None
    texts: tuple[str, ...]

    @cached_property
    def pairs(self) -> tuple[Indices, Indices]:
        return np.triu_indices(len(self.texts))

    def __len__(self) -> int:
        return 1 + len(self.texts) + len(self.pairs[0])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Each feature as a formula."""
        parts = tuple(text if text.isidentifier() else f"({text})" for text in self.texts)
        squares = (f"{parts[j]}^2" if j == k else f"{parts[j]}*{parts[k]}" for j, k in zip(*self.pairs, strict=True))
        return ("1", *parts, *squares)

    def factors(self, x: Floats, u: Floats) -> tuple[Floats, Floats | None]:
        """z (…, B) for states (n, B) and inputs (m, B), and the slopes of the functions (functions, states, B)."""
        if self.functions is None:
            return np.concatenate([x, u]), None
        values, slopes = tangents(self.functions, x.T)
        return np.concatenate([x, values.T, u]), np.ascontiguousarray(slopes.transpose(1, 2, 0))

    def values(self, x: Floats, u: Floats) -> Floats:
        """φ (B, features) for rows of states and inputs."""
        if self.functions is None:
            return self.of(np.concatenate([x.T, u.T])).T
        return self.of(np.concatenate([x.T, float_arithmetic.values(self.functions, x).T, u.T])).T

    def of(self, z: Floats) -> Floats:
        """φ (features, B)."""
        j, k = self.pairs
        return np.concatenate([np.ones((1, z.shape[1])), z, z[j] * z[k]])

    def jacobian(self, coefficients: Floats, z: Floats, slopes: Floats | None) -> Floats:
        """∂(Θφ)/∂x (equations, states, B), for coefficients Θ (equations, features)."""
        j, k = self.pairs
        size, count = len(self.texts), len(coefficients)
        products = np.zeros((count, size, size))
        products[:, j, k] = coefficients[:, 1 + size :]
        products = products + products.transpose(0, 2, 1)
        bent = (products.reshape(count * size, size) @ z).reshape(count, size, -1)
        by_factor = bent + coefficients[:, 1 : 1 + size, None]
        result: Floats = by_factor[:, : self.states]
        for number, slope in enumerate(() if slopes is None else slopes, self.states):
            result = result + by_factor[:, number, None] * slope
        return result
