"""Balls of Arb, in as many bits as needed: conversions, ranges, matrices, and jets (Taylor coefficients over a box);

`majorant` bounds the Taylor coefficients of quadratic ODEs, `quadratic_flow` integrates them.

Only this folder, `gadgets/functions` and `certify` import python-flint.

Read `conversion`, `ranges`, `matrices`, `jet_powers` and `jet_functions` (one variable), and `jets` (many).
"""
