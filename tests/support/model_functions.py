"""Functions of random rows: what models give, at which point, and what mpmath gives there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from model_fuzz import ROWS, Operation, Spot, points, settled, spot, values
from model_truth import MP, POWERS, TRUTH, Truth, power


def rounded(x: Any) -> Any:
    """The same number for the functions of mpmath, whose results have less digits."""
    return MP.make_mpf(x._mpf_)


def _argument(a: Any, rng: np.random.Generator, truth: Truth, cells: int) -> Any:
    """Rows in the domain of a function."""
    d, k, symbols = ((1, 1, 1), (1, 3, 1), (2, 2, 2), (1, 6, 1), (0, 0, 1), (2, 4, 3))[rng.integers(6)]
    table = a.monomials.monomials(d, k)
    shape = (ROWS, cells)
    if np.isfinite(truth.low) and np.isfinite(truth.high):
        centre = points(rng, shape) * (1.0 - 10.0 ** rng.uniform(-9, 0, shape))
        room = 1.0 - np.abs(centre)
    elif np.isfinite(truth.low):
        room = 10.0 ** rng.uniform(-6 if truth.low else -200, np.log10(truth.far), shape)
        room = np.where(rng.uniform(size=shape) < 0.7, 10.0 ** rng.uniform(-2, 1, shape), room)
        centre = truth.low + room
    else:
        centre = np.clip(
            rng.normal(size=shape) * 10.0 ** rng.uniform(-8, np.log10(truth.far), shape), -truth.far, truth.far
        )
        centre = np.where(rng.uniform(size=shape) < 0.5, 2.0 * rng.normal(size=shape), centre)
        room = np.maximum(1.0, 1e-8 * np.abs(centre))
    width = room * 10.0 ** np.where(
        rng.uniform(size=shape) < 0.5, rng.uniform(-1.5, 0.3, shape), rng.uniform(-17, 0, shape)
    )
    parts = np.where(rng.uniform(size=(3, *shape)) < 0.5, 0.0, width)
    p = parts[0][..., None] * rng.normal(size=(*shape, table.count)) / table.count
    p[..., 0] = centre
    g = parts[1][..., None] * rng.normal(size=(*shape, symbols)) / symbols
    return settled(a, a.models.Space(table, cells), p, g, parts[2] * rng.uniform(size=shape))


def function(truth: Truth, apply: Callable[[Any, Any], Any]) -> Operation:
    def operation(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
        x = _argument(a, rng, truth, cells)
        at, y = spot(rng, x), apply(a, x)
        true = values(x, at)
        for place in np.ndindex(true.shape):
            known = y.r[place] < np.inf or y.known.high[place] < np.inf or y.known.low[place] > -np.inf
            inside = known and truth.low < true[place] < truth.high
            true[place] = truth.f(rounded(true[place])) if inside else MP.nan
        return y, at, true

    return operation


def rows_function(name: str, truth: Callable[[Any], Any]) -> Operation:
    """Over the last of 3 entries, of which one is masked at times."""

    def operation(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
        x = _argument(a, rng, Truth(MP.exp, far=30.0), cells).take(np.array([0, 1, 2, 1, 2, 3]))
        mask = None if rng.uniform() < 0.5 else np.array([[True, True, False], [True, True, True]])
        at = spot(rng, x)
        at = replace(at, tau=at.tau[[0, 1, 2, 1, 2, 5]])
        true = np.vectorize(rounded, otypes=[object])(values(x, at))
        rows = []
        for start, taking in ((0, [0, 1, 2] if mask is None else [0, 1]), (3, [0, 1, 2])):
            own = truth(true[start : start + 3][taking])
            full = np.full((len(own) if name == "logsumexp" else 3, cells), MP.mpf(0), object)
            full[: len(own)] = own
            rows.append(full)
        return a.row_functions.ROWS[name](x, (2, 3), mask), at, np.concatenate(rows)

    return operation


def _exponentials(x: Any) -> Any:
    return np.vectorize(MP.exp, otypes=[object])(x)


def _softmax(x: Any) -> Any:
    grown = _exponentials(x)
    return grown / grown.sum(0)


def _log_sum(x: Any) -> Any:
    return np.vectorize(MP.log, otypes=[object])(_exponentials(x).sum(0))[None]


ROWS_FUNCTIONS: dict[str, Operation] = {
    "softmax": rows_function("softmax", _softmax),
    "log_softmax": rows_function("log_softmax", lambda x: x - _log_sum(x)),
    "logsumexp": rows_function("logsumexp", _log_sum),
}
APPLIED: dict[str, Operation] = {
    **{
        name: function(truth, lambda a, x, name=name: a.functions.apply(a.smooth_functions.SMOOTH[name], x))
        for name, truth in TRUTH.items()
    },
    **{
        f"x^{p:g}": function(power(p), lambda a, x, p=p: a.functions.apply(a.elementary_functions.Power(p), x))
        for p in POWERS
    },
    "cbrt": function(
        Truth(lambda x: MP.sign(x) * MP.cbrt(abs(x)), far=1e280),
        lambda a, x: a.functions.odd(a.elementary_functions.Power(1 / 3, rounded=True), x),
    ),
    "1/x": function(Truth(lambda x: 1 / x, far=1e280), lambda a, x: a.functions.reciprocal(x)),
}


def few_samples(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    """A function whose interpolants are judged by few samples."""
    before, a.functions.SAMPLES = a.functions.SAMPLES, 3
    try:
        return APPLIED["tanh"](a, rng, cells)
    finally:
        a.functions.SAMPLES = before
