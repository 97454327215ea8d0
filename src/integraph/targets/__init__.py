"""What is compiled: a feedforward network, or a function."""

from integraph.targets.activations import ACTIVATIONS, Activation, activation
from integraph.targets.affine_maps import merge
from integraph.targets.expression import Expression
from integraph.targets.function import Function, Table
from integraph.targets.network import Layer, Network, from_layers

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Expression",
    "Function",
    "Layer",
    "Network",
    "Table",
    "activation",
    "from_layers",
    "merge",
]
