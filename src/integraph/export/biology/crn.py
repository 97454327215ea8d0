"""A chemical reaction network with mass action, as SBML: two species for each register, see `reactions`.

Time, numbers and events are those of `sbml`. The inputs are parameters, from which the first concentrations follow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from integraph.export.amplitude import centre
from integraph.export.biology.annihilation import annihilation_rate
from integraph.export.biology.reactions import NETWORK, SIGNS, Reaction, rail, reactions
from integraph.export.biology.sbml_document import (
    INTEGER,
    MATH,
    TIMING,
    Constants,
    apply,
    document,
    events,
    listed,
    parameter,
    product,
    runs,
)
from integraph.export.equations import Equations, equations
from integraph.export.header import header

if TYPE_CHECKING:
    from integraph.program import Program

UNITS = "".join(f' {kind}Units="dimensionless"' for kind in ("extent", "substance", "volume"))
VESSEL = "vessel__1"
COMPARTMENT = f'<compartment id="{VESSEL}" size="1" spatialDimensions="3" units="dimensionless" constant="true"/>\n'
SPECIES = (
    f'<species id="{{}}" compartment="{VESSEL}" initialConcentration="0" substanceUnits="dimensionless" '
    'hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/>\n'
)
REFERENCE = '<speciesReference species="{}" stoichiometry="{}" constant="true"/>'
START = '<initialAssignment symbol="{}">{}</initialAssignment>\n'


def write(program: Program, name: str, *, annihilation: float | None = None) -> str:
    rate, why = annihilation_rate(program, annihilation)
    eq, constants = equations(program, avoid=(name,)), Constants()
    network = "".join(_reaction(constants, *row) for row in enumerate(reactions(eq, rate), 1))
    rules = "".join(
        f'<assignmentRule variable="{output}">{MATH.format(_output(eq, constants, terms))}</assignmentRule>\n'
        for output, (_, terms) in zip(eq.output_names, eq.outputs, strict=True)
    )
    parameters = "".join(parameter(*row) for row in zip(eq.input_names, centre(program).tolist(), strict=True))
    parameters += "".join(parameter(output, 0.0, constant=False) for output in eq.output_names)
    species = [rail(eq, register, sign) for register in range(len(eq.names)) for sign in SIGNS]
    lists = (
        listed("Compartments", COMPARTMENT)
        + listed("Species", "".join(map(SPECIES.format, species)))
        + listed("Parameters", parameters + runs(eq) + constants.parameters())
        + listed("InitialAssignments", "".join(_start(eq, n, sign) for n in range(eq.inputs) for sign in SIGNS))
        + listed("Rules", rules)
        + listed("Reactions", network)
        + listed("Events", events(eq))
    )
    about = [*header(program, name, exact=True), *NETWORK, why, TIMING.format(len(eq.durations))]
    return document(name, about, lists, UNITS)


def _reaction(constants: Constants, number: int, reaction: Reaction) -> str:
    gate = [f"run__{reaction.segment}"] if reaction.segment else []
    law = product([VESSEL, *gate, constants.name(reaction.rate), *reaction.reactants])
    return (
        f'<reaction id="reaction__{number}" reversible="false">'
        f"{_side('Reactants', reaction.reactants)}{_side('Products', reaction.products)}"
        f"<kineticLaw>{MATH.format(law)}</kineticLaw></reaction>\n"
    )


def _side(kind: str, species: Sequence[str]) -> str:
    return listed(kind, "".join(REFERENCE.format(*item) for item in Counter(species).items()))


def _output(eq: Equations, constants: Constants, terms: Sequence[tuple[float, tuple[int, ...]]]) -> str:
    parts = [
        product([constants.name(sign * value), rail(eq, factor, sign)]) for value, (factor,) in terms for sign in SIGNS
    ]
    return apply("plus", parts or [INTEGER.format(0)])


def _start(eq: Equations, register: int, sign: int) -> str:
    """The concentration at time 0: the input or its negative where that is positive, else 0."""
    zero, value = INTEGER.format(0), f"<ci>{eq.names[register]}</ci>"
    own = value if sign > 0 else f"<apply><minus/>{value}</apply>"
    positive = f"<apply><gt/>{own}{zero}</apply>"
    start = f"<piecewise><piece>{own}{positive}</piece><otherwise>{zero}</otherwise></piecewise>"
    return START.format(rail(eq, register, sign), MATH.format(start))
