"""Formulas as text → functions. Nothing is ever executed: words go over two stacks onto a tape.

    formula = value {operator value}       + and - bind less than * and /, these less than ^ or **, which groups from
    value   = number | pi | e | name       the right; a sign binds between: -x^2 is -(x^2), 2^-1 is 1/2
            | -value | (formula) | function(formula) | min(formula, formula) | max(formula, formula)
            | sum(name, low, high, formula) | prod(name, low, high, formula)
            | if(formula < formula, formula, formula), with <, <=, > or >=
    text    = {name = formula ;} formula {, formula}

Several formulas, in a list or with commas between them, are several outputs. Numbers keep their decimal text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from integraph.errors import SourceError, UsageError
from integraph.frontends.formula import parameters as parameter_values
from integraph.frontends.formula.parameters import Parameters
from integraph.frontends.formula.shunting_yard import STEPS, ShuntingYard
from integraph.frontends.formula.statements import Statement, closed, statements
from integraph.frontends.formula.tokens import LENGTH, TOKEN, Line
from integraph.frontends.formula.vocabulary import CALLED, LETTERS, slip
from integraph.frontends.input_names import names, natural
from integraph.targets.expression import VARIABLE, Expression
from integraph.targets.function import Function, from_expression
from integraph.text import FORMULA, shortened

Variables = str | Sequence[object] | None


def parse(text: str | Sequence[str], variables: Variables = None, parameters: Parameters = None) -> Function:
    """The function of a formula. Without `variables` its inputs are the names in it, x2 before x10; its name says which
    they are where they are others. `parameters` are names that stand for values."""
    texts = [text] if isinstance(text, str) else list(text)
    if not texts or not all(isinstance(t, str) for t in texts):
        raise UsageError(f"a function needs one or more formulas as text, got {text!r:.80}")
    return parse_lines([Line(one) for one in texts], variables, parameters)


def parse_lines(
    lines: Sequence[Line], variables: Variables = None, parameters: Parameters = None, *, file: bool = False
) -> Function:
    """The function of lines, together; in a file, those that no later line uses are outputs, with names or without."""
    _check_length(sum(len(line.text) for line in lines), "")
    given = None if variables is None else _inputs(variables)
    parts = [part for line in lines for part in statements(line, last_may_define=file)]
    expression = parse_statements(parts, given, parameters, file=file)
    usual = tuple(sorted({step.text for step in expression.steps if step.op == VARIABLE}, key=natural)) or ("x",)
    read_again = expression.variables == usual and not any(map(slip, usual))  # from the text alone
    inputs = "" if read_again else f" in ({shortened(', '.join(expression.variables), FORMULA)})"
    return from_expression(expression, shortened(" ".join(expression.source.split()), FORMULA) + inputs)


def parse_statements(
    parts: Sequence[Statement],
    given: tuple[str, ...] | None,
    parameters: Parameters = None,
    *,
    file: bool = False,
    length: int = LENGTH,
    steps: int = STEPS,
) -> Expression:
    """The tape of statements over the given variables, or over the names in them; of at most so many characters and
    steps."""
    values: dict[str, str] = {}
    for name, value in parameter_values.texts(parameters).items():
        if name in (given or ()):
            raise UsageError(f"{name} is in `variables` too: it is an input or a parameter", argument="parameters")
        _check_constant(name, value)
        values[name] = parameter_values.grouped(value)
    text = closed(parts, given or (), values, file)
    _check_length(len(text.text), " once the values of its parameters are written in it", length)
    reader = ShuntingYard(given, text, steps)
    outputs = reader.read()
    tape = reader.tape
    used = {step.text for step in tape.steps if step.op == VARIABLE}
    tape.variables = given or tuple(sorted(used, key=natural)) or ("x",)
    return replace(tape.expression(outputs, text.text), formula=True)


def _check_length(size: int, when: str, most: int = LENGTH) -> None:
    if size > most:
        raise SourceError(f"a formula of {size:,} characters{when}: at most {most:,}; give a Python function instead")


def _check_constant(name: str, value: str) -> None:
    """The value of a parameter is one formula without inputs."""
    try:
        parts = statements(Line(value), last_may_define=False)
        reader = ShuntingYard(None, closed(parts, (), {}, file=False))
        single = len(reader.read()) == len(parts) == 1
    except SourceError as error:
        raise SourceError(f"in the value of the parameter {name}: {error.args[0]}", *error.args[1:]) from None
    used = [step.text for step in reader.tape.steps if step.op == VARIABLE]
    if used or not single:
        why = f"it names {used[0]}" if used else "it is more than one formula"
        raise UsageError(
            f"{name} = {value} is not constant: {why}; give numbers, or formulas of numbers", argument="parameters"
        )


def _inputs(variables: str | Sequence[object]) -> tuple[str, ...]:
    """Names that a formula can use."""
    input_names = names(variables)
    for name in input_names:
        match = TOKEN.fullmatch(name)
        if match is None or match.lastgroup != "name":
            raise UsageError(
                f"{name!r} cannot name an input of a formula: use letters, digits and _, as in x1", argument="variables"
            )
        if name in LETTERS or name in CALLED:
            what = "constant" if name in LETTERS else "function"
            raise UsageError(
                f"{name!r} cannot name an input: in a formula it is the {what}; choose another name",
                argument="variables",
            )
    return input_names
