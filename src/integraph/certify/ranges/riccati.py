"""tanh and ln cosh on balls, from any start and without the case distinction of floats.

With v = xt and N = 1 + λ₀t·tanh(v)/v > 0: λ = (x tanh v + λ₀)/N, and α = tanh v + (α₀ sech v − λ₀t κ(v))/N with
κ(v) = sech v (1 − sech v)/v. From a small α₀ and λ₀, x enters once. For t ≥ 0, λ rises with λ₀ and with |x|, since
λ' = x² − λ² does: its range is that between two corners.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from integraph.certify.ranges.gradients import GradientBall, lifted, value_of
from integraph.gadgets import Closed, log_cosh, tanh
from integraph.gadgets.functions.arb import BallFunctions
from integraph.gadgets.functions.namespace import Arrays, Tensors
from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import Balls, hull, intersection
from integraph.program import Op

TANHC_SLOPE = hull(arb(0), -2 / arb(3))  # (tanh(v)/v)' = −v Σ 64/(c_k + 4v²)² with c_k = (2k − 1)²π²
KAPPA_SLOPE = hull(arb(-1), arb(1.5))  # |sech'| ≤ ½, 0 ≤ (1 − sech v)/v² ≤ ½, |1 − sech v|/|v| ≤ 1

_tanh = lifted(ranges.tanh, (ranges.sech2,))
tanhc = lifted(ranges.tanhc, (lambda v: TANHC_SLOPE * v,))
_sech = lifted(ranges.sech, (lambda v: -ranges.sech(v) * ranges.tanh(v),))
_kappa = lifted(ranges.kappa, (lambda v: KAPPA_SLOPE,))


def _lambda(t: Any, x: Any, start: Any) -> Any:
    v = t * x
    end = (x * _tanh(v) + start) / (1 + t * start * tanhc(v))
    value = intersection(value_of(end), _corners(t, value_of(x), value_of(start)))
    return GradientBall(value, end.centre, end.gradient, end.offsets, True) if type(end) is GradientBall else value


def _corners(t: arb, x: arb, start: arb) -> arb:
    if not (t >= 0 and x.is_finite() and start.is_finite()):
        return ranges.UNKNOWN
    corners = ((x.abs_lower(), start.lower()), (x.abs_upper(), start.upper()))
    ends: Balls = [(c * ranges.tanh(t * c) + s) / (1 + s * t * ranges.tanhc(t * c)) for c, s in corners]
    return hull(*ends)


def _alpha(t: Any, x: Any, alpha: Any, start: Any) -> Any:
    v = t * x
    return _tanh(v) + (alpha * _sech(v) - t * start * _kappa(v)) / (1 + t * start * tanhc(v))


def _alive(t: Any, x: Any, start: Any) -> arb:
    alive: arb = 1 + t * value_of(start) * ranges.tanhc(t * value_of(x))
    return alive


_lambdas: Callable[..., Any] = np.frompyfunc(_lambda, 3, 1)
_alphas: Callable[..., Any] = np.frompyfunc(_alpha, 4, 1)
_lives: Callable[..., Any] = np.frompyfunc(_alive, 3, 1)


def _tanh_form(f: BallFunctions, t: arb, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
    (alpha, lam), (x,) = start, operands
    return Closed((_alphas(t, x, alpha, lam), _lambdas(t, x, lam)), {"lam": _lives(t, x, lam)})


def _log_cosh_form(f: BallFunctions, t: arb, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
    (m, l), (x,) = start, operands
    return Closed((_lambdas(t, x, m), l + f.log_cosh(t * x, t * m)), {"m": _lives(t, x, m)})


FORMS: dict[Op, Any] = {tanh: _tanh_form, log_cosh: _log_cosh_form}
