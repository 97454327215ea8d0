"""Antimony, the language of Tellurium: the reaction network of `crn`, reaction by reaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from integraph.export.amplitude import centre
from integraph.export.biology.annihilation import annihilation_rate
from integraph.export.biology.reactions import NETWORK, SIGNS, Reaction, rail, reactions
from integraph.export.biology.sbml_document import TIMING, Constants
from integraph.export.equations import Equations, equations
from integraph.export.header import commented, header

if TYPE_CHECKING:
    from integraph.program import Program

PRECISION = "The decimals below are those of the program, but Antimony keeps 15 digits of them."


def write(program: Program, name: str, *, annihilation: float | None = None) -> str:
    rate, why = annihilation_rate(program, annihilation)
    eq, constants = equations(program, avoid=(name,)), Constants()
    network = "".join(_reaction(constants, *row) for row in enumerate(reactions(eq, rate), 1))
    outputs = "".join(
        f"  {output} := {_difference(eq, constants, terms)};\n"
        for output, (_, terms) in zip(eq.output_names, eq.outputs, strict=True)
    )
    inputs = "".join(
        f"  {own} = {value!r};\n" for own, value in zip(eq.input_names, centre(program).tolist(), strict=True)
    )
    numbers = "".join(f"  {own} = {value!r};\n" for own, value in constants)
    about = [*header(program, name, exact=False), PRECISION, *NETWORK, why, TIMING.format(len(eq.durations))]
    return (
        commented(about, "//")
        + f"model {name}()\n"
        + f"  species {', '.join(rail(eq, n, sign) for n in range(len(eq.names)) for sign in SIGNS)};\n"
        + inputs
        + "".join(_start(eq, n) for n in range(len(eq.names)))
        + _segments(eq)
        + numbers
        + network
        + outputs
        + "end\n"
    )


def _reaction(constants: Constants, number: int, reaction: Reaction) -> str:
    gate = [f"run__{reaction.segment}"] if reaction.segment else []
    law = "*".join([*gate, constants.name(reaction.rate), *reaction.reactants])
    return f"  reaction__{number}: {_side(reaction.reactants)} -> {_side(reaction.products)}; {law};\n"


def _side(species: Sequence[str]) -> str:
    return " + ".join(one if count == 1 else f"{count} {one}" for one, count in Counter(species).items())


def _difference(eq: Equations, constants: Constants, terms: Sequence[tuple[float, tuple[int, ...]]]) -> str:
    parts = [f"{constants.name(value)}*({rail(eq, f, 1)} - {rail(eq, f, -1)})" for value, (f,) in terms]
    return " + ".join(parts) or "0"


def _start(eq: Equations, register: int) -> str:
    name, text = eq.names[register], ""
    for sign, own in zip(SIGNS, (name, f"-{name}"), strict=True):
        value = f"piecewise({own}, {own} > 0, 0)" if register < eq.inputs else "0"
        text += f"  {rail(eq, register, sign)} = {value};\n"
    return text


def _segments(eq: Equations) -> str:
    """The durations, which segment runs at first, and a switch at the end of each."""
    text, last = "", len(eq.durations)
    for number, duration in enumerate(eq.durations, 1):
        text += f"  duration__{number} = {duration!r};\n"
        text += f"  run__{number} = {duration if number == 1 else 0.0!r};\n"
        following = f", run__{number + 1} = duration__{number + 1}" if number < last else ""
        text += f"  at (time >= {number}): run__{number} = 0{following};\n"
    return text
