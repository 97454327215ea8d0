"""What gadgets make of atoms: which function of its operand a register ends at, from a start that is as it should be up
to rounding, and how far it ends from there (`bounds.perturbation`).

A start counts as right if it is within rounding of the one that the gadget documents; how far it is from that is shown
by `Atoms.vanishing`. From any other start nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np

from integraph.bounds.perturbation.activation_errors import RELU
from integraph.bounds.perturbation.gadget_ends import perturbed_ends
from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.polynomials import Polynomials, constant, of_atoms, polynomials, scaled, times, total
from integraph.certify.graph.source import applied, raised, rectified, rows_function
from integraph.certify.problem import PrecisionTooLow, Unprovable
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP, U
from integraph.program import Block


class Held(NamedTuple):
    """What the registers of a role hold: atoms, how far they are off, and how far a base 1 + p is off relatively."""

    atom: Indices
    off: Floats
    share: Floats = np.array(np.inf)
    registers: Indices = np.zeros(0, np.int64)

    def range(self, atoms: Atoms) -> Interval:
        return Interval(atoms.low[self.atom], atoms.high[self.atom])


Roles = dict[str, Held]
Ends = dict[str, tuple[Indices, Floats]]


class State(Protocol):
    """What a rule may ask of the registers."""

    atoms: Atoms

    def follows(self, starts: Indices, x: Indices, scale: float) -> Floats: ...


Rule = Callable[[State, Block, Roles, Fraction], Ends]
Start = tuple[float, float, float]  # scale, shift, and how far the scale may be off
LN2 = math.log(2.0)
ROOT = 1.0 / math.sqrt(2.0 * math.pi), 2.0 / math.sqrt(math.pi)
ROOTS = {Fraction(0): 1.0, Fraction(1, 2): math.sqrt(2.0)}  # rounded once
ARGUMENT, ZERO, HALF = (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.5, 0.0, 0.0)
STARTS: dict[str, dict[str, Start]] = {  # of roles that may not start anywhere, as multiples of the argument
    "tanh": {"alpha": ZERO, "lam": ZERO},
    "sigmoid": {"s": HALF, "g": (0.0, 0.5, 0.0)},
    "silu": {"s": HALF},
    "relu": {"s": HALF},
    "softplus": {"s": HALF},
    "gelu": {"w": ZERO, "h": (ROOT[0], 0.0, 4 * U * ROOT[0]), "z": HALF},
    "erf": {"w": ZERO, "h": (ROOT[1], 0.0, 4 * U * ROOT[1])},
    "expm1": {"z": ZERO},
    "log_cosh": {"m": ZERO},
    "arctan": {"v": ARGUMENT, "w": ZERO},
    "asinh": {"v": ARGUMENT, "u": ARGUMENT, "w": ZERO},
    "sinh_cosh": {},
}
ARGUMENTS = {"arctan": "v", "asinh": "v"}  # where it is in a target


def _end(atoms: Atoms, p: Polynomials) -> tuple[Indices, Floats]:
    return atoms.resolve(p)


def opaque(atoms: Atoms, name: str, x: Indices, span: Interval) -> Indices:
    """A register of which only the range is known."""
    low, high = (np.broadcast_to(end, x.shape).reshape(-1) for end in (span.low, span.high))
    return atoms.function(name, np.ravel(x)[:, None], lambda new: Interval(low[new], high[new])).reshape(x.shape)


def _activation(state: State, block: Block, held: Roles, tau: Fraction) -> Ends:
    """A function of one number."""
    atoms = state.atoms
    name, argument = block.op.name, ARGUMENTS.get(block.op.name, "x")
    x = _argument(atoms, block, held[argument])
    held = {**held, argument: x}
    off = {role: h.off for role, h in held.items()}
    for role, start in STARTS[name].items():
        if role != argument:
            off[role] = UP * (off[role] + _wrong_start(atoms, held[role].atom, x.atom, start, role))
    starts = {role: h.range(atoms) for role, h in held.items()}
    tensors = {key: value for key, value in block.tensors.items() if key == "k"}
    right = {role: p for role, p in _right(atoms, name, held, x.atom).items()}
    ends: Ends = {}
    wrong = perturbed_ends(name, starts, off, tensors, own=_own(state, block, held, off))
    for role in block.op.targets:
        span, missed = wrong[role]
        if role in right:
            atom, distance = _end(atoms, right[role])
            ends[role] = atom, UP * (np.broadcast_to(missed, x.atom.shape).reshape(-1) + distance)
        else:
            ends[role] = opaque(atoms, f"{name} {role}", x.atom, span).reshape(-1), np.broadcast_to(missed, x.atom.shape).reshape(-1)
    if name == "relu":
        k = np.broadcast_to(np.abs(block.tensors["k"]), x.atom.shape).reshape(-1)
        ends["s"] = ends["s"][0], UP * (ends["s"][1] + UP * RELU / k)
    return ends


def _own(state: State, block: Block, held: Roles, off: dict[str, Floats]) -> dict[str, Floats]:
    """How far starts are from what they should be for the actual argument, where they were computed from it."""
    if "x" not in block.op.operands or "a" in block.tensors or "b" in block.tensors:
        return {}
    x, own, follow = held["x"], {}, np.ones(held["x"].atom.shape, np.bool_)
    for role, (scale, shift, lost) in STARTS[block.op.name].items():
        own[role] = off[role]
        if scale:
            away = state.follows(held[role].registers.reshape(-1), x.registers.reshape(-1), scale).reshape(x.off.shape)
            own[role] = UP * (away + lost * (state.atoms.size()[x.atom] + x.off))
            follow &= np.isfinite(own[role])
    own = {role: np.where(follow, away, off[role]) for role, away in own.items()}
    return {**own, "x": np.where(follow, 0.0, off["x"])}


def _argument(atoms: Atoms, block: Block, x: Held) -> Held:
    """a·x + b, if there are such tensors."""
    if "a" not in block.tensors and "b" not in block.tensors:
        return x
    shape = x.atom.shape
    a, b = (np.broadcast_to(block.tensors.get(key, np.array(plain)), shape).reshape(-1) for key, plain in (("a", 1.0), ("b", 0.0)))
    atom, distance = atoms.resolve(total(scaled(of_atoms(x.atom.reshape(-1)), a), constant(b)))
    return Held(atom.reshape(shape), UP * (np.abs(a) * x.off.reshape(-1) + distance).reshape(shape), x.share)


def _wrong_start(atoms: Atoms, start: Indices, x: Indices, right: Start, role: str) -> Floats:
    scale, shift, off = right
    wanted = total(scaled(of_atoms(x.reshape(-1)), scale, off), constant(np.full(x.size, shift)))
    return _apart(atoms, of_atoms(start.reshape(-1)), wanted, role).reshape(x.shape)


def _apart(atoms: Atoms, actual: Polynomials, wanted: Polynomials, role: str) -> Floats:
    """How far a start is from the one that is wanted."""
    whole = np.maximum(atoms.bound(wanted), 1e-3)
    distance, alike = atoms.vanishing(total(actual, scaled(wanted, -1.0)), whole)
    if not alike.all():
        raise Unprovable(f"the register {role} does not start as it should")
    return distance


def _right(atoms: Atoms, name: str, held: Roles, x: Indices) -> dict[str, Polynomials]:
    """The right ends that are known functions."""
    flat = x.reshape(-1)

    def f(function: str) -> Polynomials:
        return of_atoms(applied(atoms, function, flat))

    def start(role: str) -> Polynomials:
        return of_atoms(held[role].atom.reshape(-1))

    square = times(of_atoms(flat), flat)
    if name == "tanh":
        return {"alpha": f("tanh"), "lam": times(f("tanh"), flat)}
    if name == "sigmoid":
        return {"g": f("sigmoid"), "s": f("silu")}
    if name in ("silu", "softplus"):
        ln2 = constant(np.full(x.size, -LN2), U)
        return {"s": f("silu")} | ({"y": total(start("y"), f("softplus"), ln2)} if name == "softplus" else {})
    if name == "relu":
        return {"s": of_atoms(rectified(atoms, flat))}
    if name == "gelu":
        return {"w": square, "z": f("gelu")}
    if name == "erf":
        return {"w": square, "y": total(start("y"), f("erf"))}
    if name == "expm1":
        return {"z": f("expm1")}
    if name == "log_cosh":
        return {"l": total(start("l"), f("log_cosh"))}
    if name == "arctan":
        return {"y": total(start("y"), f("atan"))}
    if name == "asinh":
        return {"y": total(start("y"), f("asinh"))}
    sinh, cosh = applied(atoms, "sinh", flat), applied(atoms, "cosh", flat)
    u, v = start("u"), start("v")
    return {"u": total(times(u, cosh), times(v, sinh)), "v": total(times(u, sinh), times(v, cosh))}


def _decay(state: State, block: Block, held: Roles, tau: Fraction) -> Ends:
    """What is left is no more than e^−r of what there was."""
    atoms = state.atoms
    z = held["z"]
    rate = np.broadcast_to(block.tensors["r"], z.atom.shape).reshape(-1) * float(tau)
    size = atoms.size()[z.atom].reshape(-1) + z.off.reshape(-1)
    left = np.where(size == 0, 0.0, UP * np.exp(-rate * (1.0 - 4 * U) if rate.min() >= 0 else -rate * (1.0 + 4 * U)) * size)
    return {"z": (np.full(z.atom.size, atoms.zero), left)}


def scaled_base(atoms: Atoms, name: object, base: Polynomials) -> tuple[Indices, Indices, Floats]:
    """Atoms x, powers of two and distances with base = x/2^n, such that the function of x is known, or x is new."""
    bases, _ = atoms.known(name)
    trace, _ = atoms.traces(atoms.canonical(base))
    result, shift, off = np.full(base.count, -1), np.zeros(base.count, np.int64), np.zeros(base.count)
    candidates = np.unique(bases[:, 0])
    if len(candidates):
        mantissa, exponent = np.frexp(atoms.trace[candidates, 0])
        order = np.argsort(mantissa)
        own, power = np.frexp(trace[:, 0])
        at = np.searchsorted(mantissa[order], own - 1e-9)
        for step in range(4):
            open_ = np.flatnonzero((result < 0) & (at + step < len(order)))
            pick = order[at[open_] + step]
            n = exponent[pick] - power[open_]
            alike = (np.abs(np.ldexp(trace[open_], n[:, None]) - atoms.trace[candidates[pick]]) <= 1e-9 * np.abs(atoms.trace[candidates[pick]])).all(1)
            rows = open_[alike]
            if not len(rows):
                continue
            guess, n = candidates[pick[alike]], n[alike]
            distance, good = atoms.distance(scaled(base.of_rows(rows), np.ldexp(1.0, n)), guess)
            result[rows[good]], shift[rows[good]], off[rows[good]] = guess[good], n[good], np.ldexp(distance[good], -n[good])
    new = np.flatnonzero(result < 0)
    if len(new):
        result[new], off[new] = atoms.resolve(base.of_rows(new))
    return result, shift, off


def _ln(state: State, block: Block, held: Roles, tau: Fraction) -> Ends:
    atoms = state.atoms
    p, z = held["p"], held["z"]
    base, shift, distance = scaled_base(atoms, "ln", _one_more(p.atom.reshape(-1)))
    off = {"p": UP * (p.off + distance.reshape(p.off.shape)), "z": z.off, "share": p.share}
    starts = {"p": _base_range(atoms, p, base, shift), "z": z.range(atoms)}
    wrong = perturbed_ends("ln", starts, off)
    steps = constant(-LN2 * shift, 2 * U * np.abs(shift))
    right = total(of_atoms(z.atom.reshape(-1)), of_atoms(applied(atoms, "ln", base)), steps)
    atom, lost = _end(atoms, right)
    end = opaque(atoms, "1 − 1/x", base, Interval(*(np.ravel(e) for e in (wrong["p"].right.low, wrong["p"].right.high))))
    return {"p": (end, np.ravel(wrong["p"].off)), "z": (atom, UP * (np.ravel(wrong["z"].off) + lost))}


def _one_more(p: Indices) -> Polynomials:
    return total(of_atoms(p), constant(np.ones(len(p))))


def _base_range(atoms: Atoms, p: Held, base: Indices, shift: Indices) -> Interval:
    """The range of p, from that of the base x = 2^n (1 + p) too."""
    low, high = (np.ldexp(end[base], -shift).reshape(p.atom.shape) - 1.0 for end in (atoms.low, atoms.high))
    own = p.range(atoms)
    return Interval(np.maximum(own.low, np.nextafter(low, -np.inf)), np.minimum(own.high, np.nextafter(high, np.inf)))


def _growth(state: State, block: Block, held: Roles, tau: Fraction) -> Ends:
    """Products of powers, an exponential and a sine or cosine: z, or u and v, have one axis for the lanes of a row."""
    atoms = state.atoms
    name, tensors = block.op.name, block.tensors
    lanes = held[block.op.targets[-1]].atom.shape
    size = math.prod(lanes)
    starts = {role: h.range(atoms) for role, h in held.items()}
    off = {role: h.off for role, h in held.items()}
    factors: list[Indices] = []
    weights, lost = np.ones(size), np.zeros(size)
    ends: Ends = {}
    if "p" in held:
        p = held["p"]
        off["share"] = p.share
        a = np.broadcast_to(tensors["a"], (*lanes, p.atom.shape[-1])).reshape(-1, p.atom.shape[-1])
        if (a != a[:1]).any():
            raise Unprovable("powers with different exponents in one block")
        wide = off["p"].copy()
        low, high = starts["p"].low.copy(), starts["p"].high.copy()
        for k, exponent in enumerate(a[0].tolist()):
            part = Held(p.atom[..., k], p.off[..., k], p.share[..., k])
            rational = _rational(exponent)
            base, shift, distance = scaled_base(atoms, ("power", rational), _one_more(part.atom.reshape(-1)))
            wide[..., k] = UP * (part.off + distance.reshape(part.off.shape))
            own = _base_range(atoms, part, base, shift)
            low[..., k], high[..., k] = own.low, own.high
            if not (own.low > -1.0).all():
                raise PrecisionTooLow("the base of a power may reach 0 on the box")
            rows = lambda x, part=part: np.broadcast_to(np.reshape(x, (*part.atom.shape, 1)), lanes).reshape(-1)
            factors.append(rows(raised(atoms, base, rational)))
            scale, inexact = _power_of_two(rational, shift)
            weights, lost = weights * rows(scale), lost + rows(inexact)
        starts["p"], off["p"] = Interval(low, high), wide
    reads = "l" if name == "monomial" else "x"
    exponent = _weighted(atoms, held[reads], tensors, "w", "b", lanes)
    if len(exponent):
        grown, distance = atoms.resolve(exponent)
        if (grown != atoms.zero).any():
            factors.append(applied(atoms, "exp", grown))
            starts[reads], off[reads], tensors = _single(tensors, "w", starts[reads], off[reads], distance, lanes)
    weight = (weights, lost * np.abs(weights))
    if "t" in held:
        angle, distance = atoms.resolve(_weighted(atoms, held["t"], tensors, "c", "d", lanes))
        sin, cos = applied(atoms, "sin", angle), applied(atoms, "cos", angle)
        u, v = (of_atoms(held[role].atom.reshape(-1)) for role in "uv")
        right = {"u": total(times(u, cos), times(v, sin)), "v": total(times(v, cos), scaled(times(u, sin), -1.0))}
        starts["t"], off["t"], tensors = _single(tensors, "c", starts["t"], off["t"], distance, lanes)
    else:
        right = {"z": of_atoms(held["z"].atom.reshape(-1))}
    known, resolved = {}, {}
    for role, polynomial in right.items():
        for factor in factors:
            polynomial = times(polynomial, factor)
        resolved[role] = _end(atoms, scaled(polynomial, *weight))
        atom, distance = (x.reshape(lanes) for x in resolved[role])
        known[role] = Interval(atoms.low[atom], atoms.high[atom]).widened(UP * distance)
    wrong = perturbed_ends(name, starts, off, tensors, known, 0.0)
    for role, (atom, distance) in resolved.items():
        missed = np.broadcast_to(wrong[role].off, lanes).reshape(-1)
        ends[role] = atom, UP * (missed + distance)
    if "p" in held:
        shape = held["p"].atom.shape
        span = Interval(*(np.broadcast_to(end, shape).reshape(-1) for end in (wrong["p"].right.low, wrong["p"].right.high)))
        atom = opaque(atoms, "1 − 1/(1 + p)", held["p"].atom.reshape(-1), span)
        ends["p"] = atom, np.broadcast_to(wrong["p"].off, shape).reshape(-1)
    return ends


def _rational(a: float) -> Fraction:
    """The exponent that a float64 stands for."""
    return Fraction(a)


def _power_of_two(a: Fraction, shift: Indices) -> tuple[Floats, Floats]:
    """2^(−n a), and how far that is off relatively."""
    steps = [-a * int(n) for n in np.ravel(shift)]
    value = np.array([math.ldexp(ROOTS.get(x % 1) or 2.0 ** float(x % 1), math.floor(x)) for x in steps])
    inexact = np.array([0.0 if x.denominator == 1 else U if x.denominator == 2 else 8 * U for x in steps])
    return value.reshape(shift.shape), inexact.reshape(shift.shape)


def _weighted(atoms: Atoms, x: Held, tensors: Any, weights: str, bias: str, lanes: tuple[int, ...]) -> Polynomials:
    """Σ w x + b in every lane."""
    size, reads = math.prod(lanes), x.atom.shape[-1]
    b = np.broadcast_to(tensors.get(bias, np.zeros(())), lanes).reshape(-1)
    parts = [constant(b)]
    if weights in tensors and reads:
        w = np.broadcast_to(tensors[weights], (*lanes, reads)).reshape(-1)
        parts.append(polynomials(size, np.repeat(np.arange(size), reads), (x.atom.reshape(-1),), w))
    return total(*parts)


def _single(tensors: Any, weights: str, span: Interval, off: Floats, distance: Floats, lanes: tuple[int, ...]) -> Any:
    """An exponent that is off by `distance` more: one more register, of weight 1, that should hold 0."""
    if not distance.any():
        return span, off, tensors
    reads = off.shape[-1]
    w = np.broadcast_to(tensors.get(weights, np.zeros(1)), (*lanes, reads))
    wide = lambda x, more: np.concatenate([np.broadcast_to(x, (*lanes, reads)), np.reshape(more, (*lanes, 1))], -1)
    nothing = np.zeros(lanes)
    span = Interval(wide(span.low, nothing), wide(span.high, nothing))
    return span, wide(off, distance), {**tensors, weights: wide(w, nothing + 1.0)}


def _score_rows(state: State, block: Block, held: Roles, tau: Fraction) -> Ends:
    """Softmax, its logarithm and ln Σ exp of rows, from u = σh, m = 0 and c = −Σ h s, where h is 1/n for the n entries
    that take part, else 0."""
    atoms = state.atoms
    name, first = block.op.name, block.op.targets[0]
    u, m, s, c = (held[role] for role in ("u", "m", "s", "c"))
    shape, n = s.atom.shape, s.atom.shape[-1]
    rows = m.atom.size
    scores, shift = s.atom.reshape(rows, n), c.atom.reshape(rows)
    taking = _taking(atoms, name, held, scores)
    h = taking / taking.sum(1, keepdims=True)
    inexact = np.where(np.frexp(h)[0] == 0.5, 0.0, U * h)
    everyone = np.repeat(np.arange(rows), n)
    mean = polynomials(rows, everyone, (scores.reshape(-1),), h.reshape(-1), inexact.reshape(-1))
    skew = _apart(atoms, of_atoms(shift), scaled(mean, -1.0), "c")
    sigma = total(of_atoms(scores.reshape(-1)), of_atoms(np.repeat(shift, n)))
    eta = _apart(atoms, of_atoms(u.atom.reshape(-1)), scaled(sigma, h.reshape(-1), inexact.reshape(-1)), "u").reshape(rows, n)
    zero = _apart(atoms, of_atoms(m.atom.reshape(-1)), constant(np.zeros(rows)), "m")
    s_off, c_off, u_off, m_off = (x.off.reshape(k) for x, k in ((s, (rows, n)), (c, rows), (u, (rows, n)), (m, rows)))
    flat = {role: h_.range(atoms) for role, h_ in held.items()}
    starts = {role: Interval(*(e.reshape(rows, n) if e.size == rows * n and held[role].atom.shape == shape else e.reshape(rows) for e in (x.low, x.high))) for role, x in flat.items()}
    starts["h"] = Interval(h, h)
    off = {
        "s": s_off, "c": c_off, "u": u_off, "m": UP * (m_off + zero),
        "skew": UP * (c_off + (h * s_off).sum(1) + skew),
        "eta": UP * (u_off + h * (s_off + c_off[:, None]) + eta),
    }  # fmt: skip
    result = {"shifted_softmax": "softmax", "log_softmax": "log_softmax", "log_sum_exp": "logsumexp"}[name]
    function = rows_function(atoms, result, scores, taking)
    entries, ln_off = np.log(taking.sum(1)), 4 * U * np.log(taking.sum(1))
    start = held[first]
    if name == "shifted_softmax":
        off["a"] = UP * (start.off.reshape(rows, n) + _apart(atoms, of_atoms(start.atom.reshape(-1)), constant(h.reshape(-1), inexact.reshape(-1)), "a").reshape(rows, n))
        starts["a"] = Interval(h, h)
        right = of_atoms(function.reshape(-1))
    elif name == "log_softmax":
        off["y"] = start.off.reshape(rows, n)
        right = total(of_atoms(start.atom.reshape(-1)), of_atoms(function.reshape(-1)), constant(np.repeat(entries, n), np.repeat(ln_off, n)))
    else:
        off["l"] = start.off.reshape(rows)
        right = total(of_atoms(start.atom.reshape(-1)), of_atoms(function), of_atoms(shift), constant(-entries, ln_off))
    atom, distance = _end(atoms, right)
    wrong = perturbed_ends(name, starts, off)
    ends: Ends = {first: (atom, UP * (np.ravel(wrong[first].off) + distance))}
    weights = function if name == "shifted_softmax" else None
    for role, x in (("u", u), ("m", m)):
        if weights is not None:
            each = total(times(of_atoms(scores.reshape(-1)), weights.reshape(-1)), times(of_atoms(np.repeat(shift, n)), weights.reshape(-1)))
            if role == "m":
                each = Polynomials(rows, each.row // n, each.atoms, each.weight, each.off)
            atom, distance = _end(atoms, each)
        else:
            span = Interval(np.ravel(wrong[role].right.low), np.ravel(wrong[role].right.high))
            atom, distance = opaque(atoms, f"{name} {role}", x.atom.reshape(-1), span), 0.0
        ends[role] = atom, UP * (np.ravel(wrong[role].off) + distance)
    return ends


def _taking(atoms: Atoms, name: str, held: Roles, scores: Indices) -> Any:
    """Which entries take part: those of a softmax do not start at 0; of its logarithm those whose u is not 0."""
    which = held["a"] if name == "shifted_softmax" else held["u"]
    return which.atom.reshape(scores.shape) != atoms.zero


RULES: dict[str, Rule] = {
    **{name: _activation for name in STARTS},
    "decay": _decay,
    "ln": _ln,
    "powers": _growth,
    "monomial": _growth,
    "spiral": _growth,
    "power_spiral": _growth,
    "shifted_softmax": _score_rows,
    "log_softmax": _score_rows,
    "log_sum_exp": _score_rows,
}
