"""Integraph: quadratic neural ODEs as programs, to compile, build, run, store and explain."""

from integraph import flow, gadgets
from integraph.bounds.partition_of_unity import Partition
from integraph.bounds.sobolev import Sobolev
from integraph.certificates import certify, check, enclose
from integraph.comparison import Comparison, compare
from integraph.compiler import compile
from integraph.constructions.plans import Plan
from integraph.frontends import function, network
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
from integraph.smooth import plan, sobolev_norm
from integraph.targets import Function, Layer, Network

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "Comparison",
    "Function",
    "Index",
    "Layer",
    "Network",
    "Partition",
    "Plan",
    "Probe",
    "Program",
    "Registers",
    "Segment",
    "Sobolev",
    "Status",
    "View",
    "__version__",
    "build",
    "certify",
    "check",
    "compare",
    "compile",
    "enclose",
    "flow",
    "function",
    "gadgets",
    "load",
    "network",
    "plan",
    "segment",
    "sobolev_norm",
    "tensor",
]
