"""Properties → `targets.property`: sentences such as "y0 <= 2 and y1 - y0 > 0.1", and VNN-LIB files.

Nothing is executed.

Read `names` (what outputs and inputs are called), `sentence` (words → clauses, with the formula parser for what is
compared), `s_expressions`, `linear_forms`, `input_box` and `vnnlib`.
"""
