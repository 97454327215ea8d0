"""Gadgets of rows of scores: softmax, its logarithm and ln Σ exp.

With σ = s + c they start at u = σh, m = 0 and c = −Σ h s, where h is 1/n for the n entries of a row that take part,
else 0; a softmax starts at a = h, the others anywhere.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from integraph.bounds.perturbation.gadget_ends import perturbed_ends
from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.functions import of_rows
from integraph.certify.graph.polynomials import Polynomials, constant, of_atoms, polynomials, scaled, times, total
from integraph.certify.graph.roles import Ends, Held, Roles, State, apart
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP, U
from integraph.program import Block

FUNCTION = {"shifted_softmax": "softmax", "log_softmax": "log_softmax", "log_sum_exp": "logsumexp"}
LARGEST = 4_000_000  # weights that are compared


class Rows(NamedTuple):
    """Scores (rows, n), which of them take part, h and how far it is off."""

    scores: Indices
    shift: Indices
    taking: NDArray[np.bool_]
    h: Floats
    lost: Floats


def score_rows(state: State, block: Block, held: Roles, tau: Fraction) -> Ends:
    atoms, name, first = state.atoms, block.op.name, block.op.targets[0]
    count = held["m"].atom.size
    held = {role: _flat(one, count, len(block.targets[2].shape)) for role, one in held.items()}
    rows = _rows(state, name, held)
    starts = {role: one.range(atoms) for role, one in held.items()} | {"h": Interval(rows.h, rows.h)}
    off = {role: one.off for role, one in held.items()}
    off |= _off(state, held, rows)
    result = of_rows(atoms, FUNCTION[name], rows.scores, rows.taking)
    start = of_atoms(held[first].atom.reshape(-1))
    entries = rows.taking.sum(1)
    lost = 4 * U * np.log(entries)
    if name == "shifted_softmax":
        wanted = constant(rows.h.reshape(-1), rows.lost.reshape(-1))
        off["a"] = UP * (off["a"] + apart(atoms, start, wanted, "a").reshape(rows.h.shape))
        starts["a"] = starts["h"]
        right = of_atoms(result.reshape(-1))
    elif name == "log_softmax":
        n = rows.h.shape[1]
        shift = constant(np.repeat(np.log(entries), n), np.repeat(lost, n))
        right = total(start, of_atoms(result.reshape(-1)), shift)
    else:
        right = total(start, of_atoms(result), of_atoms(rows.shift), constant(-np.log(entries), lost))
    wrong = perturbed_ends(name, starts, off)
    atom, distance = atoms.resolve(right)
    ends: Ends = {first: (atom, UP * (np.ravel(wrong[first].off) + distance))}
    for role in ("u", "m"):
        missed = np.ravel(wrong[role].off)
        if name == "shifted_softmax":
            atom, distance = atoms.resolve(_weighted(rows, result, role == "m"))
            ends[role] = atom, UP * (missed + distance)
        else:
            ends[role] = atoms.base(wrong[role].right), missed
    return ends


def _flat(one: Held, rows: int, axes: int) -> Held:
    shape = (rows, one.atom.shape[-1]) if one.atom.ndim > axes else (rows,)
    return Held(one.atom.reshape(shape), one.off.reshape(shape), one.share, one.registers.reshape(shape))


def _rows(state: State, name: str, held: Roles) -> Rows:
    """A softmax takes the entries that do not start at 0, its logarithms those whose u does not."""
    which = held["a"] if name == "shifted_softmax" else held["u"]
    taking = which.atom != state.atoms.zero
    if not (whole := taking.any(1)).all():
        taking[~whole] = _alone(state.atoms, held["s"].atom[~whole], held["c"].atom[~whole])
    h = taking / np.maximum(taking.sum(1, keepdims=True), 1)
    lost = np.where(np.frexp(h)[0] == 0.5, 0.0, U * h)
    return Rows(held["s"].atom, held["c"].atom, taking, h, lost)


def _alone(atoms: Atoms, scores: Indices, shift: Indices) -> NDArray[np.bool_]:
    """The first entry of each row of which the shift is the opposite: u of a single entry is 0, too."""
    count, n = scores.shape
    each = of_atoms(scores.reshape(-1))
    _, opposite = atoms.vanishing(total(each, of_atoms(np.repeat(shift, n))), atoms.bound(each))
    found: NDArray[np.bool_] = opposite.reshape(count, n)
    first: NDArray[np.bool_] = found & (found.cumsum(1) == 1)
    return first


def _off(state: State, held: Roles, rows: Rows) -> dict[str, Floats]:
    """How far c, u and m are from where they should start: for the actual scores, if they were computed from these."""
    atoms, (count, n) = state.atoms, rows.scores.shape
    u, m, s, c = (held[role] for role in ("u", "m", "s", "c"))
    h, lost = rows.h.reshape(-1), rows.lost.reshape(-1)
    mean = polynomials(count, np.repeat(np.arange(count), n), (rows.scores.reshape(-1),), h, lost)
    sigma = total(of_atoms(rows.scores.reshape(-1)), of_atoms(np.repeat(rows.shift, n)))
    skew = apart(atoms, of_atoms(rows.shift), scaled(mean, -1.0), "c")
    eta = apart(atoms, of_atoms(u.atom.reshape(-1)), scaled(sigma, h, lost), "u").reshape(count, n)
    zero = apart(atoms, of_atoms(m.atom), constant(np.zeros(count)), "m")
    skew, eta = c.off + (rows.h * s.off).sum(1) + skew, u.off + rows.h * (s.off + c.off[:, None]) + eta
    if count * n * n <= LARGEST:
        own = state.combines(c.registers, s.registers, -rows.h, rows.lost)
        weights = rows.h[:, :, None] * (np.eye(n) - rows.h[:, None, :])
        inexact = 4 * U * np.abs(weights) * (rows.lost.max(1) > 0)[:, None, None]
        spread = np.broadcast_to(s.registers[:, None, :], (count, n, n)).reshape(-1, n)
        centred = state.combines(u.registers.reshape(-1), spread, weights.reshape(-1, n), inexact.reshape(-1, n))
        eta = np.minimum(eta, centred.reshape(count, n) + rows.h * own[:, None])
        skew = np.minimum(skew, own)
    return {"skew": UP * skew, "eta": UP * eta, "m": UP * (m.off + zero)}


def _weighted(rows: Rows, weights: Indices, summed: bool) -> Polynomials:
    """σ times the softmax, in each lane or summed over a row."""
    count, n = rows.scores.shape
    scores, shift = of_atoms(rows.scores.reshape(-1)), of_atoms(np.repeat(rows.shift, n))
    each = total(times(scores, weights.reshape(-1)), times(shift, weights.reshape(-1)))
    return Polynomials(count, each.row // n, each.atoms, each.weight, each.off) if summed else each
