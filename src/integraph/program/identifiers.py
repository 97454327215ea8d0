"""Names that every language takes: an ASCII letter, then letters, digits and underscores; no keyword of any of them.

Names are compared without regard to case, as Modelica tools and SPICE do. The registers of an array `mu` are called
`mu1, mu2, …`, those of an array `z3` of two axes `z3_1_1, z3_1_2, …`, so an array takes all names of that kind.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from string import ascii_lowercase

LONGEST = 16  # characters of a name; a longer one becomes a label
IDENTIFIER = re.compile(r"[A-Za-z](?:_?[A-Za-z0-9])*")
ELEMENT = re.compile(r"(_\d+|(?<=[a-z])\d+)$")
RESERVED = frozenset(
    # C, Python, Modelica, SBML, SPICE, Verilog, MATLAB: keywords, constants, functions, and the time
    """
    abs acos acosh algorithm alias always and annotation arccos arcsin arctan args as asin asinh assert assign async
    atan atan2 atanh auto avogadro await begin block bool boolean break case catch ceil char class close compartment
    complex connect connector const constant constrainedby continue cos cosh current def default defparam del delay
    delete der discrete do done double e each edge elif else elseif elsewhen encapsulated end endcase endfunction
    endif endmodule enum enumeration equation erf except exec exp expandable expm1 extends extern external factorial
    false final finally float floor flow for forever from function generate genvar global gnd goto hertz if import
    impure in inf infinity initial inline inner inout input int integer is lambda list ln localparam log log10 log1p
    log2 long loop main max min mod model module nan negedge none nonlocal not null number object operator or outer
    output package parameter partial pass pi piecewise posedge pow power print private protected public pure
    quotient raise rate rateof real record redeclare reg register rem replaceable restrict return root self short
    sign signed sin sinh sizeof species sqrt static stream struct switch t table tan tanh temp temper temperature
    then time tran true try type typedef union unsigned var vector void volatile wait when while wire with within
    write xor yield
    """.split()  # noqa: SIM905  (a list of one word a line is no page to read)
)


def is_identifier(name: str) -> bool:
    """Whether a register may have this name."""
    return is_stem(name) and name.lower() not in RESERVED


def is_stem(name: str) -> bool:
    """Whether an array may have this name: its registers add their indices."""
    return len(name) <= LONGEST and IDENTIFIER.fullmatch(name) is not None


class Identifiers:
    """Names, each given once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._arrays: set[str] = set()
        self._parents: set[str] = set()  # arrays that would have one of the names
        self._counts: dict[str, int] = {}
        self._letters: dict[str, int] = {}

    def name(self, wish: str, array: bool, letters: str = "z") -> str:
        """The requested name if it is free, else one like it: `x1` or, for an array, `xb`. What is not an identifier
        gets the letters and a number instead."""
        if not is_stem(wish):
            return self.numbered(letters, array)
        plain = [wish] if array or is_identifier(wish) else []
        return self._take(itertools.chain(plain, [] if array else self._numbered(wish), self._lettered(wish)), array)

    def numbered(self, letters: str, array: bool) -> str:
        """`u1`, `u2`, …: the next that is free; `u1` itself if it is requested and free."""
        if letters[-1].isdigit():
            return self.name(letters, array)
        stems = (letters + "z" * count for count in itertools.count())
        return self._take(itertools.chain.from_iterable(map(self._numbered, stems)), array)

    def copy(self) -> Identifiers:
        other = Identifiers()
        other._taken, other._arrays, other._parents = set(self._taken), set(self._arrays), set(self._parents)
        other._counts, other._letters = dict(self._counts), dict(self._letters)
        return other

    def _numbered(self, stem: str) -> Iterator[str]:
        if not stem[-1].isdigit() and stem.lower() not in self._arrays:
            for count in itertools.count(self._counts.get(stem, 0) + 1):
                self._counts[stem] = count
                yield f"{stem}{count}"

    def _lettered(self, stem: str) -> Iterator[str]:
        """`xb`, `xc`, …, `xz`, `xaa`, …"""
        for count in itertools.count(self._letters.get(stem, 1) + 1):
            self._letters[stem] = count
            suffix = _letters(count)
            yield stem[: LONGEST - len(suffix)] + suffix

    def _take(self, names: Iterator[str], array: bool) -> str:
        name = next(name for name in names if self._free(name.lower(), array))
        key = name.lower()
        self._taken.add(key)
        self._parents.update(_parents(key))
        if array:
            self._arrays.add(key)
        return name

    def _free(self, key: str, array: bool) -> bool:
        if key in self._taken or not self._arrays.isdisjoint(_parents(key)):
            return False
        return not (array and key in self._parents)


def _letters(count: int) -> str:
    """1 is a, 26 is z, 27 is aa."""
    text = ""
    while count:
        count, letter = divmod(count - 1, len(ascii_lowercase))
        text = ascii_lowercase[letter] + text
    return text


def role(name: str) -> str:
    """The letters by which to call what has a long name: `p` of `p(1+x*y)`; else `z`."""
    match = re.match(r"([A-Za-z]{1,5})(?=\()", name)
    return match[1] if match else "z"


def _parents(key: str) -> Iterator[str]:
    """The arrays that could have a register of this name: `z3_1` and `z3` and `z` of `z3_1_2`."""
    while (shorter := ELEMENT.sub("", key)) != key:
        yield (key := shorter)
