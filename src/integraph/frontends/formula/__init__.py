"""Formulas → functions: text, files of text, and expressions of sympy. All end on a tape (`targets.expression`), and
nothing is executed.

Read `tokens` (the words of a line, and how a mistake is shown), `vocabulary` (the names that they know), `statements`
(lines → one closed text: definitions, and values for `parameters`), `sums` (sums written out), `shunting_yard` (words →
tape), `parser`, which joins them, and `formula_file`. `rationals` are exact values of constant parts. Only `sympy_tree`
knows sympy, and imports it for trees of sympy alone.
"""
