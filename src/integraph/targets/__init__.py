"""What is compiled: a feedforward network."""

from integraph.targets.activations import ACTIVATIONS, Activation, activation
from integraph.targets.merge import merge
from integraph.targets.network import Layer, Network, from_layers

__all__ = ["ACTIVATIONS", "Activation", "Layer", "Network", "activation", "from_layers", "merge"]
