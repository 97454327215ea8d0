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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from integraph.errors import FileError, SourceError
from integraph.frontends.property.input_box import InputBox, whole_space
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
SIDES = 4_000_000  # of the boxes of all cases
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
        common, choices = self._divided(inputs)
        box = whole_space(inputs)
        for n, one in common.bounds:
            box.tighten(n, one)
        left = common.left(box)
        cases = (self._case(box.copy(), left, _facts(chosen, self._side), outputs) for chosen in choices)
        kept = tuple(case for case in cases if case is not None)
        if not kept:
            raise SourceError("its bounds of inputs contradict each other: no input satisfies them")
        if not any(self.known[one.quantity].outputs for clause in self.unsafe for one in comparisons(clause)):
            raise SourceError("it says nothing of the outputs: assert what is unsafe of Y_0, Y_1, …")
        return kept

    def _count(self, letter: str) -> int:
        numbers = sorted(n for which, n in self.declared if which == letter)
        if numbers != list(range(len(numbers))) or not numbers:
            raise SourceError(f"it must declare {letter}_0, {letter}_1, … without a gap, and one at least")
        return len(numbers)

    def _divided(self, inputs: int) -> tuple[_Facts, Iterable[tuple[Clause, ...]]]:
        """The unsafe region as a union of conjunctions: what is common to all, and the parts of each. Disjunctions that
        bound inputs are divided."""
        whole = conjunction(self.unsafe)
        parts = whole.parts if isinstance(whole, Conjunction) else (whole,)
        common, choices = list[Clause](), list[tuple[Clause, ...]]()
        for part in parts:
            if isinstance(part, Disjunction) and self._bounds(part):
                choices.append(part.parts)
            else:
                common.append(part)
        count = math.prod(map(len, choices))
        if count > CASES or count * inputs > SIDES:
            raise SourceError(
                f"its disjunctions have more than {min(CASES, SIDES // inputs)} combinations of boxes of "
                f"{counted(inputs, 'input')}: divide the file"
            )
        return _facts(common, self._side), itertools.product(*choices)

    def _bounds(self, clause: Clause) -> bool:
        return any(self._side(one) is not None for one in comparisons(clause))

    def _side(self, one: Comparison) -> int | None:
        """The input that a comparison bounds, if it does nothing else."""
        quantity = self.known[one.quantity]
        return quantity.inputs[0][0] if not quantity.outputs and len(quantity.inputs) == 1 else None

    def _case(self, box: InputBox, common: _Facts, own: _Facts, outputs: int) -> Case | None:
        """What is unsafe in one box: the facts of all cases that their box leaves open, and those of this case. Where
        there are none, all of the box is unsafe, and its own bounds say so."""
        for n, one in own.bounds:
            box.tighten(n, one)
        if box.empty:
            return None
        box.check()
        moved = {n for n, _ in own.bounds}
        open_ = _Facts([*(pair for pair in common.bounds if pair[0] not in moved or not box.implies(*pair)),
                        *own.left(box).bounds], [*common.others, *own.others])  # fmt: skip
        facts = [*(one for _, one in open_.bounds), *open_.others] or [one for _, one in own.bounds]
        clause = negated(conjunction(facts))
        stated = property_of(len(box.low), outputs, self.known, clause)
        return Case(tuple(box.low), tuple(box.high), stated)


@dataclass(frozen=True, slots=True)
class _Facts:
    """Bounds of single inputs, with their numbers, and other clauses."""

    bounds: list[tuple[int, Comparison]]
    others: list[Clause]

    def left(self, box: InputBox) -> _Facts:
        """What the rounded box does not imply."""
        return _Facts([pair for pair in self.bounds if not box.implies(*pair)], self.others)


def _facts(parts: Sequence[Clause], side: Callable[[Comparison], int | None]) -> _Facts:
    facts = _Facts([], [])
    for part in parts:
        for one in part.parts if isinstance(part, Conjunction) else (part,):
            n = side(one) if isinstance(one, Comparison) else None
            if isinstance(one, Comparison) and n is not None:
                facts.bounds.append((n, one))
            else:
                facts.others.append(one)
    return facts
