"""Integraph: quadratic neural ODEs as programs, to compile, prove, build, run, show and store.

Names are loaded when they are first used: `import integraph`, and the command's help, cost nothing.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from integraph import flow as flow
    from integraph import gadgets as gadgets
    from integraph import paper as paper
    from integraph import plot as plot
    from integraph.bounds.partition_of_unity import Partition as Partition
    from integraph.bounds.sobolev import Sobolev as Sobolev
    from integraph.certificates import certify as certify
    from integraph.certificates import check as check
    from integraph.certificates import enclose as enclose
    from integraph.certify.certificate import Certificate as Certificate
    from integraph.certify.proof import Proof as Proof
    from integraph.certify.replay import Checked as Checked
    from integraph.comparison import Comparison as Comparison
    from integraph.comparison import compare as compare
    from integraph.compiler import compile as compile
    from integraph.constructions.graph.compiled import Layouts as Layouts
    from integraph.constructions.plans import Plan as Plan
    from integraph.frontends import function as function
    from integraph.frontends import network as network
    from integraph.graphs import graph as graph
    from integraph.graphs import layouts as layouts
    from integraph.program import Budget as Budget
    from integraph.program import Index as Index
    from integraph.program import Probe as Probe
    from integraph.program import Program as Program
    from integraph.program import Registers as Registers
    from integraph.program import Segment as Segment
    from integraph.program import Status as Status
    from integraph.program import View as View
    from integraph.program import build as build
    from integraph.program import load as load
    from integraph.program import segment as segment
    from integraph.program import tensor as tensor
    from integraph.report import report as report
    from integraph.smooth import plan as plan
    from integraph.smooth import sobolev_norm as sobolev_norm
    from integraph.targets import Function as Function
    from integraph.targets import Layer as Layer
    from integraph.targets import Network as Network
    from integraph.targets.graph import Graph as Graph

__version__ = "0.1.0"

_HOMES = {  # where each name lives
    "Budget": "program",
    "Certificate": "certify.certificate",
    "Checked": "certify.replay",
    "Comparison": "comparison",
    "Function": "targets",
    "Graph": "targets.graph",
    "Index": "program",
    "Layer": "targets",
    "Layouts": "constructions.graph.compiled",
    "Network": "targets",
    "Partition": "bounds.partition_of_unity",
    "Plan": "constructions.plans",
    "Probe": "program",
    "Program": "program",
    "Proof": "certify.proof",
    "Registers": "program",
    "Segment": "program",
    "Sobolev": "bounds.sobolev",
    "Status": "program",
    "View": "program",
    "build": "program",
    "certify": "certificates",
    "check": "certificates",
    "compare": "comparison",
    "compile": "compiler",
    "enclose": "certificates",
    "function": "frontends",
    "graph": "graphs",
    "layouts": "graphs",
    "load": "program",
    "network": "frontends",
    "plan": "smooth",
    "report": "report",
    "segment": "program",
    "sobolev_norm": "smooth",
    "tensor": "program",
}
_PACKAGES = ("flow", "gadgets", "paper", "plot")

__all__ = ["__version__", *_PACKAGES, *_HOMES]


def __getattr__(name: str) -> typing.Any:
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


for _package in (
    "certify",
    "report",
):  # functions take the names of these: bound first, and let go
    importlib.import_module(f"{__name__}.{_package}")
    del globals()[_package]
