"""From what people have (nets, formulas, functions, tables) to targets."""

from integraph.frontends.function import function
from integraph.frontends.read import is_network, network

__all__ = ["function", "is_network", "network"]
