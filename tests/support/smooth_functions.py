"""Functions for Theorem 1: as formulas, and once more by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from integraph import Program

FLOAT = 1e-12  # what an evaluation in float64 may lose, relative to the largest value


@dataclass(frozen=True)
class Smooth:
    name: str
    formula: str | list[str]
    f: Callable[..., np.ndarray | tuple[np.ndarray, ...]]
    eps: float
    box: tuple[float, float] | list[tuple[float, float]] | None = None

    @property
    def d(self) -> int:
        return self.f.__code__.co_argcount

    def sides(self) -> np.ndarray:
        box = (0.0, 1.0) if self.box is None else self.box
        return np.broadcast_to(np.array(box, np.float64), (self.d, 2))

    def points(self, count: int, seed: int = 7) -> np.ndarray:
        """Random ones, corners, and a fine line through the middle along every axis."""
        low, high = self.sides().T
        rng = np.random.default_rng(seed)
        lines = np.full((self.d, count // 2, self.d), 0.5)
        for j in range(self.d):
            lines[j, :, j] = np.linspace(0, 1, count // 2)
        t = np.concatenate([rng.random((count, self.d)), rng.integers(0, 2, (16, self.d)), lines.reshape(-1, self.d)])
        return np.clip(low + (high - low) * t, low, high)

    def values(self, x: np.ndarray) -> np.ndarray:
        found = self.f(*x.T)
        parts = found if isinstance(found, tuple) else (found,)
        return np.stack([np.broadcast_to(part, len(x)) for part in parts], 1)

    def error(self, program: Program, engine: str | None = None, count: int = 600) -> float:
        """The largest that is seen, less what float64 may lose: of values, and of the digits of x."""
        x = self.points(count)
        wanted = self.values(x)
        lost = FLOAT * (1 + np.abs(wanted).max()) + np.abs(self.values(x * (1 + 4e-15)) - wanted).max()
        return float(np.abs(program(x, engine) - wanted).max() - lost)


SMOOTH = [
    Smooth("sine", "sin(5*x)", lambda x: np.sin(5 * x), 1e-7),
    Smooth("Runge", "1/(1 + 25*x^2)", lambda x: 1 / (1 + 25 * x * x), 1e-4, (-1.0, 1.0)),
    Smooth("bump", "exp(-40*(x - 0.3)^2)", lambda x: np.exp(-40 * (x - 0.3) ** 2), 1e-5),
    Smooth("far away", "sin(x)", lambda x: np.sin(x), 1e-5, (1e4, 1e4 + 3)),
    Smooth("thin", "exp(x)", lambda x: np.exp(x), 1e-8, (0.5, 0.5 + 1e-5)),
    Smooth("negative", "log(1 - x)", lambda x: np.log(1 - x), 1e-6, (-9.0, -4.0)),
    Smooth("polynomial", "x^5 - 2*x", lambda x: x**5 - 2 * x, 1e-9, (-1.0, 2.0)),
    Smooth("zero", "0*x", lambda x: 0 * x, 1e-9),
    Smooth("constant", "2.5 + 0*x*y", lambda x, y: 2.5 + 0 * x * y, 1e-9, (-3.0, 4.0)),
    Smooth("linear", "3*x - y + 1", lambda x, y: 3 * x - y + 1, 1e-9, [(0.0, 1.0), (10.0, 20.0)]),
    Smooth("ridge", "tanh(2*x + y)", lambda x, y: np.tanh(2 * x + y), 1e-3),
    Smooth("corner peak", "(1 + x + 2*y)^(-3)", lambda x, y: (1 + x + 2 * y) ** -3.0, 1e-3),
    Smooth("two outputs", ["sin(x*y)", "x - y^2"], lambda x, y: (np.sin(x * y), x - y * y), 1e-4, (-1.0, 1.0)),
    Smooth("ten outputs", [f"cos({k}*x)" for k in range(10)], lambda x: tuple(np.cos(k * x) for k in range(10)), 1e-4),
    Smooth("space", "sin(x + 2*y - z)", lambda x, y, z: np.sin(x + 2 * y - z), 2e-2),
    Smooth("five", "p*q + r*s*t", lambda p, q, r, s, t: p * q + r * s * t, 1e-6),
]
