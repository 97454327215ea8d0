"""Graphs: program and graph as polynomials of the same values, and how far rounding takes them apart.

Read `polynomials` and `atoms`; the graph: `functions`, `source`, `node_rules`; the program: `roles`,
`activation_rules`, `growth_rules`, `row_rules`, `flow`; and `model_ranges`, `difference`.
"""
