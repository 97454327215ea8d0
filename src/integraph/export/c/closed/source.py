"""The file: header, tables, one function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from integraph.export.c.closed.elements import Elements
from integraph.export.c.closed.statements import Statements
from integraph.export.c.closed.steps import roots, steps
from integraph.export.c.closed.storage import places
from integraph.export.c.closed.tables import Tables
from integraph.export.closed_forms import trace
from integraph.export.header import header

if TYPE_CHECKING:
    from integraph.program import Program

STACK = 4096  # numbers of a workspace that lies on the stack; a larger one is static
TEXT = """\
/*
{about}
 * The closed forms of the ODE's segments:
 *   int {name}(const double *x, double *y): x has {inputs} numbers, y {outputs}; they must not overlap.
 *   Returns 0, or 1 if the flow has no solution (y is NaN), or 2 if x is not finite (y is NaN).
 *   {reentrant}
 * Compile it with a C99 compiler and link with -lm.
 */
#include <math.h>

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
    forms = trace(program)
    root = roots(forms)
    order = steps(forms, root)
    offsets, size = places(forms, root, order)
    tables = Tables(name)
    elements = Elements(forms, root, offsets, tables)
    statements = Statements(forms, elements)
    code = "".join(map(statements.step, order))
    value = elements.value(forms.outputs, "i")
    shared = size > STACK
    return TEXT.format(
        about="\n".join(f" * {line}" for line in header(program, name, exact=True)),
        name=name,
        inputs=program.inputs,
        outputs=program.outputs,
        reentrant="Its workspace is static: one call at a time." if shared else "Threads may call it at once.",
        tables="\n".join(tables.text),
        loops="int i, j;" if "(j = 0" in code else "int i;",
        workspace=f"    {'static ' * shared}double w[{size}];\n\n" if size else "\n",
        code=code,
        value=value,
    )
