"""The file: header, tables, one function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.c.c99 import comment
from integraph.export.c.c_names import function_name
from integraph.export.c.closed.elements import Elements
from integraph.export.c.closed.statements import Statements
from integraph.export.c.closed.steps import roots, steps
from integraph.export.c.closed.storage import places
from integraph.export.c.closed.tables import Tables
from integraph.export.header import header
from integraph.flow.closed_forms import trace

if TYPE_CHECKING:
    from integraph.program import Program

STACK = 4096  # numbers of a workspace that lies on the stack; a larger one is static
TEXT = """\
{about}#include <math.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "-ffast-math deletes the checks of this file: compile without it"
#endif

{tables}
int {name}(const double *x, double *y);

int {name}(const double *x, double *y)
{{
    {loops}
    int ok = 1;
{workspace}    for (i = 0; i < {inputs}; ++i) ok &= x[i] - x[i] == 0.0;
    if (!ok) {{
        for (i = 0; i < {outputs}; ++i) y[i] = NAN;
        return 2;
    }}
{code}    for (i = 0; i < {outputs}; ++i) {{
        y[i] = {value};
        ok &= y[i] - y[i] == 0.0;
    }}
    if (!ok) {{
        for (i = 0; i < {outputs}; ++i) y[i] = NAN;
        return 1;
    }}
    return 0;
}}
"""


def write(program: Program, name: str) -> str:
    function = function_name(name)
    forms = trace(program)
    root = roots(forms)
    order = steps(forms, root)
    offsets, size = places(forms, root, order)
    tables = Tables(function)
    elements = Elements(forms, root, offsets, tables)
    statements = Statements(forms, elements)
    code = "".join(map(statements.step, order))
    value = elements.value(forms.outputs, "i")
    shared = size > STACK
    return TEXT.format(
        about=comment([*header(program, name, exact=True), *_usage(program, function, shared)]),
        name=function,
        inputs=program.inputs,
        outputs=program.outputs,
        tables="\n".join(tables.text),
        loops="int i, j;" if "(j = 0" in code else "int i;",
        workspace=f"    {'static ' * shared}double w[{size}];\n\n" if size else "\n",
        code=code,
        value=value,
    )


def _usage(program: Program, function: str, shared: bool) -> list[str]:
    return [
        "The closed forms of the ODE's segments:",
        f"  int {function}(const double *x, double *y): x has {program.inputs} numbers, y {program.outputs}; they must "
        "not overlap.",
        "  Returns 0, or 1 if the flow has no solution (y is NaN), or 2 if x is not finite (y is NaN).",
        f"  {'Its workspace is static: one call at a time.' if shared else 'Threads may call it at once.'}",
        "Compile it with a C99 compiler and link with -lm.",
    ]
