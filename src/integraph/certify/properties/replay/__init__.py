"""The checker of properties: polynomials with shared errors and Arb balls as coefficients, one box at a time.

It shares targets and number types with the search, and no other code.

Read `rows`, `functions`, `walk`, `leaf`, `check`.
"""
