"""Dynamical systems as quadratic ones, exactly: new variables are products of powers of states and of functions.

Read `polynomials`, `ring` (generators and their derivatives) and `translation` (formulas → polynomials); `derivation`
and `variants` (the ways to write one system), `problem`, `search` and `beam` (the fewest new variables);
`construction`, which joins them, `large_system` for many states, and `products`, `equations`, `formulas`, `drift` (the
choice among equals). `quadratic_system` is the result, `printing` shows it, `simulation` and `flow_program` run it.
"""
