"""Engines: `exact` (closed forms), `taylor` (sees only the terms), `oracle` (scipy), `precise` (closed forms in
multi-precision). The first that can is default."""

import math

from integraph.flow.exact.engine import EXACT
from integraph.flow.oracle import ORACLE
from integraph.flow.precise import PRECISE
from integraph.flow.taylor.engine import TAYLOR
from integraph.program import plug

plug(EXACT)
plug(TAYLOR)
plug(ORACLE)
plug(PRECISE, bits=math.inf)

__all__ = ["EXACT", "ORACLE", "PRECISE", "TAYLOR"]
