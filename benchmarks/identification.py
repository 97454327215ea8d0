"""Identification: the largest error of a coefficient, against pysindy where the environment variable PYSINDY names a
Python that has it. One trajectory a row, by DOP853 at 1e-13; noise is relative to each state's standard deviation, and
figures with noise are medians of five seeds."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from integraph.learn.identification.identify import identification
from measure import show, verdict

RIVAL = Path(__file__).with_name("pysindy_rival.py")
COLUMNS = ("system", "dt", "noise", "error", "terms", "s", "pysindy: differences", "terms", "weak form", "terms", "s")
SEEDS = 5
SECONDS = 5.0  # of processor time, for a row
Truth = dict[tuple[int, int], float]  # equation, feature (1, x, y, …, x², xy, …) → coefficient


def lotka_volterra(t: float, y: np.ndarray) -> list[float]:
    return [y[0] - 0.5 * y[0] * y[1], -0.75 * y[1] + 0.25 * y[0] * y[1]]


def lorenz(t: float, y: np.ndarray) -> list[float]:
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


LOTKA_VOLTERRA: Truth = {(0, 1): 1, (0, 4): -0.5, (1, 2): -0.75, (1, 4): 0.25}
LORENZ: Truth = {(0, 1): -10, (0, 2): 10, (1, 1): 28, (1, 2): -1, (1, 6): -1, (2, 5): 1, (2, 3): -8 / 3}
SYSTEMS = (
    ("Lotka–Volterra", lotka_volterra, LOTKA_VOLTERRA, (4.0, 2.0), 40.0, (0.05, 0.5)),
    ("Lorenz", lorenz, LORENZ, (-8.0, 8.0, 27.0), 20.0, (0.005, 0.05)),
)


def main() -> None:
    rows = [
        row(name, f, truth, start, end, dt, noise)
        for name, f, truth, start, end, steps in SYSTEMS
        for noise in (0.0, 0.01)
        for dt in steps
    ]
    show(
        "identification",
        COLUMNS,
        rows,
        "terms: how often they were right; pysindy: the setting that is best for the truth; s: processor time",
    )


def row(
    name: str,
    f: Callable[..., list[float]],
    entries: Truth,
    start: tuple[float, ...],
    end: float,
    dt: float,
    noise: float,
) -> tuple[object, ...]:
    times = np.arange(round(end / dt) + 1) * dt
    states = solve_ivp(f, (0, times[-1]), start, "DOP853", times, rtol=1e-13, atol=1e-13).y.T
    random = np.random.default_rng(0)
    count = SEEDS if noise else 1
    runs = states + noise * states.std(0) * random.standard_normal((count, *states.shape))
    n = len(start)
    truth = np.zeros((n, 1 + n + n * (n + 1) // 2))
    for place, value in entries.items():
        truth[place] = value
    results = []
    for run in runs:
        begun = time.process_time()
        theta = identification(run, dt, progress=False).coefficients
        seconds = time.process_time() - begun
        results.append((np.abs(theta - truth).max(), ((theta != 0) == (truth != 0)).all(), seconds))
    error, _, seconds = np.median(results, axis=0)
    right = f"{sum(each[1] for each in results)} of {count}"
    ours = (name, dt, noise, f"{error:.1e}", right, f"{seconds:.1f} ({verdict(seconds, SECONDS)})")
    return (*ours, *pysindy(runs, dt, truth))


def pysindy(runs: np.ndarray, dt: float, truth: np.ndarray) -> tuple[str, ...]:
    python = os.environ.get("PYSINDY")
    if python is None:
        return ("",) * 5
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, runs=runs, dt=dt, truth=truth)
        done = subprocess.run([python, RIVAL, path], capture_output=True, text=True, check=True)
    (plain, plain_right, _), (weak, weak_right, seconds) = json.loads(done.stdout)
    return (
        f"{plain:.1e}",
        f"{plain_right} of {len(runs)}",
        f"{weak:.1e}",
        f"{weak_right} of {len(runs)}",
        f"{seconds:.1f}",
    )


if __name__ == "__main__":
    main()
