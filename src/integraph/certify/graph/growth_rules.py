"""Logarithms, and gadgets of fused factors: products of powers, an exponential, and a sine or cosine."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from integraph.bounds.perturbation.gadget_ends import perturbed_ends
from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.functions import applied, opaque, raised
from integraph.certify.graph.polynomials import Polynomials, constant, of_atoms, polynomials, scaled, times, total
from integraph.certify.graph.roles import Ends, Held, Roles, State
from integraph.certify.problem import PrecisionTooLow, Unprovable
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP, U
from integraph.program import Block

LN2 = math.log(2.0)
NEAR = 1e-9  # traces that are that close, relatively, may be of the same value
TRIES = 4
ROOTS = {Fraction(0): 1.0, Fraction(1, 2): math.sqrt(2.0)}  # rounded once


def ln(state: State, block: Block, held: Roles, tau: Fraction) -> Ends:
    atoms = state.atoms
    p, z = held["p"], held["z"]
    base, shift, distance = scaled_base(atoms, "ln", _one_more(p.atom.reshape(-1)))
    starts = {"p": _base_range(atoms, p, base, shift, distance), "z": z.range(atoms)}
    share = _share(atoms, p, distance, 1.0 + starts["p"].low)
    off = {"p": UP * (p.off + distance.reshape(p.off.shape)), "z": z.off, "share": share}
    wrong = perturbed_ends("ln", starts, off)
    steps = constant(-LN2 * shift.astype(np.float64), 2 * U * np.abs(shift))
    right = total(of_atoms(z.atom.reshape(-1)), of_atoms(applied(atoms, "ln", base)), steps)
    atom, lost = atoms.resolve(right)
    end = opaque(
        atoms, "1 − 1/x", base, Interval(*(np.ravel(e) for e in (wrong["p"].right.low, wrong["p"].right.high)))
    )
    return {"p": (end, np.ravel(wrong["p"].off)), "z": (atom, UP * (np.ravel(wrong["z"].off) + lost))}


def growth(state: State, block: Block, held: Roles, tau: Fraction) -> Ends:
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
        off["share"] = p.share.copy()
        a = np.broadcast_to(tensors["a"], (*lanes, p.atom.shape[-1])).reshape(-1, p.atom.shape[-1])
        if (a != a[:1]).any():
            raise Unprovable("powers with different exponents in one block")
        wide = off["p"].copy()
        low, high = starts["p"].low.copy(), starts["p"].high.copy()
        for k, exponent in enumerate(a[0].tolist()):
            part = Held(p.atom[..., k], p.off[..., k], p.share[..., k], p.registers[..., k])
            rational = Fraction(exponent)
            base, shift, distance = scaled_base(atoms, ("power", rational), _one_more(part.atom.reshape(-1)))
            wide[..., k] = UP * (part.off + distance.reshape(part.off.shape))
            own = _base_range(atoms, part, base, shift, distance)
            low[..., k], high[..., k] = own.low, own.high
            off["share"][..., k] = _share(atoms, part, distance, 1.0 + own.low)
            if not (own.low > -1.0).all():
                raise PrecisionTooLow("the base of a power may reach 0 on the box")
            factors.append(_spread(raised(atoms, base, rational), part.atom.shape, lanes))
            scale, inexact = _power_of_two(rational, shift)
            weights, lost = (
                weights * _spread(scale, part.atom.shape, lanes),
                lost + _spread(inexact, part.atom.shape, lanes),
            )
        starts["p"], off["p"] = Interval(low, high), wide
    reads = "l" if name == "monomial" else "x"
    exponent = _weighted(atoms, held[reads], tensors, "w", "b", lanes)
    if len(exponent):
        grown, distance = atoms.resolve(exponent)
        starts[reads], off[reads], tensors = _single(tensors, "w", starts[reads], off[reads], distance, lanes)
        if (grown != atoms.zero).any():
            factors.append(applied(atoms, "exp", grown))
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
        resolved[role] = _multiple(atoms, polynomial, *weight)
        atom, near = resolved[role]
        known[role] = atoms.span(atom.reshape(lanes)).widened(UP * near.reshape(lanes))
    wrong = perturbed_ends(name, starts, off, tensors, known, 0.0)
    for role, (atom, distance) in resolved.items():
        missed = np.broadcast_to(wrong[role].off, lanes).reshape(-1)
        ends[role] = atom, UP * (missed + distance)
    if "p" in held:
        shape = held["p"].atom.shape
        span = Interval(
            *(np.broadcast_to(end, shape).reshape(-1) for end in (wrong["p"].right.low, wrong["p"].right.high))
        )
        atom = opaque(atoms, "1 − 1/(1 + p)", held["p"].atom.reshape(-1), span)
        ends["p"] = atom, np.broadcast_to(wrong["p"].off, shape).reshape(-1)
    return ends


def _multiple(atoms: Atoms, p: Polynomials, weight: Floats, lost: Floats) -> tuple[Indices, Floats]:
    """The atoms of multiples of polynomials, which may have atoms of their own, with ranges that are better known."""
    if (weight == 1).all() and not lost.any():
        return atoms.resolve(p)
    whole, away = atoms.resolve(p)
    atom, distance = atoms.resolve(scaled(of_atoms(whole), weight, lost))
    return atom, UP * (distance + (np.abs(weight) + lost) * away)


def _spread(x: Any, rows: tuple[int, ...], lanes: tuple[int, ...]) -> Any:
    """One number for each row, over its lanes."""
    return np.broadcast_to(np.reshape(x, (*rows, 1)), lanes).reshape(-1)


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
            alike = (
                np.abs(np.ldexp(trace[open_], n[:, None]) - atoms.trace[candidates[pick]])
                <= 1e-9 * np.abs(atoms.trace[candidates[pick]])
            ).all(1)
            rows = open_[alike]
            if not len(rows):
                continue
            guess, n = candidates[pick[alike]], n[alike]
            distance, good = atoms.distance(scaled(base.of_rows(rows), np.ldexp(1.0, n)), guess)
            result[rows[good]], shift[rows[good]], off[rows[good]] = (
                guess[good],
                n[good],
                np.ldexp(distance[good], -n[good]),
            )
    new = np.flatnonzero(result < 0)
    if len(new):
        result[new], off[new] = atoms.resolve(base.of_rows(new))
    return result, shift, off


def _one_more(p: Indices) -> Polynomials:
    return total(of_atoms(p), constant(np.ones(len(p))))


def _share(atoms: Atoms, p: Held, distance: Floats, least: Floats) -> Floats:
    """How far 1 + p is off relatively from a base that is at some distance from that of the atom and at least `least`.
    If p is a sum of squares its share is 2√(q/b) + r/b with the b that the atom's own range says: no more than √(b/b')
    of it with a larger one."""
    away = distance.reshape(p.atom.shape)
    own = np.maximum(1.0 + atoms.low[p.atom], 0.0)
    low = np.maximum(np.maximum(own, least) - UP * away, 0.0) / UP
    share = np.where((own > 0) & (low > own), UP * p.share * np.sqrt(own / low), p.share)
    return np.where(away == 0, share, UP * (share * (1.0 + UP * away / low) + away / low))


def _base_range(atoms: Atoms, p: Held, base: Indices, shift: Indices, distance: Floats) -> Interval:
    """The range of the right p, from that of the base x = 2^n (1 + p) too."""
    low, high = (np.ldexp(end[base], -shift).reshape(p.atom.shape) - 1.0 for end in (atoms.low, atoms.high))
    own = p.range(atoms).widened(UP * distance.reshape(p.atom.shape))
    return Interval(np.maximum(own.low, np.nextafter(low, -np.inf)), np.minimum(own.high, np.nextafter(high, np.inf)))


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

    def wide(x: Floats, more: Floats) -> Floats:
        return np.concatenate([np.broadcast_to(x, (*lanes, reads)), np.reshape(more, (*lanes, 1))], -1)

    nothing = np.zeros(lanes)
    span = Interval(wide(span.low, nothing), wide(span.high, nothing))
    return span, wide(off, distance), {**tensors, weights: wide(w, nothing + 1.0)}
