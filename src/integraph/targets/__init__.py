"""What is compiled: a feedforward network, a function on a box, a graph of array operations, or a dynamical system.

Targets know numbers and the conventions of inputs, nothing of gadgets or engines.

Read `network` with `activations` and `affine_maps`; `expression`, `constants`, `float_arithmetic`, `calls`, `rows`,
`function` and `dynamical_system`; `graph`, `graph_builder` with `graph_rows` and `folding`, `graph_evaluation`,
`graph_conversion`; `windows` (convolutions, pooling) and `composites` (ELU and its kin), which draw on a builder what
graphs have no operation for; `property` and `image`.
"""

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
