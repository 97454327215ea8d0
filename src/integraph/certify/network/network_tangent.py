"""The network itself near the middle of a box: by the mean value theorem its layers vary less than balls can tell."""

from __future__ import annotations

from flint import arb, arb_mat

from integraph.certify.network.linear_maps import LayerMaps
from integraph.certify.network.rectifiers import leaky
from integraph.certify.network.roles import ActivationStep
from integraph.numbers.arb.conversion import Balls, both, column
from integraph.numbers.arb.matrices import product, scaled_rows


class Tangent:
    """M ∈ M(middle) + J·(x − middle), with J the derivatives on the box."""

    def __init__(self, x: Balls) -> None:
        d = len(x)
        self.values = [ball.mid() for ball in x]
        self.move = column([ball - middle for ball, middle in zip(x, self.values, strict=True)])
        self.J = arb_mat(d, d, [int(i == j) for i in range(d) for j in range(d)])

    def load(self, map: LayerMaps, M: Balls) -> Balls:
        """M, narrower where this knows an end better."""
        self.values = (product(map.A, column(self.values)) + map.b).entries()
        self.J = product(map.A, self.J)
        moved = (self.J * self.move).entries()
        return [both(ball, value + move) for ball, value, move in zip(M, self.values, moved, strict=True)]

    def activate(self, step: ActivationStep, map: LayerMaps, slopes: Balls) -> None:
        self.J = scaled_rows(slopes, self.J)
        running = dict(zip(step.units.tolist(), map.rules, strict=True))
        self.values = [
            running[unit].value(M) if unit in running else leaky(M, arb(float(step.slopes[unit])))
            for unit, M in enumerate(self.values)
        ]
