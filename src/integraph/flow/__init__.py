"""Engines: they run a program, and know neither what it was compiled from nor what is proved of it.

`exact` takes closed forms, `taylor` only the terms, `oracle` scipy's integrator, `precise` closed forms in many bits. A
program runs on the first of them that can, in this order, unless one is named.

Read `exact`, `taylor`, `oracle`, `precise` over `ball_flow`; `chunks` and `diagnosis` serve them all,
`lost_digits` explains failures that are rounding.
"""

import math

from integraph.flow.exact.engine import EXACT
from integraph.flow.oracle import ORACLE
from integraph.flow.precise import PRECISE
from integraph.flow.taylor.engine import TAYLOR
from integraph.program import plug

plug(EXACT, point=EXACT.point)
plug(TAYLOR)
plug(ORACLE)
plug(PRECISE, bits=math.inf)

__all__ = ["EXACT", "ORACLE", "PRECISE", "TAYLOR"]
