"""Mathematics in a page, as MathML, which browsers draw by themselves.

`math` takes a formula as the terminal prints it, `u1' = −3·x·u1 + r/(1 − e^(−r))·w`, and sets it: indices below, powers
above, fractions with a bar, Greek letters for their names. `_{…}` and `^{…}` hold longer indices and exponents.
`prose` takes a text with formulas between dollars; `plain` is the same text without them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from integraph.report.markup import Html, escaped, tag

TOKEN = re.compile(
    r"(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵐᵏ]+)|(?P<lowered>[₀₁₂₃₄₅₆₇₈₉ₖⱼ]+)|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?|[½¼])"
    r"|(?P<name>[^\W\d_][\u0300-\u036f]+|[A-Za-z][A-Za-z0-9]*(?:_\d+)*|[^\W\d_])|(?P<space>\s+)|(?P<sign>.)",
    re.DOTALL,
)
NAME = re.compile(r"([A-Za-z]+?)(\d*)((?:_\d+)*)")
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "lam": "λ", "mu": "μ", "nu": "ν", "omega": "ω",
    "phi": "φ", "psi": "ψ", "rho": "ρ", "sigma": "σ", "theta": "θ",
}  # fmt: skip
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵐᵏ", "0123456789+−nmk")
LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₖⱼ", "0123456789kj")
CLOSING = {"(": ")", "[": "]", "{": "}"}
LARGE = {"Σ": "∑", "Π": "∏", "∑": "∑", "∏": "∏"}  # with a range below them
BARS = ("|", "‖")
ACCENTS = {"\u0307": "˙", "\u0303": "~", "\u0302": "^"}
SIGNS = {"-": "−", "*": "·", "'": "′"}


def math(text: str, block: bool = False) -> Html:
    """A formula in a line, or in a line of its own."""
    return _math([tag("mrow", *_Formula(text).row())], block)


def equations(texts: Iterable[str]) -> Html:
    """Equations below each other, their signs of equality too."""
    rows = []
    for text in texts:
        left, _, right = text.partition(" = ")
        cells = (tag("mtd", *_Formula(part).row()) for part in (left, "=", right))
        rows.append(tag("mtr", *cells))
    return _math([tag("mtable", *rows)], True)


def prose(text: str) -> Html:
    """A text with formulas between dollars."""
    return Html("".join(math(part) if n % 2 else escaped(part) for n, part in enumerate(text.split("$"))))


def plain(text: str) -> str:
    """The same without dollars, for a terminal."""
    return text.replace("$", "")


def _math(contents: Sequence[Html], block: bool) -> Html:
    return tag("math", *contents, display="block" if block else "inline")


@dataclass
class _Atom:
    """What an index, a power or a fraction applies to; `inner` is a bracket's contents, `index` that of a name."""

    html: Html
    inner: Html | None = None
    large: bool = False
    index: Html | None = None

    @property
    def bare(self) -> Html:
        return self.html if self.inner is None else self.inner


