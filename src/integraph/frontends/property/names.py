"""What the outputs and the inputs of a source are called in a property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from integraph.frontends.formula.tokens import TOKEN
from integraph.frontends.formula.vocabulary import taken

MANY = 6  # names in a message
WORDS = ("and", "or", "not", "implies", "in")


@dataclass(frozen=True, slots=True)
class Names:
    """Outputs are y0, y1, …, a single one also y; inputs have the names of the source, or are x0, x1, …, a single one
    also x."""

    inputs: int
    outputs: int
    own: tuple[str, ...] = ()

    def table(self) -> dict[str, str]:
        """Name → y0, y1, … or x0, x1, …; nothing for a name that has two meanings."""
        table = {name: f"x{n}" for n, name in enumerate(self.own)}
        if not table:
            table = {f"x{n}": f"x{n}" for n in range(self.inputs)} | ({"x": "x0"} if self.inputs == 1 else {})
        results = {f"y{n}": f"y{n}" for n in range(self.outputs)} | ({"y": "y0"} if self.outputs == 1 else {})
        return table | {name: meaning if name not in table else "" for name, meaning in results.items()}

    @property
    def called(self) -> tuple[str, ...]:
        """The names of the inputs, in order."""
        return self.own or (("x",) if self.inputs == 1 else tuple(f"x{n}" for n in range(self.inputs)))

    def __str__(self) -> str:
        """What there is to write, for messages."""
        results = tuple(f"y{n}" for n in range(self.outputs))
        if not results:
            return f"there are {_listed(self.called)}"
        first = "" if self.own or self.inputs == 1 else "; the first input is x0"
        return f"outputs are {_listed(results)}, inputs {_listed(self.called)}{first}"


def names_of(inputs: int, outputs: int, variables: Sequence[str]) -> Names:
    """The names of a source; its own ones for inputs, if a formula could use all of them."""
    usable = len(variables) == inputs and all(map(_usable, variables))
    return Names(inputs, outputs, tuple(variables) if usable else ())


def _usable(name: str) -> bool:
    match = TOKEN.fullmatch(name)
    return match is not None and match.lastgroup == "name" and name not in WORDS and not taken(name)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= MANY else f"{', '.join(names[: MANY - 2])} … {names[-1]}"
