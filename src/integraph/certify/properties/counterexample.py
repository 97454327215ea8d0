"""Points where a property does not hold: suggested by float64, confirmed by the checker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from integraph.certify.properties.margins import Margins
from integraph.certify.properties.program_margins import ProgramMargins
from integraph.certify.properties.truth import Decision
from integraph.clock import check_deadline
from integraph.numbers.arrays import Floats
from integraph.numbers.low_discrepancy import kronecker
from integraph.targets.network import Network

POINTS, FEW = 512, 64  # of the first look, at a network and at a graph
CORNERS = 8  # inputs up to which all corners are looked at
ZOOMS, BEST, STEP = 10, 4, 0.4  # rounds of points around the best ones, each closer by this factor
TRIED = 4  # points of a batch that are handed to the checker


@dataclass(frozen=True, slots=True, eq=False)
class Suspects:
    """Where to look for a counterexample on a box; `refuted` proves that a point is one."""

    margins: Margins | ProgramMargins
    decision: Decision
    low: Floats
    high: Floats
    refuted: Callable[[Floats], bool]

    @property
    def few(self) -> int:
        """Points that are looked at together."""
        return POINTS if isinstance(self.margins.source, Network) else FEW

    def among(self, x: Floats) -> Floats | None:
        """One of the points that is a counterexample."""
        return self._confirmed(x, self._margin(x))

    def _margin(self, x: Floats) -> Floats:
        check_deadline()
        values = self.margins.values(x)
        values = np.where(np.isnan(values), np.inf, values)
        return self.decision.margin(values, values)

    def _confirmed(self, x: Floats, margin: Floats) -> Floats | None:
        for n in np.argsort(margin, kind="stable")[:TRIED]:
            if margin[n] > 0:
                return None
            if self.refuted(x[n]):
                return np.asarray(x[n])
        return None

    def first(self) -> Floats | None:
        """A counterexample that points all over the box, corners, and points around the worst of them lead to."""
        d = len(self.low)
        share = kronecker(self.few, d)
        if d <= CORNERS:
            share = np.concatenate([share, (np.arange(2**d)[:, None] >> np.arange(d)) & 1])
        rng = np.random.default_rng(0)
        for zoom in range(ZOOMS):
            x = np.clip(self.low * (1 - share) + self.high * share, self.low, self.high)
            margin = self._margin(x)
            if (point := self._confirmed(x, margin)) is not None:
                return point
            best = share[np.argsort(margin, kind="stable")[:BEST]]
            near = best[:, None] + STEP ** (zoom + 1) * rng.normal(size=(len(best), self.few // BEST, d))
            share = np.concatenate([best, np.clip(near.reshape(-1, d), 0.0, 1.0)])
        return None