class _Formula:
    def __init__(self, text: str) -> None:
        self.tokens = [(match.lastgroup or "", match[0]) for match in TOKEN.finditer(text)]
        self.place = 0

    def row(self, end: str = "") -> list[Html]:
        """Everything up to a closing bracket or the end."""
        parts: list[_Atom] = []
        while self.place < len(self.tokens):
            kind, text = self.tokens[self.place]
            if text == end:
                break
            if text == "/" and parts:
                self.place += 1
                over, under = parts.pop(), self.atom()
                parts.append(_Atom(tag("mfrac", tag("mrow", over.bare), tag("mrow", under.bare))))
            elif kind == "space":
                self.place += 1
                if self._between_words(parts):
                    parts.append(_Atom(Html('<mspace width="0.25em"/>')))
            else:
                parts.append(self.atom())
        return [part.html for part in parts]

    def _between_words(self, parts: list[_Atom]) -> bool:
        """Whether a space separates two names: signs have space of their own."""
        after = self.tokens[self.place][0] if self.place < len(self.tokens) else ""
        return bool(parts) and after in ("name", "number") and not parts[-1].html.startswith("<mo")

    def atom(self) -> _Atom:
        """A name, a number, a bracket or a sign, with its index and its power."""
        while self.place < len(self.tokens) and self.tokens[self.place][0] == "space":
            self.place += 1
        base = self._base()
        below, above, marks = base.index, None, ""
        while self.place < len(self.tokens):
            kind, text = self.tokens[self.place]
            if text == "_" or kind == "lowered":
                self.place += 1
                below = self._script() if text == "_" else _number(text.translate(LOWERED))
            elif text == "^" or kind == "raised":
                self.place += 1
                above = self._exponent() if text == "^" else _number(text.translate(RAISED))
            elif text in ("'", "′", "!"):
                self.place += 1
                marks += SIGNS.get(text, text)
            else:
                break
        atom = self._applied(_scripted(base, below, above))
        mark = tag("mo", marks, lspace="0", rspace="0")  # a prime is raised already
        return _Atom(tag("mrow", atom.html, mark)) if marks else atom

    def _applied(self, atom: _Atom) -> _Atom:
        """With the bracket that follows a name at once: `ln(x)` is one thing."""
        named = atom.inner is None and re.match(r"<m(i|sub|sup|subsup|over)\b", atom.html)
        if named and self.place < len(self.tokens) and self.tokens[self.place][1] == "(":
            return _Atom(tag("mrow", atom.html, self.atom().html))
        return atom

    def _exponent(self) -> Html:
        """What stands after `^`, with an index if it has one: w₁ in ξ^w₁."""
        above = self._script()
        kind, text = self.tokens[self.place] if self.place < len(self.tokens) else ("", "")
        if text != "_" and kind != "lowered":
            return above
        self.place += 1
        return tag("msub", above, self._script() if text == "_" else _number(text.translate(LOWERED)))

    def _script(self) -> Html:
        """What stands after `_` or `^`: one thing, with a sign if it has one."""
        if self.place < len(self.tokens) and self.tokens[self.place][1] in "−-+":
            self.place += 1
            sign = tag("mo", SIGNS.get(self.tokens[self.place - 1][1], self.tokens[self.place - 1][1]))
            return tag("mrow", sign, self._script())
        kind, text = self.tokens[self.place] if self.place < len(self.tokens) else ("", "")
        if kind == "name" and text.isalpha() and text not in GREEK:  # i and j of a_ij
            self.place += 1
            return tag("mrow", *(_name(letter).html for letter in _letters(text)))
        return tag("mrow", _scripted(base := self._base(), base.index, None).bare)

    def _base(self) -> _Atom:
        if self.place >= len(self.tokens):
            return _Atom(Html())
        kind, text = self.tokens[self.place]
        self.place += 1
        if kind == "number":
            return _Atom(_number(text))
        if kind == "name" and text not in LARGE:
            return _name(text)
        if text == "√":
            return _Atom(tag("msqrt", self.atom().bare))
        if text in CLOSING:
            inner = tag("mrow", *self.row(CLOSING[text]))
            self.place += 1
            if text == "{":
                return _Atom(inner)
            tall = "true" if "<mfrac>" in inner or "<munder" in inner else "false"
            fences = (tag("mo", text, stretchy=tall), inner, tag("mo", CLOSING[text], stretchy=tall))
            return _Atom(tag("mrow", *fences), inner if text == "(" else None)
        if text in BARS:
            return _Atom(tag("mo", text, stretchy="false", lspace="0.1em", rspace="0.1em"))
        return _Atom(tag("mo", LARGE.get(text, SIGNS.get(text, text))), large=text in LARGE)


def _scripted(base: _Atom, below: Html | None, above: Html | None) -> _Atom:
    names = ("munder", "mover", "munderover") if base.large else ("msub", "msup", "msubsup")
    if below is not None and above is not None:
        return _Atom(tag(names[2], base.html, below, above))
    if below is not None:
        return _Atom(tag(names[0], base.html, below))
    return base if above is None else _Atom(tag(names[1], base.html, above))


def _number(text: str) -> Html:
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return tag("mn", mantissa)
    power = tag("msup", tag("mn", "10"), tag("mn", str(int(exponent)).replace("-", "−")))
    return tag("mrow", tag("mn", mantissa), tag("mo", "·"), power)


def _letters(text: str) -> list[str]:
    """Letters with their accents."""
    return [unicodedata.normalize("NFC", part) for part in re.findall(r"[^\W\d_][\u0300-\u036f]*", text)]


def _name(text: str) -> _Atom:
    """`z3_17` as z with the index 3,17, `ẏ` as y with a dot."""
    parts = unicodedata.normalize("NFD", text)
    if len(parts) == 2 and parts[1] in ACCENTS:
        return _Atom(tag("mover", tag("mi", parts[0]), tag("mo", ACCENTS[parts[1]]), accent="true"))
    match = NAME.fullmatch(text)
    letters, number, more = match.groups() if match else (text, "", "")
    indices = ",".join(filter(None, [number, *more.split("_")]))
    return _Atom(tag("mi", GREEK.get(letters, letters)), index=tag("mn", indices) if indices else None)
