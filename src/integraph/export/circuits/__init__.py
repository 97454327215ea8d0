"""Circuits: SPICE, the analog computer LUCIDAC, and Verilog in fixed point.

Read `spice`; `analog_circuit` and `multipliers` (common factors), then `lucidac`; `fixed_point` (the arithmetic), then
`verilog` and its module `fixed_point.v`.
"""
