"""Engines: they run a program, and know neither what it was compiled from nor what is proved of it.

`exact` takes closed forms, `taylor` only the terms, `oracle` scipy's integrator, `precise` closed forms in many bits,
`jax` closed forms compiled by XLA. A program runs on the first of them that can, in this order, unless one is named
or `jax` is due.

Read `exact`, `taylor`, `oracle`, `precise` over `ball_flow`; `chunks` and `diagnosis` serve them all,
`lost_digits` explains failures that are rounding. `closed_forms` traces the gadgets' closed forms to array operations:
`jax` and `torch`, which `frameworks` loads, run them, and exports write them.
"""

import math

from integraph.flow.exact.engine import EXACT
from integraph.flow.frameworks import to_jax, to_torch
from integraph.flow.jax.engine import JAX
from integraph.flow.oracle import ORACLE
from integraph.flow.precise import PRECISE
from integraph.flow.taylor.engine import TAYLOR
from integraph.program import plug

plug(EXACT, point=EXACT.point)
plug(TAYLOR)
plug(ORACLE)
plug(PRECISE, bits=math.inf)
plug(JAX, package="jax", due=JAX.due)

__all__ = ["EXACT", "JAX", "ORACLE", "PRECISE", "TAYLOR", "to_jax", "to_torch"]
