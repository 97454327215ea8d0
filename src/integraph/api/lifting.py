"""`lift`: from a dynamical system to a quadratic one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from integraph.constructions.lifting.construction import SECONDS
from integraph.constructions.lifting.construction import lift as lifted
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.errors import UsageError
from integraph.frontends import Parameters
from integraph.frontends.dynamics import read_system
from integraph.numbers.arrays import real
from integraph.program import Program


def lift(
    source: Any,
    *,
    states: str | Sequence[str] | int | None = None,
    parameters: Parameters = None,
    inputs: str | Sequence[str] = (),
    positive: str | Sequence[str] = (),
    seconds: float = SECONDS,
    progress: bool = True,
) -> QuadraticSystem:
    """The quadratic system y' = b + A y + Q(y, y) of an ODE whose right-hand sides are elementary functions.

    `source` is text ("x' = v; v' = -g*sin(x)", also x'' = … and dx/dt = …, one equation to a line or separated by
    semicolons), a file of such text (.ode, .txt), of SBML (.xml, .sbml) or Antimony (.ant), {"x": "v", "v":
    "-g*sin(x)"}, or of sympy {x: v, v: -sin(x)} or [Eq(x(t).diff(t), v(t)), …]. A function that jax can trace is one
    too: f(x, v) of numbers, or f(y) or f(t, y) of a vector whose entries `states` names, or counts. `parameters` gives
    names values. `inputs` are names that are held: registers of their own, so that a batch of starts sweeps them.
    `positive` names states that stay positive, so that √(xy) may be √x·√y. A name t that is no state is time.

    New variables are products of powers of states and of functions of them. The search takes `seconds` at most, and
    keeps the smallest set; `minimal` says whether fewer were excluded, and `among` among what. Ctrl-C keeps the best so
    far.
    """
    if isinstance(source, (QuadraticSystem, Program)):
        what = "a program" if isinstance(source, Program) else "a lifted system"
        raise UsageError(f"{what} is quadratic already: give differential equations", argument="source")
    system = read_system(source, inputs=inputs, positive=positive, parameters=parameters, states=states)
    return lifted(system, real(seconds, "seconds"), progress)
