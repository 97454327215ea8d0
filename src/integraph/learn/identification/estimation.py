"""The search for terms and coefficients: fits of the flow over windows that grow, from several choices of terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from integraph.errors import SourceError
from integraph.learn.identification.features import Features
from integraph.learn.identification.selection import Mask, independent, selections
from integraph.learn.identification.shooting import Fit, accurate_steps, fitted, linearised, residuals, windows
from integraph.learn.identification.trajectories import Trajectory
from integraph.learn.identification.weak_form import LinearSystem, weak_form
from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import U
from integraph.text import counted

STARTS = (1.0, 3.0, 10.0)  # prices of a term in the linear estimate, relative: choices of terms to start from
LENGTHS = (2, 8, 32, 128, 512, 2048)  # intervals of the windows, one fit after the other
GROWTH = 300.0  # of a difference between starts along a window: more is chaos, and longer windows fit worse
WORSE = 1.5  # variance of residuals, against that of shorter windows, which says that a fit failed
ROUNDS = 8  # choices of terms for each length of windows
NEGLIGIBLE = 1e-9  # of a derivative: what a term contributes at least
STILL = 16  # roundings: a state that moves less stands still, and has no terms
TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The data, the terms that are allowed, coefficients below which each is negligible, the price of a term as a
    number of standard errors, and the sizes of the states."""

    data: Sequence[Trajectory]
    features: Features
    allowed: Mask
    least: Floats
    errors: float
    sizes: Floats

    def price(self, fit: Fit) -> float:
        """What a fit costs: −2 ln of its likelihood, plus a price for each term."""
        cost = float(np.sum(residuals(replace(fit, weights=1.0 / self.sizes)) ** 2))
        floor = replace(fit, weights=1.0 / self.sizes).exact
        return fit.freedom * float(np.log(max(cost, floor, TINY))) + self.errors**2 * float(fit.mask.sum())


def best_fit(data: Sequence[Trajectory], features: Features, errors: float, show: Callable[[float, str], None]) -> Fit:
    """The fit with the longest windows, and the best price among those."""
    linear = weak_form(data, features)
    every = np.concatenate([features.values(one.states, one.inputs) for one in data])
    values = np.concatenate([one.states for one in data])
    largest, sizes = np.abs(values).max(0), values.std(0)
    moves = np.max([np.ptp(one.states, axis=0) for one in data], axis=0) > STILL * U * largest
    sizes = np.where(sizes > NEGLIGIBLE * largest, sizes, np.where(largest > 0, largest, 1.0))
    allowed = moves[:, None] & independent(every)
    least = NEGLIGIBLE * _rms(every @ coefficients(linear, allowed).T)[:, None] / _rms(every)
    question = Question(data, features, allowed, least, errors, sizes)
    fits: list[tuple[int, float, int]] = []
    kept: list[Fit] = []
    starts, longest = _starts(question, linear), windows(data, LENGTHS[-1]).times.shape
    for number, mask in enumerate(starts):
        if number == len(starts) - 1 and any(one.windows.times.shape == longest for one in kept):
            break
        show(number / len(starts), f"identifying: {counted(int(mask.sum()), 'term')} at first")
        fit = _grown(question, coefficients(linear, mask), mask)
        if fit is not None:
            fits.append((-fit.windows.times.shape[1], question.price(fit), len(kept)))
            kept.append(fit)
            if (1.0 / fit.weights < NEGLIGIBLE * question.sizes).all():  # nothing is left to explain
                break
    if not kept:
        raise SourceError(
            "no quadratic system follows these trajectories: sample more often, add functions, or remove outliers"
        )
    return kept[min(fits)[2]]


def coefficients(linear: LinearSystem, mask: Mask) -> Floats:
    """Θ with the terms of `mask`, by least squares."""
    theta = np.zeros(mask.shape)
    scale = np.maximum(np.linalg.norm(linear.matrix, axis=0), TINY)
    for equation, terms in enumerate(mask):
        chosen = (linear.matrix / scale)[:, terms]
        theta[equation, terms] = np.linalg.lstsq(chosen, linear.sides[:, equation], rcond=None)[0] / scale[terms]
    return theta


def _starts(question: Question, linear: LinearSystem) -> list[Mask]:
    """Choices of terms by the linear estimate, the most frugal first, and all terms, which are the last resort."""
    freedom = len(linear.matrix) - len(question.features)
    masks: list[Mask] = []
    for factor in STARTS[::-1]:
        rows = [
            selections(linear.matrix, side, least, freedom, factor * question.errors)[0]
            for side, least in zip(linear.sides.T, question.least, strict=True)
        ]
        masks.append(np.stack(rows) & question.allowed)
    masks.append(question.allowed)
    return [mask for n, mask in enumerate(masks) if not any((mask == one).all() for one in masks[:n])]


def _grown(question: Question, theta: Floats, mask: Mask) -> Fit | None:
    """The fit over windows that grow, as long as it stays as good."""
    best: Fit | None = None
    weights = 1.0 / question.sizes
    for length in LENGTHS:
        cut = windows(question.data, length)
        if best is not None and cut.times.shape == best.windows.times.shape:
            break
        if best is None:
            fit = Fit(question.features, cut, theta, mask, cut.states, 1, weights)
        else:
            path = np.concatenate([one.states for one in question.data])
            path[best.windows.places] = best.path
            fit = replace(best, windows=cut, path=path[cut.places])
        trial = _supported(question, replace(fit, steps=accurate_steps(fit)))
        if trial is None or (best is not None and _variance(trial) > WORSE * _variance(best)):
            break
        best = replace(trial, weights=_weights(trial, question.sizes))
        if np.abs(linearised(best, best.mask).by_start / best.weights[:, None]).max() > GROWTH:
            break
    return best


def _supported(question: Question, fit: Fit) -> Fit | None:
    """Fit, choose terms, fit again, as long as the price falls."""
    best = fitted(fit)
    for _ in range(ROUNDS):
        better = None if best is None else _reselected(question, best)
        if better is None:
            break
        best = better
    return best


def _reselected(question: Question, fit: Fit) -> Fit | None:
    """A fit with other terms that has a better price, if one is near."""
    matrix, side = linearised(fit, question.allowed).reduced()
    if not np.isfinite(matrix).all():
        return None
    side = side + matrix @ fit.theta[question.allowed]
    least, floor = question.least[question.allowed], fit.exact / fit.freedom
    for choice in selections(matrix, side, least, fit.freedom, question.errors, floor):
        mask = np.zeros_like(question.allowed)
        mask[question.allowed] = choice
        if (mask == fit.mask).all():
            continue
        trial = fitted(replace(fit, mask=mask, theta=np.where(mask, fit.theta, 0.0)))
        if trial is not None and question.price(trial) < question.price(fit):
            return trial
    return None


def _rms(columns: Floats) -> Floats:
    """Root mean squares."""
    squares: Floats = np.mean(columns**2, axis=0)
    return np.maximum(np.sqrt(squares), TINY)


def _variance(fit: Fit) -> float:
    return float(np.sum(residuals(fit) ** 2)) / fit.freedom


def _weights(fit: Fit, sizes: Floats) -> Floats:
    """One over the noise of each state, as the residuals show it."""
    left = fit.windows.states - fit.path
    noise = np.sqrt(np.mean(left**2, axis=(0, 1)) * left.size / fit.freedom)
    return np.asarray(1.0 / np.maximum(noise, U * sizes))
