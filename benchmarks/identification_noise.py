"""Identification with 1 % noise beside what is possible at all: Lotka–Volterra, twenty seeds, each error of a
coefficient the largest of its fit.

No unbiased estimate has a smaller covariance than the inverse of the Fisher information (Cramér–Rao). It follows from
the sensitivities of the trajectory to its four coefficients and two start values, here by central differences of
DOP853; errors with exactly that covariance are drawn, and the mean of the largest is the column `optimum`. The weak
form of pysindy (where PYSINDY names a Python that has it) finds the true terms by its threshold, with several numbers
of domains. Not part of `make bench`: pysindy takes minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from identification import LOTKA_VOLTERRA, lotka_volterra
from integraph.learn.identification.identify import identification
from measure import show

RIVAL = Path(__file__).with_name("pysindy_rival.py")
SEEDS, NOISE, END, START = 20, 0.01, 40.0, (4.0, 2.0)
COLUMNS = ("dt", "ours, mean", "optimum", "pysindy, domains", "mean", "median", "ours smaller", "mean difference")


def trajectory(times: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """From two start values and four coefficients."""
    a, b, c, d = parameters[2:]

    def field(_t: float, y: np.ndarray) -> list[float]:
        return [a * y[0] + b * y[0] * y[1], c * y[1] + d * y[0] * y[1]]

    return solve_ivp(field, (0, times[-1]), parameters[:2], "DOP853", times, rtol=1e-13, atol=1e-13).y.T


def optimum(times: np.ndarray) -> float:
    at = np.array([*START, *LOTKA_VOLTERRA.values()], np.float64)
    sigma = NOISE * trajectory(times, at).std(0)
    slopes = []
    for step in 1e-6 * np.eye(len(at)):
        slopes.append(((trajectory(times, at + step) - trajectory(times, at - step)) / 2e-6 / sigma).ravel())
    covariance = np.linalg.inv(np.array(slopes) @ np.array(slopes).T)[2:, 2:]
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(4), covariance, 20_000)
    return float(np.abs(draws).max(1).mean())


def rows(dt: float) -> list[tuple[object, ...]]:
    times = np.arange(round(END / dt) + 1) * dt
    states = solve_ivp(lotka_volterra, (0, END), START, "DOP853", times, rtol=1e-13, atol=1e-13).y.T
    runs = states + NOISE * states.std(0) * np.random.default_rng(0).standard_normal((SEEDS, *states.shape))
    truth = np.zeros((2, 6))
    for place, value in LOTKA_VOLTERRA.items():
        truth[place] = value
    ours = np.array([np.abs(identification(run, dt, progress=False).coefficients - truth).max() for run in runs])
    first = (dt, f"{ours.mean():.1e}", f"{optimum(times):.1e}")
    python = os.environ.get("PYSINDY")
    if python is None:
        return [(*first, "", "", "", "", "")]
    listed = []
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "data.npz", runs=runs, dt=dt, truth=truth)
        done = subprocess.run(
            [python, RIVAL, Path(folder) / "data.npz", "seeds"], capture_output=True, text=True, check=True
        )
    for domains, errors in json.loads(done.stdout).items():
        gap = np.array(errors) - ours
        spread = gap.std(ddof=1) / np.sqrt(SEEDS)
        wins = f"{int((gap > 0).sum())} of {SEEDS}"
        mean, median = (f"{f(errors):.1e}" for f in (np.mean, np.median))
        listed.append((*first, domains, mean, median, wins, f"{gap.mean():.1e} ± {spread:.1e}"))
    return listed


if __name__ == "__main__":
    show("identification with noise", COLUMNS, [row for dt in (0.05, 0.5) for row in rows(dt)], "ours: identify")
