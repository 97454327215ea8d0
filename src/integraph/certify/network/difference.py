"""|network − program| on a box, layer by layer: the recursion carries the difference itself, never two values to
subtract.

z is what a layer's registers should hold, e by how much they are off, y what every register holds. A layer x = A z + b
is stored as W, so its argument is off by

    δ = (W − A) z + W e + (what the register held before) + (b stored − b)

with W exactly what the stored controls give; `activation_rules` bounds the result. Beside its entries e has its
euclidean norm, as in `bounds/perturbation/deviation.py`: |W e| ≤ ‖W‖₂‖e‖ is smaller than row sums where layers are
wide.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flint import arb, arb_mat

from integraph.certify.network.activation_rules import ActivationRule, positive
from integraph.certify.network.form import LoadStep, NetworkForm, RampStep, RelaxStep, read
from integraph.certify.network.linear_maps import LayerMaps, elapsed, prepare
from integraph.certify.network.rectifiers import bend, leaky, steps
from integraph.certify.network.roles import ActivationStep
from integraph.certify.network.slopes import Slopes, Tangent, dot, has_slopes
from integraph.certify.problem import Box, Point
from integraph.certify.readout import output_weights
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import (
    ONE,
    ZERO,
    Balls,
    column,
    hull,
    intersection,
    largest,
    precision,
    size,
    smallest,
    symmetric,
)
from integraph.numbers.arb.conversion import box as balls
from integraph.numbers.arb.matrices import product
from integraph.program import Program
from integraph.targets import Network

UNKNOWN = arb.nan()
LARGE = 1e-4  # the uncertainty of a difference from which the values themselves may tell more
AXES = 8  # inputs up to which derivatives of the network are carried along


@dataclass(eq=False)
class NetworkDifference:
    """One quantity: the largest difference at any output."""

    program: Program
    network: Network
    form: NetworkForm = field(init=False, repr=False)
    prepared: dict[int, tuple[LayerMaps, ...]] = field(default_factory=dict, init=False, repr=False)

    quantities = 1

    def __reduce__(self) -> tuple[object, ...]:
        return NetworkDifference, (self.program, self.network)

    def __post_init__(self) -> None:
        self.form = read(self.program, self.network)

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        return (max(map(largest, self.outputs(box.low, box.high, bits))),)

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        differences = self.outputs(point, point, bits)
        return ((max(map(smallest, differences)), max(map(largest, differences))),)

    def outputs(self, low: Point, high: Point, bits: int) -> Balls:
        """Program minus network, for each output: as it comes, and by its mean value."""
        with precision(bits):
            x = balls(low, high)
            if low == high or len(x) > AXES or not has_slopes(self.form):
                return self.run(x, bits)
            middle = [ball.mid() for ball in x]
            at, slopes = self.run(middle, bits), Slopes(self.program.width, len(x))
            state = self.run(x, bits, slopes)
            way = [ball - m for ball, m in zip(x, middle, strict=True)]
            means = [value + dot(row, way) for value, row in zip(at, slopes.outputs, strict=True)]
            return list(map(intersection, state, means))

    def run(self, x: Balls, bits: int, slopes: Slopes | None = None) -> Balls:
        """The recursion, with derivatives beside it if they are asked for, at the precision of the moment."""
        if bits not in self.prepared:
            self.prepared[bits] = prepare(self.program, self.form, self.network)
        maps = iter(self.prepared[bits])
        map = next(maps)
        state = NetworkState(self.program.width, x, slopes)
        for step in self.form.steps:
            check_deadline()
            match step:
                case RampStep():
                    state.ramp(step)
                case RelaxStep():
                    state.relax(step)
                case LoadStep():
                    state.load(step, map)
                case ActivationStep():
                    state.activate(step, map)
                    map = next(maps)
        return state.read_out(self.program, map)


class NetworkState:
    """What is known of the registers on the way: y of all, z and e of those that hold a layer."""

    def __init__(self, width: int, x: Balls, slopes: Slopes | None = None) -> None:
        self.slopes = slopes
        self.y: Balls = [*x, *([ZERO] * (width - len(x)))]
        self.held = list(range(len(x)))
        self.z, self.e, self.norm = x, [ZERO] * len(x), ZERO
        self.tangent = Tangent(x) if len(x) <= AXES else None
        self.norms: list[tuple[frozenset[int], arb]] = []  # of registers together, where more is known than of each

    def ramp(self, step: RampStep) -> None:
        tau = elapsed(step.time)
        for register, b in zip(step.registers.tolist(), step.b.tolist(), strict=True):
            self.y[register] += arb(b) * tau
        self._forget_norms(step.registers.tolist())

    def relax(self, step: RelaxStep) -> None:
        tau = elapsed(step.time)
        falls = {r: (-arb(r) * tau).exp() for r in set(step.r.tolist())}
        for register, r, c in zip(step.registers.tolist(), step.r.tolist(), step.c.tolist(), strict=True):
            rest = arb(c) / arb(r) if c else ZERO
            self.y[register] = rest + (self.y[register] - rest) * falls[r]
        changed = frozenset(step.registers.tolist())
        if self.slopes is not None:
            self.slopes.relax(step, falls)
        inside = [(group, norm) for group, norm in self.norms if group <= changed]
        self._forget_norms(step.registers.tolist())
        if len(falls) == 1 and not step.c.any():
            self.norms += [(group, (norm * next(iter(falls.values()))).upper()) for group, norm in inside]

    def load(self, step: LoadStep, map: LayerMaps) -> None:
        """M, δ, and how far the other roles are from what they should be for M + δ."""
        registers = map.registers.tolist()
        start = [self.y[r] for r in registers]
        start_norm = self.norm_of(registers, start)
        z, held = column(self.z), [a + b for a, b in zip(self.z, self.e, strict=True)]
        self.M = (product(map.A, z) + map.b).entries()
        if self.tangent is not None:
            self.M = self.tangent.load(map, self.M)
        if self.slopes is not None:
            self.slopes.load(map, self.held)
        rounded = (product(map.lost, z) + map.shift).entries()
        self.delta = [a + b + c for a, b, c in zip(self._through(map), rounded, start, strict=True)]
        apart = map.norm * self.norm + euclidean(rounded) + start_norm
        self.delta_norm = least(euclidean(self.delta), apart)
        self._load_others(map, held)
        self._forget_norms([*step.registers.tolist(), *self.held])
        if map.spare is not None:
            loaded, W, b = map.spare
            for register, gain, more in zip(loaded, product(W, column(held)).entries(), b, strict=True):
                self.y[register] += gain + more
        for register, k, m, d in zip(registers, map.kappa, self.M, self.delta, strict=True):
            self.y[register] = k * m + d
        for role, other in map.others.items():
            roles = zip(other.registers.tolist(), other.arguments.tolist(), other.scales, self.off[role], strict=True)
            for register, argument, scale, off in roles:
                self.y[register] = scale * self.y[argument] + off
        for register, value in zip(self.held, held, strict=True):
            self.y[register] = value * map.fall
        constant = euclidean(map.b.entries()) + euclidean(map.shift.entries())
        self.reach = map.norm * euclidean(held) + constant + start_norm

    def _load_others(self, map: LayerMaps, held: Balls) -> None:
        """How far roles other than the argument are from what they should hold: `off`, and its norm."""
        self.off, self.off_norm = {}, {}
        for role, other in map.others.items():
            gained = (
                product(other.lost, column(held)).entries() if other.lost is not None else [ZERO] * len(other.scales)
            )
            mine = [self.y[r] for r in other.registers.tolist()]
            theirs = [self.y[r] for r in other.arguments.tolist()]
            parts = zip(gained, other.shift, mine, other.scales, theirs, strict=True)
            self.off[role] = [gain + b + own - scale * their for gain, b, own, scale, their in parts]
            rest = self.norm_of(other.registers.tolist(), mine) + euclidean(gained) + euclidean(other.shift)
            half = highest([size(scale) for scale in other.scales]) * self.norm_of(other.arguments.tolist(), theirs)
            self.off_norm[role] = least(euclidean(self.off[role]), rest + half)

    def activate(self, step: ActivationStep, map: LayerMaps) -> None:
        """z, e and the norm of e of the layer, and what its other registers hold."""
        registers = {role: step.roles[role].tolist() for role in step.roles}
        shifts = {role: arb(shift) for role, (_, shift) in step.recipe.starts.items()}
        starts = {
            role: self.off.get(role) or [self.y[r] - shifts[role] for r in registers[role]]
            for role in registers
            if role != step.recipe.argument
        }
        count = len(step.out)
        z, e, near, slopes = ([ZERO] * count for _ in range(4))
        reached, brackets = [], []
        for lane, (unit, rule) in enumerate(zip(step.units.tolist(), map.rules, strict=True)):
            check_deadline()
            M, delta = self.M[unit], self.delta[unit]
            actual = M + delta
            slope = rule.slope(hull(M, actual))
            near[unit], bracket, ends = rule.wrong(actual, {role: eta[lane] for role, eta in starts.items()})
            z[unit] = rule.value(M)
            e[unit] = moved(rule, z[unit], actual, slope * delta) + near[unit] + bracket
            slopes[unit] = slope
            reached.append(actual)
            brackets.append(bracket)
            for role in registers:  # one that no rule speaks of is not known; the result is written below
                self.y[registers[role][lane]] = ends.get(role, UNKNOWN)
        for unit in step.still:  # of a rectifier, that do not run
            c = arb(float(step.slopes[unit]))
            z[unit], near[unit] = leaky(self.M[unit], c), bend(self.M[unit], map.kappa[unit], c)
            e[unit], slopes[unit] = self.delta[unit] + near[unit], steps(self.M[unit], c)
        norms = {role: self._start_norm(role, registers[role], eta, shifts[role]) for role, eta in starts.items()}
        steepest = highest([size(slope) for slope in slopes])
        if step.still:
            steepest = steepest.max(ONE)  # what they hold is off by δ, whatever the slope
        apart = euclidean(near) + steepest * self.delta_norm
        if self.tangent is not None:
            self.tangent.activate(step, map, slopes)
        if self.slopes is not None:
            self.slopes.activate(step, self.M, self.delta, starts, slopes)
        if reached:
            _, together, _ = map.joint.wrong(hull(*reached), {role: symmetric(n) for role, n in norms.items()})
            apart += least(size(together), euclidean(brackets))
        self._forget_norms([*step.out.tolist(), *(register for role in registers for register in registers[role])])
        self._note_others(step, registers, starts, norms)
        self.held, self.z, self.e = step.out.tolist(), z, e
        self.norm = least(euclidean(e), apart)
        for register, a, b in zip(self.held, z, e, strict=True):
            self.y[register] = a + b

    def _start_norm(self, role: str, registers: list[int], eta: Balls, shift: arb) -> arb:
        """Of the error of a role's start."""
        if role in self.off:
            return self.off_norm[role]
        return self.norm_of(registers, eta) if shift == 0 else euclidean(eta)

    def _note_others(
        self, step: ActivationStep, registers: dict[str, list[int]], starts: dict[str, Balls], norms: dict[str, arb]
    ) -> None:
        """What is known of the registers beside the result, together."""
        if step.recipe.argument == "x":  # which is frozen
            self._note(registers["x"], self.reach)
        if step.name == "tanh":  # |λ| ≤ |M̂| + |λ₀|/(1 − |λ₀|)
            start = highest([size(eta) for eta in starts["lam"]])
            self._note(registers["lam"], self.reach + norms["lam"] / positive(ONE - start))

    def read_out(self, program: Program, map: LayerMaps) -> Balls:
        """C y − (A z + b), where the columns of C that hold the last layer are W."""
        held = set(self.held)
        rounded = (product(map.lost, column(self.z)) + map.shift).entries()
        outputs = [a + b for a, b in zip(self._through(map), rounded, strict=True)]
        for number, row in enumerate(output_weights(program)):
            outputs[number] += sum((c * self.y[register] for register, c in row if register not in held), ZERO)
        if self.slopes is not None:
            self.slopes.read_out(program, map, self.held)
        return outputs

    def _through(self, map: LayerMaps) -> Balls:
        """W e."""
        each = product(map.W, column(self.e)).entries()
        return [limited(ball, row * self.norm) for ball, row in zip(each, map.rows, strict=True)]

    def norm_of(self, registers: list[int], values: Balls) -> arb:
        """Of what some registers hold, or of how far it is off if they should hold 0."""
        bound = euclidean(values)
        if len(set(registers)) < len(registers):
            return bound
        for group, norm in self.norms:
            if group.issuperset(registers):
                bound = least(bound, norm)
        return bound

    def _note(self, registers: list[int], norm: arb) -> None:
        """Of what some registers hold, from now on until one of them is written."""
        if registers and norm.is_finite() and norm >= 0:
            self.norms.append((frozenset(registers), norm.upper()))

    def _forget_norms(self, registers: list[int]) -> None:
        changed = set(registers)
        self.norms = [(group, norm) for group, norm in self.norms if not group & changed]


def euclidean(values: Balls) -> arb:
    """The norm, from above; infinite if a value is not finite."""
    n = len(values)
    total = (arb_mat(1, n, values) * arb_mat(n, 1, values))[0, 0]
    return total.upper().sqrt().upper() if total.is_finite() else arb.pos_inf()


def moved(rule: ActivationRule, value: arb, actual: arb, by_slope: arb) -> arb:
    """f(M̂) − f(M): by the slope, and where the difference is so large that it may say more, by subtracting."""
    return intersection(by_slope, rule.value(actual) - value) if by_slope.rad() > LARGE else by_slope


def least(a: arb, b: arb) -> arb:
    """The smaller of two bounds, one of which may be unknown."""
    return b if not a.is_finite() or (b.is_finite() and b < a) else a


def highest(sizes: Balls) -> arb:
    top = ZERO
    for value in sizes:
        top = top.max(value)
    return top


def limited(ball: arb, bound: arb) -> arb:
    """The numbers of the ball that are at most of this size."""
    return ball if not bound.is_finite() or size(ball) <= bound else intersection(ball, symmetric(bound.upper()))
