"""The fit of the flow: states at the starts of windows, and coefficients, whose solutions pass the data most closely.

Multiple shooting: a trajectory is cut into windows; the start of each is unknown like the coefficients Θ, so that noise
in it is no bias. The residuals are those of all samples of all windows. Gauss–Newton with Levenberg's damping; the
starts are eliminated window by window. Flow and sensitivities are integrated together, with the steps of DOP853.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from integraph.errors import UsageError
from integraph.learn.identification.features import Features
from integraph.learn.identification.selection import Mask
from integraph.learn.identification.trajectories import Trajectory
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.roundoff import U

ROUNDS = 40  # of Gauss–Newton
TRIES = 12  # dampings of a round
GAIN = 1e-6  # relative decrease of the cost below which the fit is done
STEPS = 32  # of an interval, at most
ACCURACY = 1e-13  # of the flow over an interval, relative
NEWTON = 8  # rounds on the paths
SETTLED, LOST = 1e-9, 1e6  # changes of a path, relative: the next is below rounding; there is no next
TINY = 1e-300
CHUNK = 1024  # intervals at a time, whose stages stay in the cache
PARTS = ("times", "states", "inputs")
SIZE = 200_000_000  # numbers of a Jacobian


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Equally long pieces of trajectories: numbers of the samples (N, L + 1), times, states (…, n), inputs (…, m)."""

    places: Indices
    times: Floats
    states: Floats
    inputs: Floats


