"""Any graph of array operations as a program, without approximation where its operations allow it.

Read `construction`, and `piecewise` for formulas with conditions; values: `forms`, `rounding`, `constant_forms`,
`fusion`; from nodes to runs: `translation`, `rules`, `elementary_rules`, `gadget_runs`, `sum_trees`, `runs`,
`invariants`; from runs to segments: `schedule`, `allocation` and `packing`, `emit`, `vectorisation`, `layout`; and the
error: `enclosure`, `error_budget`.
"""
