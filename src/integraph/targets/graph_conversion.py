"""A formula as a graph of numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from integraph.targets.constants import constants
from integraph.targets.expression import VARIABLE, Expression
from integraph.targets.graph import ROUNDED, Builder, Graph


def to_graph(expression: Expression, name: str) -> Graph:
    """One input for each variable, one output for each formula. What is constant is computed in many digits and rounded
    once."""
    builder = Builder(name)
    variables = {variable: builder.input(variable) for variable in expression.variables}
    fixed = constants(expression)
    numbers: list[int] = []
    for number, step in enumerate(expression.steps):
        args = tuple(numbers[n] for n in step.args)
        text = expression.source[slice(*step.where)] if step.args else step.text
        if number in fixed:
            value, exact = fixed[number]
            numbers.append(builder.constant(value, text, () if exact else ROUNDED))
        elif step.op == VARIABLE:
            numbers.append(variables[step.text])
        elif step.op == "power" and step.text:
            numbers.append(builder.power(args[0], Fraction(step.text), text))
        else:
            numbers.append(builder.apply("variable_power" if step.op == "power" else step.op, *args, text=text))
    graph = builder.graph(numbers[n] for n in expression.outputs)
    return replace(graph, formula=expression.source) if expression.formula else graph
