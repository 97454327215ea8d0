"""An SBML model as x' = f(x): the rate of every species from reactions, kinetic laws, stoichiometry and volumes.

Events, delays, algebraic rules, fast reactions, piecewise functions and packages that change the mathematics are
refused by name. Units are not converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from integraph.errors import SourceError, UsageError
from integraph.frontends.dynamics.sbml.symbols import Entities, Symbols
from integraph.frontends.dynamics.sbml.xml_text import LARGEST, check_xml
from integraph.frontends.extras import need
from integraph.frontends.formula.formula_file import text_of
from integraph.frontends.formula.parameters import Parameters, texts
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.targets.expression import VARIABLE
from integraph.targets.float_arithmetic import values
from integraph.text import FORMULA, clean, shortened

TIMES = ("t", "time", "time_")
QUANTITIES = 20_000  # species, parameters, compartments and reactions
MATHEMATICS = "l3v2extendedmath"  # min, max and the like, which are refused where they occur
SHOWN = 300  # characters of a message of libSBML


def read_sbml(
    path: Path, inputs: tuple[str, ...] = (), positive: tuple[str, ...] = (), parameters: Parameters = None
) -> DynamicalSystem:
    """The system of an SBML file."""
    return system_of(text_of(path, LARGEST), path.name, inputs, positive, parameters)


def system_of(
    text: str, name: str, inputs: tuple[str, ...], positive: tuple[str, ...], parameters: Parameters
) -> DynamicalSystem:
    """The system of the text of an SBML file, with the start that it gives. `inputs` are constants of the model that
    become variables, `parameters` other values of constants."""
    check_xml(text, name)
    libsbml = need("libsbml", "sbml")
    document = libsbml.readSBMLFromString(text)
    entities = Entities(libsbml, _model(libsbml, document, name))
    states = entities.states()
    if not states:
        raise SourceError(f"{name} has no reaction and no rate rule that changes anything: there is no ODE")
    given = _values(entities, set(states), inputs, parameters)
    held = [one for one in entities.held(set(states)) if one not in given and one not in inputs]
    kept = (*inputs, *held)
    taken = {*entities.quantities, *entities.reactions}
    time = next(word for word in TIMES if word not in taken)
    flow = Symbols(libsbml, entities, (*states, time, *kept), given, time)
    outputs = [_rate(flow, state) for state in states]
    used = any(step.op == VARIABLE and step.text == time for step in flow.tape.steps)
    if used:
        outputs.append(flow.math.number("1"))
        states.append(time)
    flow.tape.variables = (*states, *kept)
    start = Symbols(libsbml, entities, (), given, time)
    begin = [start.symbol(one) if one != time else start.math.number("0") for one in flow.tape.variables]
    numbers = values(start.tape.expression(begin), np.zeros((1, 0)))[0].tolist()
    for variable, number in zip(flow.tape.variables, numbers, strict=True):
        if not np.isfinite(number):
            raise SourceError(f"{name}: {variable} starts at {number}: correct its initial value")
    title = entities.model.getName() or entities.model.getId() or name
    expression = flow.tape.expression(outputs, name)
    return DynamicalSystem(tuple(states), expression, kept, positive, shortened(title, FORMULA), tuple(numbers))


def _model(libsbml: Any, document: Any, name: str) -> Any:
    """The model, if it is nothing but an ODE."""
    for number in range(document.getNumErrors()):
        error = document.getError(number)
        if error.getSeverity() >= libsbml.LIBSBML_SEV_ERROR:
            said = shortened(clean(" ".join(error.getMessage().split())), SHOWN)
            raise SourceError(f"{name} is no SBML that can be read, line {error.getLine()}: {said}")
    model = document.getModel()
    if model is None:
        raise SourceError(f"{name} has no model")
    plugins = document.getNumPlugins() if document.getLevel() > 2 else 0  # of Level 2, which has none, it says layout
    for number in range(plugins):
        package = document.getPlugin(number).getPackageName()
        if package != MATHEMATICS and document.getPackageRequired(package):
            raise SourceError(f"{name} needs the package {package} of SBML, which is not read: write a core model")
    size = model.getNumSpecies() + model.getNumParameters() + model.getNumCompartments() + model.getNumReactions()
    if size > QUANTITIES:
        raise SourceError(f"{name} has {size:,} species, parameters and reactions: at most {QUANTITIES:,}")
    if model.getNumEvents():
        event = model.getEvent(0)
        raise SourceError(
            f"{name} has the event {event.getId() or event.getName() or 1}: an ODE has no events; remove it"
        )
    for number in range(model.getNumRules()):
        if model.getRule(number).isAlgebraic():
            raise SourceError(f"{name} has an algebraic rule: solve it, and write an assignment rule instead")
    for number in range(model.getNumReactions()):
        reaction = model.getReaction(number)
        if reaction.isSetFast() and reaction.getFast():
            raise SourceError(
                f"the reaction {reaction.getId()} is fast, that is, always in equilibrium: write its rate, or a rule"
            )
    return model


def _values(entities: Entities, states: set[str], inputs: tuple[str, ...], parameters: Parameters) -> Mapping[str, str]:
    """Other values of constants, as numbers."""
    given = texts(parameters)
    for argument, some in (("inputs", inputs), ("parameters", tuple(given))):
        for one in some:
            if one not in entities.quantities or one in states or one in entities.assignments:
                raise UsageError(f"{one} is no constant of the model", argument=argument, value=one)
            if one in given and one in inputs:
                raise UsageError(f"{one} is an input too: starts give its value", argument="parameters", value=one)
    for one, text in given.items():
        try:
            float(Fraction(text))
        except (ValueError, ZeroDivisionError, OverflowError):
            raise UsageError(
                f"{one} needs a number, or a fraction of two integers", argument="parameters", value=text
            ) from None
    return given


def _rate(flow: Symbols, state: str) -> int:
    """The derivative of a state."""
    e, math = flow.entities, flow.math
    if state in e.rates:
        return math.step(e.rates[state], f"the rate rule of {state}")
    total = _reactions(flow, state)
    if e.is_amount(state):
        return total
    compartment = e.species[state].getCompartment()
    volume = flow.symbol(compartment)
    if compartment in e.assignments and _varies(flow, volume):
        raise SourceError(
            f"the volume of {compartment} follows a rule that varies, and {state} is a concentration in it: give the "
            "volume a rate rule, or the species only substance units"
        )
    rate = math.add("div", total, volume)
    if compartment not in e.rates:
        return rate
    growth = math.add("div", math.step(e.rates[compartment], f"the rate rule of {compartment}"), volume)
    return math.add("sub", rate, math.add("mul", flow.symbol(state), growth))


def _reactions(flow: Symbols, state: str) -> int:
    """The sum of stoichiometry times rate, in amount per time."""
    e, math = flow.entities, flow.math
    total = math.number("0")
    for name, sign, reference in e.parties.get(state, ()):
        total = math.add(sign, total, math.add("mul", _stoichiometry(flow, reference, name), flow.symbol(name)))
    one = e.species[state]
    factor = one.getConversionFactor() or e.model.getConversionFactor()
    return math.add("mul", total, flow.symbol(factor)) if factor else total


def _stoichiometry(flow: Symbols, reference: Any, reaction: str) -> int:
    e, where = flow.entities, f"the stoichiometry of {reference.getSpecies()} in {reaction}"
    if reference.getId() in e.rates:
        raise SourceError(f"{where} has a rate rule, which is not read: write the factor in the kinetic law")
    if reference.getId() in e.starts and e.reaches(reference.getId(), set(e.states())):
        raise SourceError(f"{where} depends on the start of a state, which is not read: write a number")
    for some in (e.assignments, e.starts):
        if reference.isSetId() and reference.getId() in some:
            return flow.math.step(some[reference.getId()], where)
    if reference.isSetStoichiometryMath():
        return flow.math.step(reference.getStoichiometryMath().getMath(), where)
    return flow.math.real(reference.getStoichiometry(), where)


def _varies(flow: Symbols, step: int) -> bool:
    return any(one.op == VARIABLE for one in flow.tape.expression([step]).steps)
