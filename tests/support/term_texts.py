"""Equations in texts, read back: sums of products, infix or in prefix notation, with an own small parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from integraph import Program

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
Rows = list[list[tuple[int, str]]]  # of each segment: a register, and the text of its derivative


def same_terms(program: Program, rows: Rows, terms: Callable[[str], list[tuple[float, list[int]]]]) -> None:
    """Every control of the program stands in the text, to the last bit, and nothing else does."""
    told = []
    for number, segment in enumerate(rows):
        for register, text in segment:
            for value, factors in terms(text):
                if value:
                    j, k = sorted([-1] * (2 - len(factors)) + factors)
                    told.append((number, register, j, k, value))
    controls = program.controls()
    own = zip(controls.segment, controls.i, controls.j, controls.k, controls.value, strict=True)
    assert sorted(told) == sorted((*map(int, term[:4]), float(term[4])) for term in own)


def infix(names: Sequence[str]) -> Callable[[str], list[tuple[float, list[int]]]]:
    """`2.5*x*y - z` as terms; factors are separated by *, terms by signs with a space on both sides."""
    places = {name: place for place, name in enumerate(names)}

    def terms(text: str) -> list[tuple[float, list[int]]]:
        parsed = []
        for sign, product in re.findall(r"(^-|^|(?<= )[+-] )([^ ]+)", text.strip()):
            value, factors = -1.0 if "-" in sign else 1.0, []
            for factor in product.split("*"):
                if re.fullmatch(NUMBER, factor):
                    value *= float(factor)
                else:
                    base, square, _ = factor.partition("^2")
                    factors += [places[base]] * (2 if square else 1)
            parsed.append((value, factors))
        return parsed

    return terms


def prefix(names: Sequence[str]) -> Callable[[str], list[tuple[float, list[int]]]]:
    """`(+ (* 2.5 x y) (* (- 1.0) z))` as terms."""
    places = {name: place for place, name in enumerate(names)}

    def terms(text: str) -> list[tuple[float, list[int]]]:
        tree = _tree(iter(re.findall(r"[()]|[^\s()]+", text)))[0]
        return [_product(part) for part in (tree[1:] if isinstance(tree, list) and tree[0] == "+" else [tree])]

    def _product(part: object) -> tuple[float, list[int]]:
        if isinstance(part, str):
            return (1.0, [places[part]]) if part in places else (float(part), [])
        assert isinstance(part, list)
        if part[0] == "-":
            return -float(part[1]), []
        parts = [_product(one) for one in part[1:]]
        return float(np.prod([value for value, _ in parts])), [f for _, factors in parts for f in factors]

    return terms


def _tree(tokens: object) -> list[object]:
    nodes: list[object] = []
    for token in tokens:  # type: ignore[attr-defined]
        if token == ")":
            break
        nodes.append(_tree(tokens) if token == "(" else token)
    return nodes
