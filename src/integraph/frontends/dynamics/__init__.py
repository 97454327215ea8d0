"""Equations x' = f(x) → dynamical systems: text, files of text, and mappings from names to formulas. Nothing is
executed.

Read `equations` (text: derivatives on the left, definitions, higher orders) and `reader`, which decides what a source
is."""

from integraph.frontends.dynamics.reader import read_system

__all__ = ["read_system"]
