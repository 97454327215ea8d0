"""From what people have (nets, formulas, functions, tables) to targets."""

from integraph.frontends.function import function
from integraph.frontends.reader import graph, is_network, is_onnx, network

__all__ = ["function", "graph", "is_network", "is_onnx", "network"]
