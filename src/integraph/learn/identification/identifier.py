"""`QuadraticIdentifier`: identification as an estimator in the manner of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from integraph.learn.identification.identify import ERRORS, identification
from integraph.learn.identification.trajectories import Trajectory, trajectories
from integraph.numbers.arrays import Floats


class QuadraticIdentifier(BaseEstimator):  # type: ignore[misc]
    """After `fit`: `system_`, `coefficients_` (states, features), `standard_errors_`, `feature_names_`, `noise_`,
    `window_`."""

    def __init__(self, dt: Any = 1.0, *, functions: str | Sequence[str] = (), errors: float = ERRORS) -> None:
        self.dt = dt
        self.functions = functions
        self.errors = errors

    def fit(self, X: Any, y: Any = None, *, inputs: Any = None) -> Self:
        """Identify the system of trajectories X, as `integraph.identify` takes them; y is not used."""
        result = identification(X, self.dt, inputs=inputs, functions=self.functions, errors=self.errors, progress=False)
        self.system_ = result.system
        self.coefficients_ = result.coefficients
        self.standard_errors_ = result.standard_errors
        self.feature_names_ = result.features
        self.noise_ = result.noise
        self.window_ = result.window
        self.n_features_in_ = len(result.coefficients)
        return self

    def predict(self, X: Any, *, inputs: Any = None) -> Any:
        """The states one sampling interval after each row of X but the last, a row for each."""
        check_is_fitted(self)
        ends = [self._steps(one) for one in trajectories(X, self.dt, inputs)]
        return ends[0] if len(ends) == 1 else ends

    def simulate(self, x0: ArrayLike, times: ArrayLike) -> Floats:
        """The states (starts, times, states) from starts x0."""
        check_is_fitted(self)
        return self.system_.simulate(x0, times).states

    def score(self, X: Any, y: Any = None, *, inputs: Any = None) -> float:
        """R² of the states one interval ahead, as changes from the states before."""
        data = trajectories(X, self.dt, inputs)
        changes = np.concatenate([np.diff(one.states, axis=0) for one in data])
        left = np.concatenate([one.states[1:] - self._steps(one) for one in data])
        return float(1.0 - np.sum(left**2) / max(np.sum((changes - changes.mean(0)) ** 2), 1e-300))

    def _steps(self, one: Trajectory) -> Floats:
        starts = np.concatenate([one.states, one.inputs], 1)[:-1]
        ends = np.empty_like(one.states[1:])
        gaps = np.diff(one.times)
        for gap in np.unique(gaps):
            at = gaps == gap
            ends[at] = self.system_.simulate(starts[at], [gap]).states[:, -1, : ends.shape[1]]
        return ends
