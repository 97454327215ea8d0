"""Identification with 1 % noise beside what is possible at all: twenty seeds, each error of a coefficient the largest
of its fit.

No unbiased estimate has a smaller covariance than the inverse of the Fisher information (Cramér–Rao). It follows from
the sensitivities of the trajectory to its coefficients and start values, integrated beside it; errors with exactly that
covariance are drawn, and the mean of the largest is the column `optimum`. The weak form of pysindy (where PYSINDY names
a Python that has it) takes the threshold 0.05, with several numbers and sizes of domains. Not part of `make bench`:
pysindy takes minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from identification import SYSTEMS, Truth
from integraph.learn.identification.identify import identification
from measure import show

RIVAL = Path(__file__).with_name("pysindy_rival.py")
SEEDS, NOISE = 20, 0.01
System = tuple[str, Callable[..., list[float]], Truth, tuple[float, ...], float, tuple[float, ...]]
COLUMNS = (
    "system",
    "dt",
    "ours, mean",
    "optimum",
    "pysindy, domains, half of one",
    "mean",
    "median",
    "ours smaller",
    "mean difference",
)


def optimum(system: System, times: np.ndarray) -> float:
    """The mean of the largest error at the bound, by the sensitivities S to start and coefficients, after y by rows."""
    _, field, entries, start, *_ = system
    n = len(start)
    pairs = [(i, j) for i in range(n) for j in range(i, n)]

    def features(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """1, y, and products of two, and their slopes."""
        values = np.array([1.0, *y, *(y[i] * y[j] for i, j in pairs)])
        slopes = np.zeros((len(values), n))
        slopes[1 : 1 + n] = np.eye(n)
        for row, (i, j) in zip(slopes[1 + n :], pairs, strict=True):
            row[i] += y[j]
            row[j] += y[i]
        return values, slopes

    theta = np.zeros((n, 1 + n + len(pairs)))
    for place, value in entries.items():
        theta[place] = value

    def rates(t: float, z: np.ndarray) -> np.ndarray:
        values, slopes = features(z[:n])
        rate = theta @ slopes @ z[n:].reshape(n, -1)
        for column, (equation, feature) in enumerate(entries, n):
            rate[equation, column] += values[feature]
        return np.concatenate([field(t, z[:n]), rate.ravel()])

    begin = np.concatenate([start, np.eye(n, n + len(entries)).ravel()])
    path = solve_ivp(rates, (0, times[-1]), begin, "DOP853", times, rtol=1e-11, atol=1e-11).y.T
    sigma = NOISE * path[:, :n].std(0)
    matrix = (path[:, n:].reshape(len(path), n, -1) / sigma[:, None]).reshape(len(path) * n, -1)
    size = np.linalg.norm(matrix, axis=0)
    factor = np.linalg.pinv(np.linalg.qr(matrix / size, mode="r")) / size[:, None]  # its square is the covariance
    draws = np.random.default_rng(0).standard_normal((20_000, factor.shape[1])) @ factor.T
    return float(np.abs(draws[:, n:]).max(1).mean())


def rows(system: System, dt: float) -> list[tuple[object, ...]]:
    name, field, entries, start, end, _ = system
    times = np.arange(round(end / dt) + 1) * dt
    states = solve_ivp(field, (0, times[-1]), start, "DOP853", times, rtol=1e-13, atol=1e-13).y.T
    runs = states + NOISE * states.std(0) * np.random.default_rng(0).standard_normal((SEEDS, *states.shape))
    n = len(start)
    truth = np.zeros((n, 1 + n + n * (n + 1) // 2))
    for place, value in entries.items():
        truth[place] = value
    ours = np.array([np.abs(identification(run, dt, progress=False).coefficients - truth).max() for run in runs])
    first = (name, dt, f"{ours.mean():.1e}", f"{optimum(system, times):.1e}")
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
    show(
        "identification with noise",
        COLUMNS,
        [row for system in SYSTEMS for dt in system[-1] for row in rows(system, dt)],
        "ours: identify",
    )
