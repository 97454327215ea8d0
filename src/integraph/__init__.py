"""Integraph: quadratic neural ODEs as programs, to compile, build, run, store and explain."""

from integraph import flow, gadgets
from integraph.comparison import Comparison, compare
from integraph.compiler import compile
from integraph.frontends import network
from integraph.program import (
    Budget,
    Index,
    Probe,
    Program,
    Registers,
    Segment,
    Status,
    View,
    build,
    load,
    segment,
    tensor,
)
from integraph.targets import Layer, Network

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "Comparison",
    "Index",
    "Layer",
    "Network",
    "Probe",
    "Program",
    "Registers",
    "Segment",
    "Status",
    "View",
    "__version__",
    "build",
    "compare",
    "compile",
    "flow",
    "gadgets",
    "load",
    "network",
    "segment",
    "tensor",
]
