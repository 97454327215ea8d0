"""Polynomial models with shared error symbols: rigorous ranges of functions of many variables, in float64.

A row is x = p(ξ) + g·ε + [−r, r]: p is a polynomial of degree ≤ k in ξ ∈ [−1, 1]^d, the inputs of a cell; the symbols
ε ∈ [−1, 1]^E are errors that rows share; r is the row's own. A batch of cells is computed at once, in arrays whose axes
are rows, cells, coefficients. Every operation adds to r what it truncates and what float64 loses, so that a row
contains the value of real arithmetic for every ξ and some ε; the functions of numpy and scipy are trusted to a relative
error of 2^−43. What is not finite is an infinite radius.

Read `monomials`, `kernels`, `models`, `elementary_functions`, `smooth_functions`, `functions`, `products`,
`row_functions`, `polynomial_ranges`; `line_kernels`
and `lines` are the linear bounds of functions that backward bounds need.
"""