def windows(data: Sequence[Trajectory], length: int) -> Windows:
    """Pieces of `length` intervals, or of the shortest trajectory; the last of a trajectory may overlap the one before
    it."""
    length = min(length, *(len(one) - 1 for one in data)) if len(data) > 1 else min(length, len(data[0]) - 1)
    firsts, before = [], 0
    for one in data:
        starts = list(range(0, len(one) - length, length))
        if starts[-1] + length < len(one) - 1:
            starts.append(len(one) - 1 - length)
        firsts += [before + start for start in starts]
        before += len(one)
    places = np.array(firsts)[:, None] + np.arange(length + 1)
    times, states, inputs = (np.concatenate([getattr(one, part) for one in data]) for part in PARTS)
    return Windows(places, times[places], states[places], inputs[places])


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Coefficients Θ (equations, features), those that are free, states at the samples of the windows (N, L + 1, n):
    the flow from the first of each window, once it is `solved`; steps of an interval, weights of residuals."""

    features: Features
    windows: Windows
    theta: Floats
    mask: Mask
    path: Floats
    steps: int
    weights: Floats

    @property
    def exact(self) -> float:
        """A cost that rounding alone may have."""
        sizes = U * np.abs(self.windows.states).max((0, 1)) * self.weights
        return float(np.sum(sizes**2)) * self.windows.times.size

    @property
    def freedom(self) -> int:
        return max(1, self.windows.states.size - self.path[:, 0].size - int(self.mask.sum()))


@dataclass(frozen=True, slots=True, eq=False)
class Linearisation:
    """Weighted residuals (N, L + 1, n), and their slopes with opposite sign by start and by free coefficient."""

    residuals: Floats
    by_start: Floats
    by_theta: Floats

    @property
    def cost(self) -> float:
        return float(np.sum(self.residuals**2))

    def reduced(self) -> tuple[Floats, Floats]:
        """The least-squares problem in the coefficients alone: matrix and side, without what starts can explain."""
        count, samples, n = self.residuals.shape
        rows, free = samples * n, self.by_theta.shape[-1]
        q, _ = np.linalg.qr(self.by_start.reshape(count, rows, n))
        j, r = self.by_theta.reshape(count, rows, free), self.residuals.reshape(count, rows, 1)
        turned = np.swapaxes(q, 1, 2)
        return (j - q @ (turned @ j)).reshape(count * rows, free), (r - q @ (turned @ r)).reshape(-1)


def advanced(fit: Fit, y: Floats, u: Floats, h: Floats, mask: Mask | None) -> Floats:
    """[y | ∂y/∂start | ∂y/∂Θ] (N, n, …) after the time h, for the coefficients of `mask`; y alone without one."""
    chunks = [slice(k, k + CHUNK) for k in range(0, len(y), CHUNK)]
    parts = [_advanced(fit, y[chunk].T, u[chunk].T, h[chunk].T, mask) for chunk in chunks]
    return np.concatenate([part.transpose(2, 0, 1) for part in parts])


def _advanced(fit: Fit, y: Floats, u: Floats, h: Floats, mask: Mask | None) -> Floats:
    """The same (n, …, N) for states (n, N): intervals are the last axis."""
    n, features, theta = len(y), fit.features, fit.theta
    equation, feature = np.nonzero(mask) if mask is not None else (np.zeros(0, int), np.zeros(0, int))
    column = 1 + n + np.arange(len(equation))
    state = np.zeros((n, 1 + (n + len(equation) if mask is not None else 0), y.shape[1]))
    state[:, 0] = y
    if mask is not None:
        state[:, 1 : 1 + n] = np.eye(n)[..., None]
    step = h / fit.steps

    def derivative(at: Floats, result: Floats) -> None:
        z, slopes = features.factors(at[:, 0], u)
        phi = features.of(z)
        result[:, 0] = theta @ phi
        if mask is None:
            return
        jacobian = features.jacobian(theta, z, slopes)
        np.multiply(jacobian[:, 0, None], at[0, 1:], out=result[:, 1:])
        for j in range(1, n):
            result[:, 1:] += jacobian[:, j, None] * at[j, 1:]
        result[equation, column] += phi[feature]

    table = scipy.integrate.DOP853
    stages = np.empty((table.n_stages, *state.shape))
    rows = stages.reshape(table.n_stages, state.size)
    for _ in range(fit.steps):
        for k, row in enumerate(table.A[: table.n_stages]):
            derivative(state + step * (row[:k] @ rows[:k]).reshape(state.shape), stages[k])
        state = state + step * (table.B @ rows).reshape(state.shape)
    return state


def solved(fit: Fit) -> Fit:
    """The same with the flow from the first state of each window for its path.

    Newton's method on all intervals at once, from the path there is; one after the other where that does not converge.
    """
    data, y = fit.windows, fit.path.copy()
    size = np.abs(data.states).max((0, 1)) + TINY
    with np.errstate(all="ignore"):
        for _ in range(NEWTON):
            every = _intervals(fit, y, np.zeros(fit.mask.shape, bool))
            defect = every[..., 0] - y[:, 1:]
            change = np.zeros_like(y)
            for k in range(defect.shape[1]):
                change[:, k + 1] = (every[:, k, :, 1:] @ change[:, k, :, None])[:, :, 0] + defect[:, k]
            y = y + change
            largest = np.max(np.abs(change) / size)
            if largest <= SETTLED:
                return replace(fit, path=y)
            if not largest <= LOST:
                break
        for k, h in enumerate(np.diff(data.times, axis=1).T):
            y[:, k + 1] = advanced(fit, y[:, k], data.inputs[:, k], h, None)[:, :, 0]
    return replace(fit, path=y)


def _intervals(fit: Fit, y: Floats, mask: Mask) -> Floats:
    """`advanced` over every interval (N, L, n, …) from the states y at its beginning."""
    count, samples, n = y.shape
    inputs = fit.windows.inputs[:, :-1].reshape(count * (samples - 1), -1 if fit.windows.inputs.shape[2] else 0)
    h = np.diff(fit.windows.times, axis=1).reshape(-1)
    every = advanced(fit, y[:, :-1].reshape(len(h), n), inputs, h, mask)
    return every.reshape(count, samples - 1, n, every.shape[2])


def residuals(fit: Fit) -> Floats:
    """Weighted differences between data and a solved path (N, L + 1, n)."""
    return (fit.windows.states - fit.path) * fit.weights


def linearised(fit: Fit, mask: Mask) -> Linearisation:
    """The residuals of a solved fit and their slopes by the coefficients of `mask`."""
    (count, samples, n), free = fit.path.shape, int(mask.sum())
    if fit.path.size * (n + free) > SIZE:
        raise UsageError(
            f"{fit.path.size:,} values and {free:,} coefficients are too many for one fit: give fewer samples, or "
            "fewer states",
            argument="data",
        )
    by_start, by_theta = np.empty((count, samples, n, n)), np.zeros((count, samples, n, free))
    by_start[:, 0] = np.eye(n)
    with np.errstate(all="ignore"):
        slopes = _intervals(fit, fit.path, mask)[..., 1:]
        for k in range(samples - 1):
            by_start[:, k + 1] = slopes[:, k, :, :n] @ by_start[:, k]
            by_theta[:, k + 1] = slopes[:, k, :, :n] @ by_theta[:, k] + slopes[:, k, :, n:]
    weights = fit.weights[:, None]
    return Linearisation(residuals(fit), by_start * weights, by_theta * weights)


def accurate_steps(fit: Fit) -> int:
    """Steps of an interval that DOP853 needs, measured at the data."""
    data = fit.windows
    n, m = data.states.shape[2], data.inputs.shape[2]
    y = data.states[:, :-1].reshape(-1, n)
    u = data.inputs[:, :-1].reshape(len(y), m)
    h = np.diff(data.times, axis=1).reshape(-1)
    with np.errstate(all="ignore"):
        ends = advanced(replace(fit, steps=1), y, u, h, None)[:, :, 0]
        for steps in (2, 4, 8, 16, STEPS):
            finer = advanced(replace(fit, steps=steps), y, u, h, None)[:, :, 0]
            error = np.abs(finer - ends) / (1e-300 + np.abs(data.states).max((0, 1)))
            if np.nanmax(error, initial=0.0) <= ACCURACY and np.isfinite(finer).all():
                return steps // 2
            ends = finer
    return STEPS


def fitted(fit: Fit) -> Fit | None:
    """The coefficients and paths of least squares, from those of `fit`; None where even its flow has no values."""
    fit = solved(fit)
    damping = 1e-4
    for _ in range(ROUNDS):
        now = linearised(fit, fit.mask)
        if not (np.isfinite(now.by_theta).all() and np.isfinite(now.by_start).all() and np.isfinite(now.cost)):
            return None
        matrix, side = now.reduced()
        scale = np.linalg.norm(matrix, axis=0)
        scale[scale == 0.0] = 1.0
        for _ in range(TRIES):
            ridge = np.concatenate([matrix / scale, np.sqrt(damping) * np.eye(len(scale))])
            change = np.linalg.lstsq(ridge, np.append(side, np.zeros(len(scale))), rcond=None)[0] / scale
            if now.cost - np.sum((side - matrix @ change) ** 2) < GAIN * now.cost:
                return fit
            trial = solved(replace(fit, theta=_changed(fit, change), path=fit.path + _moved(now, change, fit.weights)))
            with np.errstate(all="ignore"):
                cost = float(np.sum(residuals(trial) ** 2))
            if cost <= now.cost:
                break
            damping = max(10 * damping, 1e-10)
        else:
            return fit
        fit, damping = trial, 0.1 * damping if damping > 1e-12 else 0.0
        if now.cost - cost < GAIN * now.cost or cost <= fit.exact:
            return fit
    return fit


def _changed(fit: Fit, change: Floats) -> Floats:
    theta = fit.theta.copy()
    theta[fit.mask] += change
    return theta


def _moved(now: Linearisation, change: Floats, weights: Floats) -> Floats:
    """The change of the paths that goes with a change of the coefficients, to first order."""
    count, samples, n = now.residuals.shape
    left = (now.residuals - now.by_theta @ change).reshape(count, samples * n, 1)
    q, r = np.linalg.qr(now.by_start.reshape(count, samples * n, n))
    starts = np.linalg.solve(r, np.swapaxes(q, 1, 2) @ left)[:, None]
    return ((now.by_start @ starts)[..., 0] + now.by_theta @ change) / weights
