"""A divided box as data, with the bounds on each part.

A tree is written in preorder: a `Split` is followed by its lower half and then by its upper half, a `Leaf` ends a
branch. The parts are not written down: they follow from the root box, and together they cover it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from integraph.certify.problem import Box

WAITING = 1 << 24  # sides of the boxes that are still to come, at most: a box is halved a hundred times, not a million


@dataclass(frozen=True, slots=True)
class Split:
    """The box is divided across an axis; both halves have `at` in common."""

    axis: int
    at: float


@dataclass(frozen=True, slots=True)
class Leaf:
    """The quantities are at most `uppers` on this part, evaluated with so many bits."""

    bits: int
    uppers: tuple[float, ...]


Tree = tuple[Split | Leaf, ...]
Division = tuple[Split | None, ...]  # a tree whose leaves, None, have no bounds


def leaves(tree: Tree, root: Box) -> Iterator[tuple[Box, Leaf]]:
    """The parts of the root box, which they cover; ValueError where the tree does not divide this box."""
    waiting = [root]
    for number, node in enumerate(tree):
        if not waiting:
            raise ValueError(f"node {number} of {len(tree)} belongs to no box")
        box = waiting.pop()
        if isinstance(node, Leaf):
            yield box, node
            continue
        if not 0 <= node.axis < len(box.low):
            raise ValueError(f"node {number} divides axis {node.axis} of a box of {len(box.low)} axes")
        if not box.low[node.axis] < node.at < box.high[node.axis]:
            raise ValueError(f"node {number} divides axis {node.axis} at {node.at!r}, which is not inside its box")
        lower, upper = box.split(node.axis, node.at)
        waiting += [upper, lower]
        if len(waiting) * len(root.low) > WAITING:
            raise ValueError(f"the tree is {len(waiting) - 1} divisions deep, more than any search makes")
    if waiting:
        raise ValueError(f"the tree ends after {len(tree)} nodes, {len(waiting)} boxes before it is complete")


def parts(division: Division, root: Box) -> list[Box]:
    """The parts of the root box, which they cover; ValueError where the tree does not divide this box."""
    return [box for box, _ in leaves(tuple(Leaf(0, ()) if node is None else node for node in division), root)]
