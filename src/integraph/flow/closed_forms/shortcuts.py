"""Closed forms from the starts that constructions use, where they are shorter than those from any start.

Their ends are finite wherever operands and starts are, or NaN, and need no guard of their own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from integraph.flow.closed_forms.linear_forms import LinearForms
from integraph.flow.closed_forms.recorder import Array, Recorder, Symbol, constant
from integraph.gadgets.functions.namespace import Tensors
from integraph.gadgets.gadget import Closed
from integraph.gadgets.softmax import Softmax, spread

if TYPE_CHECKING:
    from integraph.flow.closed_forms.functions import SymbolFunctions
    from integraph.program import Block

DECAYED = 1e-3  # the largest factor of what is left of a register
SURE = 0.5  # what is ≥ 1 for λ₀ ≥ 0 must not be less, or digits cancel


def shortcut(
    f: SymbolFunctions, block: Block, t: float, start: tuple[Array, ...], operands: tuple[Array, ...], tensors: Tensors
) -> Closed | None:
    """The ends of a block, or None if the gadget's own closed form must serve."""
    op, unset = block.op, not any(isinstance(one, Symbol) or np.any(one) for one in start)
    if op.name in ("tanh", "log_cosh") and unset:
        x = operands[0]
        alpha = f.tanh(t * x)
        return Closed((alpha, x * alpha) if op.name == "tanh" else (x * alpha, f.log_cosh(t * x, 0.0)))
    if not f.recorder.smooth:
        return None
    if op.name == "tanh" and all(_decayed(f, one) for one in start):
        return _tanh_after_decay(f, t, start, operands[0])
    if isinstance(op, Softmax):
        return _softmax(f, t, start, operands[0], spread(op.shift(operands, tensors)))
    return _gelu(f, t, start, operands[0]) if op.name == "gelu" else None


def _softmax(f: SymbolFunctions, t: float, start: tuple[Array, ...], s: Array, c: Array) -> Closed | None:
    """From u = (s + c)/n and m = Σu, N is the mean of e^{σt}: no case needs to be distinguished, and no sum cancels."""
    (a, u, m), forms = start, LinearForms(f.recorder)
    if isinstance(a, Symbol) or not isinstance(u, Symbol) or not isinstance(s, Symbol):
        return None
    n, sigma = s.lanes[-1], s + c
    if not forms.equal(n * u, sigma, s) or not forms.equal(m, f.sum(u, -2), u):
        return None
    exponent = t * s
    grown = f.exp(exponent - f.recorder.record("held", f.largest(exponent), lanes=s.lanes[:-1])[..., None, :])
    share = grown / f.sum(grown, -2)[..., None, :]
    u_end = sigma * share
    return Closed((n * a * share, u_end, f.sum(u_end, -2)))


def _gelu(f: SymbolFunctions, t: float, start: tuple[Array, ...], x: Array) -> Closed | None:
    """From w = 0 and h = kx, z gains k x √(π/2) erf(xt/√2)."""
    w, h, z = start
    k = None if isinstance(w, Symbol) or np.any(w) else LinearForms(f.recorder).quotient(h, x)
    if k is None:
        return None
    gained = x * (k * math.sqrt(math.pi / 2)) * f.erf(t / math.sqrt(2) * x)
    return Closed((t * x * x, f.fall(h, w, t * x, 1.0), z + gained))


def _tanh_after_decay(f: SymbolFunctions, t: float, start: tuple[Array, ...], x: Array) -> Closed:
    """Lemma 1 by τ = tanh(v/2), v = xt: α·U = α₀(1 − τ²) + τ(2 + ℓ), U = 1 + τ² + ℓ, ℓ = λ₀t tanh(v/2)/(v/2). 1 − τ²
    is right to an ulp of 1, which is enough for a small α₀. λ = (x tanh v + λ₀)/(1 + λ₀t tanh(v)/v) shares nothing
    with α: what shares would be stored for every input, and memory costs more than another tanh."""
    alpha, lam = start
    half, whole = 0.5 * t * x, t * x
    if "decayed_tanh" in f.recorder.native and isinstance(whole, Symbol):
        return _decayed_pair(f.recorder, whole, alpha, t * lam, t)
    if not isinstance(lam, Symbol) and not np.any(lam):
        tau = f.tanh(half)
        square = tau * tau
        return Closed(((alpha * (1.0 - square) + 2.0 * tau) / (1.0 + square), x * f.tanh(whole)))
    mean = f.recorder.push("tanhc", half)
    tau = half * mean  # infinite for an infinite x
    square, lift = tau * tau, t * lam * mean
    u, w = 1.0 + square + lift, 1.0 + t * lam * f.recorder.push("tanhc", whole)
    share, rest = (f.where(f.less(SURE, one), 1.0 / one, np.nan) for one in (u, w))
    alpha_end = (alpha * (1.0 - square) + tau * (2.0 + lift)) * share
    return Closed((alpha_end, (x * f.tanh(whole) + lam) * rest), {"lam": u - SURE})


def _decayed_pair(recorder: Recorder, v: Symbol, alpha: Array, lam: Array, t: float) -> Closed:
    """The same where a language has both ends as one function."""
    given = (alpha, lam) if isinstance(lam, Symbol) or np.any(lam) else (alpha,)
    wide = [recorder.broadcast(one, v.lanes) for one in given]
    rests = [one if isinstance(one, Symbol) else constant(one) for one in wide]
    pair = recorder.record("decayed_tanh", v, *rests, lanes=v.lanes)
    ends = [recorder.record(end, pair, lanes=v.lanes) for end in ("alpha", "lam")]
    return Closed((ends[0], ends[1] / t))


def _decayed(f: SymbolFunctions, value: Array) -> bool:
    """Whether a value is seen to be a small multiple of some register."""
    if not isinstance(value, Symbol):
        return bool((np.abs(constant(value)) <= DECAYED).all())
    own = f.recorder.operation(value)
    given = [f.recorder.symbol(a) if isinstance(a, int) else a[..., None] for a in own.arguments]
    if own.op == "multiply":
        return any(not isinstance(one, Symbol) and _decayed(f, one) for one in given)
    return own.op in ("concatenate", "reshape", "gather") and all(_decayed(f, one) for one in given)
