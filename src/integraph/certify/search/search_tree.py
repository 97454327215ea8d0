"""A search tree while it grows: boxes in the order of their creation, each with its bounds and its division."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from integraph.certify.certificate.tree import Leaf, Split, Tree
from integraph.certify.problem import Box
from integraph.certify.search.bisection import BoxPart, Values


@dataclass(slots=True)
class SearchNode:
    box: Box
    part: BoxPart
    halves: tuple[Split, int, int] | None = None  # numbers of the halves, which are larger than its own

    @property
    def leaf(self) -> Leaf:
        return Leaf(self.part.bits, self.part.uppers)


def middle(box: Box, root: Box) -> Split | None:
    """The middle of the axis that is widest relative to the root box; None where no float is inside."""
    widths = [_width(*sides) for sides in zip(box.low, box.high, root.low, root.high, strict=True)]
    for axis in sorted(range(len(widths)), key=lambda axis: -widths[axis]):
        low, high = box.low[axis], box.high[axis]
        at = low + (high - low) / 2 if isfinite(high - low) else low / 2 + high / 2
        if low < at < high:
            return Split(axis, at)
    return None


def _width(low: float, high: float, first: float, last: float) -> float:
    """Of last − first, which may be 0 and may be more than a float."""
    if first == last:
        return 0.0
    return (high - low) / (last - first) if isfinite(last - first) else (high / 2 - low / 2) / (last / 2 - first / 2)


def over(bounds: list[Values]) -> Values:
    """The largest of each quantity; nothing is NaN here."""
    return tuple(max(column) for column in zip(*bounds, strict=True))


def harvest(nodes: list[SearchNode]) -> Tree:
    """The smallest tree that proves the same bounds, without divisions that improved nothing."""
    bounds = [node.part.uppers for node in nodes]
    kept = [node.halves for node in nodes]
    for number in reversed(range(len(nodes))):
        if halves := kept[number]:
            divided = over([bounds[halves[1]], bounds[halves[2]]])
            if _within(bounds[number], divided):
                kept[number] = None
            else:
                bounds[number] = divided
    tree: list[Split | Leaf] = []
    waiting = [0]
    while waiting:
        number = waiting.pop()
        halves = kept[number]
        if halves is None or _within(nodes[number].part.uppers, bounds[0]):
            tree.append(nodes[number].leaf)
        else:
            tree.append(halves[0])
            waiting += [halves[2], halves[1]]
    return tuple(tree)


def _within(bound: Values, other: Values) -> bool:
    return all(a <= b for a, b in zip(bound, other, strict=True))
