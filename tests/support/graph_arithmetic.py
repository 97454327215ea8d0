"""Arithmetic of proofs of graphs against rationals and many digits: whether each bound contains what is exact."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from mpmath import mp, mpf

from integraph.certify.graph import row_rules
from integraph.certify.graph.activation_rules import decay
from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.flow import Registers
from integraph.certify.graph.growth_rules import _multiple, _power_of_two, _share
from integraph.certify.graph.node_rules import RULES, read
from integraph.certify.graph.polynomials import (
    Polynomials,
    canonical,
    of_atoms,
    polynomials,
    product,
    scaled,
    sums,
    total,
)
from integraph.certify.graph.roles import Held
from integraph.certify.problem import Box
from integraph.numbers.intervals import Interval
from integraph.targets.graph import Graph, Node
from integraph.targets.graph_builder import Builder

OFF = 1e-10  # the relative error of controls
Make = Callable[[Builder, int], int]


def of(make: Make, shape: tuple[int, ...]) -> Graph:
    b = Builder()
    return b.graph([make(b, b.input("x", shape))])


def exact_sums() -> bool:
    """Few numbers, many, and such that cancel."""
    rng = np.random.default_rng(0)
    good = True
    for scale in (1.0, 1e9, 2.0**60):
        x = rng.standard_normal(80) * np.where(rng.random(80) < 0.5, scale, 1.0)
        x[40:] = -x[:40] * (1.0 + rng.integers(-1, 2, 40) * 2.0**-50)
        first = np.array([0, 2, 5, 9, 13, 30, 38])
        values, lost = sums(x, first)
        for n, part in enumerate(np.split(x, first[1:])):
            away = abs(sum(map(Fraction, part.tolist()), Fraction(0)) - Fraction(float(values[n])))
            good &= away <= Fraction(float(lost[n]))
    return good


def exact_products() -> bool:
    """At the ends of what coefficients may be, and near underflow."""
    rng = np.random.default_rng(0)
    good = True
    for size in (1.0, 1e-150, 1e-158):
        a, b = size * rng.standard_normal(40), size * rng.standard_normal(40)
        for share in (0.0, 1e-3):
            for a_off, b_off in ((share, share), (share, 0.0), (0.0, share)):
                value, lost = product(a, a_off * np.abs(a), b, b_off * np.abs(b))
                for x, y, v, r in zip(a.tolist(), b.tolist(), value.tolist(), lost.tolist(), strict=True):
                    largest = abs(Fraction(x)) * (1 + Fraction(a_off)) * abs(Fraction(y)) * (1 + Fraction(b_off))
                    good &= largest - abs(Fraction(v)) <= Fraction(r) * (1 + Fraction(1, 10**15))
    return good


def exact_multiples() -> bool:
    p = scaled(of_atoms(np.array([1, 2])), np.array([1.0, 3.0]), np.array([0.1, 0.2]))
    return bool((p.off >= [0.1, 0.2]).all())


def exact_rows() -> bool:
    """Terms of one monomial, each anywhere within its off, added up."""
    rng = np.random.default_rng(1)
    weight, off = rng.standard_normal(12), np.concatenate([np.zeros(6), np.full(6, 1e-3)])
    rows = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    p = canonical(polynomials(3, rows, (np.ones(12, np.int64),), weight, off), np.arange(9, dtype=np.uint64))
    good = True
    for row in range(3):
        away = sum(
            (
                Fraction(w) + Fraction(o)
                for w, o in zip(weight[rows == row].tolist(), off[rows == row].tolist(), strict=True)
            ),
            Fraction(0),
        )
        good &= away - Fraction(float(p.weight[row])) <= Fraction(float(p.off[row]))
    return good


def exact_bounds() -> bool:
    """Bounds and ranges of polynomials of atoms of any sign, with monomials in which one atom is there often."""
    atoms, rng, good = Atoms(), np.random.default_rng(2), True
    low = np.array([-3.0, -1.0, 0.5, -0.1])
    high = np.array([-1.0, 2.0, 0.7, 0.3])
    x = atoms.base(Interval(low, high))
    for size in (1, 2, 3, 4):
        for off in (0.0, 1e-2):
            factors = [x[rng.integers(0, 4, 30)] for _ in range(size)]
            factors[1:2] = factors[:1] * len(factors[1:2])
            factors[2:3] = factors[:1] * len(factors[2:3])
            rows = np.repeat(np.arange(10), 3)
            p = polynomials(10, rows, factors, rng.standard_normal(30) / 3, off)
            bound, span = atoms.bound(p), atoms.range(p)
            for point in [
                *(np.where(rng.random(4) < 0.5, low, high) for _ in range(16)),
                *rng.uniform(low, high, (8, 4)),
            ]:
                for sign in (-1, 0, 1):
                    terms = [Fraction(w) + sign * Fraction(off) for w in p.weight.tolist()]
                    for factor in factors:
                        terms = [t * Fraction(v) for t, v in zip(terms, point[factor - x[0]].tolist(), strict=True)]
                    for row in range(10):
                        value = sum(terms[3 * row : 3 * row + 3], Fraction(0))
                        good &= abs(value) <= Fraction(float(bound[row]))
                        good &= Fraction(float(span.low[row])) <= value <= Fraction(float(span.high[row]))
    return bool(good)


def exact_names() -> bool:
    """What is resolved is as near as it says: an atom, a number, a name written out."""
    atoms = Atoms()
    x = atoms.base(Interval(np.array([-2.0, 1.0]), np.array([1.0, 2.0])))
    near = Polynomials(2, *_terms([(0, x[0], 1.0, 1e-9), (1, 0, 0.7, 1e-9)]))
    _, off = atoms.resolve(near)
    good = off[0] >= 2e-9 and off[1] >= 1e-9
    (name,) = atoms.name(polynomials(1, np.zeros(2, np.int64), (x,), np.array([0.1, 0.3]), 1e-9))
    exact = polynomials(1, np.zeros(2, np.int64), (x,), np.array([0.1, 0.3]))
    third = atoms.resolve(scaled(exact, 1.0 + 1e-10))
    double = atoms.vanishing(total(scaled(of_atoms(np.array([name])), 3.0), scaled(exact, -3.0)), np.ones(1))[0]
    fixed = atoms.canonical(polynomials(1, np.zeros(1, np.int64), (atoms.numbers(np.array([0.3])),), np.ones(1), 1e-9))
    good &= third[0][0] != name or third[1][0] >= 4e-9 + 0.8e-10
    good &= double[0] >= 3 * 4e-9
    return bool(good and fixed.off[0] >= 0.3e-9)


def exact_coefficients() -> bool:
    """Of definitions: numbers that are rounded, in 40 digits."""
    source = read(of(lambda b, x: x, (1,)), Box((0.5,), (2.0,)))
    source.atoms.low[source.inputs] = -1.0  # so that its sign is not known where it does not matter
    source.ranges[0] = Interval(np.array([0.5]), np.array([2.0]))

    def off(atom: int, exact: object, place: int) -> bool:
        at = source.atoms.first[atom] + place
        terms = source.atoms._joined()
        return abs(mpf(float(terms.weight[at])) - exact) <= mpf(float(terms.off[at]))

    def made(name: str, *data: object) -> int:
        return int(RULES[name](source, 0, Node(name, (0,), (1,), data, None, ""), [source.values[0]])[0])

    with mp.workdps(40):
        (third,) = RULES["div"](source, 0, Node("div", (0, 1), (1,), (), None, ""), [source.values[0], np.array([3.0])])
        good = (
            off(third, mpf(1) / 3, 0) and off(made("log2"), 1 / mp.log(2), 0) and off(made("log10"), 1 / mp.log(10), 0)
        )
        leaky = made("leaky_relu", 0.1)
        good &= any(off(leaky, 1 - mpf(0.1), place) for place in range(2))
        made("gelu_tanh")
        inner = int(source.atoms.known("tanh")[0][0, 0])
        good &= any(off(inner, mp.sqrt(2 / mp.pi), place) for place in range(2))
        scale, lost = _power_of_two(Fraction(1, 2), np.array([1, 2, 3]))
        for n, value, share in zip((1, 2, 3), scale.tolist(), lost.tolist(), strict=True):
            good &= abs(mpf(value) - mpf(2) ** (mpf(-n) / 2)) <= mpf(value) * mpf(share)
    (constant,) = source.rounded(np.array([0.1]))
    return good and source.atoms._joined().off[source.atoms.first[constant]] >= np.spacing(0.1)


def exact_residues() -> bool:
    atoms, good = Atoms(), True
    z = atoms.base(Interval(np.array([-1.0]), np.array([0.5])))
    held = {"z": Held(z, np.array([0.25]), np.zeros(1), np.zeros(1, np.int64))}
    for rate in (3.0, -0.5):
        block = SimpleNamespace(tensors={"r": np.array([rate])})
        (_, left) = decay(SimpleNamespace(atoms=atoms), block, held, Fraction(1))["z"]
        good &= mpf(float(left[0])) >= mp.exp(-rate) * mpf(1.25)
    return good


def exact_ranges() -> bool:
    """Of a large number and many small ones, which a sum of floats loses."""
    atoms = Atoms()
    x = atoms.base(Interval(np.ones(1), np.ones(1)))
    weight = np.array([2.0**53, *[0.9] * 200])
    span = atoms.range(polynomials(1, np.zeros(201, np.int64), (np.full(201, x[0]),), weight))
    return Fraction(float(span.high[0])) >= sum(map(Fraction, weight.tolist()), Fraction(0))


def exact_shares() -> bool:
    """1 + d² with d off by δ, seen from a range that begins at 1 and from one that begins at 100."""
    atoms, away = Atoms(), 1e-3
    p = atoms.base(Interval(np.zeros(1), np.array([200.0])))
    held = Held(p, np.zeros(1), np.array([2 * away + away**2]), np.zeros(1, np.int64))
    return bool(_share(atoms, held, np.zeros(1), np.array([100.0]))[0] >= (2 * np.sqrt(99.0) * away + away**2) / 100)


def exact_multiples_of_atoms() -> bool:
    """A quarter of x is near a name, and is as far from it as it is."""
    atoms = Atoms()
    x = atoms.base(Interval(-np.ones(1), np.ones(1)))
    name = atoms.name(scaled(of_atoms(x), 0.25 * (1 + OFF)))
    atom, off = _multiple(atoms, of_atoms(x), np.array([0.25]), np.zeros(1))
    return bool(atom[0] != name[0] or off[0] >= 0.249 * OFF)


def exact_errors_of_products() -> bool:
    """w·x·y with both factors off by much; and of squares how far their root is off."""
    atoms = Atoms()
    x, y = atoms.base(Interval(np.array([-1.0, 0.5]), np.array([2.0, 3.0])))
    p = polynomials(1, np.zeros(1, np.int64), (np.array([x]), np.array([y])), np.array([-2.0]))
    sides = (np.array([x]), np.array([0.5])), (np.array([y]), np.array([0.25]))
    moved, _ = Registers._moved(SimpleNamespace(atoms=atoms), p, *sides)
    return bool(moved[0] >= 2.0 * (2.5 * 3.25 - 2.0 * 3.0))


def exact_shares_of_sums() -> bool:
    """d² for d ≥ 10 with d off by 1e−3 and the sum by 1e−4: where that is largest, at 10."""
    atoms, square, own = Atoms(), np.array([1e-6]), np.array([1e-4])
    p = atoms.base(Interval(np.array([99.0]), np.array([120.0])))
    share = Registers._share(SimpleNamespace(atoms=atoms), p, square, own)[0]
    return bool(share >= (2e-3 * 10 + 1e-6 + 1e-4) / 100)


def exact_starts_of_rows() -> bool:
    """c = −Σ h s and u = h (s + c), with what they, the scores and the weights are off by, all of one sign."""
    atoms = Atoms()
    s = atoms.base(Interval(np.array([1.0, 2.0]), np.array([1.0, 2.0])))
    rows = np.zeros(2, np.int64)
    c = atoms.name(polynomials(1, rows, (s,), np.array([-0.5, -0.5]) * (1 + 1e-8)))
    u = atoms.name(
        polynomials(2, np.array([0, 0, 1, 1]), (np.array([s[0], c[0], s[1], c[0]]),), np.full(4, 0.5 + 1e-8))
    )
    held = {
        "u": Held(u[None], np.full((1, 2), 1e-3), np.zeros((1, 2)), u[None]),
        "m": Held(np.array([atoms.zero]), np.full(1, 4e-3), np.zeros(1), rows[:1]),
        "s": Held(s[None], np.full((1, 2), 2e-3), np.zeros((1, 2)), s[None]),
        "c": Held(c, np.full(1, 8e-3), np.zeros(1), c),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_rules, "LARGEST", 0)
        h = np.full((1, 2), 0.5)
        off = row_rules._off(
            SimpleNamespace(atoms=atoms), held, row_rules.Rows(s[None], c, np.ones((1, 2), np.bool_), h, 0.0 * h)
        )
    good = off["skew"][0] >= 8e-3 + 2e-3 + 1.5e-8 and off["m"][0] >= 4e-3
    return bool(good and (off["eta"][0] >= 1e-3 + 0.5 * (2e-3 + 8e-3) + 0.49e-8).all())


def exact_thirds() -> bool:
    """A row of three entries."""
    atoms = Atoms()
    x = atoms.base(Interval(-np.ones((1, 3)), np.ones((1, 3)))).reshape(1, 3)
    one = Held(x, np.zeros((1, 3)), np.zeros((1, 3)), x)
    rows = row_rules._rows(SimpleNamespace(atoms=atoms), "log_softmax", dict.fromkeys("usc", one))
    return all(
        abs(Fraction(h) - Fraction(1, 3)) <= Fraction(lost)
        for h, lost in zip(rows.h[0].tolist(), rows.lost[0].tolist(), strict=True)
    )


def _terms(terms: list[tuple[int, int, float, float]]) -> tuple[np.ndarray, ...]:
    row, atom, weight, off = (np.array(column) for column in zip(*terms, strict=True))
    full = np.zeros((len(row), 4), np.int64)
    full[:, 0] = atom
    return row, full, weight, off


ARITHMETIC: dict[str, Callable[[], bool]] = {
    "sums": exact_sums,
    "products": exact_products,
    "multiples": exact_multiples,
    "rows": exact_rows,
    "bounds": exact_bounds,
    "names": exact_names,
    "coefficients": exact_coefficients,
    "residues": exact_residues,
    "ranges": exact_ranges,
    "shares": exact_shares,
    "multiples of atoms": exact_multiples_of_atoms,
    "errors of products": exact_errors_of_products,
    "shares of sums": exact_shares_of_sums,
    "rows of three": exact_thirds,
    "starts of rows": exact_starts_of_rows,
}
