"""Data: rows of measured values as Σ_k φ_k P_k of Theorem 1, the local polynomials by least squares.

Read `construction` (from rows to a program), `split` (which rows are held out), `least_squares` (the polynomials of one
grid of cells), `selection` (which grid, which order) and `coverage` (where rows are missing).
"""
