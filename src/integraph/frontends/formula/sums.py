"""Sums and products over an index, written out word by word: sum(k, 1, 3, x^k/k) is ((x^1/1)+(x^2/2)+(x^3/3)).

Every word keeps its place in the text, so that mistakes are shown where they were written. How many words there are is
limited while they are written, however sums are nested.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction

from integraph.errors import SourceError
from integraph.frontends.formula.tokens import END, STRANGE, Token, strange
from integraph.frontends.formula.vocabulary import SERIES, taken
from integraph.text import shortened

WORDS = 20_000  # of a formula whose sums are written out
ARGUMENTS = 4  # index, bounds, term
SHOWN = 40  # characters of a number in a message
EMPTY = {"sum": "0", "prod": "1"}

Wrong = Callable[[int, int, str, str], SourceError]


class Expansion:
    """Writes out the sums of one text. `constant` is the value of words without inputs, None where it is not rational;
    `wrong` makes an error of a place, a reason and a fix."""

    def __init__(
        self,
        constant: Callable[[list[Token]], Fraction | None],
        wrong: Wrong,
        inputs: Collection[str],
        definitions: Collection[str],
    ) -> None:
        self.constant, self.wrong = constant, wrong
        self.inputs, self.definitions = inputs, definitions
        self.indices: set[str] = set()  # all that there were
        self.count = 0

    def words(self, words: Sequence[Token]) -> list[Token]:
        """The words without sums."""
        plain = not any(token.kind == "call" and token.name in SERIES for token in words)
        return list(words) if plain else self._written(words, {})

    def _written(self, words: Sequence[Token], values: Mapping[str, int]) -> list[Token]:
        written: list[Token] = []
        place = 0
        while place < len(words):
            token = words[place]
            if token.kind == "call" and token.name in SERIES:
                arguments, close = self._arguments(words, place)
                self._count(token, close - place)
                written += self._terms(token, arguments, words[close], values)
                place = close
            elif token.kind == "name" and token.text in values:
                written += _number(values[token.text], token.start, token.end)
            else:
                written.append(token)
            place += 1
        self._count(words[0] if words else None, len(words))
        return written

    def _count(self, token: Token | None, more: int) -> None:
        self.count += more
        if self.count > WORDS and token is not None:
            reason = f"a formula of more than {WORDS:,} words once its sums are written out"
            raise self.wrong(token.start, token.end, reason, "sum over fewer terms, or give a Python function instead")

    def _arguments(self, words: Sequence[Token], place: int) -> tuple[list[list[Token]], int]:
        """What stands between the commas of a call, and the place of its last parenthesis."""
        call, depth = words[place], 1
        parts: list[list[Token]] = [[]]
        for n in range(place + 1, len(words)):
            token = words[n]
            if token.kind == STRANGE:
                raise self.wrong(token.start, token.end, *strange(token.text))
            if token.kind == END:
                break
            depth += (token.kind == "call" or token.text == "(") - (token.text == ")")
            ends = depth == 0 or (depth == 1 and token.text == ",")
            if ends and not parts[-1]:
                raise self.wrong(token.start, token.end, f"an argument of {call.name} is missing", _usage(call))
            if depth == 0:
                if len(parts) != ARGUMENTS:
                    reason = f"{call.name} takes {ARGUMENTS} arguments, not {len(parts)}"
                    raise self.wrong(call.start, token.end, reason, _usage(call))
                return parts, n
            if ends:
                parts.append([])
            else:
                parts[-1].append(token)
        raise self.wrong(call.start, call.end, "a parenthesis is not closed", "write ) after what it groups")

    def _terms(self, call: Token, arguments: list[list[Token]], close: Token, values: Mapping[str, int]) -> list[Token]:
        index, low, high, body = arguments
        name = self._index(call, index, values)
        first, last = self._bound(call, low, values), self._bound(call, high, values)
        if last < first - 1:
            reason = f"the {call.name} goes from {first} to {last}, which is backwards"
            raise self.wrong(low[0].start, high[-1].end, reason, "write the smaller bound first")
        start, end = body[0].start, body[-1].end
        terms = [Token("sign", "(", call.start, call.end)]
        for k in range(first, last + 1):
            inside = self._written(body, {**values, name: k})
            between = [Token("sign", SERIES[call.name], start, start)] if k > first else []
            terms += [*between, Token("sign", "(", start, start), *inside, Token("sign", ")", end, end)]
        if last < first:
            terms.append(Token("number", EMPTY[call.name], call.start, close.end))
        return [*terms, Token("sign", ")", close.start, close.end)]

    def _index(self, call: Token, index: list[Token], values: Mapping[str, int]) -> str:
        name, at = index[0].text, (index[0].start, index[-1].end)
        if len(index) > 1 or index[0].kind != "name":
            raise self.wrong(*at, f"the index of a {call.name} is a name", _usage(call))
        if what := taken(name):
            raise self.wrong(*at, f"{name!r} is the {what}, and no index", "choose another letter, as k")
        around = "the index of a sum around this one"
        for known, what in ((values, around), (self.inputs, "an input"), (self.definitions, "defined")):
            if name in known:
                raise self.wrong(*at, f"{name!r} is {what}", "choose another letter for the index")
        self.indices.add(name)
        return name

    def _bound(self, call: Token, words: list[Token], values: Mapping[str, int]) -> int:
        at = words[0].start, words[-1].end
        written = self._written(words, values)
        for token in written:
            if token.kind == "name" and not taken(token.text) and token.text not in self.definitions:
                fix = f"give {token.text} a value as a parameter, or write a number"
                raise self.wrong(*at, f"a bound of a {call.name} must be known, and {token.text!r} is an input", fix)
        value = self.constant([*written, Token(END, "", at[1], at[1])])
        if value is None or value.denominator != 1:
            shown = "something else" if value is None else shortened(str(value), SHOWN)
            reason = f"a bound of a {call.name} must be an integer, and this is {shown}"
            raise self.wrong(*at, reason, "write an integer")
        return value.numerator


def _usage(call: Token) -> str:
    return f"write {call.name}(k, 1, 5, x^k)"


def _number(value: int, start: int, end: int) -> list[Token]:
    number = Token("number", str(abs(value)), start, end)
    if value >= 0:
        return [number]
    return [Token("sign", "(", start, start), Token("sign", "-", start, start), number, Token("sign", ")", end, end)]
