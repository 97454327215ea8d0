"""What is worth writing of the recorded operations: what outputs and guards need, and guards that say something new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from integraph.flow.closed_forms.operations import ELEMENTWISE, REDUCTIONS, SMOOTH, ClosedForms, Operation

# a NaN among the arguments may get lost
CHOICES = {"where", "less", "equal", "both", "either", "power", "hypot", "lam"}
FIRST = {"maximum", "minimum"}  # written as choices that keep a NaN of the first argument


def prune(operations: Sequence[Operation], outputs: int, positive: Iterable[int], ends: Iterable[int]) -> ClosedForms:
    """The operations that matter. `ends` must be finite where anything depends on them."""
    needed = _needed(operations, [outputs, *positive])
    finite = _finite(operations, outputs, {end for end in ends if needed[end]})
    kept = [number for number in range(len(operations)) if needed[number]]
    new = {old: number for number, old in enumerate(kept)}
    renamed = [
        replace(own, arguments=tuple(new[a] if isinstance(a, int) else a for a in own.arguments))
        for own in (operations[old] for old in kept)
    ]
    return ClosedForms(tuple(renamed), new[outputs], tuple(new[n] for n in positive), tuple(new[n] for n in finite))


def _needed(operations: Sequence[Operation], roots: Iterable[int]) -> list[bool]:
    needed = [False] * len(operations)
    for root in roots:
        needed[root] = True
    for number in range(len(operations) - 1, -1, -1):
        if needed[number]:
            for argument in operations[number].arguments:
                if isinstance(argument, int):
                    needed[argument] = True
    return needed


def _finite(operations: Sequence[Operation], outputs: int, ends: set[int]) -> list[int]:
    """Which ends must be looked at: the others make one of these, or an output, infinite or NaN whenever they are."""
    finite, covered = [], {outputs}
    for number in range(max(covered | ends), -1, -1):
        if number in ends and number not in covered:
            finite.append(number)
            covered.add(number)
        if number in covered:
            own = operations[number]
            for position, argument in enumerate(own.arguments):
                if isinstance(argument, int) and _carries(own, position, operations[argument].size):
                    covered.add(argument)
    return finite[::-1]


def spoils(operations: Sequence[Operation], outputs: int) -> set[int]:
    """The operations of which one NaN makes an output NaN, as the `Interpreter` computes: it needs no other guard."""
    covered = {outputs}
    for number in range(outputs, -1, -1):
        own = operations[number]
        if number in covered and own.op not in CHOICES:
            given = own.arguments[:1] if own.op in FIRST else own.arguments
            for argument in given:
                if isinstance(argument, int) and (own.op != "gather" or _carries(own, 0, operations[argument].size)):
                    covered.add(argument)
    return covered


def _carries(own: Operation, position: int, size: int) -> bool:
    if own.op in ELEMENTWISE:
        return ELEMENTWISE[own.op].carries[position]
    if own.op == "gather":
        return own.indices is not None and len(np.unique(own.indices)) == size
    if own.op in SMOOTH:
        return False
    if own.op in ("matmul", "contract"):  # a weight 0 does not hide what it multiplies: 0·∞ is NaN
        return True
    return REDUCTIONS.get(own.op, own.op != "lam")
