"""A formula as a graph of numbers."""

from __future__ import annotations

from fractions import Fraction

from integraph.targets.expression import NUMBER, VARIABLE, Expression
from integraph.targets.floats import VALUES
from integraph.targets.graph import Builder, Graph


def to_graph(expression: Expression, name: str) -> Graph:
    """One input for each variable, one output for each formula."""
    builder = Builder(name)
    variables = {variable: builder.input(variable) for variable in expression.variables}
    found: list[int] = []
    for step in expression.steps:
        args = tuple(found[n] for n in step.args)
        text = expression.source[slice(*step.where)]
        if step.op == NUMBER:
            found.append(builder.constant(VALUES[step.text] if step.text in VALUES else float(step.text), step.text))
        elif step.op == VARIABLE:
            found.append(variables[step.text])
        elif step.op == "power" and step.text:
            found.append(builder.power(args[0], Fraction(step.text), text))
        else:
            found.append(builder.apply("variable_power" if step.op == "power" else step.op, *args, text=text))
    return builder.graph(found[n] for n in expression.outputs)
