"""Engines: `exact` (closed forms), `taylor` (sees only the terms), `oracle` (scipy). The first that can is default."""

from integraph.flow.exact import EXACT
from integraph.flow.taylor import TAYLOR
from integraph.program import plug

plug(EXACT)
plug(TAYLOR)

__all__ = ["EXACT", "TAYLOR"]
