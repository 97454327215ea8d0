"""The data of a fit: values of f at the nodes of all cells, or Taylor coefficients at their centres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.bounds.interpolation_nodes import all_nodes
from integraph.bounds.sobolev import norm
from integraph.bounds.sobolev.taylor_series import taylor
from integraph.constructions.theorem1.unit_cube import UnitCube
from integraph.errors import SourceError, UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below, factorials, rank
from integraph.numbers.roundoff import U
from integraph.targets import Function

Pair = tuple[Floats, Floats]  # numbers, and how far each may be off
Cells = tuple[slice, ...]  # a block of cells, one slice for each direction


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """f on a box. f is evaluated at points in the box that may be `cube.lost` away from where they should be, in
    every variable; `slopes` bounds what that changes: sup |f^(α)|/α! on the cube for |α| ≤ n, or 0 if unknown."""

    function: Function
    cube: UnitCube
    slopes: Floats

    @property
    def outputs(self) -> int:
        return self.function.outputs

    def newton(self, cells: Cells, N: int, n: int, spread: float, more: int = 0) -> Pair:
        """Values f(τ_α), or for spread = 0 the coefficients f^(α)/α! in units of a cell, |α| < n + more: (cells, …, M,
        outputs)."""
        values, off = self._values(cells, N, n, spread, more) if spread else self._taylor(cells, N, n + more)
        moved = self._moved(1)[0] if spread else self._moved(n + more) * _unit(self.function.inputs, N, n + more)
        return values, off + moved

    def _moved(self, n: int) -> Floats:
        """How much f^(α)/α!, |α| < n, changes when a point moves by `lost`: Σ_j (α_j + 1) sup |f^(α+e_j)|/(α+e_j)!."""
        d = self.function.inputs
        alphas = below(d, n)
        steps = np.zeros((len(alphas), self.outputs))
        for j in range(d):
            rows = rank(alphas + np.eye(d, dtype=np.int64)[j])
            steps += (alphas[:, j, None] + 1) * self.slopes[rows]
        return self.cube.lost * steps

    def _values(self, cells: Cells, N: int, n: int, spread: float, more: int) -> Pair:
        d, scale = self.function.inputs, max(N, 1)
        alphas = below(d, n + more)
        place = (np.arange(N + 1)[:, None] + all_nodes(n, N, spread, more)) / scale  # (N + 1, n + more)
        lead = tuple(part.stop - part.start for part in cells)
        points = np.empty((*lead, len(alphas), d))
        for j in range(d):
            rows = place[cells[j]]
            shape = (*(1,) * j, len(rows), *(1,) * (d - 1 - j), len(alphas))
            points[..., j] = rows[:, alphas[:, j]].reshape(shape)
        values, off = self.at(self.cube.back(points.reshape(-1, d)))
        return values.reshape(*lead, len(alphas), -1), off.reshape(*lead, len(alphas), -1)

    def at(self, x: Floats) -> Pair:
        """f at points (B, d) of the box, (B, outputs)."""
        f = self.function
        if f.expression is not None:
            ball = taylor(f.expression, x, x, 1)
            return self._finite(ball.mid[0], ball.rad[0], 0)
        if f.values is None:
            raise UsageError(f"{f.name} is a table of derivatives: it has no values between its nodes")
        values = f.values(x)
        return values, np.zeros_like(values)

    def _taylor(self, cells: Cells, N: int, n: int) -> Pair:
        f, d = self.function, self.function.inputs
        alphas, scale = below(d, n), max(N, 1)
        axis = np.arange(N + 1) / scale if N else np.array([0.5])
        grid = np.meshgrid(*(axis[part] for part in cells), indexing="ij")
        x = self.cube.back(np.stack(grid, -1).reshape(-1, d))
        if f.expression is not None:
            ball = taylor(f.expression, x, x, n)
            coefficients, off = self._finite(ball.mid, ball.rad, n - 1)
        else:
            known = self._derivatives(cells, x, N, n)
            coefficients = known / factorials(d, n)[:, None, None]
            off = 2 * U * np.abs(coefficients)
        unit = (self.cube.scale**-alphas).prod(1)[:, None, None] * _unit(d, N, n)[:, None]
        coefficients, off = coefficients * unit, (off + 4 * (n + d) * U * np.abs(coefficients)) * unit
        shape = (*grid[0].shape, len(alphas), self.outputs)
        return np.moveaxis(coefficients, 0, 1).reshape(shape), np.moveaxis(off, 0, 1).reshape(shape)

    def _derivatives(self, cells: Cells, x: Floats, N: int, n: int) -> Floats:
        """f^(α) at the centres, (M, B, outputs)."""
        f = self.function
        rows = [tuple(alpha.tolist()) for alpha in below(f.inputs, n)]
        if f.table is not None:
            if N != f.table.N or n > f.table.order:
                raise UsageError(
                    f"the table has N = {f.table.N} and derivatives up to order {f.table.order - 1}: it cannot serve "
                    f"N = {N}, order {n}"
                )
            return np.stack([f.table.derivatives[row][cells].reshape(-1, f.outputs) for row in rows])
        if f.derivative is None:
            raise SourceError(
                f"{f.name} has no derivatives, which Taylor's polynomials need: give derivatives=…, or compile with "
                "method='lean', which needs values only"
            )
        return np.stack([f.derivative(row, x) for row in rows])

    def _finite(self, mid: Floats, rad: Floats, n: int) -> Pair:
        if not (np.isfinite(mid).all() and np.isfinite(rad).all()):
            raise SourceError(norm.explain(self.function, self.cube.box.low, self.cube.box.high, n))
        return mid, rad


def _unit(d: int, N: int, n: int) -> Floats:
    """N^{−|α|}, (M, 1): from the cube to units of a cell."""
    result: Floats = float(max(N, 1)) ** -below(d, n).sum(1)[:, None]
    return result
