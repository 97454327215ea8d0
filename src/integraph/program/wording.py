"""How programs speak: numbers with nouns, equations as one writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def counted(n: int, noun: str) -> str:
    """`1 lane`, `3 lanes`."""
    return f"{n} {noun}{'s' * (n != 1)}"


def right_side(equations: Iterable[tuple[Any, ...]], target: str) -> str:
    """`x² − lam²` for ("lam", 1, "x", "x") and ("lam", -1, "lam", "lam")."""
    text = ""
    for of, number, *factors in equations:
        if of == target:
            sign = ("−" if number < 0 else "") if not text else (" − " if number < 0 else " + ")
            text += sign + _product(abs(number), factors)
    return text or "0"


def _product(size: float, factors: list[str]) -> str:
    if len(factors) > 1 and factors[-1] == factors[-2]:
        factors = [*factors[:-2], f"{factors[-1]}²"]
    shown = [f"{size:g}"] if size != 1 or not factors else []
    return "·".join([*shown, *factors])
