"""Mean-value forms on a box: of the network (`Tangent`), and of the difference for tanh and sigmoid (`Slopes`).

A function on a box lies in its value at the centre plus its derivatives on the box times the distance from the centre;
the excess of this enclosure falls with the square of the size of the box. `Slopes` differentiates by the inputs all
that the recursion of `network.difference` carries. With δ, α₀, λ₀, τ, s and κ as in `activation_rules`, t = tanh M̂ and
the bracket B = (s α₀ − κ λ₀)/N, N = 1 + λ₀τ,

    ∂B/∂α₀ = s/N,   ∂B/∂λ₀ = −(κ + Bτ)/N,   ∂B/∂M̂ = (−s t α₀ − κ'λ₀ − B λ₀ τ')/N
    κ' = −s(1 − 2s)τ − sτ²/(1 + s),   τ' = −∫_0^1 2u (tanh sech²)(uM̂) du, so |τ'| < 0.385
    λ(1) = M̂ t + λ₀ s²/N:   ∂/∂λ₀ = s²/N²,   ∂/∂M̂ = t + M̂ s² − λ₀ s²(2t + λ₀τ'/N)/N
    e = tanh M̂ − tanh M + B:   de = (s² + B') dδ + (B' − 2(tanh sech²)(ξ) δ) dM + …,   ξ between M and M̂.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, arb_mat

from integraph.certify.network.form import NetworkForm, RelaxStep
from integraph.certify.network.linear_maps import LayerMaps
from integraph.certify.network.rectifiers import leaky
from integraph.certify.network.roles import ActivationStep
from integraph.certify.readout import output_weights
from integraph.clock import check_deadline
from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, column, hull, intersection, symmetric
from integraph.numbers.arb.matrices import product, scaled_rows
from integraph.program import Program

KNOWN = ("tanh", "identity")
TURNING = symmetric(arb(0.385))  # τ'


def has_slopes(form: NetworkForm) -> bool:
    """Whether all layers have such derivatives."""
    return all(step.name in KNOWN for step in form.steps if isinstance(step, ActivationStep))


class Slopes:
    """Rows of derivatives: of z and e, the values of the layer and what they are off by, and of every register y."""

    def __init__(self, width: int, d: int) -> None:
        self.d = d
        self.z = arb_mat(d, d, [int(i == j) for i in range(d) for j in range(d)])
        self.e = arb_mat(d, d)
        self.y: list[Balls] = [*rows(self.z), *([ZERO] * d for _ in range(width - d))]

    def relax(self, step: RelaxStep, falls: dict[float, arb]) -> None:
        for register, r in zip(step.registers.tolist(), step.r.tolist(), strict=True):
            self.y[register] = [falls[r] * slope for slope in self.y[register]]

    def load(self, map: LayerMaps, held: Sequence[int]) -> None:
        registers = map.registers.tolist()
        start = arb_mat([self.y[register] for register in registers])
        self.M = product(map.A, self.z)
        self.delta = product(map.W, self.e) + product(map.lost, self.z) + start
        if map.spare is not None:
            loaded, W, _ = map.spare
            for register, row in zip(loaded, rows(product(W, self.z + self.e)), strict=True):
                self.y[register] = _sum((ONE, ONE), (self.y[register], row))
        for register, row in zip(registers, rows(self.M + self.delta), strict=True):
            self.y[register] = row
        for register, row in zip(held, rows((self.z + self.e) * map.fall), strict=True):
            self.y[register] = row

    def activate(self, step: ActivationStep, M: Balls, delta: Balls, starts: dict[str, Balls], slopes: Balls) -> None:
        """`slopes` are those of the activation on hull(M, M̂)."""
        moved, off = rows(self.M), rows(self.delta)
        if step.name == "tanh":
            alpha, lam = ([self.y[r] for r in step.roles[role].tolist()] for role in ("alpha", "lam"))
            derivatives = []
            for unit, (m, d) in enumerate(zip(M, delta, strict=True)):
                check_deadline()
                by, ends = _partials(m, d, starts["alpha"][unit], starts["lam"][unit])
                parts = (moved[unit], off[unit], alpha[unit], lam[unit])
                derivatives.append(_sum(by, parts))
                self.y[int(step.roles["lam"][unit])] = _sum(ends, (self.y[int(step.roles["x"][unit])], lam[unit]))
            self.e = arb_mat(derivatives)
        else:
            self.e = self.delta
        self.z = scaled_rows(slopes, self.M)
        for register, row in zip(step.out.tolist(), rows(self.z + self.e), strict=True):
            self.y[register] = row

    def read_out(self, program: Program, map: LayerMaps, held: Sequence[int]) -> None:
        """`outputs`, one row for each."""
        slopes, inside = rows(product(map.W, self.e) + product(map.lost, self.z)), set(held)
        for number, row in enumerate(output_weights(program)):
            for register, c in row:
                if register not in inside:
                    slopes[number] = _sum((ONE, c), (slopes[number], self.y[register]))
        self.outputs = slopes


def rows(matrix: arb_mat) -> list[Balls]:
    entries, columns = matrix.entries(), matrix.ncols()
    return [entries[first : first + columns] for first in range(0, len(entries), columns)]


def dot(a: Sequence[arb], b: Sequence[arb]) -> arb:
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def _sum(factors: Sequence[arb], parts: Sequence[Balls]) -> Balls:
    return [dot(factors, slopes) for slopes in zip(*parts, strict=True)]


def _partials(M: arb, delta: arb, alpha: arb, lam: arb) -> tuple[Balls, Balls]:
    """Of e by M, δ, α₀ and λ₀; of λ(1) by M̂ and λ₀."""
    actual = M + delta
    s, t, tau, kappa = (f(actual) for f in (ranges.sech, ranges.tanh, ranges.tanhc, ranges.kappa))
    N, square = ONE + lam * tau, s * s
    B = (s * alpha - kappa * lam) / N
    bent = -s * (1 - 2 * s) * tau - s * tau * tau / (1 + s)
    B_M = (-s * t * alpha - bent * lam - B * lam * TURNING) / N
    between = hull(M, actual)
    lost = 2 * ranges.tanh(between) * ranges.sech2(between) * delta
    by = [B_M - lost, square + B_M, s / N, -(kappa + B * tau) / N]
    return by, [t + actual * square - lam * square * (2 * t + lam * TURNING / N) / N, square / (N * N)]


class Tangent:
    """The network: M ∈ M(middle) + J·(x − middle), with J its derivatives on the box."""

    def __init__(self, x: Balls) -> None:
        d = len(x)
        self.values = [ball.mid() for ball in x]
        self.move = column([ball - middle for ball, middle in zip(x, self.values, strict=True)])
        self.J = arb_mat(d, d, [int(i == j) for i in range(d) for j in range(d)])

    def load(self, map: LayerMaps, M: Balls) -> Balls:
        """M, narrower where the mean-value form gives a better end."""
        self.values = (product(map.A, column(self.values)) + map.b).entries()
        self.J = product(map.A, self.J)
        moved = (self.J * self.move).entries()
        return [intersection(ball, value + move) for ball, value, move in zip(M, self.values, moved, strict=True)]

    def activate(self, step: ActivationStep, map: LayerMaps, slopes: Balls) -> None:
        self.J = scaled_rows(slopes, self.J)
        running = dict(zip(step.units.tolist(), map.rules, strict=True))
        self.values = [
            running[unit].value(M) if unit in running else leaky(M, arb(float(step.slopes[unit])))
            for unit, M in enumerate(self.values)
        ]
