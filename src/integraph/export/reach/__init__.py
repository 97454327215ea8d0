"""Tools for reachability, which start from the box of the inputs.

Read `cora`, `juliareach`, `flowstar`, `capd`, then `dreal`.
"""
