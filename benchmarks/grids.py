"""Systems of 1000 states on grids: lifted, simulated, compiled, and solved by the quickest method of scipy."""

from __future__ import annotations

import numpy as np
import scipy
from scipy.integrate import solve_ivp

import integraph
from measure import clock, show
from ode_grids import GRIDS

STATES = 1000
ENDS = {"Burgers": 0.05, "Allen–Cahn": 1.0, "Brusselator": 2.0, "FitzHugh–Nagumo": 2.0}
METHODS = ("DOP853", "RK45", "LSODA", "BDF", "Radau")
COLUMNS = ("system", "new", "terms", "lift s", "T", "simulate s", "error", "scipy", "s", "error", "program s", "run s")


def main() -> None:
    integraph.lift(GRIDS["Allen–Cahn"][0](60)[0], progress=False)  # imports
    rows = [measure(name) for name in GRIDS]
    show(f"{STATES} states on a grid", COLUMNS, rows, "errors: the largest of all states at T, against DOP853 at 1e-13")


def measure(name: str) -> tuple[object, ...]:
    formulas, right, x = GRIDS[name][0](STATES)
    end = ENDS[name]
    systems: list[integraph.QuadraticSystem] = []
    lifted = clock(lambda: systems.append(integraph.lift(formulas, progress=False)))
    system = systems[-1]
    ends: list[np.ndarray] = []
    simulated = clock(lambda: ends.append(system.simulate(x, [end]).states[0, -1]))
    true = solve_ivp(right, (0, end), x, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    method, theirs, off = min((scipy_run(one, right, x, end, true) for one in METHODS), key=lambda run: run[1])
    programs: list[integraph.Program] = []
    box = np.stack([x - 1e-3, x + 1e-3], 1)
    compiled = clock(lambda: programs.append(system.program(end, box)))
    run = clock(lambda: programs[-1](x))
    return (
        name, len(system.new), len(system.terms), f"{lifted:.2f}", f"{end:g}", f"{simulated:.2f}",
        f"{np.max(np.abs(ends[-1] - true)):.0e}", method, f"{theirs:.3f}", f"{off:.0e}", f"{compiled:.1f}",
        f"{run:.2f}",
    )  # fmt: skip


def scipy_run(method: str, right: object, x: np.ndarray, end: float, true: np.ndarray) -> tuple[str, float, float]:
    """Seconds and error; implicit methods know which states meet."""
    near = scipy.sparse.diags_array(np.ones((7, len(x))), offsets=range(-3, 4), shape=(len(x), len(x)))
    wrapped = scipy.sparse.lil_array(near)
    wrapped[:3, -3:] = wrapped[-3:, :3] = 1.0
    options = {"jac_sparsity": scipy.sparse.csr_matrix(wrapped)} if method in ("BDF", "Radau") else {}
    solutions: list[np.ndarray] = []
    seconds = clock(
        lambda: solutions.append(
            solve_ivp(right, (0, end), x, method=method, rtol=1e-9, atol=1e-12, **options).y[:, -1]
        )
    )
    return method, seconds, float(np.max(np.abs(solutions[-1] - true)))


if __name__ == "__main__":
    main()
