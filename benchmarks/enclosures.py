"""Validated solutions: the end box beside the hull of simulated solutions, and warm processor time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import integraph
from certificates import aimed, table
from integraph.numbers.arrays import Floats
from integraph.targets.float_arithmetic import values

STARTS, RUNS = 500, 5
RATIO = 2.0
POINT = 1e-9  # of the size of the states, from one start
BOXES = ("system", "radius", "T", "steps", "time", "end / hull, smallest", "largest")
POINTS = ("system", "T", "steps", "time", "widest side of the end box", "distance of DOP853 at 1e-13")


@dataclass(frozen=True)
class Case:
    equations: str
    start: tuple[float, ...]
    radius: float
    T: float


CASES = {
    "pendulum": Case("x' = v; v' = -sin(x)", (1, 0), 1e-6, 10),
    "Lorenz": Case("x' = 10*(y - x); y' = x*(28 - z) - y; z' = x*y - 8/3*z", (1, 1, 1), 1e-6, 5),
    "Kepler, one period": Case(
        "r = x^2 + y^2; x'' = -x/r^(3/2); y'' = -y/r^(3/2)", (1, 0, 0, 1), 1e-4, 6.283185307179586
    ),
    "van der Pol": Case("x' = v; v' = (1 - x^2)*v - x", (2, 0), 0.01, 10),
    "Lotka–Volterra": Case("x' = 1.5*x - x*y; y' = x*y - 3*y", (5, 2), 0.01, 5),
    "FitzHugh–Nagumo": Case("v' = v - v^3/3 - w + 1/2; w' = 0.08*(v + 0.7 - 0.8*w)", (-1, 1), 1e-3, 40),
    "Laub–Loomis": Case(
        "a' = 1.4*c - 0.9*a; b' = 2.5*h - 1.5*b; c' = 0.6*g - 0.8*b*c; d' = 2 - 1.3*c*d; h' = 0.7*a - d*h; "
        "f' = 0.3*a - 3.1*f; g' = 1.8*f - 1.5*b*g",
        (1.2, 1.05, 1.5, 2.4, 1.0, 0.1, 0.45), 0.01, 20,
    ),
    "stiff, rate 1000": Case("x' = -1000*(x - cos(s)); s' = 1", (0, 0), 1e-6, 1),
}  # fmt: skip


def main() -> None:
    systems = {name: integraph.lift(case.equations, seconds=5.0, progress=False) for name, case in CASES.items()}
    table("validated solutions from boxes", BOXES, boxes(systems))
    table("validated solutions from points", POINTS, points(systems))


def boxes(systems: dict[str, integraph.QuadraticSystem]) -> Iterator[tuple[object, ...]]:
    for name, case in CASES.items():
        system, start = systems[name], np.array(case.start, float)
        spent, result = measured(system, np.stack([start - case.radius, start + case.radius], 1), case.T)
        share = np.random.default_rng(1).uniform(-1, 1, (STARTS, len(start)))
        share[: STARTS // 2] = np.sign(share[: STARTS // 2])
        hull = np.ptp(simulated(system, start + case.radius * share, result.time, 1e-12), axis=0)
        wide = hull > 1e-9
        ratios = result.width[-1][wide] / hull[wide]
        yield (
            name, f"{case.radius:g}", f"{case.T:g}", len(result.over), f"{1e3 * spent:.1f} ms", f"{ratios.min():.4f}",
            aimed(f"{ratios.max():.4f}", float(ratios.max()), RATIO),
        )  # fmt: skip


def points(systems: dict[str, integraph.QuadraticSystem]) -> Iterator[tuple[object, ...]]:
    for name, case in CASES.items():
        system, start = systems[name], np.array(case.start, float)
        spent, result = measured(system, start, case.T)
        end = simulated(system, start[None], case.T, 1e-13)[0]
        width = float(result.width[-1].max())
        off = float(np.abs(end - 0.5 * (result.low[-1] + result.high[-1])).max())
        size = max(1.0, float(np.abs(end).max()))
        yield (
            name, f"{case.T:g}", len(result.over), f"{1e3 * spent:.1f} ms", aimed(f"{width:.1e}", width, POINT * size),
            f"{off:.1e}",
        )  # fmt: skip


def measured(system: integraph.QuadraticSystem, x0: Floats, T: float) -> tuple[float, Any]:
    spent = []
    for _ in range(RUNS):
        begun = time.process_time()
        result = system.enclose(x0, T, progress=False)
        spent.append(time.process_time() - begun)
    return min(spent), result


def simulated(system: integraph.QuadraticSystem, starts: Floats, T: float, rtol: float) -> Floats:
    """The states at T of many starts, by DOP853 at once."""
    expression, shape = system.source.expression, starts.shape
    run = solve_ivp(
        lambda t, y: values(expression, y.reshape(shape)).ravel(), (0.0, T), starts.ravel(), "DOP853",
        rtol=rtol, atol=rtol,
    )  # fmt: skip
    end: Floats = run.y[:, -1].reshape(shape)
    return end


if __name__ == "__main__":
    main()
