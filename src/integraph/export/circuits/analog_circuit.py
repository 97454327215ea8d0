"""One segment as the circuit of an analog computer: integrators, multipliers, and lanes with a coefficient each.

Every voltage is a share of the machine unit: a register is measured in a power of 2 that its range fits into,
and the segment takes so long, a power of 2 again, that no coefficient exceeds what the machine has.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from integraph.export.circuits.multipliers import Sum, multiplications
from integraph.export.equations import Equations
from integraph.numbers.arrays import Floats

INTEGRATORS, LANES, LARGEST = 8, 32, 10.0  # of a LUCIDAC; its largest coefficient
MACHINE = {"integrators": INTEGRATORS, "multipliers": 4, "lanes": LANES}
CONSTANT = -1  # the source of the constant 1
Lane = tuple[int, float, int]  # source, coefficient, sink: integrators from 0, multipliers (two sinks each) from 8


@dataclass(frozen=True, slots=True)
class AnalogCircuit:
    registers: tuple[int, ...]  # integrator n has the n-th
    units: tuple[float, ...]
    time: float  # in time constants of the integrators
    multipliers: int
    lanes: tuple[Lane, ...]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Integrators, multipliers, lanes."""
        return len(self.registers), self.multipliers, len(self.lanes)


def excess(circuits: Sequence[AnalogCircuit]) -> str:
    """What is too much for the machine in some segment, and by how much; empty if all fits."""
    parts = []
    for kind, (what, most) in enumerate(MACHINE.items()):
        need, segment = max(((circuit.counts[kind], -n) for n, circuit in enumerate(circuits, 1)), default=(0, 0))
        if need > most:
            parts.append(f"segment {-segment} of {len(circuits)} needs {need} {what} of {most}, {need - most} too many")
    return "; ".join(parts)


def power(size: float) -> float:
    """The least power of 2 that is not smaller; 1 for 0."""
    mantissa, exponent = math.frexp(size)
    return math.ldexp(1.0, exponent - (mantissa == 0.5)) if size else 1.0


def analog_circuit(eq: Equations, number: int, largest: Floats) -> AnalogCircuit:
    """`largest` is the range of each register in this segment."""
    rows = eq.segments[number]
    registers = sorted({r for row, terms in rows for r in (row, *(f for _, factors in terms for f in factors))})
    unit = {register: power(float(largest[register])) for register in registers}
    place = {register: position for position, register in enumerate(registers)}
    rates: dict[tuple[int, int], float] = defaultdict(float)  # (source, row) to coefficient
    for row, terms in rows:
        for value, factors in terms:
            if len(factors) < 2:
                source, size = (place[factors[0]], unit[factors[0]]) if factors else (CONSTANT, 1.0)
                rates[source, row] += value * eq.durations[number] * (size / unit[row])
    uses = multiplications({row: {(f[0], f[1]): value for value, f in terms if len(f) == 2} for row, terms in rows})
    products = list(dict.fromkeys(product for _, _, product in uses))
    lanes: list[Lane] = []
    sizes = {}
    for position, product in enumerate(products):
        sizes[product] = 1.0
        for port, form in enumerate(product):
            size = power(math.fsum(abs(value) * unit[register] for register, value in form))
            sizes[product] *= size
            lanes += _summed(form, size, unit, place, INTEGRATORS + 2 * position + port)
    for row, value, product in uses:
        rates[INTEGRATORS + products.index(product), row] += value * eq.durations[number] * (sizes[product] / unit[row])
    time = max(1.0, power(max(map(abs, rates.values()), default=0.0) / LARGEST))
    lanes += [(source, -value / time, place[row]) for (source, row), value in rates.items()]  # integrators negate
    return AnalogCircuit(tuple(registers), tuple(unit.values()), time, len(products), tuple(lanes))


def _summed(form: Sum, size: float, unit: dict[int, float], place: dict[int, int], sink: int) -> list[Lane]:
    return [(place[register], value * (unit[register] / size), sink) for register, value in form]
