"""Closed loops: all trajectories of a plant under a sampled controller, from a box of starts, proved.

A set of states is a few rows of polynomial models. A controller maps them to inputs, a step of the plant maps both to
the states after a time h, all rounding counted; a tube is boxes of these rows, a specification is decided on them.

Read `tape` (a formula as operations with Taylor recurrences), `interval_kernels` and `box_kernels` (the box that
solutions do not leave), `row_kernels` and `flow_kernels` (the flow on rows), `rows`, `steps`; `network_kernels` and
`controller`; `loop`; `spec`, `tube`, `simulation`, `result` and `search`; `certificate` and `certification`; `replay`,
the check.
"""
