"""Theorem 1: a smooth function on a box as Σ_k φ_k P_k, local polynomials under a partition of unity.

Read `construction` (from a task to a program), `task` and `unit_cube`; what to build: `derivative_bounds`, `plans`,
`planner`, `a_posteriori`; the polynomials: `samples`, `local_polynomials`, `fit`, `table_error`; and how it is built:
`lemma4`, `products` and `printed` as in the paper, `monomials` and `lean` with fewer registers.
"""
