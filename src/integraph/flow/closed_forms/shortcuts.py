"""Closed forms from the starts that constructions use, where they are shorter than those from any start.

Their ends are finite wherever operands and starts are, or NaN, and need no guard of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from integraph.flow.closed_forms.recorder import Array, Symbol, constant
from integraph.gadgets.gadget import Closed

if TYPE_CHECKING:
    from integraph.flow.closed_forms.functions import SymbolFunctions

DECAYED = 1e-3  # the largest factor of what is left of a register
SURE = 0.5  # of U ≥ 1 for λ₀ ≥ 0: below it, digits cancel


def shortcut(f: SymbolFunctions, name: str, t: float, start: tuple[Array, ...], x: Array) -> Closed | None:
    """The ends of a gadget with one operand, or None if its own closed form must serve."""
    if name not in ("tanh", "log_cosh"):
        return None
    if not any(isinstance(one, Symbol) or np.any(one) for one in start):
        alpha = f.tanh(t * x)
        return Closed((alpha, x * alpha) if name == "tanh" else (x * alpha, f.log_cosh(t * x, 0.0)))
    if name == "tanh" and f.recorder.smooth and all(_decayed(f, one) for one in start):
        return _tanh_after_decay(f, t, start, x)
    return None


def _tanh_after_decay(f: SymbolFunctions, t: float, start: tuple[Array, ...], x: Array) -> Closed:
    """Lemma 1 by the half angle, τ = tanh(v/2), v = xt: one function in place of three. U = (1 + τ²) u/cosh v is
    1 + τ² + λ₀t tanh(v/2)/(v/2). 1 − τ² is right to an ulp of 1, which is enough for a small α₀."""
    alpha, lam = start
    half = 0.5 * t * x
    if not isinstance(lam, Symbol) and not np.any(lam):
        tau = f.tanh(half)
        square = tau * tau
        share = 1.0 / (1.0 + square)
        return Closed(((alpha * (1.0 - square) + 2.0 * tau) * share, x * (2.0 * tau) * share))
    mean = f.recorder.push("tanhc", half)
    tau = f.tanh(half)
    square, lift = tau * tau, t * lam * mean
    u = 1.0 + square + lift
    share = f.where(f.less(SURE, u), 1.0 / u, np.nan)
    alpha_end = (alpha * (1.0 - square) + tau * (2.0 + lift)) * share
    lam_end = (x * (2.0 * tau) + lam * (1.0 + square)) * share
    return Closed((alpha_end, lam_end), {"lam": u - SURE})


def _decayed(f: SymbolFunctions, value: Array) -> bool:
    """Whether a value is seen to be a small multiple of some register."""
    if not isinstance(value, Symbol):
        return bool((np.abs(constant(value)) <= DECAYED).all())
    own = f.recorder.operation(value)
    given = [f.recorder.symbol(a) if isinstance(a, int) else a[..., None] for a in own.arguments]
    if own.op == "multiply":
        return any(not isinstance(one, Symbol) and _decayed(f, one) for one in given)
    return own.op in ("concatenate", "reshape", "gather") and all(_decayed(f, one) for one in given)
