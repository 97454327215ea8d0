"""LUCIDAC: a Python module for lucipy, one circuit for each segment.

Between two segments the host reads the integrators and sets the next circuit; registers that take no part in a segment
stay with the host. A register that is only read sits in an integrator without input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from integraph.errors import UsageError
from integraph.export.amplitude import largest
from integraph.export.circuits.analog_circuit import (
    CONSTANT,
    LANES,
    MACHINE,
    AnalogCircuit,
    Lane,
    analog_circuit,
    excess,
)
from integraph.export.equations import equations
from integraph.export.header import commented, header, legend, plain
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.program import Program

HEADROOM = 1.0625  # for the errors of an integrator
LOW, HIGH = 15, 14  # where lanes below and from 16 find the constant 1
MODULE = '''from lucipy import Circuit, Route, Simulation

SEGMENTS = [
{segments}]
REGISTERS = {registers!r}
INPUTS = {inputs}
READOUT = {readout!r}  # for each output, registers and weights


def circuit(segment, values):
    """The circuit of one segment, for a LUCIDAC or a simulation; `values` are those of all registers."""
    machine = Circuit([Route(*route) for route in segment["routes"]])
    machine.use_constant(segment["constant"])
    for number, (register, unit) in enumerate(zip(segment["registers"], segment["units"])):
        machine.set_ic(number, -values[register] / unit)
    return machine


def run(x, tolerance=1e-11):
    """The outputs for one input, a list of numbers, by lucipy's simulation."""
    values = dict.fromkeys(REGISTERS, 0.0)
    values.update(zip(REGISTERS[:INPUTS], map(float, x), strict=True))
    for segment in SEGMENTS:
        simulation = Simulation(circuit(segment, values))
        path = simulation.solve_ivp(segment["time"], method="DOP853", rtol=tolerance, atol=tolerance)
        if not path.success or not abs(path.y).max() <= 1.0:
            raise ArithmeticError(f"overload: an integrator leaves the machine unit in {{segment['label']}}")
        for register, unit, state in zip(segment["registers"], segment["units"], path.y[:, -1]):
            values[register] = float(state) * unit
    return [sum(weight * values[register] for register, weight in row) for row in READOUT]
'''


def write(program: Program, name: str) -> str:
    eq = equations(program)
    sizes, known = largest(program)
    sizes = np.where(np.arange(program.width) < eq.inputs, sizes, HEADROOM * sizes)
    circuits = [analog_circuit(eq, number, row) for number, row in zip(range(program.depth), sizes, strict=False)]
    labels = [f"segment {number}: {plain(label)}" for number, label in enumerate(eq.labels, 1)]
    if too_much := excess(circuits):
        raise UsageError(
            f"this does not fit on a LUCIDAC: {too_much}; compile a smaller source, or export to spice, which has no "
            "such limits"
        )
    return commented([*header(program, name, exact=False), known, *legend(program, eq.names)], "#") + MODULE.format(
        segments="".join(_segment(eq.names, *row) for row in zip(circuits, labels, strict=True)),
        registers=list(eq.names),
        inputs=eq.inputs,
        readout=[[(eq.names[factor], value) for value, (factor,) in terms] for _, terms in eq.outputs],
    )


def _segment(names: tuple[str, ...], circuit: AnalogCircuit, label: str) -> str:
    routes = _routes(circuit.lanes)
    counts = ", ".join(
        counted(count, what.removesuffix("s")) for what, count in zip(MACHINE, circuit.counts, strict=True)
    )
    fields = {
        "label": label,
        "time": circuit.time,
        "registers": [names[register] for register in circuit.registers],
        "units": list(circuit.units),
        "constant": any(source == CONSTANT for source, _, _ in circuit.lanes),
        "routes": routes,
    }
    return f"    {fields!r},  # {counts}\n"


def _routes(lanes: tuple[Lane, ...]) -> list[tuple[int, int, float, int]]:
    """(source, lane, coefficient, sink) as lucipy takes them: constants from the last lane down, others from the first
    up."""
    constant = [lane for lane in lanes if lane[0] == CONSTANT]
    other = [lane for lane in lanes if lane[0] != CONSTANT]
    routes = [(source, number, value, sink) for number, (source, value, sink) in enumerate(other)]
    for number, (_, value, sink) in zip(range(LANES - 1, -1, -1), constant, strict=False):
        routes.append((HIGH if number >= LANES // 2 else LOW, number, value, sink))
    return routes
