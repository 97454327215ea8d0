"""Integraph: quadratic neural ODEs as programs, to build, run, store and explain."""

from integraph import flow, gadgets
from integraph.program import Index, Program, Registers, Segment, Status, View, build, load, segment, tensor

__version__ = "0.1.0"

__all__ = [
    "Index",
    "Program",
    "Registers",
    "Segment",
    "Status",
    "View",
    "__version__",
    "build",
    "flow",
    "gadgets",
    "load",
    "segment",
    "tensor",
]
