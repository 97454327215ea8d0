"""Validated solutions: boxes that contain every solution of x' = f(x) from a box of starts, with all rounding.

The flow on polynomial models of closed loops, without a controller. Where a solution may cease to exist the boxes end,
and a proof that it does is tried.

Read `vector_field` (what is integrated), `function_free` (the same with the values of functions as states),
`integration` (steps in exact time), `blow_up`, `cell` (one box of starts), `division` (several), `starts`, `enclosure`
(the result) and `validation`.
"""

from integraph.certify.solutions.validation import enclose

__all__ = ["enclose"]
