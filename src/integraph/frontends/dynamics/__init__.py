"""Equations x' = f(x) → dynamical systems: text, files of text, mappings from names to formulas, SBML and Antimony, and
functions of Python. Text is never executed; a function is called, by jax.

Read `equations` (text: derivatives on the left, definitions, higher orders), `callables`, `sbml`, and `reader`, which
decides what a source is."""

from integraph.frontends.dynamics.reader import read_system

__all__ = ["read_system"]
