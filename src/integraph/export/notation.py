"""How a language writes a sum of products: `2.5*x*y - z + 1.0`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from integraph.export.equations import Term


def decimal(value: float) -> str:
    """The shortest decimal that is read back as the same float64."""
    return repr(value)


@dataclass(frozen=True, slots=True)
class Notation:
    """Signs and numbers. A coefficient 1 is left out, a minus is written between terms, never after another sign."""

    number: Callable[[float], str] = decimal
    times: str = "*"
    plus: str = " + "
    minus: str = " - "
    negative: str = "-"  # before the first term
    square: str = ""  # `{0}^2`; else a register is multiplied by itself

    def sum(self, terms: Sequence[Term], names: Sequence[str]) -> str:
        """The sum of the terms; `names` are those of the registers as the language writes them."""
        text = ""
        for value, factors in terms:
            sign = (self.minus if value < 0 else self.plus) if text else (self.negative if value < 0 else "")
            text += sign + self.product(abs(value), factors, names)
        return text or self.number(0.0)

    def product(self, size: float, factors: tuple[int, ...], names: Sequence[str]) -> str:
        parts = [] if size == 1 and factors else [self.number(size)]
        if self.square and len(factors) == 2 and factors[0] == factors[1]:
            parts.append(self.square.format(names[factors[0]]))
        else:
            parts += [names[factor] for factor in factors]
        return self.times.join(parts)
