"""A quadratic system y' = b + A y + Q(y, y) that a dynamical system was lifted to, and what its variables mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from integraph.constructions.lifting import printing
from integraph.constructions.lifting.simulation import Simulation, simulate
from integraph.errors import SourceError, UsageError
from integraph.numbers.arrays import Floats, Indices, numbers, real
from integraph.program.engine import RTOL
from integraph.program.plugins import FRONTENDS, SOLUTIONS, load_layer
from integraph.targets import float_arithmetic
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.targets.expression import Expression
from integraph.targets.function import Function, point
from integraph.text import counted, shortened

if TYPE_CHECKING:
    from integraph.program import Program


LISTED = 200  # characters of a list of names
Starts = ArrayLike | Mapping[str, ArrayLike] | None


class Term(NamedTuple):
    """value·y_j·y_k in the derivative of y_i, j ≤ k; −1 is the constant 1."""

    i: int
    j: int
    k: int
    value: Fraction


@dataclass(frozen=True, repr=False, eq=False)
class QuadraticSystem:
    """The states and inputs of `source`, then new variables, each with its formula. `minimal` says whether fewer new
    variables were excluded among `among`. `products` are the new variables that are products of two others, as the
    terms of these products, and `rate` is that of `relax`."""

    source: DynamicalSystem
    new: tuple[str, ...]
    formulas: tuple[str, ...]
    definitions: Expression | None
    terms: tuple[Term, ...]
    minimal: bool
    among: str
    products: tuple[Term, ...] = ()
    rate: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.variables + self.new

    @property
    def width(self) -> int:
        return len(self.names)

    @property
    def starts(self) -> dict[str, float]:
        """Where the source lets the states and inputs begin; empty if it does not say so."""
        return dict(zip(self.source.variables, self.source.start or (), strict=False))

    @cached_property
    def b(self) -> Floats:
        b = np.zeros(self.width)
        for term in self.terms:
            if term.k < 0:
                b[term.i] = float(term.value)
        return b

    @cached_property
    def A(self) -> scipy.sparse.csr_array:
        return self._matrix([(t.i, t.k, t.value) for t in self.terms if t.j < 0 <= t.k], self.width)

    @cached_property
    def Q(self) -> scipy.sparse.csr_array:
        """(n, n²): column j·n + k holds the coefficient of y_j·y_k, j ≤ k."""
        n = self.width
        return self._matrix([(t.i, t.j * n + t.k, t.value) for t in self.terms if t.j >= 0], n * n)

    def _matrix(self, entries: Sequence[tuple[int, int, Fraction]], columns: int) -> scipy.sparse.csr_array:
        rows, places, values = zip(*entries, strict=True) if entries else ((), (), ())
        data = ([float(v) for v in values], (rows, places))
        return scipy.sparse.csr_array(scipy.sparse.coo_array(data, shape=(self.width, columns), dtype=float))

    def start(self, x: Starts = None) -> Floats:
        """y(0) for starts x, a row for each: the states and inputs, then the new variables by their formulas."""
        rows = self.rows(x)
        if self.definitions is None:
            return rows
        values = self.formulas_at(rows)
        if not np.isfinite(values).all():
            row, column = (int(n) for n in np.argwhere(~np.isfinite(values))[0])
            raise SourceError(
                f"{self.new[column]} = {self.formulas[column]} is {values[row, column]} at "
                f"{point(rows[row], self.source.variables)}: start elsewhere",
                argument="box",
            )
        return np.concatenate([rows, values], 1)

    def formulas_at(self, rows: Floats) -> Floats:
        """The formulas of the new variables at states and inputs, NaN or infinite where they have no value."""
        assert self.definitions is not None
        if self._factors is None:
            return np.asarray(float_arithmetic.values(self.definitions, rows))
        (a, b), coefficient = self._factors  # thousands of new variables at once
        with np.errstate(over="ignore"):
            return np.asarray(coefficient * rows[:, a] * rows[:, b])

    @cached_property
    def _factors(self) -> tuple[Indices, Floats] | None:
        """Which two states or inputs each new variable is the product of, and its coefficient; None if one is not."""
        count = len(self.source.variables)
        index = np.array([term[:3] for term in self.products], np.int64).reshape(-1, 3)
        if not np.array_equal(index[:, 0], np.arange(count, self.width)):
            return None
        if index[:, 1].min() < 0 or index[:, 2].max() >= count:
            return None
        return index[:, 1:].T, np.array([float(term.value) for term in self.products])

    @cached_property
    def controls(self) -> tuple[Indices, Floats]:
        """The terms as arrays: (i, j, k) in rows, −1 for the constant 1, and their values."""
        index = np.array([term[:3] for term in self.terms], np.int64).reshape(-1, 3)
        return index, np.array([float(term.value) for term in self.terms])

    @cached_property
    def flows(self) -> dict[float, Program]:
        """The programs of flows over the spans that were simulated last."""
        return {}

    def rows(self, x: Starts = None) -> Floats:
        """Starts as an array (B, states and inputs); a mapping is broadcast, so that one value may be swept. What is
        not given begins where the source says."""
        variables = self.source.variables
        if x is None and not self.starts:
            raise UsageError(f"the source gives no start: give {_listed(variables)}", argument="x0")
        if x is None or isinstance(x, Mapping):
            x = self.starts | dict(x or {})
            for name in {*x.keys()} ^ {*variables}:
                what = "is no state and no input" if name in x else "is missing"
                raise UsageError(f"{name} {what}: give {_listed(variables)}", argument="x0")
            each = [numbers(x[name], f"the start of {name}").reshape(-1) for name in variables]
            if len(counts := sorted({len(one) for one in each} - {1})) > 1:
                lengths = " and ".join(map(str, counts))
                raise UsageError(f"starts are lists of {lengths} values: give one number, or as many", argument="x0")
            columns = np.broadcast_arrays(*each)
            array = np.stack(columns, 1)
        else:
            array = np.atleast_2d(numbers(x, "x0"))
        if array.ndim != 2 or array.shape[1] != len(variables) or not len(array):
            raise UsageError(
                f"a start has {counted(len(variables), 'value')}, {_listed(variables)}; got shape {array.shape}",
                argument="x0",
            )
        if not np.isfinite(array).all():
            raise UsageError("starts must be finite numbers", argument="x0")
        return array

    def relax(self, rate: float) -> QuadraticSystem:
        """The same system with −rate·(w − a·b) in the derivative of every new variable w that is a product of two other
        variables: on the manifold nothing changes, and what is off comes back like e^(−rate·t)."""
        speed = real(rate, "rate")
        if not (np.isfinite(speed) and speed > 0):
            raise UsageError("needs a positive rate", argument="rate", value=rate)
        if not self.products:
            raise UsageError(
                "no new variable is a product of two others, which it could be drawn to: project= recomputes all",
                argument="rate",
                value=rate,
            )
        total = {term[:3]: term.value for term in self.terms}
        drawn = {term.i for term in self.products}
        for i, j, k, value in (*self.products, *(Term(i, -1, i, Fraction(-1)) for i in drawn)):
            total[i, j, k] = total.get((i, j, k), Fraction(0)) + Fraction(speed) * value
        terms = tuple(Term(*key, value) for key, value in sorted(total.items()) if value)
        return replace(self, terms=terms, rate=self.rate + speed)

    def simulate(
        self,
        x0: Starts = None,
        times: ArrayLike | None = None,
        *,
        project: float | bool = True,
        rtol: float = RTOL,
    ) -> Simulation:
        """The solution at these times from one start or from many, or from that of the source. New variables are
        recomputed from the states as often as the measured distance from their formulas asks for, or every `project`,
        or never (`project=False`). `rtol` is the relative error that the integrator may make."""
        if times is None:
            raise UsageError("give times, as in np.linspace(0, 10, 101)", argument="times")
        return simulate(self, self.rows(x0), times, project, rtol)

    def enclose(self, x0: ArrayLike | Mapping[str, ArrayLike], T: ArrayLike, **options: Any) -> Any:
        """Proved low and high of every state at a time, or at several, and on every step between, for all solutions
        from x0: an `Enclosure`. `x0` gives each state and input a number or (low, high), in order or by name. Boxes end
        where solutions cease to exist. Options: `seconds`, `cells`, `progress`."""
        return load_layer(SOLUTIONS).enclose(self, x0, T, **options)

    def program(
        self,
        T: float,
        box: ArrayLike,
        *,
        project: float | bool = True,
        output: str | Sequence[str] | Function | None = None,
        controller: Program | None = None,
    ) -> Program:
        """A program that takes x(0) in the box to x(T), or to formulas of x(T) ("v^2/2 - cos(x)"). New variables are
        recomputed from the states every `project`; by default as often as simulations from the box ask for.

        A `controller` is a program that computes the inputs from the states, once, at the start: the program then takes
        states alone, and `repeat(k)` is k periods of the closed loop on the same registers."""
        from integraph.constructions.lifting.flow_program import flow_program

        horizon = real(T, "T")
        if not (np.isfinite(horizon) and horizon > 0):
            raise UsageError("needs a positive time", argument="T", value=T)
        formula = output if output is None or isinstance(output, Function) else self._formula(output)
        return flow_program(self, horizon, box, project, formula, controller)

    def _formula(self, text: str | Sequence[str]) -> Function:
        formula: Function = load_layer(FRONTENDS).function(text, variables=list(self.source.states))
        return formula

    def __str__(self) -> str:
        return printing.text(self)

    __repr__ = __str__

    def latex(self) -> str:
        """The equations and the formulas of new variables as an aligned block."""
        return printing.latex(self)

    def _repr_html_(self) -> str:
        return printing.html(self)


def _listed(variables: Sequence[str]) -> str:
    return shortened(", ".join(variables), LISTED)
