"""Validated solutions: the end box beside the hull of simulated solutions, and warm processor time; beside them heyoka,
which computes without proof, and codac's Lohner contractor, where they are installed."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import integraph
from certificates import aimed, table
from integraph.numbers.arrays import Floats
from integraph.targets.expression import evaluate
from integraph.targets.float_arithmetic import FloatArithmetic, values

STARTS, RUNS = 500, 5
NAMES = {"add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "neg": "neg"}  # of operations, in `operator`
RATIO = 2.0
POINT = 1e-9  # of the size of the states, from one start
SECONDS = 600.0
LONG = 1.0  # seconds: what takes longer runs once
BOXES = ("system", "radius", "T", "cells", "steps", "time", "end / hull, smallest", "largest")
POINTS = ("system", "T", "steps", "time", "widest side of the end box", "distance of DOP853 at 1e-13", "heyoka")
SLICES = (
    "system",
    "radius",
    "T",
    "ours: time",
    "widest side",
    *(f"codac, {dt}: {x}" for dt in (0.1, 0.02) for x in ("time", "widest side")),
)


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
WIDE = {
    "van der Pol": replace(CASES["van der Pol"], radius=0.1),
    "van der Pol, wider": replace(CASES["van der Pol"], radius=0.4),
    "Lotka–Volterra": replace(CASES["Lotka–Volterra"], radius=0.5),
    "FitzHugh–Nagumo": replace(CASES["FitzHugh–Nagumo"], radius=0.1),
    "Laub–Loomis": replace(CASES["Laub–Loomis"], radius=0.1),
    "Brusselator": Case("x' = 1 + x^2*y - 2.5*x; y' = 1.5*x - x^2*y", (1, 1), 0.1, 30),
}


def main() -> None:
    table("validated solutions from boxes", BOXES, boxes(CASES))
    table("validated solutions from wide boxes", BOXES, boxes(WIDE))
    table("validated solutions from points", POINTS, points())
    if find_spec("codac") is not None:
        table(
            "beside codac, by the length of its slices",
            SLICES,
            [beside_codac("pendulum"), beside_codac("Lotka–Volterra")],
        )


def lifted(case: Case) -> integraph.QuadraticSystem:
    return integraph.lift(case.equations, seconds=5.0, progress=False)


def boxes(cases: dict[str, Case]) -> Iterator[tuple[object, ...]]:
    for name, case in cases.items():
        system, start = lifted(case), np.array(case.start, float)
        spent, result = measured(system, np.stack([start - case.radius, start + case.radius], 1), case.T)
        share = np.random.default_rng(1).uniform(-1, 1, (STARTS, len(start)))
        share[: STARTS // 2] = np.sign(share[: STARTS // 2])
        hull = np.ptp(simulated(system, start + case.radius * share, result.time, 1e-12), axis=0)
        wide = hull > 1e-9
        ratios = result.width[-1][wide] / hull[wide]
        yield (
            name, f"{case.radius:g}", f"{case.T:g}", result.cells, len(result.over), f"{1e3 * spent:.1f} ms",
            f"{ratios.min():.4f}", aimed(f"{ratios.max():.4f}", float(ratios.max()), RATIO),
        )  # fmt: skip


def points() -> Iterator[tuple[object, ...]]:
    for name, case in CASES.items():
        system, start = lifted(case), np.array(case.start, float)
        spent, result = measured(system, start, case.T)
        end = simulated(system, start[None], case.T, 1e-13)[0]
        width = float(result.width[-1].max())
        off = float(np.abs(end - 0.5 * (result.low[-1] + result.high[-1])).max())
        size = max(1.0, float(np.abs(end).max()))
        yield (
            name, f"{case.T:g}", len(result.over), f"{1e3 * spent:.1f} ms", aimed(f"{width:.1e}", width, POINT * size),
            f"{off:.1e}", heyoka(system, start, case.T),
        )  # fmt: skip


def measured(system: integraph.QuadraticSystem, x0: Floats, T: float) -> tuple[float, Any]:
    spent: list[float] = []
    while len(spent) < RUNS and sum(spent) < LONG:
        begun = time.process_time()
        result = system.enclose(x0, T, seconds=SECONDS, progress=False)
        spent.append(time.process_time() - begun)
    return min(spent), result


def heyoka(system: integraph.QuadraticSystem, start: Floats, T: float) -> str:
    """The time of its Taylor method at its own tolerance, without proof and without the time to compile."""
    if find_spec("heyoka") is None:
        return ""
    import heyoka as hy

    class Symbols(FloatArithmetic):
        def number(self, text: str) -> Any:
            return hy.expression(float(super().number(text)))

        def apply(self, step: Any, args: Any) -> Any:
            if step.op == "power":
                return args[0] ** hy.expression(float(Fraction(step.text)))
            return (
                getattr(hy, step.op)(*args) if step.op in ("sin", "cos") else getattr(operator, NAMES[step.op])(*args)
            )

    states = hy.make_vars(*system.source.states)
    field = evaluate(system.source.expression, Symbols(), list(states))
    solver = hy.taylor_adaptive(list(zip(states, field, strict=True)), start)
    spent = []
    for _ in range(RUNS):
        solver.time, solver.state[:] = 0.0, start
        begun = time.process_time()
        solver.propagate_until(T)
        spent.append(time.process_time() - begun)
    return f"{1e6 * min(spent):.0f} µs"


def beside_codac(name: str) -> tuple[object, ...]:
    """The time and the widest side at T by codac's Lohner contractor, on slices of two lengths."""
    import codac

    case = CASES[name]
    system, n = lifted(case), len(case.start)
    spent, result = measured(system, np.add.outer(case.start, [-case.radius, case.radius]), case.T)

    class Symbols(FloatArithmetic):
        def number(self, text: str) -> Any:
            return codac.ScalarExpr(float(super().number(text)))

        def apply(self, step: Any, args: Any) -> Any:
            return codac.sin(*args) if step.op == "sin" else getattr(operator, NAMES[step.op])(*args)

    x = codac.VectorVar(n)
    field = codac.AnalyticFunction(
        [x], codac.vec(*evaluate(system.source.expression, Symbols(), [x[i] for i in range(n)]))
    )
    row: list[object] = [
        name,
        f"{case.radius:g}",
        f"{case.T:g}",
        f"{1e3 * spent:.1f} ms",
        f"{result.width[-1].max():.1e}",
    ]
    for dt in (0.1, 0.02):
        tube = codac.SlicedTube(codac.create_tdomain(codac.Interval(0, case.T), dt, True), codac.IntervalVector(n))
        tube.set(codac.IntervalVector([[c - case.radius, c + case.radius] for c in case.start]), 0.0)
        begun = time.process_time()
        codac.CtcLohner(field).contract(tube, codac.TimePropag.FWD)
        row += [f"{1e3 * (time.process_time() - begun):.0f} ms", f"{max(tube(case.T)[i].diam() for i in range(n)):.1e}"]
    return tuple(row)


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
