"""Texts of pictures: names that fit, points, bounds."""

from __future__ import annotations

from integraph.numbers.arrays import Floats
from integraph.plot.subject import EPSILON, Subject
from integraph.program.summary import above

NAME = 30  # characters of a name in a legend
SIDES = 4  # coordinates of a point that are written out


def shortened_label(name: str, most: int = NAME) -> str:
    """A name, without its middle if it is long."""
    if len(name) <= most:
        return name
    begin = (most - 1) // 2
    return f"{name[:begin]}…{name[begin + 1 - most :]}"


def point(x: Floats, names: tuple[str, ...]) -> str:
    """`x = 0.5, y = 1`, or the first coordinates of many."""
    some = [f"{shortened_label(name, 12)} = {value:.4g}" for name, value in zip(names, x.tolist(), strict=True)]
    return ", ".join([*some[:SIDES], *(["…"] if len(some) > SIDES else [])])


def point_label(x: Floats, names: tuple[str, ...], label: str) -> str:
    """A point with what it is: the label alone says more than many coordinates."""
    if label and len(x) > SIDES:
        return label
    return ", ".join(filter(None, (point(x, names), label)))


def part_of(some: int, all_of_them: int, noun: str) -> str:
    """`60 of 3,080 registers`, `all 12 registers`, `the register`."""
    if all_of_them == 1:
        return f"the {noun}"
    return f"{some:,} of {all_of_them:,} {noun}s" if some < all_of_them else f"all {all_of_them:,} {noun}s"


def bounds(s: Subject) -> str:
    """What is promised and proven for the box, as sentences."""
    said = []
    if s.promised == 0:
        rounded = "the rounding of float64"
        rest = f", but the difference found exceeds {rounded}." if s.broken else f": the difference found is {rounded}."
        said.append(f"The construction is exact{rest}")
    elif s.promised is not None:
        said.append(f"The promised error is at most {above(s.promised)}.")
    if s.broken:
        said.append("The promise is not kept: is this the source that was compiled?")
    if s.proven is not None:
        said.append(f"The proven error is at most {above(s.proven)}.")
    return " ".join(said)


def subscript(n: int) -> str:
    """`₁₂`."""
    return str(n).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def rounding(values: float) -> float:
    """The rounding of float64 for values of this size."""
    return EPSILON * values if values > 0 else EPSILON
