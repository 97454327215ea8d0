"""What a tree of a formula is at a point, in mpmath, and how much of that float64 may lose.

Every operation is repeated with its operands moved by what they may be off, and adds its own rounding: relative to its
value, and to the largest value that it seems to have on the box, because a product may be expanded (`EXPAND` in
`constructions/graph/translation.py`) and a base is scaled (`FAR` in `fused.py`). What then leaves its domain is
ill-conditioned there. A compiler sees operands as if they were independent; so do we to see how large they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp, mpc, mpf

from expression_trees import FUNCTIONS
from fuzz.formula_trees import VARIABLES, Tree
from fuzz.precision import DIGITS, LARGEST, ROUND, Undefined, Value

OWN = 16  # roundings of an operation
SCALE = 2**-24  # where the range of a base may reach 0, it is rounded relative to this part of its largest value
TRIED = 32  # values of an operand
EXACT, SUMS = ("neg", "*", "abs", "min", "max"), ("+", "-")  # operations whose result is exact if it is a float64
ROOTS = ("sqrt", "cbrt", "asin", "acos", "acosh")  # infinitely steep at the edge of their domain
SINGULAR = (*ROOTS, "ln", "log2", "log10", "log1p", "atanh", "tan")
BINARY: dict[str, Callable[[mpf, mpf], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "min": min,
    "max": max,
}


def truth(tree: Tree, points: Sequence[Sequence[float]], unit: mpf = ROUND) -> list[Value | Undefined]:
    """At each point; `unit` is the relative error of a rounding."""
    with mp.workdps(DIGITS):
        return _Values([[mpf(float(v)) for v in point] for point in points], unit).of(tree)


class _Values:
    """Of all subtrees at all points."""

    def __init__(self, points: list[list[mpf]], unit: mpf) -> None:
        self.points, self.unit = points, unit
        self.known: dict[Tree, list[Value | Undefined]] = {}
        self.reached: dict[Tree, list[mpf]] = {}
        self.rng = np.random.default_rng(0)

    def of(self, tree: Tree) -> list[Value | Undefined]:
        if tree not in self.known:
            self.known[tree] = self._leaf(tree) if isinstance(tree, str) else self._operation(tree)
        return self.known[tree]

    def _leaf(self, name: str) -> list[Value | Undefined]:
        if name in VARIABLES:
            return [(point[VARIABLES.index(name)], mpf(0)) for point in self.points]
        value = +getattr(mp, name) if name in ("pi", "e") else _exact(Fraction(name))
        return [(value, mpf(0) if _stored(value) else abs(value) * self.unit)] * len(self.points)

    def _operation(self, tree: tuple[Tree, ...]) -> list[Value | Undefined]:
        op, *args = tree
        operands = list(zip(*(self.of(arg) for arg in args), strict=True))
        meaning = _meaning(str(op), args)
        first = [_value(meaning, row) for row in operands]
        largest, bases = self._size(tree), [self._size(arg) for arg in args]
        short = all(isinstance(arg, str) for arg in args)
        return [
            value if isinstance(value, Undefined) else self._noisy(str(op), meaning, row, value, largest, bases, short)
            for row, value in zip(operands, first, strict=True)
        ]

    def _size(self, tree: Tree) -> mpf:
        return max(map(abs, self._reach(tree)), default=mpf(0))

    def _reach(self, tree: Tree) -> list[mpf]:
        """Values that a tree has if all that it is made of is independent."""
        if tree not in self.reached:
            if isinstance(tree, str):
                found = [self.of(tree)[n % len(self.points)][0] for n in range(TRIED)]
            else:
                parts = [self._shuffled(self._reach(arg)) for arg in tree[1:]]
                meaning = _meaning(str(tree[0]), list(tree[1:]))
                tried = (_apply(meaning, row) for row in zip(*parts, strict=False))
                found = [value for value in tried if value is not None and abs(value) <= LARGEST]
            self.reached[tree] = found
        return self.reached[tree]

    def _shuffled(self, values: list[mpf]) -> list[mpf]:
        if not values:
            return []
        ends = [min(values), max(values)]
        return [ends[k] if k < 2 else values[k % len(values)] for k in self.rng.permutation(TRIED)]

    def _noisy(
        self,
        op: str,
        meaning: Callable[..., Any],
        row: Sequence[Value],
        value: mpf,
        largest: mpf,
        bases: Sequence[mpf],
        short: bool,
    ) -> Value:
        """`short` sums have two terms; those of others may be added in another order."""
        args, off = zip(*row, strict=True)
        if op in ("/", "^") or op in SINGULAR:
            which = 1 if op == "/" else 0
            base, scale = args[which], SCALE * max(1, bases[which])
            rounded = self.unit * (scale + scale**2 / abs(base)) if base else mpf(0)
            off = [e + rounded if n == which else e for n, e in enumerate(off)]
        if not any(off) and _stored(value) and (op in EXACT or (op in SUMS and short)):
            return value, mpf(0)
        moved = _moved(meaning, args, off)
        if None in moved or not all(map(mp.isfinite, off)) or _steep(op, args) or _crossed(op, args, off):
            return value, mp.inf
        spread = max(abs(v - value) for v in moved)
        return value, spread + self.unit * (OWN * abs(value) + largest)


def _meaning(op: str, args: list[Tree]) -> Callable[..., Any]:
    if op == "neg":
        return lambda a: -a
    if op == "abs":
        return abs
    if op == "^":
        exponent = rational(args[1])
        return _variable_power if exponent is None else lambda a, b: _power(a, exponent)
    return BINARY[op] if op in BINARY else FUNCTIONS[op]


def _power(a: mpf, b: Fraction) -> mpf:
    if b.denominator == 1:
        return a ** int(b)
    if a < 0 or (a == 0 and b < 0):
        raise ZeroDivisionError
    return a ** _exact(b)


def _variable_power(a: mpf, b: mpf) -> mpf:
    if a <= 0:
        raise ZeroDivisionError
    return a**b


def rational(tree: Tree) -> Fraction | None:
    """Of a constant exponent, as the language says: sums, products and quotients of decimals are what they are."""
    if isinstance(tree, str):
        return None if tree in (*VARIABLES, "pi", "e") else Fraction(tree)
    op, *args = tree
    known = [rational(arg) for arg in args]
    if None in known or op not in ("neg", "+", "-", "*", "/", "^"):
        return None
    if op == "^":
        whole = known[1].denominator == 1 and abs(known[1]) <= 1000
        return known[0] ** int(known[1]) if whole and (known[0] or known[1] >= 0) else None
    if op == "/" and not known[1]:
        return None
    return -known[0] if op == "neg" else BINARY[str(op)](*known)


def _apply(meaning: Callable[..., Any], args: Sequence[mpf]) -> mpf | None:
    """None where there is no real number."""
    try:
        found = meaning(*args)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return None if isinstance(found, mpc) or not mp.isfinite(found) else found


def _value(meaning: Callable[..., Any], row: Sequence[Value | Undefined]) -> mpf | Undefined:
    for operand in row:
        if isinstance(operand, Undefined):
            return operand
    args, off = zip(*row, strict=True)
    found = _apply(meaning, args)
    if found is not None and abs(found) > LARGEST:
        return Undefined(near=True)
    if found is None:
        less = ([e * mpf(2) ** -k for e in off] for k in range(0, 100, 8))
        near = not all(map(mp.isfinite, off)) or any(v is not None for e in less for v in _moved(meaning, args, e))
        return Undefined(near)
    return found


def _moved(meaning: Callable[..., Any], args: Sequence[mpf], off: Sequence[mpf]) -> list[mpf | None]:
    """With the operands at the ends of what they may be."""
    ends = [(a - e, a + e) if e and mp.isfinite(e) else (a,) for a, e in zip(args, off, strict=True)]
    return [_apply(meaning, moved) for moved in itertools.product(*ends)]


def _crossed(op: str, args: Sequence[mpf], off: Sequence[mpf]) -> bool:
    """Whether a pole is within reach."""
    if op == "tan":
        return abs(mp.cos(args[0])) <= off[0]
    which = 1 if op == "/" else 0
    return (op == "/" or (op == "^" and args[1] < 0)) and abs(args[which]) <= off[which]


def _steep(op: str, args: Sequence[mpf]) -> bool:
    """A root at 0, or what has one inside."""
    edge = {"asin": 1 - abs(args[0]), "acos": 1 - abs(args[0]), "acosh": args[0] - 1}.get(op, args[0])
    return edge == 0 and (op in ROOTS or (op == "^" and args[1] != int(args[1])))


def _exact(number: Fraction) -> mpf:
    return mpf(number.numerator) / number.denominator


def _stored(value: mpf) -> bool:
    return value == mpf(float(value))
