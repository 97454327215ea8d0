"""SPICE: a capacitor for each register, whose voltage it is, charged by behavioural current sources.

A source takes part while its segment runs: its current has the factor V(run__n), a voltage that rises, stays at the
duration and falls again. The equations of a segment do not depend on time, so that only the area under this voltage
counts, which is the duration: the ramps cost nothing, and no switch is abrupt.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from integraph.errors import UsageError
from integraph.export.amplitude import centre
from integraph.export.equations import Equations, equations
from integraph.export.header import commented, header, plain
from integraph.export.notation import Notation

if TYPE_CHECKING:
    from integraph.program import Program

NOTATION = Notation()
RAMP, PERIOD = 0.125, 1.25  # of a time that is 1 for each segment, between the middles of its ramps
USED = ("gnd", "time", "temper", "hertz")
ABOUT = (
    "Node voltages are the registers, 1 V is 1. Segment n takes 1.25 s from (n - 1)*1.25 s; its duration is the height "
    "of run__n, the area of which counts.",
    "Inputs are the parameters, x__0 that of x. Check that the table ends at {end!r} s: a run that stopped before has "
    "no result.",
)
ACCURACY = "method=gear reltol={0!r} abstol=1e-12 vntol=1e-10 chgtol=1e-16 trtol=1 gmin=1e-20 itl4=200"


def write(program: Program, name: str, *, tolerance: float = 1e-6, step: float = 1e-3) -> str:
    for option, value in (("tolerance", tolerance), ("step", step)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
            raise UsageError(f"{option} is a number between 0 and 1", argument=option, value=value)
    eq = equations(program, avoid=USED)
    voltages = [f"V({own})" for own in eq.names]
    end = len(eq.durations) * PERIOD
    about = [*header(program, name, exact=False), *(line.format(end=end) for line in ABOUT)]
    capacitors = "".join(
        f"C{own} {own} 0 1 ic={f'{{{own}__0}}' if register < eq.inputs else '0'}\n"
        for register, own in enumerate(eq.names)
    )
    outputs = "".join(
        _line(f"B{own} {own} 0 V = {NOTATION.sum(terms, voltages)}")
        for own, (_, terms) in zip(eq.output_names, eq.outputs, strict=True)
    )
    parameters = zip(eq.input_names, centre(program).tolist(), strict=True)
    return (
        commented(about, "*")
        + "".join(f".param {own}__0 = {value!r}\n" for own, value in parameters)
        + capacitors
        + "".join(_segment(eq, number, voltages) for number in range(len(eq.segments)))
        + outputs
        + f".options {ACCURACY.format(tolerance)}\n"
        + f".tran {PERIOD / 2!r} {end!r} 0 {step!r} uic\n"
        + f".print tran {' '.join(f'V({own})' for own in eq.output_names)}\n.end\n"
    )


def _segment(eq: Equations, number: int, voltages: list[str]) -> str:
    run, start, height = f"run__{number + 1}", number * PERIOD, eq.durations[number]
    corners = ((start, 0.0), (start + RAMP, height), (start + 1, height), (start + 1 + RAMP, 0.0))
    points = " ".join(f"{time!r} {value!r}" for time, value in corners)
    return (
        f"* segment {number + 1}: {plain(eq.labels[number])}\nV{run} {run} 0 PWL({points})\n"
        + "".join(
            _line(f"B{eq.names[i]}__{number + 1} 0 {eq.names[i]} I = V({run})*({NOTATION.sum(terms, voltages)})")
            for i, terms in eq.segments[number]
        )
    )  # fmt: skip


def _line(text: str) -> str:
    """One line, continued on others."""
    return "\n+ ".join(textwrap.wrap(text, 110, break_long_words=False, break_on_hyphens=False)) + "\n"
