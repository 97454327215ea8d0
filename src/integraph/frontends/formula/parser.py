"""Formulas as text → functions. Nothing is ever executed: words go over two stacks onto a tape.

    formula = value {operator value}       + and - bind less than * and /, these less than ^ or **, which groups from
    value   = number | pi | e | name       the right; a sign binds between: -x^2 is -(x^2), 2^-1 is 1/2
            | -value | (formula) | function(formula) | min(formula, formula) | max(formula, formula)

Several formulas, in a list or with commas between them, are several outputs. Numbers keep their decimal text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from integraph.errors import SourceError, UsageError
from integraph.frontends.formula.rationals import POWER, NumberTooLarge, rational
from integraph.frontends.formula.tokens import HELP, LENGTH, TOKEN, Token, mistake, tokens
from integraph.frontends.input_names import names, natural
from integraph.targets.expression import CHOICES, CONSTANTS, FUNCTIONS, NUMBER, VARIABLE, Tape
from integraph.targets.function import Function, from_expression
from integraph.text import FORMULA, counted, shortened

NO_NUMBERS = ("nan", "inf", "infinity")  # names that nobody means as an input
STEPS = 2_000  # of a formula
DEPTH = 200  # of parentheses
SEPARATOR = ", "  # of outputs

BINARY = {  # sign → operation, precedence
    "+": ("add", 1), "-": ("sub", 1), "*": ("mul", 2), "/": ("div", 2), "^": ("power", 4), "**": ("power", 4),
}  # fmt: skip
SIGN = 3  # the precedence of -x
ALIASES = {"log": "ln", "logistic": "sigmoid"} | {
    f"{arc}{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh") for arc in ("arc", "ar")
}
ARGUMENTS = dict.fromkeys(FUNCTIONS, 1) | dict.fromkeys(CHOICES, 2)
CALLED = (*ARGUMENTS, *ALIASES)
LETTERS = {"π": "pi"} | {name: name for name in CONSTANTS}


def parse(text: str | Sequence[str], variables: str | Sequence[object] | None = None) -> Function:
    """The function of a formula. Without `variables` its inputs are the names in it, x2 before x10; its name says which
    they are where they are others."""
    texts = [text] if isinstance(text, str) else list(text)
    if not texts or not all(isinstance(t, str) for t in texts):
        raise UsageError(f"a function needs one or more formulas as text, got {text!r:.80}")
    size = sum(map(len, texts))
    if size > LENGTH:
        raise SourceError(f"a formula of {size:,} characters: at most {LENGTH:,}; give a Python function instead")
    given = None if variables is None else _inputs(variables)
    reader = _Parser(given)
    outputs: list[int] = []
    for one in texts:
        outputs += reader.read(one)
    tape = reader.tape
    used = {step.text for step in tape.steps if step.op == VARIABLE}
    usual = tuple(sorted(used, key=natural)) or ("x",)
    tape.variables = given or usual
    text = SEPARATOR.join(texts)
    read_again = tape.variables == usual and not any(map(_slip, usual))  # from the text alone
    inputs = "" if read_again else f" in ({shortened(', '.join(tape.variables), FORMULA)})"
    expression = replace(tape.expression(outputs, text), formula=True)
    return from_expression(expression, shortened(" ".join(text.split()), FORMULA) + inputs)


def _inputs(variables: str | Sequence[object]) -> tuple[str, ...]:
    """Names that a formula can use."""
    input_names = names(variables)
    for name in input_names:
        match = TOKEN.fullmatch(name)
        if match is None or match.lastgroup != "name":
            raise UsageError(
                f"{name!r} cannot name an input of a formula: use letters, digits and _, as in x1", argument="variables"
            )
        if name in LETTERS or name in CALLED:
            what = "constant" if name in LETTERS else "function"
            raise UsageError(
                f"{name!r} cannot name an input: in a formula it is the {what}; choose another name",
                argument="variables",
            )
    return input_names


@dataclass(frozen=True, slots=True)
class _Value:
    """A step, and the stretch of the text that it came from."""

    step: int
    start: int
    end: int


@dataclass(slots=True)
class _PendingOperator:
    """An operator or a parenthesis that waits for what is right of it."""

    token: Token
    op: str  # empty for parentheses that only group
    precedence: int = 0  # of an operator
    arguments: int = 1  # of a call, as far as they were read


class _Parser:
    """Reads one text after another onto one tape."""

    def __init__(self, variables: tuple[str, ...] | None) -> None:
        self.variables = variables
        self.tape = Tape(variables or ())
        self.constants: list[Fraction | None] = []  # the rational ones among the steps
        self.before = 0  # characters of the texts that came before
        self.text = ""
        self.values: list[_Value] = []
        self.pending: list[_PendingOperator] = []
        self.depth = 0

    def read(self, text: str) -> list[int]:
        """The steps of the outputs in a text."""
        self.text, self.values, self.pending, self.depth = text.rstrip(), [], [], 0
        left: Token | None = None  # the last word of a value that stands to the left
        for token in tokens(self.text):
            left = self._operand(token) if left is None else self._operator(token, left)
        self.before += len(text) + len(SEPARATOR)
        return [value.step for value in self.values]

    def _operand(self, token: Token) -> Token | None:
        """A word where a value begins."""
        if token.kind == "number":
            self._value(NUMBER, token, token.text)
            return token
        if token.kind == "name":
            self._name(token)
            return token
        if token.kind == "call" or token.text == "(":
            self.depth += 1
            if self.depth > DEPTH:
                raise self._wrong(token, f"parentheses more than {DEPTH} deep", "give a Python function instead")
            self.pending.append(_PendingOperator(token, self._function(token) if token.kind == "call" else ""))
        elif token.text in ("-", "+"):
            self.pending.append(_PendingOperator(token, "neg" if token.text == "-" else "", SIGN))
        else:
            what = "the end" if token.kind == "end" else repr(token.text)
            raise self._wrong(token, f"a value is missing before {what}", HELP)
        return None

    def _operator(self, token: Token, left: Token) -> Token | None:
        """A word after a value."""
        if token.text in BINARY:
            op, precedence = BINARY[token.text]
            self._reduce(precedence + (op == "power"))  # equal ones are done first, but powers group from the right
            self.pending.append(_PendingOperator(token, op, precedence))
            return None
        if token.text not in (")", ",", ""):
            fix = f"for a product write {left.text}*{token.text}"
            raise self._wrong(token, f"an operator is missing before {token.text!r}", fix)
        self._reduce(1)
        group = self.pending[-1] if self.pending else None
        if token.text == ")":
            self._close(group, token)
            return token
        if group is not None and token.kind == "end":
            raise self._wrong(group.token, "a parenthesis is not closed", "write ) after what it groups")
        if group is not None and not group.op:
            raise self._wrong(token, "a comma between parentheses", "they group one value; outputs go without them")
        if group is not None:
            group.arguments += 1
        return None

    def _close(self, group: _PendingOperator | None, token: Token) -> None:
        """A group or a call is complete."""
        if group is None:
            raise self._wrong(token, "a parenthesis is closed that was not opened", "take it away, or write ( before")
        self.pending.pop()
        self.depth -= 1
        if group.op:
            expected = ARGUMENTS[group.op]
            if group.arguments != expected:
                reason = f"{group.token.name} takes {counted(expected, 'argument')}, not {group.arguments}"
                fix = f"write {group.token.name}({', '.join('uv'[:expected])})"
                raise mistake(self.text, group.token.start, token.end, reason, fix)
            self._apply(group.op, expected, group.token.start, token.end)
        else:
            self.values.append(_Value(self.values.pop().step, group.token.start, token.end))

    def _reduce(self, precedence: int) -> None:
        """Does the operators on the stack that bind at least so much."""
        while self.pending and self.pending[-1].precedence >= precedence:
            operator = self.pending.pop()
            if operator.precedence == SIGN:
                last = self.values[-1]
                if operator.op:
                    self._apply("neg", 1, operator.token.start, last.end)
                else:
                    self.values[-1] = _Value(last.step, operator.token.start, last.end)
            else:
                self._apply(operator.op, 2, self.values[-2].start, self.values[-1].end, operator.token)

    def _apply(self, op: str, count: int, start: int, end: int, operator: Token | None = None) -> None:
        """Takes the last values and puts op(values) in their place."""
        args = [value.step for value in self.values[-count:]]
        del self.values[-count:]
        known = [self.constants[n] for n in args]
        text = ""
        if op == "power" and known[1] is not None:
            if abs(known[1]) > POWER:
                raise mistake(self.text, start, end, f"an exponent beyond {POWER} is too large", "use exp and ln")
            text = str(known[1])
        self._step(op, args, text, start, end)

    def _value(self, op: str, token: Token, text: str) -> None:
        self._step(op, [], text, token.start, token.end)

    def _step(self, op: str, args: list[int], text: str, start: int, end: int) -> None:
        try:
            known = rational(op, text, [self.constants[n] for n in args])
        except ZeroDivisionError:
            raise mistake(self.text, start, end, "a division by zero", "the formula must be finite") from None
        except NumberTooLarge:
            raise mistake(self.text, start, end, "a constant that is too large", "write it as a number") from None
        step = self.tape.add(op, *args, text=text, where=(self.before + start, self.before + end))
        if step == len(self.constants):
            self.constants.append(known)
        if step >= STEPS:
            raise mistake(self.text, start, end, f"more than {STEPS:,} steps", "give a Python function instead")
        self.values.append(_Value(step, start, end))

    def _name(self, token: Token) -> None:
        """A constant or an input."""
        name = token.text
        if name in LETTERS:
            return self._value(NUMBER, token, LETTERS[name])
        if name in CALLED:
            raise self._wrong(token, f"{name} is a function and needs parentheses", f"write {name}(x)")
        if self.variables is None:
            if name.lower() in NO_NUMBERS:
                raise self._wrong(token, f"{name} is not a number", "a formula is made of finite numbers")
            if _slip(name):
                fix = f"did you mean {name.lower()}? If it is an input, name it in `variables`"
                raise self._wrong(token, f"unknown name {name!r}", fix)
        elif name not in self.variables:
            near = _nearest(name, (*self.variables, *LETTERS))
            fix = f"did you mean {near}? " if near else ""
            raise self._wrong(token, f"unknown name {name!r}", f"{fix}The inputs are {', '.join(self.variables)}")
        return self._value(VARIABLE, token, name)

    def _function(self, token: Token) -> str:
        """The operation of a call."""
        name = token.name
        op = ALIASES.get(name, name)
        if op not in ARGUMENTS:
            near = _nearest(name, CALLED)
            if near:
                fix = f"did you mean {near}?"
            elif name in (self.variables or ()) or name in LETTERS:
                fix = f"for a product write {name}*(…)"
            else:
                fix = f"functions are {', '.join(ARGUMENTS)}; for a product write {name}*(…)"
            raise mistake(self.text, token.start, token.start + len(name), f"unknown function {name!r}", fix)
        return op

    def _wrong(self, token: Token, reason: str, fix: str) -> SourceError:
        return mistake(self.text, token.start, token.end, reason, fix)


def _slip(name: str) -> bool:
    """Whether it is rather a slip than an input, unless it was said that it is one: Pi, E or Sin."""
    return name.lower() in (*LETTERS, *CALLED)


def _nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was perhaps meant, or nothing."""
    plain = {word.lower(): word for word in known}
    return next((plain[word] for word in difflib.get_close_matches(name.lower(), plain, 1)), "")
