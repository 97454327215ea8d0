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
        """z (B, …), and the slopes of the functions (B, functions, states)."""
        if self.functions is None:
            return np.concatenate([x, u], 1), None
        values, slopes = tangents(self.functions, x)
        return np.concatenate([x, values, u], 1), slopes

    def values(self, x: Floats, u: Floats) -> Floats:
        if self.functions is None:
            return self.of(np.concatenate([x, u], 1))
        return self.of(np.concatenate([x, float_arithmetic.values(self.functions, x), u], 1))

    def of(self, z: Floats) -> Floats:
        j, k = self.pairs
        return np.concatenate([np.ones((len(z), 1)), z, z[:, j] * z[:, k]], 1)

    def jacobian(self, coefficients: Floats, z: Floats, slopes: Floats | None) -> Floats:
        """∂(Θφ)/∂x (B, equations, states), for coefficients Θ (equations, features)."""
        j, k = self.pairs
        size = len(self.texts)
        products = np.zeros((len(coefficients), size, size))
        products[:, j, k] = coefficients[:, 1 + size :]
        products = products + products.transpose(0, 2, 1)
        by_factor = coefficients[:, 1 : 1 + size] + np.einsum("ejk,bk->bej", products, z)
        result: Floats = by_factor[:, :, : self.states]
        if slopes is not None:
            result = result + by_factor[:, :, self.states : self.states + slopes.shape[1]] @ slopes
        return result
