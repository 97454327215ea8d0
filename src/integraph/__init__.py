"""Integraph compiles functions and trained networks into quadratic neural ODEs, with proofs."""

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
