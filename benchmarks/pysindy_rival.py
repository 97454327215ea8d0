"""pysindy on trajectories of a file, for benchmarks/identification.py; runs in a Python that has pysindy.

Prints, for finite differences and for the weak form, the largest error of a coefficient, how often the terms were
right, and the seconds of one fit: medians over the trajectories, for the setting whose median error is the smallest.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from functools import partial

import numpy as np
import pysindy

THRESHOLDS = (0.02, 0.05, 0.1, 0.3)
DOMAINS = (100, 400, 1600)  # of the weak form
HALVES = (0.02, 0.05, 0.1, 0.2)  # of the length of the trajectory: half a domain; pysindy takes 0.05 by itself


def main() -> None:
    warnings.filterwarnings("ignore")
    data = np.load(sys.argv[1])
    runs, dt, truth = data["runs"], float(data["dt"]), data["truth"]
    times = np.arange(runs.shape[1]) * dt

    def weak(count, half):
        return pysindy.WeakPDELibrary(
            function_library=pysindy.PolynomialLibrary(degree=2),
            spatiotemporal_grid=times,
            K=count,
            H_xt=half * times[-1],
        )

    if sys.argv[2:] == ["seeds"]:  # the error of every run, by the number of domains

        def errors(n, half):
            return [each[0] for each in results_of(runs, dt, truth, partial(weak, n, half), THRESHOLDS[1])]

        print(json.dumps({f"{n}, {half:g}": errors(n, half) for n in DOMAINS for half in HALVES}))
        return
    plain = fits(runs, dt, truth, lambda: pysindy.PolynomialLibrary(degree=2))
    weak_form = [one for n in DOMAINS for half in HALVES for one in fits(runs, dt, truth, partial(weak, n, half))]
    print(json.dumps([min(plain), min(weak_form)]))


def fits(runs, dt, truth, library):
    """One for each threshold."""
    return [summary(results_of(runs, dt, truth, library, each)) for each in THRESHOLDS]


def summary(results):
    error, _, seconds = np.median(results, axis=0)
    return float(error), int(sum(right for _, right, _ in results)), float(seconds)


def results_of(runs, dt, truth, library, threshold):
    np.random.seed(0)  # noqa: NPY002  # the weak form draws its domains from it, the same for all runs
    begun = time.process_time()
    made = library()
    building = time.process_time() - begun
    results = []
    for states in runs:
        begun = time.process_time()
        model = pysindy.SINDy(feature_library=made, optimizer=pysindy.STLSQ(threshold=threshold))
        model.fit(states, t=dt)
        seconds = building + time.process_time() - begun
        theta = np.asarray(model.coefficients())
        right = ((theta != 0) == (truth != 0)).all()
        results.append((float(np.abs(theta - truth).max()), right, seconds))
    return results


if __name__ == "__main__":
    main()
