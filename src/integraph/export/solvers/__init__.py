"""Solvers of other people.

Read `heyoka`, the shortest, `matlab`, `julia`, `modeling_toolkit`, then `modelica`.
"""
