"""`QuadraticODERegressor` and `QuadraticODEClassifier`: quadratic ODEs as estimators of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import jax
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from integraph.errors import UsageError
from integraph.learn.learned_program import scaled_program
from integraph.learn.objective import CROSS_ENTROPY, SQUARE, Rows, errors, flow_outputs
from integraph.learn.quadratic_ode import ORDER, STEPS, QuadraticODE, whole
from integraph.learn.read_out import with_last_fit, with_linear_start
from integraph.learn.scaling import Scaling, bounded, standard
from integraph.learn.training import Settings, Training, train
from integraph.numbers.arrays import Floats
from integraph.progress import late_bar
from integraph.text import counted

HIDDEN, MULTIPLE = 6, 8  # registers beside the inputs, at least; widths are multiples, so that few shapes are compiled
RATE, RATED = 0.03, 8  # the learning rate of a model of so many registers; wider ones take smaller steps
STEPS_A_ROW, FEWEST = 6, 300  # steps at most: so many for each row, but never fewer
CHECKED = 64  # rows at which the engine `taylor` runs the final program
AGREEMENT = 1e-9  # of it with the flow of jax, relative


class QuadraticODEEstimator(BaseEstimator):  # type: ignore[misc]
    """`width`, `depth`, `rank`, `kind` and `steps` are those of `QuadraticODE`; without `width` there are six registers
    or more beside the inputs, and without `rank` as many products as registers. Training is Adam with `learning_rate`
    (without one 0.03·(8/width)^¾) on `batch_size` rows a step, `max_steps` at most, fewer for tables of few rows. It
    ends after `patience` rounds of 50 steps without a smaller error on the held-out rows, a share `validation_fraction`
    of the table. `alpha` is the weight of the squares of all parameters (1e-5, of a classifier 1e-3), `penalty` that
    of the last terms of the Taylor steps. `device` is a platform of jax, as "cpu" or "gpu".

    After `fit`: `program_`, `model_` (a `QuadraticODE` of scaled inputs), `history_`, `ending_` (a sentence), and
    `errors_`: held-out errors by Taylor steps and by the true flow, before a regression's read-out is fitted to all
    rows; how far steps and flow are apart, rows that blow up, and how far the program, run by the engine `taylor` at
    1e-12, is from the flow of jax. Ctrl-C ends training with the best model so far; `interrupted_` says so."""

    loss, usual_alpha = "", 0.0

    def __init__(
        self,
        *,
        width: int | None = None,
        depth: int = 4,
        rank: int | None = None,
        steps: int = STEPS,
        kind: str = "lossless",
        alpha: float | None = None,
        penalty: float = 100.0,
        learning_rate: float | None = None,
        batch_size: int = 128,
        max_steps: int = 4000,
        patience: int = 20,
        validation_fraction: float = 0.15,
        random_state: Any = None,
        device: str | None = None,
        progress: bool = True,
    ) -> None:
        self.width = width
        self.depth = depth
        self.rank = rank
        self.steps = steps
        self.kind = kind
        self.alpha = alpha
        self.penalty = penalty
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.device = device
        self.progress = progress

    def _fit(self, X: Floats, targets: Floats, scaling: Scaling, groups: Any) -> Self:
        self._check()
        random = check_random_state(self.random_state)
        seeds = random.randint(2**31 - 1, size=3)
        width = MULTIPLE * -(-(X.shape[1] + HIDDEN) // MULTIPLE) if self.width is None else self.width
        rank = width if self.rank is None else self.rank
        held = min(max(1, round(self.validation_fraction * len(X))), len(X) - 1)
        stratified = (
            groups is not None and np.bincount(groups).min() >= 2 and len(np.unique(groups)) <= min(held, len(X) - held)
        )
        fitted, out = train_test_split(
            np.arange(len(X)), test_size=held, random_state=int(seeds[0]), stratify=groups if stratified else None
        )
        with self._on_device(), late_bar(self.progress, "training") as show:
            model = QuadraticODE(
                X.shape[1], targets.shape[1], width, self.depth, rank, kind=self.kind, order=ORDER, steps=self.steps,
                seed=int(seeds[2]),
            )  # fmt: skip
            settings = Settings(
                self.loss, penalty=self.penalty, alpha=self.usual_alpha if self.alpha is None else self.alpha,
                learning_rate=self.learning_rate or RATE * (RATED / width) ** 0.75,
                batch=self.batch_size, most=min(self.max_steps, max(FEWEST, STEPS_A_ROW * len(fitted))),
                patience=self.patience, seed=int(seeds[1]),
            )  # fmt: skip
            start = np.pad((X - scaling.centre) / scaling.spread, ((0, 0), (0, width - X.shape[1])))
            table = Rows(start, targets)
            rows, held_out = table.taken(fitted), table.taken(out)
            result = train(with_linear_start(model, rows, held_out), rows, held_out, settings, show)
            model = with_last_fit(result.model, table) if self.loss == SQUARE else result.model
            last = errors(model.with_inputs(width), held_out, loss=self.loss)
            self.model_ = jax.tree.map(np.asarray, model)  # numpy arrays stay float64 wherever they are unpickled
        self.errors_ = {
            "held out, Taylor steps": result.best.held_out_steps,
            "held out, true flow": result.best.held_out_flow,
            "steps from flow": last.gap,
            "blow-ups": last.blow_ups,
        }
        self._keep(result, scaling, X)
        return self

    def _check(self) -> None:
        for name in ("batch_size", "max_steps", "patience"):
            whole(name, getattr(self, name))
        for name, least in (("alpha", 0.0), ("penalty", 0.0), ("learning_rate", 1e-12), ("validation_fraction", 1e-12)):
            value = getattr(self, name)
            if value is None and name in ("alpha", "learning_rate"):
                continue
            if not (isinstance(value, int | float | np.number) and least <= value < np.inf):
                raise UsageError(f"needs a finite number, {least:g} or more", argument=name, value=value)
        if self.validation_fraction >= 1:
            raise UsageError(
                "needs a share of the rows, below 1", argument="validation_fraction", value=self.validation_fraction
            )
        if not isinstance(self.device, str | None):
            raise UsageError(
                "needs the name of a platform, as 'cpu' or 'gpu', or None", argument="device", value=self.device
            )

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        """float64, on the device that was asked for."""
        try:
            devices = jax.devices(self.device)
        except RuntimeError as reason:
            there = ", ".join(sorted({device.platform for device in jax.devices()}))
            raise UsageError(
                f"jax finds no such device, but {there} ({reason})", argument="device", value=self.device
            ) from None
        with jax.enable_x64(True), jax.default_device(devices[0]):
            yield

    def _keep(self, result: Training, scaling: Scaling, X: Floats) -> None:
        self.history_, self.ending_, self._scaling = result.history, result.ending, scaling
        self.interrupted_, self.n_steps_ = result.interrupted, result.history[-1].step
        if result.interrupted:
            warnings.warn(f"training was {result.ending}", stacklevel=4)
        self.program_ = scaled_program(self.model_, *scaling)
        by_taylor = self.program_.flow(X[:CHECKED], "taylor", rtol=1e-12).outputs
        by_jax = self._jax_outputs(X[:CHECKED])
        apart = float(np.max(np.abs(by_jax - by_taylor), initial=0.0, where=np.isfinite(by_taylor)))
        if not apart <= AGREEMENT * np.max(np.abs(by_taylor), initial=1.0, where=np.isfinite(by_taylor)):
            self.ending_ += f"; the engine taylor differs from jax by {apart:.2g}: the flow is badly conditioned"
        self.errors_["taylor from jax"] = apart

    def _jax_outputs(self, X: Floats) -> Floats:
        centre, spread, offset, gain = self._scaling
        with self._on_device():
            return offset + gain * flow_outputs(self.model_, (X - centre) / spread)

    def _outputs(self, X: Floats) -> Floats:
        """Those of the program. A row that the flow of jax loses is run by the engine `taylor`, which may say why."""
        outputs = self._jax_outputs(X)
        lost = np.flatnonzero(~np.isfinite(outputs).all(1))
        if len(lost):
            outputs[lost] = self.program_.flow(X[lost], "taylor").check().outputs
        return outputs

    def plot(self, path: Any = None) -> Any:
        """Held-out errors on the way, of the true flow and of Taylor steps, as a figure, and as a file if there is a
        path."""
        from integraph.learn.learning_curves import learning_curves
        from integraph.plot.matplotlib_renderer import draw, save

        check_is_fitted(self)
        picture = learning_curves(self.history_, self.ending_, self.loss)
        if path is not None:
            save(picture, path)
        return draw(picture)


class QuadraticODERegressor(RegressorMixin, QuadraticODEEstimator):  # type: ignore[misc]
    """Regression by a quadratic ODE, with one output or several. `predict` gives what `program_` gives."""

    loss, usual_alpha = SQUARE, 1e-5

    def fit(self, X: Any, y: Any) -> Self:
        """Train on rows X (n, d) with targets y (n,) or (n, outputs); a share of the rows is held out."""
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, np.float64)
        targets = y.reshape(len(y), -1)
        offset, gain = standard(targets, "y")
        self._single = y.ndim == 1
        self._fit(X, (targets - offset) / gain, Scaling(*bounded(X, "X"), offset, gain), None)
        return self

    def predict(self, X: Any) -> Floats:
        check_is_fitted(self)
        outputs = self._outputs(validate_data(self, X, dtype=np.float64, reset=False))
        return outputs[:, 0] if self._single else outputs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class QuadraticODEClassifier(ClassifierMixin, QuadraticODEEstimator):  # type: ignore[misc]
    """Classification by a quadratic ODE: `program_` gives one score for each class, and the largest wins."""

    loss, usual_alpha = CROSS_ENTROPY, 1e-3

    def fit(self, X: Any, y: Any) -> Self:
        """Train on rows X (n, d) with classes y (n,); a share of the rows is held out."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        if count < 2:
            raise UsageError(
                f"a classifier needs rows of two classes or more, and these have {counted(count, 'class')}"
            )
        nothing = np.zeros(count), np.ones(count)
        return self._fit(X, np.eye(count)[codes], Scaling(*bounded(X, "X"), *nothing), codes)

    def decision_function(self, X: Any) -> Floats:
        """The scores (n, classes) that `program_` gives; of two classes, the second's less the first's (n,)."""
        check_is_fitted(self)
        scores = self._outputs(validate_data(self, X, dtype=np.float64, reset=False))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """The softmax of the scores."""
        check_is_fitted(self)
        scores = self._outputs(validate_data(self, X, dtype=np.float64, reset=False))
        powers = np.exp(scores - scores.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)  # type: ignore[no-any-return]

    def predict(self, X: Any) -> Any:
        chosen = self.predict_proba(X).argmax(1)
        return self.classes_[chosen]
