"""The box of inputs that a VNN-LIB file bounds: exact ends, and float64 ends that are not inside of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from integraph.errors import SourceError
from integraph.targets.property import Comparison

LOWER = (">=", ">")


@dataclass(slots=True, eq=False)
class InputBox:
    """What is known of each input so far: exactly, None where nothing is, and rounded outward."""

    least: list[Fraction | None]
    most: list[Fraction | None]
    low: list[float]
    high: list[float]
    empty: bool = False

    def copy(self) -> InputBox:
        return InputBox(self.least.copy(), self.most.copy(), self.low.copy(), self.high.copy(), self.empty)

    def tighten(self, n: int, bound: Comparison) -> None:
        """Take a bound of input n into account."""
        lower = bound.sense in LOWER
        ends = self.least if lower else self.most
        known = ends[n]
        if known is not None and (known >= bound.threshold if lower else known <= bound.threshold):
            return
        ends[n] = bound.threshold
        if lower:
            self.low[n] = _rounded(bound.threshold, -1)
        else:
            self.high[n] = _rounded(bound.threshold, 1)
        least, most = self.least[n], self.most[n]
        self.empty = self.empty or (least is not None and most is not None and least > most)

    def implies(self, n: int, bound: Comparison) -> bool:
        """Whether every x of the rounded box satisfies a bound of input n."""
        if bound.sense in LOWER:
            return self.low[n] >= bound.threshold if bound.sense == ">=" else self.low[n] > bound.threshold
        return self.high[n] <= bound.threshold if bound.sense == "<=" else self.high[n] < bound.threshold

    def check(self) -> None:
        """Raise where an input has no bound, or none that float64 holds."""
        for n, (least, most) in enumerate(zip(self.least, self.most, strict=True)):
            if least is None or most is None:
                word, sense = ("lower", ">=") if least is None else ("upper", "<=")
                raise SourceError(f"X_{n} has no {word} bound: a proof needs a box, write (assert ({sense} X_{n} …))")
        if not all(map(math.isfinite, self.low)) or not all(map(math.isfinite, self.high)):
            raise SourceError("a bound of an input is larger than float64 holds")


def whole_space(inputs: int) -> InputBox:
    """Before anything is known."""
    return InputBox([None] * inputs, [None] * inputs, [-math.inf] * inputs, [math.inf] * inputs)


def _rounded(value: Fraction, direction: int) -> float:
    """The next float64 in this direction, or the number itself."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    outside = near < value if direction > 0 else near > value
    return math.nextafter(near, direction * math.inf) if outside else near
