"""A dynamical system x' = f(x, u): right-hand sides as formulas, inputs u that are held, states declared positive."""

from __future__ import annotations

from dataclasses import dataclass

from integraph.errors import UsageError
from integraph.targets.expression import Expression
from integraph.text import FORMULA, NAME, DistinctNames, clean, counted, shortened


@dataclass(frozen=True, slots=True, eq=False)
class DynamicalSystem:
    """`expression` has a variable for each state, then one for each input, and an output for each state. An input keeps
    its value along the flow: it is a state whose derivative is 0. `positive` names states that are always positive, so
    that √(xy) is √x·√y. `start` is where the source lets the states and inputs begin, if it says so."""

    states: tuple[str, ...]
    expression: Expression
    inputs: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    name: str = "a dynamical system"
    start: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean(self.name))
        named = DistinctNames()
        if tuple(map(named, self.variables)) != self.variables:
            long = next((name for name in self.variables if clean(name, NAME) != name), None)
            if long is not None:
                shown = shortened(clean(long), FORMULA)
                raise UsageError(f"the name {shown} is no plain word of at most {NAME} characters: rename it")
            twice = next(name for name in self.variables if self.variables.count(name) > 1)
            raise UsageError(f"{twice} is named twice among states and inputs: rename one", argument="inputs")
        if self.expression.variables != self.variables or len(self.expression.outputs) != len(self.states):
            raise UsageError(
                f"the expression has {counted(len(self.expression.outputs), 'output')} over "
                f"{', '.join(self.expression.variables)}: it needs one for each state, over {', '.join(self.variables)}"
            )
        if self.start is not None and len(self.start) != len(self.variables):
            raise UsageError(f"the start has {len(self.start)} values for {len(self.variables)} variables")
        for name in self.positive:
            if name not in self.variables:
                raise UsageError(
                    f"{name!r} is no state and no input: these are {', '.join(self.variables)}", argument="positive"
                )

    @property
    def variables(self) -> tuple[str, ...]:
        return self.states + self.inputs

    def __repr__(self) -> str:
        inputs = f", {counted(len(self.inputs), 'input')} ({', '.join(self.inputs)})" if self.inputs else ""
        return f"{self.name}: {counted(len(self.states), 'state')} ({', '.join(self.states)}){inputs}"
