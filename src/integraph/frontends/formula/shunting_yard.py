"""From words to steps, by the shunting-yard algorithm: values and operators wait on two stacks, nothing recurses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from integraph.errors import SourceError
from integraph.frontends.formula.rationals import POWER, NumberTooLarge, rational
from integraph.frontends.formula.statements import ClosedText, Sentence
from integraph.frontends.formula.sums import Expansion
from integraph.frontends.formula.tokens import END, HELP, STRANGE, Token, strange
from integraph.frontends.formula.vocabulary import (
    ABSENT,
    ALIASES,
    ARGUMENTS,
    CALLED,
    LETTERS,
    NO_NUMBERS,
    SERIES,
    nearest,
    slip,
)
from integraph.targets.expression import CONDITION, NUMBER, VARIABLE, Tape
from integraph.text import FORMULA, counted, shortened

STEPS = 2_000  # of a formula
DEPTH = 200  # of parentheses

BINARY = {  # sign → operation, precedence
    "+": ("add", 1), "-": ("sub", 1), "*": ("mul", 2), "/": ("div", 2), "^": ("power", 4), "**": ("power", 4),
}  # fmt: skip
SIGN = 3  # the precedence of -x
COMPARISONS = {"<": (0, 0), ">": (1, 0), ">=": (0, 1), "<=": (1, 1)}  # l < r as it is; exchange l and r; the branches
USAGE = "write if(x < 0, u, v)"


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
    comparison: str = ""  # of a condition


class ShuntingYard:
    """Reads the sentences of a text onto one tape."""

    def __init__(self, variables: tuple[str, ...] | None, text: ClosedText, most: int = STEPS) -> None:
        self.variables = None if variables is None else dict.fromkeys(variables)
        self.most = most
        self.text = text
        self.tape = Tape(variables or ())
        self.constants: list[Fraction | None] = []  # the rational ones among the steps
        self.defined: dict[str, int] = {}  # name → step
        self.values: list[_Value] = []
        self.pending: list[_PendingOperator] = []
        self.depth = 0

    def read(self) -> list[int]:
        """The steps of the outputs."""
        outputs: list[int] = []
        definitions = {sentence.name for sentence in self.text.sentences if sentence.name}
        sums = Expansion(self._constant, self.text.mistake, self.variables or (), definitions)
        for sentence in self.text.sentences:
            steps = self._sentence(sums.words(sentence.words))
            if not sentence.name:
                outputs += steps
            elif len(steps) == 1:
                self.defined[sentence.name] = steps[0]
            else:
                raise self._several(sentence, len(steps))
        for step in self.tape.steps:
            if step.op == VARIABLE and step.text in sums.indices:
                reason = f"{step.text!r} is the index of a sum, and stands outside of it"
                raise self.text.mistake(*step.where, reason, "choose another letter for the index")
        return outputs

    def _sentence(self, words: list[Token]) -> list[int]:
        self.values, self.pending, self.depth = [], [], 0
        left: Token | None = None  # the last word of a value that stands to the left
        for token in words:
            if token.kind == STRANGE:
                raise self._wrong(token, *strange(token.text))
            left = self._operand(token) if left is None else self._operator(token, left)
        return [value.step for value in self.values]

    def _constant(self, words: list[Token]) -> Fraction | None:
        """The value of words without inputs, if it is rational."""
        steps = self._sentence(words)
        return self.constants[steps[0]] if len(steps) == 1 else None

    def _several(self, sentence: Sentence, count: int) -> SourceError:
        reason = f"{sentence.name} is defined as {count} formulas"
        return self.text.mistake(sentence.start, sentence.end, reason, "give every formula a name of its own")

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
            what = "the end" if token.kind == END else repr(token.text)
            raise self._wrong(token, f"a value is missing before {what}", HELP)
        return None

    def _operator(self, token: Token, left: Token) -> Token | None:
        """A word after a value."""
        if token.text in BINARY:
            op, precedence = BINARY[token.text]
            self._reduce(precedence + (op == "power"))  # equal ones are done first, but powers group from the right
            self.pending.append(_PendingOperator(token, op, precedence))
            return None
        if token.text in COMPARISONS:
            self._compare(token)
            return None
        if token.text not in (")", ",", ""):
            fix = f"for a product write {left.text}*{token.text}"
            raise self._wrong(token, f"an operator is missing before {token.text!r}", fix)
        self._reduce(1)
        group = self.pending[-1] if self.pending else None
        if token.text == ")":
            self._close(group, token)
            return token
        if group is not None and token.kind == END:
            raise self._wrong(group.token, "a parenthesis is not closed", "write ) after what it groups")
        if group is not None and not group.op:
            raise self._wrong(token, "a comma between parentheses", "they group one value; outputs go without them")
        if group is not None:
            if group.op == CONDITION and group.arguments == 1:
                self._condition(group, token)
            group.arguments += 1
        return None

    def _compare(self, token: Token) -> None:
        """A comparison, which stands in a condition only."""
        self._reduce(1)
        group = self.pending[-1] if self.pending else None
        if group is None or group.op != CONDITION or group.arguments > 1 or group.comparison:
            raise self._wrong(token, "a comparison is only the first argument of if", USAGE)
        group.comparison = token.text

    def _condition(self, group: _PendingOperator, token: Token) -> None:
        """Left and right of a comparison become their difference, which is < 0 where it holds, or where it does not."""
        if not group.comparison:
            raise self._wrong(token, "the condition of if has no <, <=, > or >=", USAGE)
        left, right = self.values[-2:]
        start, end = left.start, right.end
        if COMPARISONS[group.comparison][0]:
            left, right = right, left
        self.values[-2:] = left, right
        if self.constants[right.step] == 0:
            self.values[-2:] = [_Value(left.step, start, end)]
        elif self.constants[left.step] == 0:
            self.values[-2:] = [right]
            self._apply("neg", 1, start, end)
        else:
            self._apply("sub", 2, start, end)

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
                fix = USAGE if group.op == CONDITION else f"write {group.token.name}({', '.join('uv'[:expected])})"
                raise self.text.mistake(group.token.start, token.end, reason, fix)
            if group.comparison and COMPARISONS[group.comparison][1]:
                self.values[-2:] = self.values[:-3:-1]
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
                raise self.text.mistake(start, end, f"an exponent beyond {POWER} is too large", "use exp and ln")
            text = str(known[1])
        self._step(op, args, text, start, end)

    def _value(self, op: str, token: Token, text: str) -> None:
        self._step(op, [], text, token.start, token.end)

    def _step(self, op: str, args: list[int], text: str, start: int, end: int) -> None:
        try:
            known = rational(op, text, [self.constants[n] for n in args])
        except ZeroDivisionError:
            raise self.text.mistake(start, end, "a division by zero", "the formula must be finite") from None
        except NumberTooLarge:
            raise self.text.mistake(start, end, "a constant that is too large", "write it as a number") from None
        step = self.tape.add(op, *args, text=text, where=(start, end))
        if step == len(self.constants):
            self.constants.append(known)
        if step >= self.most:
            raise self.text.mistake(start, end, f"more than {self.most:,} steps", "give a Python function instead")
        self.values.append(_Value(step, start, end))

    def _name(self, token: Token) -> None:
        """A constant, a definition or an input."""
        name = token.text
        if name in self.defined:
            self.values.append(_Value(self.defined[name], token.start, token.end))
            return
        if name in LETTERS:
            return self._value(NUMBER, token, LETTERS[name])
        if name in CALLED:
            raise self._wrong(token, f"{name} is a function and needs parentheses", f"write {name}(x)")
        if self.variables is None:
            if name.lower() in NO_NUMBERS:
                raise self._wrong(token, f"{name} is not a number", "a formula is made of finite numbers")
            if slip(name):
                fix = f"did you mean {name.lower()}? If it is an input, name it in `variables`"
                raise self._wrong(token, f"unknown name {name!r}", fix)
        elif name not in self.variables:
            near = nearest(name, (*self.variables, *self.defined, *LETTERS))
            fix = f"did you mean {near}? " if near else ""
            raise self._wrong(
                token, f"unknown name {name!r}", f"{fix}The inputs are {shortened(', '.join(self.variables), FORMULA)}"
            )
        return self._value(VARIABLE, token, name)

    def _function(self, token: Token) -> str:
        """The operation of a call."""
        name = token.name
        op = ALIASES.get(name, name)
        if op not in ARGUMENTS:
            near = nearest(name, (*CALLED, *SERIES))
            at = token.start, token.start + len(name)
            if name.lower() in ABSENT:
                why, fix = ABSENT[name.lower()]
                raise self.text.mistake(*at, f"a formula has no {name}: {why}", fix)
            if near:
                fix = f"did you mean {near}?"
            elif name in (self.variables or ()) or name in LETTERS:
                fix = f"for a product write {name}*(…)"
            else:
                fix = f"functions are {', '.join((*ARGUMENTS, *SERIES))}; for a product write {name}*(…)"
            raise self.text.mistake(*at, f"unknown function {name!r}", fix)
        return op

    def _wrong(self, token: Token, reason: str, fix: str) -> SourceError:
        return self.text.mistake(token.start, token.end, reason, fix)
