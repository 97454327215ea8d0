"""Learned quadratic ODEs beside scikit-learn's MLP of about as many parameters and a neural ODE of diffrax.

Errors are those of test rows, as means over seeds, which draw the rows, the split and the start. The environment
variable DIFFRAX names a Python that has jax, diffrax and optax, for the neural ODE. The arguments `2 MLP` ask for two
seeds in place of five, and for models with MLP in their name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from integraph.learn import QuadraticODEClassifier, QuadraticODERegressor
from measure import show

RIVAL = Path(__file__).with_name("neural_ode_rival.py")
COLUMNS = ("rows", "model", "parameters", "measure", "mean", "from … to", "s", "gap", "blow-ups at 3 ×")
ROWS = 1000
NEURAL = "neural ODE, diffrax"
Split = tuple[np.ndarray, ...]  # X, y, test X, test y


class Task(NamedTuple):
    measure: str
    split: Callable[[int], Split]
    ours: dict[str, Any]  # sizes
    hidden: tuple[int, ...]  # of the MLP


def franke(X: np.ndarray) -> np.ndarray:
    x, y = 9 * X.T
    hills = 0.75 * np.exp(-((x - 2) ** 2 + (y - 2) ** 2) / 4) + 0.75 * np.exp(-((x + 1) ** 2) / 49 - (y + 1) / 10)
    return hills + 0.5 * np.exp(-((x - 7) ** 2 + (y - 3) ** 2) / 4) - 0.2 * np.exp(-((x - 4) ** 2) - (y - 7) ** 2)


def wave(X: np.ndarray) -> np.ndarray:
    x, y = 2 * X.T - 1
    return np.sin(6 * x) * np.cos(4 * y)


def drawn(f: Callable[[np.ndarray], np.ndarray]) -> Callable[[int], Split]:
    def split(seed: int) -> Split:
        X, test = np.random.default_rng(seed).uniform(size=(2, ROWS, 2))
        return X, f(X), test, f(test)

    return split


def stored(load: Callable[..., Any]) -> Callable[[int], Split]:
    def split(seed: int) -> Split:
        X, y = load(return_X_y=True)
        X, test, y, truth = train_test_split(X, y, test_size=0.25, random_state=seed)
        return X, y, test, truth

    return split


SMALL = {"width": 8, "depth": 4, "rank": 8}
DIGITS = {"width": 64, "depth": 2, "rank": 8}
TASKS = {
    "Franke": Task("RMSE", drawn(franke), SMALL, (30, 30)),
    "wave": Task("RMSE", drawn(wave), SMALL, (30, 30)),
    "diabetes": Task("R²", stored(load_diabetes), {"width": 12, "depth": 2, "rank": 10}, (26, 26)),
    "digits": Task("accuracy", stored(load_digits), DIGITS, (160,)),
}


def main() -> None:
    warnings.filterwarnings("ignore")  # of MLPs that have not converged
    seeds, wanted = (int(sys.argv[1]), *sys.argv[2:], "")[:2] if len(sys.argv) > 1 else (5, "")
    rows: list[tuple[object, ...]] = []
    for name, task in TASKS.items():
        for model, make in rivals(task).items():
            if wanted in model:
                rows.append((name, model, *measured(task, make, seeds)))
                print(*rows[-1], file=sys.stderr, flush=True)
        if task.measure == "RMSE" and "DIFFRAX" in os.environ and wanted in NEURAL:
            rows.append((name, NEURAL, *neural_ode(task, seeds)))
            print(*rows[-1], file=sys.stderr, flush=True)
    note = "s: processor time of a fit, compiling left out; gap: Taylor steps from the true flow, RMS, at most"
    show("learning", COLUMNS, rows, note)


def rivals(task: Task) -> dict[str, Callable[[int], Any]]:
    if task.measure == "accuracy":
        return {
            "lossless": lambda seed: QuadraticODEClassifier(**task.ours, random_state=seed),
            "MLP, Adam": lambda seed: make_pipeline(StandardScaler(), MLPClassifier(task.hidden, random_state=seed)),
        }

    def mlp(**more: Any) -> Callable[[int], Any]:
        def make(seed: int) -> Any:
            net = MLPRegressor(hidden_layer_sizes=task.hidden, random_state=seed, max_iter=2000, **more)
            return TransformedTargetRegressor(make_pipeline(StandardScaler(), net), transformer=StandardScaler())

        return make

    found = {"lossless": lambda seed: QuadraticODERegressor(**task.ours, random_state=seed)}
    if task.measure == "RMSE":
        found["free"] = lambda seed: QuadraticODERegressor(**task.ours, kind="free", random_state=seed)
        found["MLP, Adam, tanh, as many steps"] = lambda seed: mlp(
            activation="tanh", learning_rate_init=3e-3, batch_size=128, n_iter_no_change=2000
        )(seed).set_params(regressor__mlpregressor__max_iter=500)
        found["MLP, L-BFGS, tanh"] = mlp(activation="tanh", solver="lbfgs")
    else:
        found["MLP, Adam"] = mlp()
        found["MLP, Adam, early stopping"] = mlp(early_stopping=True)
        found["MLP, Adam, alpha = 10"] = mlp(alpha=10.0)
    return found


def measured(task: Task, make: Callable[[int], Any], seeds: int) -> tuple[object, ...]:
    scores, seconds, gaps, lost = [], [], [], 0
    for seed in range(seeds):
        X, y, test, truth = task.split(seed)
        model = make(seed)
        if seed == 0 and hasattr(model, "max_steps"):
            make(seed).set_params(max_steps=1).fit(X, y)  # compiles
        begun = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - begun)
        score = (
            np.sqrt(np.mean((model.predict(test) - truth) ** 2)) if task.measure == "RMSE" else model.score(test, truth)
        )
        scores.append(float(score))
        if hasattr(model, "program_"):
            gaps.append(model.errors_["steps from flow"] * model._scaling.gain.max())
            middle = (X.max(0) + X.min(0)) / 2
            lost += int(np.isnan(model._jax_outputs(middle + 3 * (test - middle))).any(1).sum())
            size, far = model.model_.parameters, f"{lost} of {len(test) * (seed + 1):,}"
        else:
            net = model.regressor_[-1] if hasattr(model, "regressor_") else model[-1]
            size, far = sum(part.size for part in (*net.coefs_, *net.intercepts_)), ""
    gap = f"{max(gaps):.1e}" if gaps else ""
    return size, task.measure, *_summary(scores, task.measure), f"{np.mean(seconds):.1f}", gap, far


def _summary(scores: list[float], measure: str) -> tuple[str, str]:
    form = "{:.1e}" if measure == "RMSE" else "{:.3f}"
    return form.format(np.mean(scores)), f"{form.format(min(scores))} … {form.format(max(scores))}"


def neural_ode(task: Task, seeds: int) -> tuple[object, ...]:
    found = []
    for seed in range(seeds):
        X, y, test, truth = task.split(seed)
        centre, spread, offset, gain = X.mean(0), X.std(0), y.mean(), y.std()
        path = Path(os.environ.get("TMPDIR", "/tmp")) / f"neural_ode_{os.getpid()}.npz"
        np.savez(path, X=(X - centre) / spread, y=(y - offset) / gain, test=(test - centre) / spread, seed=seed)
        done = subprocess.run([os.environ["DIFFRAX"], RIVAL, path], capture_output=True, text=True, check=True)
        path.unlink()
        size, values, seconds = json.loads(done.stdout)
        found.append((float(np.sqrt(np.mean((offset + gain * np.array(values) - truth) ** 2))), seconds))
    scores, seconds = zip(*found, strict=True)
    return size, task.measure, *_summary(list(scores), task.measure), f"{np.mean(seconds):.1f}", "", ""


if __name__ == "__main__":
    main()
