"""What could be built for a tolerance, and what it would cost: computed before anything is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass

from integraph.bounds.paper import theorem1
from integraph.constructions.theorem1.lean import Shape
from integraph.errors import UsageError
from integraph.numbers.multi_index import count
from integraph.program.summary import above

TERMS = 16_000_000  # that a program may have
COPIES = 4  # of the coefficients are there at once while a program is built
SHOWN = 12  # alternatives in a table


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to build it. `bound` is the error it would have before rounding, NaN if there are only samples."""

    method: str
    order: int  # n
    N: int
    c: float
    spread: float  # of the nodes of a fit; 0 is Taylor's polynomial
    batch: int  # P, products at a time
    right: int  # dimensions that are summed last
    width: int
    depth: int
    coefficients: int  # of all local polynomials: nearly all of the terms
    terms: int  # at most
    bound: float

    @property
    def size(self) -> int:
        """W·D."""
        return self.width * self.depth

    @property
    def memory(self) -> int:
        """The peak memory of compiling, in bytes, roughly."""
        return 8 * COPIES * self.terms

    def cost(self, by: str) -> tuple[int, int]:
        return (self.size, self.coefficients) if by == "size" else (self.coefficients, self.size)


HEAD = ("", "order", "N", "c", "P", "W", "D", "W·D", "coefficients", "terms", "memory", "bound")


@dataclass(frozen=True, slots=True)
class Plan:
    """The choice for a tolerance, and the alternatives that were considered, the cheapest first."""

    source: str
    eps: float
    by: str  # the cost that was minimised: "terms" or "size"
    chosen: Choice
    alternatives: tuple[Choice, ...]

    def table(self) -> str:
        """Order against cells, width against depth; the chosen line is marked."""
        rows = [HEAD, *(self._row(choice) for choice in self.alternatives[:SHOWN])]
        if self.chosen not in self.alternatives[:SHOWN]:
            rows.append(self._row(self.chosen))
        widths = [max(len(row[n]) for row in rows) for n in range(len(HEAD))]
        lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        left = len(self.alternatives) - SHOWN
        return "\n".join([*lines, *([f"… and {left} more"] if left > 0 else [])])

    def _row(self, choice: Choice) -> tuple[str, ...]:
        mark = "→" if choice == self.chosen else ""
        steep = f"{choice.c:g}" if choice.N else ""
        numbers = (choice.order, choice.N, steep, choice.batch, choice.width, choice.depth, choice.size)
        error = "only sampled" if math.isnan(choice.bound) else above(choice.bound)
        sizes = (choice.coefficients, choice.terms, megabytes(choice.memory))
        return (mark, *map(str, (*numbers, *sizes)), error)

    def __repr__(self) -> str:
        goal = "fewest coefficients" if self.by == "terms" else "smallest W·D"
        return f"Plan for {self.source}, eps = {self.eps:g}, {goal} ({self.chosen.method})\n{self.table()}"


def megabytes(size: int) -> str:
    return f"{size / 1e6:.3g} MB"


def lean(d: int, outputs: int, n: int, N: int, c: float, spread: float, read_in: bool, bound: float) -> list[Choice]:
    """All splits, and batches that halve: from all cells at once to one by one."""
    choices = []
    for right in range(d // 2 + 1) if N else (0,):
        batch = (N + 1) ** (d - right)
        while batch:
            shape = Shape(d, outputs, N, n, right, batch, read_in)
            if shape.refillable(c):
                sizes = (shape.width, shape.depth, shape.coefficients, shape.terms)
                choices.append(Choice("lean", n, N, c, spread, batch, right, *sizes, bound))
            batch //= 2
    return choices


def most_cells(d: int, n: int, outputs: int) -> int:
    """The largest N within the limit of terms; −1 if one cell is too much."""
    low, high = -1, int((TERMS / (count(d, n) * outputs)) ** (1 / d)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        fits = Shape(d, outputs, middle, n, 0, (middle + 1) ** d, True).terms <= TERMS
        low, high = (middle, high) if fits else (low, middle)
    return low


def printed(method: str, chosen: theorem1.PaperBound, outputs: int, read_in: bool, scale: float) -> Choice:
    """The paper's construction, or its remark's."""
    d, N = chosen.d, chosen.N
    terms = count(d, chosen.n) * (N + (1 if method == "paper" else 2)) ** d
    entry = d if read_in else 0
    width, depth = theorem1.width(d, N, outputs) + entry, theorem1.depth(d, N, terms) + read_in
    controls = 3 * d * terms + 8 * (N + 1) ** 2 * d
    sizes = (width, depth, terms * outputs, controls)
    return Choice(method, chosen.n, N, chosen.c, 0.0, (N + 2) * d, 0, *sizes, scale * chosen.bound)


def choose(source: str, eps: float, choices: list[Choice], by: str, width: int | None) -> Plan:
    """The cheapest that fits; a refusal says what would."""
    if width is not None:
        narrow = [choice for choice in choices if choice.width <= width]
        if not narrow:
            least = min(choices, key=lambda choice: choice.width)
            raise UsageError(
                f"the narrowest program for eps = {eps:g} has W = {least.width} (order {least.order}, N = {least.N}, "
                f"D = {least.depth}): allow that, or a larger eps",
                argument="width",
                value=width,
            )
        choices = narrow
    ordered = sorted(choices, key=lambda choice: choice.cost(by))
    return Plan(source, eps, by, ordered[0], tuple(ordered))
