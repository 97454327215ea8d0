"""Random formulas as trees, printed with no more parentheses than the language needs.

A tree is a name, a decimal, or (operation, operand, …).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from integraph.targets.expression import CHOICES, FUNCTIONS

Tree = str | tuple["Tree", ...]
VARIABLES = ("x", "y", "z")
NUMBERS = ("0", "1", "2", "3", "0.5", "0.1", "1.5", "7", "0.3", "1e-3", "25", "1e3", "1e-8", "pi", "e")
EXPONENTS = ("2", "3", "4", "5", "0.5", "1.5", "0.1", "0", "1", "7", "2.5")
SUMS, PRODUCTS, SIGN, POWER, ATOM = range(1, 6)  # how much an operation binds
BINDS = {"+": SUMS, "-": SUMS, "*": PRODUCTS, "/": PRODUCTS, "neg": SIGN, "^": POWER}
NEGATED = 0.4  # of the constant exponents
AGAIN = 0.15  # of the operands are what came before: x − x, f/f


def formula(rng: np.random.Generator, variables: int, depth: int) -> Tree:
    return _Grower(rng, VARIABLES[:variables]).tree(depth)


class _Grower:
    """Remembers what it made, to use it again."""

    def __init__(self, rng: np.random.Generator, variables: tuple[str, ...]) -> None:
        self.rng, self.variables, self.made = rng, variables, list[Tree]()

    def tree(self, depth: int) -> Tree:
        if self.made and self.rng.random() < AGAIN:
            return self._one(self.made)
        found = self._leaf() if depth == 0 or self.rng.random() < 0.12 else self._operation(depth - 1)
        self.made.append(found)
        return found

    def _one(self, among: list[Tree] | tuple[str, ...]) -> Tree:
        return among[int(self.rng.integers(len(among)))]

    def _leaf(self) -> Tree:
        if self.rng.random() < 0.7:
            return self._one(self.variables)
        return self._one(NUMBERS) if self.rng.random() < 0.7 else f"{self.rng.uniform(0, 10):.3g}"

    def _operation(self, depth: int) -> Tree:
        kind = self.rng.random()
        if kind < 0.45:
            return (self._one(("+", "-", "-", "*", "*", "/")), self.tree(depth), self.tree(depth))
        if kind < 0.55:
            power = self._one(EXPONENTS)
            return ("^", self.tree(depth), ("neg", power) if self.rng.random() < NEGATED else power)
        if kind < 0.58:
            return ("^", self.tree(depth), self.tree(max(depth - 1, 0)))
        if kind < 0.62:
            return ("neg", self.tree(depth))
        if kind < 0.67:
            return (self._one(CHOICES), self.tree(depth), self.tree(depth))
        return (self._one(FUNCTIONS), self.tree(depth))


def text(tree: Tree) -> str:
    return _bound(tree, 0)


def _bound(tree: Tree, least: int) -> str:
    """In parentheses where it binds less than that."""
    if isinstance(tree, str):
        return tree
    op, *args = tree
    if op not in BINDS:
        return f"{op}({', '.join(map(text, args))})"
    own = BINDS[str(op)]
    if op == "neg":
        found = f"-{_bound(args[0], SIGN)}"
    elif op == "^":
        found = f"{_bound(args[0], ATOM)}^{_bound(args[1], SIGN)}"
    else:
        found = f"{_bound(args[0], own)} {op} {_bound(args[1], own + 1)}"
    return f"({found})" if own < least else found


def size(tree: Tree) -> int:
    return 1 if isinstance(tree, str) else 1 + sum(map(size, tree[1:]))


def names(tree: Tree) -> set[str]:
    if isinstance(tree, str):
        return {tree} & set(VARIABLES)
    return set[str]().union(*map(names, tree[1:]))


def smaller(tree: Tree) -> Iterator[Tree]:
    """An operand in place of the whole, then a leaf, then smaller operands."""
    if isinstance(tree, str):
        if tree not in ("x", "1"):
            yield "1" if tree not in VARIABLES else "x"
        return
    op, *args = tree
    yield from args
    yield "x"
    for n, arg in enumerate(args):
        for less in smaller(arg):
            yield (op, *args[:n], less, *args[n + 1 :])
