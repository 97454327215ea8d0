"""Formulas → functions: text, and expressions of sympy. Both end on a tape (`targets.expression`), nothing is executed.

Read `tokens` (words, and how a mistake is shown), `parser` (words → tape), `rationals` (exact values
of constant parts), `sympy_tree`. Only the last knows sympy, and imports it for trees of sympy alone.
"""
