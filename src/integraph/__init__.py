"""Integraph: quadratic neural ODEs as programs, to compile, prove, build, run, store and explain."""

import importlib
import typing

from integraph import flow, gadgets
from integraph.bounds.partition_of_unity import Partition
from integraph.bounds.sobolev import Sobolev
from integraph.certificates import certify, check, enclose
from integraph.comparison import Comparison, compare
from integraph.compiler import compile
from integraph.constructions.graph.compiled import Layouts
from integraph.constructions.plans import Plan
from integraph.frontends import function, network
from integraph.graphs import graph, layouts
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
from integraph.targets.graph import Graph

if typing.TYPE_CHECKING:
    from integraph.certify.certificate import Certificate
    from integraph.certify.proof import Proof
    from integraph.certify.replay import Checked

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "Certificate",
    "Checked",
    "Comparison",
    "Function",
    "Graph",
    "Index",
    "Layer",
    "Layouts",
    "Network",
    "Partition",
    "Plan",
    "Probe",
    "Program",
    "Proof",
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
    "graph",
    "layouts",
    "load",
    "network",
    "plan",
    "segment",
    "sobolev_norm",
    "tensor",
]

_PROOFS = {"Certificate": "certificate", "Checked": "replay", "Proof": "proof"}


def __getattr__(name: str) -> typing.Any:
    """What proofs are made of, loaded when it is asked for: Arb comes with it."""
    if name not in _PROOFS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.certify.{_PROOFS[name]}"), name)
