"""Right-hand sides as functions of Python, called once: f(x, v) of numbers, f(y), f(t, y) or f(y, u) of vectors.

An argument called t or time is time. If the others are names of states and inputs, they are numbers; else the first is
the vector of the states, and the second that of the inputs. The result are the derivatives, in the order of the states.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from integraph.errors import SourceError, UsageError
from integraph.frontends import jax as jax_functions
from integraph.frontends.dynamics.numbers_trace import traced
from integraph.frontends.formula.vocabulary import taken
from integraph.frontends.input_names import names, numbered
from integraph.frontends.jax.recognition import is_jax
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.targets.expression import NUMBER, VARIABLE, Expression, Step
from integraph.targets.graph_expression import to_expression
from integraph.text import FORMULA, counted, shortened

TIMES = ("t", "time")
STATES = 100_000
Names = tuple[str, ...]
USAGE = 'name its states, as in lift(f, states="x, v") for f(y) or f(t, y)'


def read_callable(
    f: Callable[..., Any],
    states: str | Sequence[str] | int | None = None,
    inputs: tuple[str, ...] = (),
    positive: tuple[str, ...] = (),
) -> DynamicalSystem:
    """The system y' = f(y)."""
    arguments = _arguments(f)
    title = f"{getattr(f, '__name__', type(f).__name__)}()"
    clock = next((name for name in arguments if name in TIMES and name not in inputs), "")
    own = tuple(name for name in arguments if name != clock)
    named = _states(states) if states is not None else tuple(name for name in own if name not in inputs)
    if clock in named:
        clock = ""
        own = arguments
    shapes = _shapes(own, named, inputs, title) | ({clock: ((), (clock,))} if clock else {})
    wanted = [shapes[argument][0] for argument in arguments]
    expression, again = (_traced(f, title, wanted, [shapes[argument][1] for argument in arguments]) for _ in range(2))
    if again != expression:
        raise SourceError(
            f"{title} differs from call to call, and an ODE has no random input: make it an argument, and name that in "
            "inputs="
        )
    if len(expression.outputs) != len(named):
        returned = counted(len(expression.outputs), "derivative")
        raise SourceError(f"{title} returns {returned} for {counted(len(named), 'state')}: {USAGE}")
    if clock and any(step.op == VARIABLE and step.text == clock for step in expression.steps):
        expression = _with_clock(expression)
        named = (*named, clock)
    return DynamicalSystem(named, replace(expression, variables=(*named, *inputs)), inputs, positive, title)


def _traced(f: Callable[..., Any], title: str, wanted: list[tuple[int, ...]], called: list[Names]) -> Expression:
    """What the function computes: by jax if it is written in jax, else with symbols in place of numbers."""
    flat = [name for some in called for name in some]
    if is_jax(f):
        return to_expression(jax_functions.read(f, wanted), flat)
    try:
        return traced(f, list(zip(wanted, called, strict=True)))
    except SourceError as reason:
        raise SourceError(f"{title}: {reason}") from None
    except Exception as reason:  # whatever the function does with symbols
        if isinstance(reason, TypeError) and "jax" in sys.modules:  # hidden in an object that the function uses
            return to_expression(jax_functions.read(f, wanted), flat)
        said = shortened(" ".join(str(reason).split()), FORMULA)
        raise SourceError(
            f"{title} cannot be read: {type(reason).__name__}: {said}. Write it with + − * / ** and functions of "
            "numpy, math or jax.numpy, without `if` on values"
        ) from None


def _arguments(f: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        raise UsageError("its arguments cannot be known: wrap it in lambda y: …", argument="source") from None
    needed = tuple(p.name for p in parameters if p.default is p.empty and p.kind != p.VAR_KEYWORD)
    if not needed or any(p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY) for p in parameters if p.name in needed):
        raise UsageError("give a function of named arguments, as in lambda x, v: (v, -x)", argument="source")
    return needed


def _states(states: str | Sequence[str] | int) -> tuple[str, ...]:
    if isinstance(states, int) and not isinstance(states, bool):
        if not 1 <= states <= STATES:
            raise UsageError(f"needs 1 to {STATES:,} states", argument="states", value=states)
        return numbered(states)
    assert not isinstance(states, int)
    return names(states, "states")


def _shapes(
    own: tuple[str, ...], states: tuple[str, ...], inputs: tuple[str, ...], title: str
) -> dict[str, tuple[tuple[int, ...], tuple[str, ...]]]:
    """For each argument its shape, and the names of its entries."""
    for name in (*states, *inputs):
        if what := taken(name):
            raise UsageError(f"{name!r} is the {what} of every formula: choose another name", argument="states")
    clash = set(states) & set(inputs)
    if clash:
        raise UsageError(f"{min(clash)} is a state and an input: rename one", argument="inputs")
    if set(own) == {*states, *inputs}:
        return {name: ((), (name,)) for name in own}
    vectors = [some for some in (states, inputs) if some]
    if len(own) == len(vectors):
        return {name: ((len(some),), some) for name, some in zip(own, vectors, strict=True)}
    shown = shortened(", ".join((*states, *inputs)), FORMULA)
    fix = f"a vector of states and inputs beside it need lambda y, u: f(y, *u), with inputs={', '.join(inputs)!r}"
    raise UsageError(
        f"{title} has the arguments {', '.join(own)}, the states and inputs are {shown}: {fix if inputs else USAGE}",
        argument="states",
    )


def _with_clock(expression: Expression) -> Expression:
    """With one output more, 1: the derivative of time."""
    steps = (*expression.steps, Step(NUMBER, text="1"))
    return replace(expression, steps=steps, outputs=(*expression.outputs, len(steps) - 1))
