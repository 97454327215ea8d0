"""The products of a segment, with few multipliers: products of two sums, each used by all rows that need it.

Three ways to save: a monomial that several rows have is computed once; the monomials of a row that share a factor are
one product, y_f (c_1 y_1 + c_2 y_2 + ...); and two rows a P + b Q and b P - a Q, a turn and a growth of (a, b), take
three products instead of four, P (a + b), a (P + Q) and b (P - Q), after Gauss.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import permutations

Sum = tuple[tuple[int, float], ...]  # registers, in order, with their coefficients
Product = tuple[Sum, Sum]
Use = tuple[int, float, Product]  # a row, and the coefficient with which the product enters it
Forms = dict[int, dict[tuple[int, int], float]]  # for each row, the coefficients of its monomials


def multiplications(rows: Forms) -> list[Use]:
    """Products that add up to the rows: those of the cheapest of four ways."""
    ways = []
    for turning in (True, False):
        uses, rest = _turns(rows) if turning else ([], rows)
        ways += [uses + list(way(rest)) for way in (_factors, _monomials)]
    return min(ways, key=lambda uses: (len({product for _, _, product in uses}), len(uses)))


def _monomials(rows: Forms) -> Iterator[Use]:
    for row, form in rows.items():
        for (j, k), value in form.items():
            yield row, value, (((j, 1.0),), ((k, 1.0),))


def _factors(rows: Forms) -> Iterator[Use]:
    """As long as monomials are left, those of the register that most of them have."""
    for row, form in rows.items():
        left = dict(form)
        while left:
            counts = Counter(register for pair in left for register in set(pair))
            factor = max(sorted(counts), key=counts.__getitem__)
            other = _cofactor(left, factor)
            left = {pair: value for pair, value in left.items() if factor not in pair}
            size, other = _reduced(other)
            yield row, size, (((factor, 1.0),), other)


def _turns(rows: Forms) -> tuple[list[Use], Forms]:
    """Pairs of rows a P + b Q and b P - a Q, and what is left of all rows."""
    uses: list[Use] = []
    left = {row: dict(form) for row, form in rows.items()}
    for first, second in permutations(rows, 2):
        for a, b in ((first, second), (second, first)):
            p, q = (dict(_cofactor(left[first], factor)) for factor in (a, b))
            same = dict(_cofactor(left[second], b)) == p
            opposite = dict(_cofactor(left[second], a)) == {k: -value for k, value in q.items()}
            if not (p and q and same and opposite) or {a, b} & (p.keys() | q.keys()):
                continue
            one, other = ((a, 1.0),), ((b, 1.0),)
            both = (_added(p, {}), tuple(sorted((*one, *other))))
            sums = (_added(p, q), _added(p, {k: -value for k, value in q.items()}))
            uses += [(first, 1.0, both), (first, -1.0, (other, sums[1]))]
            uses += [(second, 1.0, both), (second, -1.0, (one, sums[0]))]
            for row in (first, second):
                left[row] = {pair: value for pair, value in left[row].items() if not {a, b} & set(pair)}
    return uses, left


def _cofactor(form: dict[tuple[int, int], float], factor: int) -> Sum:
    """What the factor is multiplied by in the form."""
    return tuple(sorted((j if k == factor else k, value) for (j, k), value in form.items() if factor in (j, k)))


def _added(p: dict[int, float], q: dict[int, float]) -> Sum:
    return tuple(sorted((k, total) for k in p.keys() | q.keys() if (total := p.get(k, 0.0) + q.get(k, 0.0))))


def _reduced(form: Sum) -> tuple[float, Sum]:
    """A number and a sum whose product is the form, so that equal ones are found; nothing is rounded."""
    first = form[0][1]
    size = first if len(form) == 1 else math.copysign(math.ldexp(1.0, math.frexp(first)[1]), first)
    return size, tuple((k, value / size) for k, value in form)
