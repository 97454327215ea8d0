"""What the program of a lifted system stands for: x(0) → x(T) of the original equations, or a formula of x(T)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import scipy

from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.targets import float_arithmetic
from integraph.targets.expression import Expression
from integraph.targets.function import Function

TOLERANCE = 1e-12  # of scipy's solvers
STIFF = 100_000  # calls, after which a solver for stiff systems is quicker


class StiffnessError(Exception):
    """The explicit solver takes too long."""


@dataclass(frozen=True, slots=True, eq=False)
class FlowMap:
    """`output` is a formula of the states, or None for the states themselves."""

    system: QuadraticSystem
    T: Fraction
    output: Expression | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        return self.system.source.variables

    @property
    def inputs(self) -> int:
        return len(self.variables)

    @property
    def outputs(self) -> int:
        return len(self.system.source.states if self.output is None else self.output.outputs)

    @property
    def name(self) -> str:
        return f"{self.system.source.name}, T = {float(self.T):g}"

    def function(self) -> Function:
        """The map as a function that can be called."""
        return Function(self.inputs, self.outputs, self.name, self.variables, values=self.values)

    def values(self, x: Floats) -> Floats:
        """By scipy, from the original equations: nothing here is lifted."""
        source, count = self.system.source, len(self.system.source.states)

        calls = 0

        def slope(_: float, flat: Floats) -> Floats:
            nonlocal calls
            calls += 1
            if calls == STIFF:
                raise StiffnessError
            rows = np.concatenate([flat.reshape(len(x), count), x[:, count:]], 1)
            with np.errstate(all="ignore"):
                return np.ravel(float_arithmetic.values(source.expression, rows))

        T, start = float(self.T), np.ravel(x[:, :count])
        solve = partial(scipy.integrate.solve_ivp, slope, (0.0, T), start, t_eval=[T], rtol=TOLERANCE, atol=TOLERANCE)
        try:
            solved = solve(method="DOP853")
        except StiffnessError:
            solved = solve(method="Radau")
        if not solved.success:
            raise SourceError(f"{self.name}: scipy's solver stops before T: {solved.message}")
        ends = solved.y[:, -1].reshape(len(x), count)
        return ends if self.output is None else np.asarray(float_arithmetic.values(self.output, ends))
