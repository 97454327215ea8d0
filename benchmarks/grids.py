"""Systems of 1000 states on grids: lifted, run by `taylor`, compiled, and solved by scipy.

They take turns; times are processor times. Implicit methods of scipy know which states meet; LSODA gets the states in
an order with a narrow band.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy
from scipy.integrate import solve_ivp
from scipy.sparse.csgraph import reverse_cuthill_mckee

import integraph
from integraph.constructions.lifting.simulation import free_flow
from measure import clock, race, show
from ode_grids import GRIDS, Right

STATES = 1000
RTOL = 1e-9
ENDS = {"Burgers": 0.05, "Allen–Cahn": 1.0, "Brusselator": 2.0, "FitzHugh–Nagumo": 2.0}
METHODS = ("DOP853", "RK45", "LSODA", "BDF", "Radau")
TOLERANCES = (1e-9, 1e-11, 1e-12, 1e-13)
LIFTED = ("system", "new", "terms", "lift s", "first simulate s", "program s", "its run s")
RUNS = (
    "system", "T", "taylor ms", "error", "simulate ms", "scipy", "ms", "error", "ratio", "scipy, as accurate", "ms",
    "ratio",
)  # fmt: skip


def main() -> None:
    integraph.lift(GRIDS["Allen–Cahn"][0](60)[0], progress=False)  # imports
    rows = [measure(name) for name in GRIDS]
    show(f"{STATES} states on a grid", LIFTED, [row[0] for row in rows])
    note = "errors: the largest of all states at T, against DOP853 at 1e-13; as accurate: at most 3 times our error"
    show(f"{STATES} states on a grid, rtol {RTOL:g}", RUNS, [row[1] for row in rows], note)


def measure(name: str) -> tuple[tuple[object, ...], tuple[object, ...]]:
    formulas, right, x = GRIDS[name][0](STATES)
    end = ENDS[name]
    systems: list[integraph.QuadraticSystem] = []
    lifted = clock(lambda: systems.append(integraph.lift(formulas, progress=False)), time.process_time)
    system = systems[-1]
    first = clock(lambda: system.simulate(x, [end], rtol=RTOL), time.process_time)
    programs: list[integraph.Program] = []
    box = np.stack([x - 1e-3, x + 1e-3], 1)
    compiled = clock(lambda: programs.append(system.program(end, box)), time.process_time)
    run = clock(lambda: programs[-1](x), time.process_time)
    made = (name, len(system.new), len(system.terms), *(f"{s:.2f}" for s in (lifted, first, compiled, run)))
    return made, compared(name, system, right, x, end)


def compared(
    name: str, system: integraph.QuadraticSystem, right: Right, x: np.ndarray, end: float
) -> tuple[object, ...]:
    true = solve_ivp(right, (0, end), x, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    flow, start = free_flow(system, end), system.start(x)
    ours = {
        "taylor": lambda: flow.flow(start, "taylor", rtol=RTOL).outputs[0, :STATES],
        "simulate": lambda: system.simulate(x, [end], rtol=RTOL).states[0, -1],
    }
    theirs = {(one, rtol): rival(one, right, x, end, rtol) for one in METHODS for rtol in TOLERANCES}
    errors = {key: float(np.max(np.abs(run() - true))) for key, run in (ours | theirs).items()}
    times = race(ours | {key: run for key, run in theirs.items() if key[1] == RTOL}, 2.0, timer=time.process_time)
    best = min(((one, RTOL) for one in METHODS), key=lambda key: times[key])
    able = {key: theirs[key] for key in theirs if errors[key] <= 3 * errors["taylor"]}
    other = race({"taylor": ours["taylor"], **able}, 2.0, timer=time.process_time)
    alike = min(able, key=lambda key: other[key], default=None)
    accurate = ("none", "", "")
    if alike is not None:
        label = f"{alike[0]} at {alike[1]:g}"
        accurate = (label, f"{1e3 * other[alike]:.1f}", f"{other[alike] / other['taylor']:.1f}")
    return (
        name, f"{end:g}", f"{1e3 * times['taylor']:.1f}", f"{errors['taylor']:.0e}", f"{1e3 * times['simulate']:.1f}",
        best[0], f"{1e3 * times[best]:.1f}", f"{errors[best]:.0e}", f"{times[best] / times['taylor']:.1f}", *accurate,
    )  # fmt: skip


def rival(method: str, right: Right, x: np.ndarray, end: float, rtol: float) -> Callable[[], np.ndarray]:
    """The states at the end by a method of scipy."""
    near = scipy.sparse.diags_array(np.ones((5, len(x))), offsets=range(-2, 3), shape=(len(x), len(x)))
    wrapped = scipy.sparse.lil_array(near)
    wrapped[:2, -2:] = wrapped[-2:, :2] = 1.0
    meet = scipy.sparse.csr_matrix(wrapped)
    run = partial(solve_ivp, t_span=(0, end), method=method, rtol=rtol, atol=1e-3 * rtol)
    if method in ("BDF", "Radau"):
        return lambda: run(right, y0=x, jac_sparsity=meet).y[:, -1]
    if method != "LSODA":
        return lambda: run(right, y0=x).y[:, -1]
    order = reverse_cuthill_mckee(meet, symmetric_mode=True)
    back = np.argsort(order)
    rows, columns = meet.nonzero()
    band = int(np.abs(back[rows] - back[columns]).max())
    return lambda: run(lambda t, y: right(t, y[back])[order], y0=x[order], lband=band, uband=band).y[back, -1]


if __name__ == "__main__":
    main()
