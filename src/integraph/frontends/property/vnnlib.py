"""VNN-LIB files: the part of SMT-LIB in which verification competitions state properties of networks.

The file describes what is *unsafe*: bounds of the inputs X_i, and comparisons of outputs Y_j and inputs. The property
is that no input is unsafe: proved is `unsat`, refuted is `sat`. Where a disjunction bounds inputs, each of its parts is
a case with a box of its own. Ends of boxes are rounded outward to float64, and the exact bounds stay in the property.

    (declare-const X_0 Real)  (declare-const Y_0 Real)
    (assert (>= X_0 -1))  (assert (<= X_0 1.0))
    (assert (or (<= Y_0 -3.5) (>= Y_0 (+ X_0 2))))
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from integraph.errors import FileError, SourceError
from integraph.frontends.property.linear_forms import VARIABLE, form
from integraph.frontends.property.s_expressions import List, Text, Word
from integraph.frontends.verification.text_lines import text as text_of
from integraph.targets.property import (
    Case,
    Clause,
    Comparison,
    Conjunction,
    Disjunction,
    Quantities,
    Quantity,
    comparisons,
    conjunction,
    disjunction,
    negated,
    property_of,
)
from integraph.text import counted

LARGEST = 1 << 24  # bytes
CASES = 4096
IGNORED = ("set-logic", "set-info", "set-option", "check-sat", "get-model", "exit")
SENSES = ("<=", ">=", "<", ">")
SECOND = ("vnnlib-version", "declare-network")  # how files of version 2 begin
COMMANDS = "write (declare-const X_0 Real) and (assert (<= X_0 1))"


def read(path: Path) -> tuple[Case, ...]:
    """The cases of a file."""
    try:
        return parse(text_of(path, LARGEST))
    except OSError as reason:
        raise FileError(f"cannot read {path.name}: {reason.strerror or reason}") from None
    except FileError as error:
        raise FileError(f"{path.name}: {error}") from None
    except SourceError as error:
        raise SourceError(f"{path.name}: {error.args[0]}", *error.args[1:]) from None


def parse(content: str) -> tuple[Case, ...]:
    """The cases that a text states."""
    reader = _Reader(Text(content))
    for node in reader.text.lists():
        reader.command(node)
    return reader.cases()


class _Reader:
    def __init__(self, text: Text) -> None:
        self.text = text
        self.declared: set[tuple[str, int]] = set()
        self.quantities = Quantities()
        self.unsafe: list[Clause] = []
        self.known: tuple[Quantity, ...] = ()  # when all is read

    def command(self, node: List) -> None:
        if node.head in IGNORED:
            return
        if node.head in ("declare-const", "declare-fun"):
            self._declare(node)
        elif node.head == "assert" and len(node.parts) == 2:
            self.unsafe.append(self._clause(node.parts[1]))
        elif node.head in SECOND:
            words = " ".join(part.text for part in node.parts[:2] if isinstance(part, Word))
            raise self.text.mistake(node, f"'({words[:40]} …' is VNN-LIB 2, and version 1 is read", COMMANDS)
        else:
            raise self.text.mistake(node, f"{node.head[:40]!r} is not a command of VNN-LIB", COMMANDS)

    def _declare(self, node: List) -> None:
        words = [part.text if isinstance(part, Word) else "()" for part in node.parts[1:]]
        if node.head == "declare-fun" and words[1:2] == ["()"]:
            del words[1]
        variable = VARIABLE.fullmatch(words[0]) if words else None
        if variable is None or words[1:] != ["Real"]:
            raise self.text.mistake(node, "a declaration names X_i or Y_j, and Real", COMMANDS)
        name = variable[1], int(variable[2])
        if name in self.declared:
            raise self.text.mistake(node, f"{words[0]} is declared twice", "declare every variable once")
        self.declared.add(name)

    def _clause(self, node: Word | List) -> Clause:
        if isinstance(node, Word):
            raise self.text.mistake(node, f"{node.text[:40]!r} is no clause", COMMANDS)
        rest = node.parts[1:]
        if node.head in ("and", "or") and rest:
            parts = [self._clause(part) for part in rest]
            return (conjunction if node.head == "and" else disjunction)(parts)
        if node.head == "not" and len(rest) == 1:
            return negated(self._clause(rest[0]))
        if node.head == "=>" and len(rest) == 2:
            return disjunction([negated(self._clause(rest[0])), self._clause(rest[1])])
        if node.head in (*SENSES, "=") and len(rest) == 2:
            senses = ("<=", ">=") if node.head == "=" else (node.head,)
            return conjunction([self._comparison(node, sense) for sense in senses])
        raise self.text.mistake(
            node, f"{node.head[:40] or '()'!r} of {counted(len(rest), 'part')} is no clause",
            "clauses are (and …), (or …), (not a), (=> a b), and (<= a b), (>= a b), (< a b), (> a b), (= a b)",
        )  # fmt: skip

    def _comparison(self, node: List, sense: str) -> Comparison:
        minus = List((Word("-", node.start), *node.parts[1:]), node.start)
        difference = form(self.text, minus, self.declared)
        if not any(difference.terms.values()):
            raise self.text.mistake(node, "a comparison of numbers alone", "compare something with X_i or Y_j")
        parts = [{n: c for (letter, n), c in difference.terms.items() if letter == which} for which in "YX"]
        linear = self.quantities.linear(parts[0], parts[1], difference.constant, sense)
        if linear is None:
            raise self.text.mistake(node, "its coefficients have too many digits", "write fewer")
        return linear

    def cases(self) -> tuple[Case, ...]:
        self.known = tuple(self.quantities.known)
        inputs, outputs = (self._count(letter) for letter in "XY")
        if not self.unsafe:
            raise SourceError("it asserts nothing: (assert …) says what is unsafe")
        cases = [self._case(parts, inputs, outputs) for parts in self._divided()]
        kept = tuple(case for case in cases if case is not None)
        if not kept:
            raise SourceError("its bounds of inputs contradict each other: no input satisfies them")
        return kept

    def _count(self, letter: str) -> int:
        numbers = sorted(n for which, n in self.declared if which == letter)
        if numbers != list(range(len(numbers))) or not numbers:
            raise SourceError(f"it must declare {letter}_0, {letter}_1, … without a gap, and one at least")
        return len(numbers)

    def _divided(self) -> list[tuple[Clause, ...]]:
        """The unsafe region as a union of conjunctions: disjunctions that bound inputs are divided."""
        whole = conjunction(self.unsafe)
        parts = whole.parts if isinstance(whole, Conjunction) else (whole,)
        choices = [part.parts if isinstance(part, Disjunction) and self._bounds(part) else (part,) for part in parts]
        if math.prod(map(len, choices)) > CASES:
            raise SourceError(f"its disjunctions have more than {CASES} combinations of input boxes: divide the file")
        return list(itertools.product(*choices))

    def _bounds(self, clause: Clause) -> bool:
        return any(self._side(one) is not None for one in comparisons(clause))

    def _side(self, one: Comparison) -> int | None:
        """The input that a comparison bounds, if it does nothing else."""
        quantity = self.known[one.quantity]
        return quantity.inputs[0][0] if not quantity.outputs and len(quantity.inputs) == 1 else None

    def _case(self, parts: Sequence[Clause], inputs: int, outputs: int) -> Case | None:
        whole = conjunction(parts)
        facts = whole.parts if isinstance(whole, Conjunction) else (whole,)
        low: list[Fraction | None] = [None] * inputs
        high: list[Fraction | None] = [None] * inputs
        sides = [self._side(one) if isinstance(one, Comparison) else None for one in facts]
        for one, n in zip(facts, sides, strict=True):
            if n is None or not isinstance(one, Comparison):
                continue
            ends, better = (low, max) if one.sense in (">=", ">") else (high, min)
            ends[n] = one.threshold if ends[n] is None else better(ends[n], one.threshold)  # type: ignore[type-var]
        for n, (a, b) in enumerate(zip(low, high, strict=True)):
            if a is None or b is None:
                raise SourceError(
                    f"X_{n} has no {'lower' if a is None else 'upper'} bound: a proof needs a box, write "
                    f"(assert ({'>=' if a is None else '<='} X_{n} …))"
                )
            if a > b:
                return None
        box = [_rounded(a, -1) for a in low], [_rounded(b, 1) for b in high]
        if not all(map(math.isfinite, [*box[0], *box[1]])):
            raise SourceError("a bound of an input is larger than float64 holds")
        open_ = [
            one
            for one, n in zip(facts, sides, strict=True)
            if n is None or not isinstance(one, Comparison) or not _implied(one, box[0][n], box[1][n])
        ]
        if not any(quantity.outputs for quantity in self._used(open_)):
            raise SourceError("it says nothing of the outputs: assert what is unsafe of Y_0, Y_1, …")
        clause = negated(conjunction(open_))
        stated = property_of(inputs, outputs, self.known, clause)
        return Case(tuple(box[0]), tuple(box[1]), stated)

    def _used(self, clauses: Sequence[Clause]) -> list[Quantity]:
        return [self.known[one.quantity] for clause in clauses for one in comparisons(clause)]


def _implied(one: Comparison, low: float, high: float) -> bool:
    """Whether every x of the rounded box satisfies a bound."""
    if one.sense in (">=", "<="):
        return low >= one.threshold if one.sense == ">=" else high <= one.threshold
    return low > one.threshold if one.sense == ">" else high < one.threshold


def _rounded(value: Fraction | None, direction: int) -> float:
    """The next float64 in this direction, or the number itself."""
    assert value is not None
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    outside = near < value if direction > 0 else near > value
    return math.nextafter(near, direction * math.inf) if outside else near
