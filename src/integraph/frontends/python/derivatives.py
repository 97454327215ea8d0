"""Derivatives that a user gives beside a Python function, each compared with differences of the one below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from typing import Any

import numpy as np

from integraph.errors import SourceError, UsageError
from integraph.frontends.python.pointwise import PointwiseFunction, interior
from integraph.numbers.arrays import Floats
from integraph.targets.function import Alpha, point
from integraph.text import counted

POINTS = 5  # where a derivative is compared
STEPS = (1e-3, 1e-4)  # of the differences, as part of the box
CLOSE = 1e-3  # relative disagreement that is still rounding
SURE = 1e-4  # relative agreement of the differences among themselves, without which they say nothing


class Derivatives:
    """(α, x) → f^(α)(x)."""

    def __init__(self, given: Mapping[Any, Callable[..., Any]] | Callable[..., Any], f: PointwiseFunction) -> None:
        self.f = f
        self.d = len(f.variables)
        self.known: dict[Alpha, PointwiseFunction] = {(0,) * self.d: f}
        self.given: dict[Alpha, Callable[..., Any]] | None = None
        self.rule: Callable[..., Any] | None = None
        if isinstance(given, Mapping):
            self.given = {self._alpha(key): g for key, g in given.items()}
            for alpha in sorted(self.given, key=sum):
                self._find(alpha)
        elif callable(given):
            self.rule = given
        else:
            raise UsageError(
                f"derivatives must be {{α: function}} or a function of α and x, not {type(given).__name__}"
            )

    def __call__(self, alpha: Alpha, x: Floats) -> Floats:
        return self._find(self._alpha(alpha))(x)

    def _alpha(self, key: Any) -> Alpha:
        try:
            alpha = tuple(index(n) for n in (key if isinstance(key, tuple | list | np.ndarray) else (key,)))
        except TypeError:
            alpha = ()
        if len(alpha) != self.d or min(alpha) < 0:
            raise UsageError(
                f"{key!r} names no derivative: needed are {self.d} orders, as in {(1,) + (0,) * (self.d - 1)}"
            )
        return alpha

    def _find(self, alpha: Alpha) -> PointwiseFunction:
        """f^(α), made and compared when it is first needed."""
        if alpha not in self.known:
            derivative = self._made(alpha)
            self.known[alpha] = derivative
            self._compare(alpha, derivative)
        return self.known[alpha]

    def _made(self, alpha: Alpha) -> PointwiseFunction:
        name = f"the derivative {alpha if self.d > 1 else alpha[0]} of {self.f.name}"
        if self.given is not None and alpha not in self.given:
            raise SourceError(f"{name} is missing in derivatives: add it, or use a lower order")
        if self.given is not None:
            g = self.given[alpha]
            if not callable(g):
                raise UsageError(f"{name} must be a Python function, not {type(g).__name__}")
        else:
            g = self._partial(alpha)
        derivative = PointwiseFunction(g, name, self.f.variables, self.f.apart, self.f.box)
        if derivative.outputs != self.f.outputs:
            raise SourceError(f"{name} has {counted(derivative.outputs, 'output')}, {self.f.name} has {self.f.outputs}")
        return derivative

    def _partial(self, alpha: Alpha) -> Callable[..., Any]:
        rule, order = self.rule, alpha if self.d > 1 else alpha[0]
        assert rule is not None

        def g(*x: Any) -> Any:
            return rule(order, *x)

        return g

    def _compare(self, alpha: Alpha, derivative: PointwiseFunction) -> None:
        """A SourceError if the derivative is grossly not the slope of one below it."""
        lower = [(j, below) for j in range(self.d) if (below := _less(alpha, j)) in self.known or self._has(below)]
        for j, below in lower[:1]:
            x = interior(self.f.box, POINTS)
            width = self.f.box[1, j] - self.f.box[0, j]
            coarse, fine = (_slope(self._find(below), x, j, part * width) for part in STEPS)
            given = derivative(x)
            size = np.max(np.maximum(np.abs(fine), np.abs(given)), 0) + CLOSE * np.max(np.abs(self._find(below)(x)), 0)
            sure = np.abs(coarse - fine) <= SURE * size
            wrong = sure & ~(np.abs(fine - given) <= CLOSE * size)
            if wrong.any():
                row, column = (int(n) for n in np.argwhere(wrong)[0])
                where = point(x[row], self.f.variables)
                raise SourceError(
                    f"{derivative.name} is {given[row, column]:.6g} at {where}, but differences of "
                    f"{self._find(below).name} "
                    f"give {fine[row, column]:.6g}: correct it, or leave derivatives out"
                )

    def _has(self, alpha: Alpha) -> bool:
        return min(alpha) >= 0 and (self.given is None or alpha in self.given)


def _less(alpha: Alpha, j: int) -> Alpha:
    return (*alpha[:j], alpha[j] - 1, *alpha[j + 1 :])


def _slope(f: PointwiseFunction, x: Floats, j: int, h: float) -> Floats:
    """∂f/∂x_j by differences of order 4."""
    step = h * np.eye(x.shape[1])[j]
    result: Floats = (8.0 * (f(x + step) - f(x - step)) - (f(x + 2 * step) - f(x - 2 * step))) / (12.0 * h)
    return result
