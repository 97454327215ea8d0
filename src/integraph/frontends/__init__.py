"""From what people have (nets, formulas, functions, tables) to targets."""

from integraph.frontends.options import DEFAULTS, ReadOptions, Target, Variables
from integraph.frontends.reader import SourceKind, function, kind_of, network, read

__all__ = ["DEFAULTS", "ReadOptions", "SourceKind", "Target", "Variables", "function", "kind_of", "network", "read"]
