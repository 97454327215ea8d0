"""Closed forms of gadgets on models: those as written where they lose little, and others around the usual starts.

A Riccati equation λ' = x² − λ² from λ₀ has, with v = xt, N = 1 + λ₀t·tanh(v)/v, the solution λ = (x tanh v + λ₀)/N, and
tanh's α = tanh v + (α₀ sech v − λ₀t κ(v))/N, |κ(v)| ≤ min(|v|/2, 1). A logistic equation s' = k(xs − s²) from x/2 + d
has, with v = kxt, N = 1 + ktd·tanh(v/2)/(v/2), the solution s = (x σ(v) + 2dσ(v))/N. What is left of an earlier
content, λ₀, α₀ or d, is small or 0, so that x enters once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from integraph.certify.bounds.model_arrays import ModelArray, constant, narrower, plus, times
from integraph.certify.bounds.model_functions import MODELS, decreasing, kappa, of, sech, tanhc
from integraph.certify.bounds.score_models import score_models
from integraph.certify.controls import leaky_roots, stored_form
from integraph.gadgets import (
    Closed,
    Gadget,
    affine,
    arctan,
    bilinear,
    decay,
    drain,
    erf,
    exp,
    expm1,
    gaussian,
    gelu,
    leaky_relu,
    ln,
    log_cosh,
    monomial,
    power,
    power_spiral,
    powers,
    product,
    ramp,
    relax,
    relu,
    sigmoid,
    silu,
    sin_cos,
    sinh_cosh,
    softplus,
    spiral,
    tanh,
)
from integraph.gadgets.functions.arb import BALLS
from integraph.gadgets.gadget import with_affine_form
from integraph.gadgets.softmax import Softmax
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval, absolute, mul, neg
from integraph.numbers.models.elementary_functions import Power
from integraph.numbers.models.functions import apply, kink
from integraph.numbers.models.models import Models, joined
from integraph.numbers.models.smooth_functions import SMOOTH
from integraph.program import Block, Op, Ref

AS_WRITTEN = frozenset(
    (arctan, decay, erf, exp, gaussian, gelu, ln, monomial, power, power_spiral, powers, ramp, sin_cos, spiral)
)
LINEAR = frozenset((affine, decay, drain, ramp, relax))  # whose results have no errors but rounding
SHORT = 0.27847  # more than u/(1 + e^u) ever is
LARGEST = 4_000_000  # entries of a matrix


def closed_models(block: Block, t: arb, states: Models) -> Closed | None:
    """The closed form of a block from states of models; None where it has none that is not wide."""
    if block.op in FORMS:
        return FORMS[block.op](block, t, states)
    if isinstance(block.op, Softmax):
        return score_models(block.op, t, *_arguments(block, states))
    if block.op not in AS_WRITTEN or not isinstance(block.op, Gadget):
        return None
    start, operands, tensors = _arguments(block, states)
    exact = {name: BALLS.exactly(value) for name, value in tensors.items()}
    form: Callable[..., Closed] = block.op.closed
    return form(MODELS, t, start, operands, exact)


def _arguments(block: Block, states: Models) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
    start, operands = ([_read(states, ref) for ref in refs] for refs in (block.targets, block.operands))
    return with_affine_form(block, tuple(start), tuple(operands))


def _read(states: Models, ref: Ref) -> ModelArray:
    return ModelArray(states.take(ref.indices().reshape(-1)), (*ref.shape, 1))


def _tanhc(v: ModelArray) -> Interval:
    return decreasing(tanhc, v.known)


def _norm(gain: Any, rest: ModelArray, v: ModelArray) -> ModelArray | None:
    """1 + gain·rest·tanh(v)/v, or None where that is 1."""
    return None if rest.zero else (gain * rest).between(_tanhc(v)) + 1.0


def _over(x: ModelArray, norm: ModelArray | None) -> ModelArray:
    return x if norm is None else x / norm


def _life(role: str, norm: ModelArray | None) -> dict[str, Any]:
    return {} if norm is None else {role: norm}


def _riccati(t: arb, x: ModelArray, start: ModelArray) -> tuple[ModelArray, ModelArray, ModelArray | None, ModelArray]:
    """v, tanh v, N and λ."""
    v = t * x
    wave = of(SMOOTH["tanh"], v)
    norm = _norm(t, start, v)
    gain = _of_one_sign(t, x, wave)
    return v, wave, norm, _over(gain if start.zero else gain + start, norm)


def _of_one_sign(t: arb, x: ModelArray, wave: ModelArray) -> ModelArray:
    """x tanh(tx), which has the sign of t."""
    size = mul(absolute(x.known), absolute(wave.known))
    known = size if t >= 0 else neg(size) if t <= 0 else Interval(-size.high, size.high)
    return ModelArray((x * wave).rows.within(known), x.shape)


def _tanh(block: Block, t: arb, states: Models) -> Closed:
    (alpha, lam), (x,), _ = _arguments(block, states)
    v, wave, norm, end = _riccati(t, x, lam)
    if not (alpha.zero and lam.zero):
        rest = alpha.between(decreasing(sech, v.known)) - (t * lam).between(kappa(v.known))
        wave = wave + _over(rest, norm)
    return Closed((wave, end), _life("lam", norm))


def _log_cosh(block: Block, t: arb, states: Models) -> Closed:
    (m, l), (x,), _ = _arguments(block, states)
    v, _, norm, end = _riccati(t, x, m)
    grown = l + of(SMOOTH["log_cosh"], v)
    return Closed((end, grown if norm is None else grown + of(SMOOTH["ln"], norm)), _life("m", norm))


def _logistic(
    gain: Any, x: ModelArray, start: ModelArray
) -> tuple[ModelArray, ModelArray, ModelArray | None, ModelArray]:
    """v, σ(v), N and s."""
    v, rest = gain * x, start - 0.5 * x
    wave = of(SMOOTH["sigmoid"], v)
    norm = _norm(gain, rest, 0.5 * v)
    end = narrower(of(SMOOTH["silu"], v) / gain, _rectified(gain, x)) if _nonzero(gain) else x * wave
    return v, wave, norm, _over(end if rest.zero else end + 2.0 * rest * wave, norm)


def _rectified(gain: Any, x: ModelArray) -> ModelArray:
    """x σ(kx) from ReLU, of which it is at most 0.2785/|k| short where k > 0; where k < 0 it exceeds min(x, 0) so."""
    low, high = (np.broadcast_to(end, x.shape).reshape(-1, 1) for end in constant(gain))
    sign = np.where(low > 0, 1.0, -1.0)
    short = SHORT / np.minimum(np.abs(low), np.abs(high))
    bent = times(kink(times(x.rows, Interval(sign, sign)), np.zeros((1, 1))), Interval(sign, sign))
    return ModelArray(plus(bent, Interval(np.where(sign > 0, -short, 0.0), np.where(sign > 0, 0.0, short))), x.shape)


def _relu(block: Block, t: arb, states: Models) -> Closed:
    """SiLU is a ReLU of steepness k = 1."""
    (s,), (x,), tensors = _arguments(block, states)
    _, _, norm, end = _logistic(t * BALLS.exactly(tensors.get("k", np.ones(1))), x, s)
    return Closed((end,), _life("s", norm))


def _nonzero(gain: Any) -> bool:
    low, high = constant(gain)
    return bool(((low > 0) | (high < 0)).all())


def _leaky_relu(block: Block, t: arb, states: Models) -> Closed | None:
    """The excess s − cx over the lower line is a ReLU of (c' − c)x."""
    (s,), (x,), _ = _arguments(block, states)
    if stored_form(block) is None or not _nonzero(block.tensors["k"]):
        return None
    k, low, apart = leaky_roots(block)
    line = low * x
    _, _, norm, excess = _logistic(t * k, (apart / k) * x, s - line)
    return Closed((line + excess,), _life("s", norm))


def _sigmoid(block: Block, t: arb, states: Models) -> Closed:
    (s, g), (x,), _ = _arguments(block, states)
    _, wave, norm, end = _logistic(t, x, s)
    return Closed((end, _over(2.0 * g * wave, norm)), _life("s", norm))


def _softplus(block: Block, t: arb, states: Models) -> Closed:
    """y gains ∫ s = ln(N (1 + e^v)/2)."""
    (s, y), (x,), _ = _arguments(block, states)
    v, _, norm, end = _logistic(t, x, s)
    grown = y + of(SMOOTH["softplus"], v) - arb.const_log2()
    return Closed((end, grown if norm is None else grown + of(SMOOTH["ln"], norm)), _life("s", norm))


def _expm1(block: Block, t: arb, states: Models) -> Closed:
    (z,), (x,), _ = _arguments(block, states)
    gained = MODELS.expm1(t * x)
    return Closed((gained if z.zero else gained + z * MODELS.exp(t * x),))


def _sinh_cosh(block: Block, t: arb, states: Models) -> Closed:
    """(u + v)/2 grows and (u − v)/2 falls."""
    (u, v), (x,), _ = _arguments(block, states)
    rising, falling = 0.5 * (u + v) * MODELS.exp(t * x), 0.5 * (u - v) * MODELS.exp(-t * x)
    return Closed((rising + falling, rising - falling))


def _affine(block: Block, t: arb, states: Models) -> Closed:
    (z,), (x,), tensors = _arguments(block, states)
    shape, registers = z.shape[:-1], block.operands[0].indices()
    lanes, reads = z.rows.r.shape[0], registers.shape[-1]
    used, place = np.unique(registers, return_inverse=True)
    if reads == 1 or lanes * len(used) > LARGEST:
        gain = (x * tensors["w"]).sum(-2)
    else:
        A = np.zeros((lanes, len(used)))
        weights = np.broadcast_to(block.tensors["w"], (*shape, reads)).reshape(lanes, reads)
        np.add.at(
            A, (np.arange(lanes)[:, None], place.reshape(lanes, reads)), weights
        )  # exact, or it has no closed form
        gain = ModelArray(states.take(used).affine(A, np.zeros(lanes), fresh=False), z.shape)
    return Closed((z + t * (gain + tensors.get("b", 0.0)),))


def products(states: Models, first: Any, second: Any) -> Models:
    """Of registers, pair by pair; squares where they are the same."""
    same = first == second
    if same.all():
        return apply(Power(2.0), states.take(first))
    if not same.any():
        return states.take(first) * states.take(second)
    parts = [apply(Power(2.0), states.take(first[same])), states.take(first[~same]) * states.take(second[~same])]
    order = np.argsort(np.concatenate([np.flatnonzero(same), np.flatnonzero(~same)]))
    return joined(parts).take(order)


def _product(block: Block, t: arb, states: Models) -> Closed:
    (z,), _, tensors = _arguments(block, states)
    x, v = (ref.indices() for ref in block.operands)
    pairs = ModelArray(products(states, x.ravel(), v.ravel()).with_symbols(), (*x.shape, 1))
    return Closed((z + t * (pairs * tensors["w"]).sum(-2),))


def _bilinear(block: Block, t: arb, states: Models) -> Closed:
    (z,), _, _ = _arguments(block, states)
    x, v = (ref.indices() for ref in block.operands)
    pairs = products(states, np.repeat(x, len(v)), np.tile(v, len(x))).with_symbols()
    weights: Floats = block.tensors["w"].reshape(len(z.rows), -1)
    return Closed((z + t * ModelArray(pairs.affine(weights, np.zeros(len(weights)), fresh=False), z.shape),))


def _drain(block: Block, t: arb, states: Models) -> Closed:
    """z' = G x + b, x' = −r x: z gains G x times ∫ e^{−rs} ds."""
    (z, x), _, tensors = _arguments(block, states)
    r = arb(float(block.tensors["r"]))
    gain = drain.gain(block)
    reach = t if r == 0 else -(-t * r).expm1() / r
    pushed = ModelArray(x.rows.affine(gain, np.zeros(len(gain)), fresh=False), z.shape)
    return Closed((z + reach * pushed + t * BALLS.exactly(tensors.get("b", np.zeros(1))), x * (-t * r).exp()))


def _relax(block: Block, t: arb, states: Models) -> Closed | None:
    start, operands, _ = _arguments(block, states)
    form = stored_form(block)
    return None if form is None else form(MODELS, block, t, start, operands)


FORMS: dict[Op, Callable[[Block, arb, Models], Closed | None]] = {
    affine: _affine,
    bilinear: _bilinear,
    drain: _drain,
    expm1: _expm1,
    leaky_relu: _leaky_relu,
    log_cosh: _log_cosh,
    product: _product,
    relax: _relax,
    relu: _relu,
    sigmoid: _sigmoid,
    silu: _relu,
    sinh_cosh: _sinh_cosh,
    softplus: _softplus,
    tanh: _tanh,
}
