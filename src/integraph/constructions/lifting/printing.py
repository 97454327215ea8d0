"""A quadratic system as people read it: text, LaTeX, and a table for notebooks."""

from __future__ import annotations

import html as escape
import re
from typing import TYPE_CHECKING

from integraph.constructions.lifting.formulas import sum_text
from integraph.text import counted, shortened

if TYPE_CHECKING:
    from integraph.constructions.lifting.quadratic_system import QuadraticSystem

SHOWN = 60  # equations
WIDE = 160  # characters of one
GREEK = re.compile(
    "alpha|beta|[gG]amma|[dD]elta|epsilon|zeta|eta|[tT]heta|iota|kappa|[lL]ambda|mu|nu|[xX]i|[pP]i|rho|[sS]igma|tau|"
    "[uU]psilon|[pP]hi|chi|[pP]si|[oO]mega"
)


def title(system: QuadraticSystem) -> str:
    states, new = counted(len(system.source.states), "state"), counted(len(system.new), "new variable")
    proof = f"the fewest among {system.among}" if system.minimal else "perhaps not the fewest"
    return f"{system.source.name}: {states}, {new} ({proof})"


def sides(system: QuadraticSystem) -> list[tuple[str, str]]:
    """Name and right-hand side of every variable that changes."""
    parts: dict[int, list[tuple[object, str]]] = {i: [] for i in range(system.width)}
    for term in system.terms:
        factors = [system.names[n] for n in (term.j, term.k) if n >= 0]
        joined = f"{factors[0]}^2" if len(factors) == 2 and factors[0] == factors[1] else "*".join(factors)
        parts[term.i].append((term.value, joined))
    held = range(len(system.source.states), len(system.source.variables))
    return [(system.names[i], sum_text(some)) for i, some in parts.items() if i not in held]  # type: ignore[arg-type]


def text(system: QuadraticSystem) -> str:
    lines = [title(system)]
    for rows, sign in ((list(zip(system.new, system.formulas, strict=True)), ""), (sides(system), "'")):
        lines += [f"  {name}{sign} = {shortened(side, WIDE)}" for name, side in rows[:SHOWN]]
        if len(rows) > SHOWN:
            lines.append(f"  … {len(rows) - SHOWN} more")
    return "\n".join(lines)


def latex(system: QuadraticSystem) -> str:
    rows = [rf"{_symbol(name)} &= {_formula(f)}" for name, f in zip(system.new, system.formulas, strict=True)]
    rows += [rf"\dot{{{_symbol(name)}}} &= {_formula(side)}" for name, side in sides(system)]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def html(system: QuadraticSystem) -> str:
    rows = list(zip(system.new, system.formulas, strict=True))[:SHOWN]
    rows += [(f"{name}′", side) for name, side in sides(system)[:SHOWN]]
    cells = "".join(
        f"<tr><th scope='row' style='text-align:left'>{escape.escape(name)}</th>"
        f"<td style='text-align:left'>{escape.escape(shortened(side, WIDE))}</td></tr>"
        for name, side in rows
    )
    head = f"<caption style='text-align:left'>{escape.escape(title(system))}</caption>"
    return f"<div><table>{head}<tbody>{cells}</tbody></table></div>"


def _symbol(name: str) -> str:
    match = re.fullmatch(r"([^\W\d_]+)_?(\w*)", name)
    letters, rest = (match[1], match[2]) if match else (name, "")
    base = letters if len(letters) == 1 else rf"\{letters}" if GREEK.fullmatch(letters) else rf"\mathit{{{letters}}}"
    rest = rest.replace("_", r"\_")
    return f"{base}_{{{rest}}}" if rest else base


def _formula(text_: str) -> str:
    """Names as symbols, powers in braces, products as thin spaces, fractions and powers of ten as such."""
    functions = {"sin", "cos", "tan", "exp", "ln", "tanh"}
    upright = {"atan": "arctan", "asin": "arcsin", "acos": "arccos"}

    def word(match: re.Match[str]) -> str:
        name = match[0]
        if name in functions:
            return rf"\{name}"
        if name in upright:
            return rf"\{upright[name]}"
        return rf"\operatorname{{{name}}}" if text_[match.end() : match.end() + 1] == "(" else _symbol(name)

    named = re.sub(r"[^\W\d]\w*(?![\w.])(?<![\d.]e)", word, text_)
    powers = re.sub(r"\^\(([^()]*)\)|\^(\d+)", lambda m: f"^{{{m[1] or m[2]}}}", named)
    fractions = re.sub(r"\((\d+)/(\d+)\)", r"\\tfrac{\1}{\2}", powers)
    decimal = re.sub(r"(?<![\w{])([\d.]+)e([+-]?)0*(\d+)", _decimal, fractions)
    return decimal.replace("*", r"\,")


def _decimal(match: re.Match[str]) -> str:
    power = f"10^{{{match[2].strip('+')}{match[3]}}}"
    return power if match[1] == "1" else rf"{match[1]}\cdot {power}"
