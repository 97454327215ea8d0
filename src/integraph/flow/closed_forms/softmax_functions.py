"""What softmax divides by, on symbolic arrays: `gadgets/functions/normaliser.py` without its search.

Whether N is positive all the way is decided by the tests that suffice near the lemmas' start. Where they do not decide,
a search would be needed, and the row counts as not positive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.flow.closed_forms.recorder import Array
from integraph.gadgets.functions.normaliser import NOISE, SHARE

if TYPE_CHECKING:
    from integraph.flow.closed_forms.functions import SymbolFunctions


def gaps(self: SymbolFunctions, t: float, s: Array, c: Array, u: Array) -> tuple[Array, Array]:
    """σt − M for σ = s + c, and M: the largest σt of the lanes with u ≠ 0, or 0 if that is less than 1."""
    low = -self.recorder.huge
    high = self.largest(self.where(self.equal(u, 0.0), low, s))[..., None, :]
    peak = t * (high + c)
    near = self.either(self.less(peak, 1.0), self.equal(high, low))
    gap = self.where(near, t * (s + c), t * (s - self.where(near, 0.0, high)))
    return gap, self.where(near, 0.0, peak)


def normaliser(
    self: SymbolFunctions, t: float, u: Array, m: Array, sigma: Array, top: Array, grown: Array
) -> tuple[Array, Array]:
    """N(t) e^{−top}, and the same where N is surely positive all the way, else a number ≤ 0."""
    none = self.equal(u, 0.0)
    share = self.where(none, 0.0, u / self.where(none, 1.0, sigma))
    rest, scale = t * (m - self.sum(u, -2)), self.exp(-top)[..., 0, :]
    lead = 1.0 - self.sum(share, -2)
    apart = self.less(self.sum(self.abs(share), -2), SHARE)
    parts = _summands(self, t, u, sigma, top)
    summed = (1.0 + rest) * scale + self.sum(parts, -2)
    sure = _sure(self, t, u, m, sigma, share, lead, rest, apart)
    if self.recorder.smooth:  # u/σ has no derivative at σ = 0: summands with small σ stay whole
        near = self.less(self.abs(t * sigma), 1.0)
        divisor = self.where(near, 1.0, sigma)
        lead = 1.0 - self.sum(self.where(near, 0.0, u / divisor), -2)
        part = self.where(near, parts, grown / divisor)
    else:
        part = self.where(none, 0.0, grown / sigma)
    n = self.where(apart, (lead + rest) * scale + self.sum(part, -2), summed)
    return n, self.where(sure, n, self.minimum(n, -1.0))


def _sure(
    self: SymbolFunctions,
    t: float,
    u: Array,
    m: Array,
    sigma: Array,
    share: Array,
    lead: Array,
    rest: Array,
    apart: Array,
) -> Array:
    """Whether N is surely positive from 0 to t: one summand outweighs all that can be negative, or nothing negative
    grows, or N is convex and rises or falls too slowly."""
    v = t * sigma
    least = -self.largest(-share)
    outweighs = self.less(NOISE - self.minimum(lead, 0.0) - self.minimum(rest, 0.0), least)
    strong = self.both(self.both(apart, outweighs), self.less(-1e-300, self.largest(v)))
    gain = t * u * self.expm1c(-self.abs(v))  # the summands at t, where v ≤ 0
    loss = self.minimum(rest, 0.0) + self.sum(self.minimum(gain, 0.0), -2)
    grows = self.both(self.less(gain, 0.0), self.less(0.0, v))
    plain = self.both(self.less(self.largest(self.where(grows, 1.0, 0.0)), 0.5), self.less(-NOISE * loss, 1.0 + loss))
    bends = self.where(self.less(sigma * u, 0.0), 1.0, 0.0)
    convex = self.both(self.less(self.largest(bends), 0.5), self.less(0.0, 1.0 + t * m))
    return self.either(strong, self.either(plain, convex))


def log_normaliser(self: SymbolFunctions, t: float, u: Array, m: Array, sigma: Array, top: Array, n: Array) -> Array:
    """ln n for n = N(t) e^{−top}; where no summand grows much, computed from N − 1."""
    near = self.equal(top[..., 0, :], 0.0)
    above = t * (m - self.sum(u, -2)) + self.sum(_summands(self, t, u, sigma, top), -2)
    return self.where(near, self.log1p(self.where(near, above, 0.0)), self.log(self.where(near, 1.0, n)))


def _summands(self: SymbolFunctions, t: float, u: Array, sigma: Array, top: Array) -> Array:
    """u_j (e^{σ_j t} − 1)/σ_j, all times e^{−top}."""
    v = t * sigma
    return self.grow(t * u * self.expm1c(-self.abs(v)), self.relu(v) - top)
