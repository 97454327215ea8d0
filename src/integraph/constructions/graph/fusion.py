"""Products of exponentials, powers and one sine or cosine as one run: z' = (g + Σ a_k p_k) z, with p_k' = −p_k².

A `FusedProduct` is a polynomial start times e^growth times Π base^a times, perhaps, the sine or cosine of a form. It
grows factor by factor while a graph is read, and costs nothing until somebody needs its registers.

A base x > 0 enters as p = x/s − 1. The scale s is a power of two near the smallest x that matters: what x/s − 1 rounds
is 1e-16·s/x of x, and a large x/s only costs a Taylor engine steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from integraph import gadgets
from integraph.constructions.graph import forms
from integraph.constructions.graph.constant_forms import relative
from integraph.constructions.graph.forms import AtomRequired, GraphForm, Shape, atom_form, constant, scaled, shifted
from integraph.constructions.graph.rounding import RoundedNumber, multiplied, powers_of_two
from integraph.constructions.graph.runs import Run, RunTape, Start, Where, ones, reading, starts
from integraph.constructions.graph.vectorisation import joined
from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.program import Block, Ref, View
from integraph.program.views import dense

NEAR, FAR = 6, 24  # binary digits that a scale may be above the smallest, or below the largest base
SQUARE = 64  # the same as FAR, where the base is a square
HUGE = 960  # binary digits of base/s: 1e289
REACH, FURTHEST = 300, 1000  # binary digits of a factor s^a, and where the base would be lost without more of them
LOST = 20  # binary digits of the largest base below s: x/s − 1 then has 33 of x
LARGEST = 10**6  # exponents that are multiplied
MANY = 64  # registers that an exponent may read through an index array


@dataclass(frozen=True, slots=True, eq=False)
class PowerFactor:
    """(base/s)^a · s^a."""

    base: GraphForm
    a: Fraction
    s: float
    text: str  # of the base
    known: tuple[float, float]  # its range


@dataclass(frozen=True, slots=True, eq=False)
class FusedProduct:
    """Each part broadcasts to `shape`, which none of them needs to have: a power that cancels takes its lanes along."""

    start: GraphForm
    growth: GraphForm
    shape: Shape
    powers: tuple[PowerFactor, ...] = ()
    angle: GraphForm | None = None
    cosine: bool = False
    gain: Floats = field(default_factory=lambda: np.ones(()))  # what the end is multiplied by
    ops: int = 0  # roundings of the gain

    @property
    def parts(self) -> tuple[GraphForm, ...]:
        """The forms that it reads."""
        bases = (power.base for power in self.powers)
        return (self.start, self.growth, *bases, *([] if self.angle is None else [self.angle]))

    @property
    def registers(self) -> Shape:
        """The shape of what has to run."""
        return np.broadcast_shapes(*(part.shape for part in self.parts))

    @property
    def reach(self) -> float:
        """Binary digits of Π s^a."""
        return abs(sum(math.log2(power.s) * float(power.a) for power in self.powers))

    @property
    def unit(self) -> bool:
        """Whether it starts at 1."""
        return not self.start.terms and self.start.size is None and bool((self.start.b == 1.0).all())

    def key(self) -> tuple[Any, ...]:
        """Equal where one run serves both; that is also so for a sine and a cosine."""
        powers = tuple((power.base.key(), power.a, power.s) for power in self.powers)
        return self.start.key(), self.growth.key(), powers, self.angle.key() if self.angle else None


def polynomial(form: GraphForm) -> FusedProduct:
    """A number is a gain, if enough of its digits are known."""
    ops = relative(form)
    if form.terms or ops is None:
        return FusedProduct(form, constant((), 0.0), form.shape)
    return FusedProduct(ones(()), constant((), 0.0), form.shape, gain=form.b, ops=ops)


def exponential(growth: GraphForm) -> FusedProduct:
    return FusedProduct(ones(()), growth, growth.shape)


def rotation(angle: GraphForm, cosine: bool) -> FusedProduct:
    return FusedProduct(ones(()), constant((), 0.0), angle.shape, (), angle, cosine)


def power(base: GraphForm, a: Fraction, low: float, high: float, text: str, far: int = FAR) -> FusedProduct:
    """base^a where low ≤ base ≤ high is known; the base, called `text`, must be positive."""
    wanted, top = round(math.log2(scale(low, high, far))), math.log2(high) if 0 < high < math.inf else math.inf
    digits = _clamped(wanted, REACH / abs(a))  # s^a is a factor of what is read
    if top - digits < -LOST:
        digits = _clamped(wanted, FURTHEST / abs(a))
    if top - digits < -LOST:
        raise SourceError(
            f"{text} is in [{low:g}, {high:g}] on the box, too small for its power {a}, which float64 does not hold: "
            "rescale it, or use another box"
        )
    if a.denominator == 2:
        digits -= digits % 2  # so that s^a is a power of two as well, and rounds no weight
    s = 2.0**digits
    return FusedProduct(ones(()), constant((), 0.0), base.shape, (PowerFactor(base, a, s, text, (low, high)),))


def _clamped(number: int, most: Fraction | float) -> int:
    return max(min(number, math.floor(most)), -math.floor(most))


def scale(low: float, high: float, far: int = FAR) -> float:
    """A power of two: the geometric mean of the range, but not far above its low end; where that may be 0, `far` binary
    digits below the high end, or below 1 where nothing is known."""
    if not (high > 0 and math.isfinite(high)):
        high = 1.0
    exponent = math.log2(high) - far
    if low > 0:
        exponent = min(0.5 * (math.log2(low) + math.log2(high)), math.log2(low) + NEAR)
    least = max(-1000.0, math.log2(high) - HUGE)
    return 2.0 ** min(max(math.ceil(least), round(exponent)), 1000)


def times(f: FusedProduct, g: FusedProduct, start: GraphForm) -> FusedProduct:
    """The product of two values of which at most one turns; `start` is the product of their starts."""
    powers = list(f.powers)
    for other in g.powers:
        same = next((n for n, mine in enumerate(powers) if mine.base.key() == other.base.key()), None)
        if same is None:
            powers.append(other)
        else:
            powers[same] = replace(powers[same], a=powers[same].a + other.a)
    turning = f if f.angle is not None else g
    kept = tuple(power for power in powers if power.a or not power.known[0] > 0)  # x⁰ still checks its x
    gain, lost, ops = multiplied(RoundedNumber(f.gain, None, f.ops), RoundedNumber(g.gain, None, g.ops))
    if lost is not None:
        raise SourceError("its numbers multiply to less than float64 holds, 2.2e-308: rescale it")
    shape, growth = np.broadcast_shapes(f.shape, g.shape), forms.add(f.growth, g.growth)
    return FusedProduct(start, growth, shape, kept, turning.angle, turning.cosine, gain, ops)


def incompatible(f: FusedProduct, g: FusedProduct) -> bool:
    """Whether two factors cannot be one run: both turn, or their scales multiply to too much."""
    return (f.angle is not None and g.angle is not None) or f.reach + g.reach > 3 * REACH


def _moderate(gain: Floats, a: Fraction) -> bool:
    """Whether gain^a is far from the ends of float64."""
    with np.errstate(divide="ignore"):
        return bool((np.abs(np.log2(np.abs(gain)) * float(a)) <= 3 * REACH).all())


def moved(f: FusedProduct, shape: Shape, how: Callable[[GraphForm], GraphForm]) -> FusedProduct | None:
    """f with its lanes in another shape, if each of its parts has all lanes or none, and can be seen that way."""
    if any(part.shape not in ((), f.shape) for part in f.parts):
        return None
    try:
        start, growth, *others = (how(part) if part.shape else part for part in f.parts)
    except AtomRequired:
        return None
    powers = tuple(replace(power, base=base) for power, base in zip(f.powers, others, strict=False))
    gain = forms.squeezed(np.broadcast_to(f.gain, f.shape).reshape(shape)) if f.gain.ndim else f.gain
    return FusedProduct(start, growth, shape, powers, others[-1] if f.angle else None, f.cosine, gain, f.ops)


def raised(f: FusedProduct, a: Fraction) -> FusedProduct | None:
    """f^a, if f is a number times exponentials and powers of positive bases, and a root of it a positive one."""
    if f.angle is not None or not f.unit or not ((f.gain > 0).all() or (a.denominator == 1 and f.gain.all())):
        return None
    powers = tuple(replace(power, a=power.a * a) for power in f.powers)
    if any(abs(power.a) > LARGEST for power in powers) or not _moderate(f.gain, a):
        return None
    ops = 0 if (f.gain == 1).all() and not f.ops else math.ceil(f.ops * abs(a)) + _raising(a, f.gain)
    growth = scaled(f.growth, float(a), int(Fraction(float(a)) != a))
    return replace(f, growth=growth, powers=powers, gain=f.gain ** float(a), ops=ops)


def run(tape: RunTape, f: FusedProduct, text: str, near: float = 0.0) -> tuple[GraphForm, GraphForm | None]:
    """z, or the products with the sine and with the cosine, before the gain. The factor Π s^a belongs to the end: a
    start that is nothing but registers can be taken over. `near` is how far the value is from what it stands for."""
    shape = f.registers
    growth, angle = _readable(tape, f.growth, shape, text), f.angle and _readable(tape, f.angle, shape, text)
    layout = _layout(shape, f.powers)
    start = forms.broadcast(f.start, shape)
    begin, reads = {}, reading(growth.terms) | (reading(angle.terms) if angle else frozenset())
    p = -1
    if f.powers:
        p = tape.atom("p", ", ".join(power.text for power in f.powers), (*layout, len(f.powers)))
        view = dense(0, (*layout, len(f.powers)))
        begin[p] = tuple(
            Start(view[..., k], _row(power, layout, shape), _between(power)) for k, power in enumerate(f.powers)
        )
    z = tape.atom("v" if angle else "z", text, shape)
    begin[z] = starts([(dense(0, shape), start)])
    u = tape.atom("u", text, shape) if angle else -1
    targets = tuple(atom for atom in (p, u, z) if atom >= 0)
    a = np.array([float(power.a) for power in f.powers])

    def stage(where: Where) -> tuple[Block, ...]:
        lanes = _lanes(shape, layout) if f.powers else shape
        refs: list[Ref] = [where(p, None)] if f.powers else []
        refs += [where(atom, dense(0, lanes)) for atom in (u, z) if atom >= 0]
        x, w, b = _exponent(where, growth, shape, lanes)
        given = {"a": a if f.powers else None, "b": b if b.any() else None, "w": w}
        if angle is None:
            return (gadgets.powers(*refs, x, **given) if f.powers else gadgets.monomial(*refs, x, w=w, b=given["b"]),)
        t, c, d = _exponent(where, angle, shape, lanes)
        gadget = gadgets.power_spiral if f.powers else gadgets.spiral
        return (gadget(*refs, x, t, **given, c=c, d=d if d.any() else None),)

    after = {p: left} if f.powers and (left := _left(f, (*layout, 1), atom_form(z, shape))) is not None else {}
    numbers = [form.ops for form in (growth, angle) if form] + [t.ops for f in (growth, angle) if f for t in f.terms]
    rounded = any(Fraction(float(power.a)) != power.a for power in f.powers)
    if f.reach > FURTHEST:
        raise SourceError(f"{text}: its powers differ by a factor of 2^{f.reach:.0f} on the box: use a smaller box")
    gain = math.prod(power.s ** float(power.a) for power in f.powers)
    guard = not all(power.known[0] > 0 for power in f.powers)
    tape.add(Run(text, targets, begin, reads, (stage,), after, max(*numbers, int(rounded)), near / gain, guard))
    ops = sum(1 + _raising(power.a, np.array(power.s)) for power in f.powers if power.s != 1)
    ops *= rounded or not powers_of_two(np.array(gain))
    ends = [scaled(atom_form(atom, shape), gain, ops) for atom in (u, z) if atom >= 0]
    return (ends[0], ends[1]) if angle else (ends[0], None)


def _raising(a: Fraction, x: Floats) -> int:
    """Roundings of x^a in float64: those of the function, and that of an exponent that is no float64."""
    return 4 + math.ceil(float(abs(a) * Fraction(float(np.abs(np.log(np.abs(x))).max())))) * (Fraction(float(a)) != a)


def _readable(tape: RunTape, form: GraphForm, shape: Shape, text: str) -> GraphForm:
    """An exponent that a gadget can read: one term, or, for a single lane, a few, of numbers that did not cancel."""
    cancelled = form.size is not None or any(term.size is not None for term in form.terms)
    several = len(form.terms) > 1 and (math.prod(shape) > 1 or form.cost > MANY)
    return tape.sum(form, f"exponent of {text}") if form.degree > 1 or several or cancelled else form


def _layout(shape: Shape, powers: Sequence[PowerFactor]) -> Shape:
    """The rows of p: one p for a whole last axis where the bases do not depend on it."""
    bases = np.broadcast_shapes(*(power.base.shape for power in powers)) if powers else ()
    padded = (1,) * (len(shape) - len(bases)) + bases
    if shape and padded == (*shape[:-1], 1):
        return shape[:-1]
    return () if math.prod(shape) == 1 else shape


def _lanes(shape: Shape, layout: Shape) -> Shape:
    """z as rows + (n,)."""
    return (*layout, math.prod(shape) // math.prod(layout))


def _row(power: PowerFactor, layout: Shape, shape: Shape) -> GraphForm:
    """p = base/s − 1, for each row."""
    base = forms.broadcast(power.base, (*layout, 1) if len(layout) < len(shape) else layout)
    return shifted(scaled(forms.reshaped(base, layout), 1.0 / power.s), -1.0)


def _between(power: PowerFactor) -> tuple[float, float]:
    """The range of p, rounded outward."""
    low, high = (end / power.s - 1.0 for end in power.known)
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _exponent(where: Where, form: GraphForm, shape: Shape, lanes: Shape) -> tuple[Ref, Floats, Floats]:
    """Registers lanes + (R,), weights and bias."""
    wide = forms.reshaped(forms.broadcast(form, shape), lanes)
    if not wide.terms:
        return View(0, (*lanes, 0), (1,) * (len(lanes) + 1)), np.zeros(1), wide.b
    refs = [where(term.atoms[0], term.refs[0]) for term in wide.terms]
    weights = [np.broadcast_to(term.w, (*lanes, term.reads)) for term in wide.terms]
    return joined(refs), wide.terms[0].w if len(refs) == 1 else np.concatenate(weights, -1), wide.b


def _left(f: FusedProduct, shape: Shape, z: GraphForm) -> GraphForm | None:
    """p(1) = 1 − s/x, of that shape, as a polynomial of z, which it is for 1/x and 1/√x alone."""
    alone = len(f.powers) == 1 and f.unit and f.angle is None and not f.growth.terms and not f.growth.b.any()
    if not alone or f.powers[0].a not in (-1, Fraction(-1, 2)) or math.prod(z.shape) > 1:
        return None
    inverse = forms.reshaped(z, shape)  # (s/x)^−a
    return shifted(scaled(inverse if f.powers[0].a == -1 else forms.product(inverse, inverse), -1.0), 1.0)
