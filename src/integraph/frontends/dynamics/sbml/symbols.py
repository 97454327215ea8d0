"""What the identifiers of an SBML model stand for: numbers, states, held inputs, assignment rules, reactions.

A species stands for its concentration, or for its amount where it has only substance units. Two readings share this
file: along the flow, where a state is a variable, and at the start, where it is its initial value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from integraph.errors import SourceError, UsageError
from integraph.frontends.dynamics.sbml.mathematics import Mathematics
from integraph.targets.expression import VARIABLE, Tape

TIME = ""  # no identifier is empty


class Entities:
    """The parts of a model by their identifiers."""

    def __init__(self, libsbml: Any, model: Any) -> None:
        self.model = model
        self._clock = libsbml.AST_NAME_TIME
        self.species = {s.getId(): s for s in map(model.getSpecies, range(model.getNumSpecies()))}
        self.compartments = {c.getId(): c for c in map(model.getCompartment, range(model.getNumCompartments()))}
        self.parameters = {p.getId(): p for p in map(model.getParameter, range(model.getNumParameters()))}
        self.reactions = {r.getId(): r for r in map(model.getReaction, range(model.getNumReactions()))}
        rules = [model.getRule(n) for n in range(model.getNumRules())]
        self.rates = {r.getVariable(): r.getMath() for r in rules if r.isRate()}
        self.assignments = {r.getVariable(): r.getMath() for r in rules if r.isAssignment()}
        starts = map(model.getInitialAssignment, range(model.getNumInitialAssignments()))
        self.starts = {one.getSymbol(): one.getMath() for one in starts}

    @cached_property
    def quantities(self) -> dict[str, Any]:
        return self.species | self.compartments | self.parameters

    def is_amount(self, name: str) -> bool:
        """Whether a species stands for its amount."""
        one = self.species[name]
        compartment = self.compartments.get(one.getCompartment())
        if one.getHasOnlySubstanceUnits() or compartment is None:
            return True
        # Level 3 may omit the dimensions, and libsbml says 0 then
        return bool(compartment.isSetSpatialDimensions()) and compartment.getSpatialDimensions() == 0

    @cached_property
    def parties(self) -> dict[str, list[tuple[str, str, Any]]]:
        """For every species that reactions change: reaction, add or sub, and the reference with its stoichiometry."""
        parties: dict[str, list[tuple[str, str, Any]]] = {}
        for name, reaction in self.reactions.items():
            sides = (
                ("sub", reaction.getReactant, reaction.getNumReactants()),
                ("add", reaction.getProduct, reaction.getNumProducts()),
            )
            for sign, get, count in sides:
                for reference in map(get, range(count)):
                    one = self.species.get(reference.getSpecies())
                    if one is not None and not (one.getBoundaryCondition() or one.getConstant()):
                        parties.setdefault(one.getId(), []).append((name, sign, reference))
        return parties

    def states(self) -> list[str]:
        """What has a derivative: species of reactions, whatever has a rate rule, and concentrations where the volume
        has one."""
        moved = {*self.parties, *self.rates}
        for name, one in self.species.items():
            if one.getCompartment() in self.rates and not self.is_amount(name):
                moved.add(name)
        return [name for name in self.quantities if name in moved and name not in self.assignments]

    def held(self, states: set[str]) -> list[str]:
        """Constants whose initial assignment depends on the start of a state, or on time: they keep it."""
        constants = [name for name in self.quantities if name not in states and name not in self.assignments]
        return [name for name in constants if name in self.starts and self.reaches(name, states)]

    def reaches(self, name: str, states: set[str]) -> bool:
        """Whether the value of a name depends on a state or on time."""
        waiting, seen = [name], set()
        while waiting:
            one = waiting.pop()
            if one == TIME or one in states:
                return True
            if one in seen:
                continue
            seen.add(one)
            law = self.reactions[one].getKineticLaw() if one in self.reactions else None
            for formula in (self.starts.get(one), self.assignments.get(one), law.getMath() if law else None):
                if formula is not None:
                    waiting += self._names(formula)
            if one in self.species:
                waiting.append(self.species[one].getCompartment())
        return False

    def _names(self, formula: Any) -> list[str]:
        names, stack = [], [formula]
        while stack:
            node = stack.pop()
            if node.isName():
                names.append(TIME if node.getType() == self._clock else node.getName())
            stack += [node.getChild(n) for n in range(node.getNumChildren())]
        return names


class Symbols:
    """Identifiers as steps. `variables` are those that stay variables; all others are numbers or written out."""

    def __init__(
        self, libsbml: Any, entities: Entities, variables: tuple[str, ...], values: Mapping[str, str], time: str
    ) -> None:
        self.entities, self.variables, self.values, self.time = entities, set(variables), values, time
        self.tape = Tape(variables)
        self.math = Mathematics(libsbml, entities.model, self.tape, self.symbol, self._time)
        self._known: dict[str, int] = {}

    def _time(self) -> int:
        return self.tape.add(VARIABLE, text=self.time) if self.time in self.variables else self.math.number("0")

    def symbol(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = self._step(name)
        return self._known[name]

    def rate(self, name: str) -> int:
        """The rate of a reaction, its kinetic law with its own parameters."""
        law = self.entities.reactions[name].getKineticLaw()
        where = f"the kinetic law of {name}"
        if law is None or law.getMath() is None:
            raise SourceError(f"{name} has no kinetic law: a reaction needs one for an ODE")
        several = (law.getLocalParameter, law.getNumLocalParameters()), (law.getParameter, law.getNumParameters())
        own = [get(n) for get, count in several for n in range(count)]
        local = {p.getId(): self.math.real(p.getValue(), f"{p.getId()} in {where}") for p in own}
        return self.math.step(law.getMath(), where, local)

    def _step(self, name: str) -> int:
        e = self.entities
        if name in self.variables:
            return self.tape.add(VARIABLE, text=name)
        if name in self.values:
            return self.math.number(self.values[name])
        if name in e.assignments:
            return self.math.step(e.assignments[name], f"the assignment rule of {name}")
        if name in e.reactions:
            return self.rate(name)
        if name in e.starts:
            return self.math.step(e.starts[name], f"the initial assignment of {name}")
        if name in e.species:
            return self._initial(name)
        if name in e.compartments:
            return self._value(name, e.compartments[name].getSize(), "size", default=True)
        if name in e.parameters:
            return self._value(name, e.parameters[name].getValue(), "value")
        raise SourceError(f"{name!r} is used in a formula and defined nowhere: define it, or correct the name")

    def _initial(self, name: str) -> int:
        """The initial concentration or amount of a species, whichever it stands for."""
        one = self.entities.species[name]
        amount = self.entities.is_amount(name)
        if one.isSetInitialConcentration():
            step = self._value(name, one.getInitialConcentration(), "initial concentration")
            return self.math.add("mul", step, self.symbol(one.getCompartment())) if amount else step
        step = self._value(name, one.getInitialAmount() if one.isSetInitialAmount() else math.nan, "initial amount")
        return step if amount else self.math.add("div", step, self.symbol(one.getCompartment()))

    def _value(self, name: str, value: float, what: str, *, default: bool = False) -> int:
        if math.isnan(value):
            if default and self.entities.model.getLevel() < 3:
                return self.math.number("1")  # the size of a compartment in levels 1 and 2
            raise UsageError(
                f"{name} has no {what} in the model: give one, as in {{{name!r}: 1.0}}", argument="parameters"
            )
        return self.math.real(value, f"the {what} of {name}")
