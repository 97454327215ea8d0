"""Formulas of SBML, as libSBML holds them, → steps of a tape. Trees are walked without recursion; function definitions
are written out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from integraph.errors import SourceError
from integraph.frontends.formula.rationals import POWER, NumberTooLarge, exact_number, rational
from integraph.targets.expression import NUMBER, Tape

VISITS = 100_000  # nodes of trees: definitions that unfold into more are refused
NESTING = 100  # definitions inside definitions
AVOGADRO = "6.02214179e23"  # the number that SBML fixes
FUNCTIONS = {  # libSBML's name, after AST_FUNCTION_ → operation
    name.upper(): name for name in ("exp", "ln", "sin", "cos", "tan", "sinh", "cosh", "tanh")
} | {f"ARC{name.upper()}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
RECIPROCALS = {"SEC": "cos", "CSC": "sin", "COT": "tan", "SECH": "cosh", "CSCH": "sinh", "COTH": "tanh"}
REFUSALS = {  # libSBML's name → why, and what to write
    "FUNCTION_PIECEWISE": "a piecewise function has a jump or a kink: write a smooth one, as a Hill function",
    "FUNCTION_DELAY": "a delay makes no ODE: add states for what happens in between",
    "FUNCTION_ABS": "|x| has a kink: write sqrt(x^2 + 1e-6)",
    "FUNCTION_MIN": "min has a kink: write a smooth function",
    "FUNCTION_MAX": "max has a kink: write a smooth function",
    "FUNCTION_FLOOR": "floor jumps: write the one value that it has",
    "FUNCTION_CEILING": "ceil jumps: write the one value that it has",
    "FUNCTION_REM": "rem jumps: write the piece that is needed",
    "FUNCTION_QUOTIENT": "quotient jumps: write the piece that is needed",
    "FUNCTION_FACTORIAL": "factorial is not elementary: write its value",
    "FUNCTION_RATE_OF": "rateOf is not read: write the rate itself",
}


class Mathematics:
    """Writes formulas onto a tape. `symbol` gives the step of an identifier, `time` that of time."""

    def __init__(self, libsbml: Any, model: Any, tape: Tape, symbol: Callable[[str], int], time: Callable[[], int]):
        self.tape, self._symbol, self._time = tape, symbol, time
        self._rationals: dict[int, Fraction | None] = {}
        self._calls: dict[tuple[str, tuple[int, ...]], int] = {}
        self._visits = self._depth = 0
        self._definitions = {one.getId(): one for one in map(model.getFunctionDefinition, _count(model))}
        kinds = {name: getattr(libsbml, f"AST_{name}", None) for name in (*REFUSALS, *NAMES)}
        self._kinds = {value: name for name, value in kinds.items() if value is not None}

    def step(self, root: Any, where: str, local: Mapping[str, int] | None = None) -> int:
        """The step of a formula; `where` names it in messages, `local` are names that mean something in it alone."""
        if root is None:
            raise SourceError(f"{where} has no formula")
        self._depth += 1
        if self._depth > NESTING:
            raise SourceError(f"{where}: definitions refer to each other more than {NESTING} deep, or in a circle")
        values: list[int] = []
        stack = [(root, False)]
        while stack:
            node, ready = stack.pop()
            count = node.getNumChildren()
            if not ready and count:
                self._visits += count
                if self._visits > VISITS:
                    raise SourceError(f"{where}: the formulas unfold into more than {VISITS:,} parts")
                self._check(node, where)
                stack.append((node, True))
                stack += [(node.getChild(n), False) for n in reversed(range(count))]
                continue
            args = values[len(values) - count :]
            del values[len(values) - count :]
            values.append(self._apply(node, args, where, local or {}))
        self._depth -= 1
        return values[0]

    def add(self, op: str, *args: int) -> int:
        """A step, with exponents that are rational numbers known as such."""
        known = [self._rationals.get(n) for n in args]
        text = ""
        try:
            if op == "power" and known[1] is not None:
                text = str(known[1])
                if abs(known[1]) > POWER:
                    raise SourceError(f"an exponent of {text} is too large: at most {POWER}")
            if op == "div" and known[1] == 0:
                raise ZeroDivisionError
            value = rational(op, text, known)
        except ZeroDivisionError:
            raise SourceError("a division by zero: a denominator of the model is 0") from None
        except NumberTooLarge:
            raise SourceError("a constant power that is too large: write it as a number") from None
        step = self.tape.add(op, *args, text=text)
        self._rationals[step] = value
        return step

    def number(self, text: str) -> int:
        """A number from its decimal text, or a fraction."""
        if "/" in text:
            step = exact_number(Fraction(text), self.tape)
            self._rationals[step] = Fraction(text)
            return step
        if text.startswith("-"):
            return self.add("neg", self.number(text[1:]))
        step = self.tape.add(NUMBER, text=text)
        self._rationals[step] = Fraction(text)
        return step

    def real(self, value: float, what: str) -> int:
        if not math.isfinite(value):
            raise SourceError(f"{what} is {value}: it needs a finite number")
        return self.number(repr(value))

    def _check(self, node: Any, where: str) -> None:
        name = self._kinds.get(node.getType(), "")
        if name in REFUSALS:
            raise SourceError(f"{where}: {REFUSALS[name]}")

    def _apply(self, node: Any, args: list[int], where: str, local: Mapping[str, int]) -> int:
        self._check(node, where)
        kind = self._kinds.get(node.getType(), "")
        if kind == "FUNCTION":
            return self._call(node, args, where)
        if kind in LEAVES:
            return LEAVES[kind](self, node, where)
        if kind == "NAME":
            name = node.getName()
            return local[name] if name in local else self._symbol(name)
        rule = RULES.get(kind)
        if rule is None:
            shown = node.getName() or node.getOperatorName() or "an operation"
            raise SourceError(f"{where}: {shown} is not read; formulas are made of arithmetic and elementary functions")
        step = rule(self, args)
        if step is None:
            raise SourceError(f"{where}: {node.getName() or kind.lower()} with {len(args)} arguments is not read")
        return step

    def _call(self, node: Any, args: list[int], where: str) -> int:
        definition = self._definitions.get(node.getName())
        if definition is None or definition.getNumArguments() != len(args):
            raise SourceError(f"{where}: there is no function {node.getName()} of {len(args)} arguments")
        key = node.getName(), tuple(args)
        if key not in self._calls:
            names = [definition.getArgument(n).getName() for n in range(len(args))]
            bound = dict(zip(names, args, strict=True))
            self._calls[key] = self.step(definition.getBody(), f"the function {node.getName()}", bound)
        return self._calls[key]

    def _fold(self, op: str, args: list[int], neutral: str) -> int:
        if not args:
            return self.number(neutral)
        total, *rest = args
        for arg in rest:
            total = self.add(op, total, arg)
        return total

    def _minus(self, args: list[int]) -> int | None:
        return self.add("neg", *args) if len(args) == 1 else self.add("sub", *args) if len(args) == 2 else None

    def _root(self, args: list[int]) -> int | None:
        degree = self._rationals.get(args[0]) if len(args) == 2 else Fraction(2) if len(args) == 1 else None
        if not degree:
            return None
        return self.add("power", args[-1], self.number(str(1 / degree)))

    def _log(self, args: list[int]) -> int | None:
        if len(args) == 1 or (len(args) == 2 and self._rationals.get(args[0]) == 10):
            return self.add("log10", args[-1])
        return self.add("div", self.add("ln", args[1]), self.add("ln", args[0])) if len(args) == 2 else None


def _count(model: Any) -> range:
    return range(model.getNumFunctionDefinitions())


def _two(op: str) -> Callable[[Mathematics, list[int]], int | None]:
    return lambda m, args: m.add(op, *args) if len(args) == 2 else None


def _one(op: str) -> Callable[[Mathematics, list[int]], int | None]:
    return lambda m, args: m.add(op, *args) if len(args) == 1 else None


def _reciprocal(op: str) -> Callable[[Mathematics, list[int]], int | None]:
    return lambda m, args: m.add("div", m.number("1"), m.add(op, *args)) if len(args) == 1 else None


RULES: dict[str, Callable[[Mathematics, list[int]], int | None]] = {
    "PLUS": lambda m, args: m._fold("add", args, "0"),
    "TIMES": lambda m, args: m._fold("mul", args, "1"),
    "MINUS": Mathematics._minus,
    "DIVIDE": _two("div"),
    "POWER": _two("power"),
    "FUNCTION_POWER": _two("power"),
    "FUNCTION_ROOT": Mathematics._root,
    "FUNCTION_LOG": Mathematics._log,
    **{f"FUNCTION_{name}": _one(op) for name, op in FUNCTIONS.items()},
    **{f"FUNCTION_{name}": _reciprocal(op) for name, op in RECIPROCALS.items()},
}
LEAVES: dict[str, Callable[[Mathematics, Any, str], int]] = {
    "INTEGER": lambda m, node, where: m.number(str(node.getInteger())),
    "REAL": lambda m, node, where: m.real(node.getReal(), where),
    "REAL_E": lambda m, node, where: m.real(node.getReal(), where),
    "RATIONAL": lambda m, node, where: m.number(f"{node.getNumerator()}/{node.getDenominator()}"),
    "CONSTANT_PI": lambda m, node, where: m.tape.add(NUMBER, text="pi"),
    "CONSTANT_E": lambda m, node, where: m.tape.add(NUMBER, text="e"),
    "NAME_AVOGADRO": lambda m, node, where: m.number(AVOGADRO),
    "NAME_TIME": lambda m, node, where: m._time(),
}
NAMES = (*RULES, *LEAVES, "NAME", "FUNCTION")
