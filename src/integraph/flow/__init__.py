"""Engines: `exact` (closed forms), `taylor` (sees only the terms), `oracle` (scipy). The first that can is default."""

from integraph.flow.exact import EXACT
from integraph.flow.oracle import ORACLE
from integraph.flow.taylor import TAYLOR
from integraph.program import plug

plug(EXACT)
plug(TAYLOR)
plug(ORACLE)

__all__ = ["EXACT", "ORACLE", "TAYLOR"]
