"""The difference of a formula and an exact program, bounded on a box.

Both become formulas over the same symbols, in normal forms whose terms are subtracted before anything is bounded.

Read `symbols`, `symbolic_flow` with `symbolic_rules` (the program as a formula), `algebra`, `shapes` and `normal_form`,
`normal_distance`, `difference`; and `partial_derivatives`, a proof of its own.
"""
