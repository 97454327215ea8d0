"""Integraph: quadratic neural ODEs as programs, to compile, prove, build, run, show and store.

Names are loaded when they are first used: `import integraph`, and the command's help, cost nothing.
"""

import importlib

from integraph.version import VERSION as __version__

TYPE_CHECKING = False  # without `typing`: this loads before the command catches Ctrl-C
if TYPE_CHECKING:
    from typing import Any

    from integraph import flow as flow
    from integraph import gadgets as gadgets
    from integraph import learn as learn
    from integraph import paper as paper
    from integraph import plot as plot
    from integraph.api.bounds import bound as bound
    from integraph.api.certificates import certify as certify
    from integraph.api.certificates import check as check
    from integraph.api.comparison import Comparison as Comparison
    from integraph.api.comparison import compare as compare
    from integraph.api.compiler import compile as compile
    from integraph.api.graphs import graph as graph
    from integraph.api.graphs import layouts as layouts
    from integraph.api.lifting import lift as lift
    from integraph.api.loop_programs import loop_program as loop_program
    from integraph.api.loops import loop as loop
    from integraph.api.loops import simulate as simulate
    from integraph.api.planning import plan as plan
    from integraph.api.planning import sobolev_norm as sobolev_norm
    from integraph.api.properties import prove as prove
    from integraph.bounds.paper.partition_of_unity import Partition as Partition
    from integraph.bounds.sobolev.norm import Sobolev as Sobolev
    from integraph.certify.bounds.bounds import Bounds as Bounds
    from integraph.certify.certificate.certificate import Certificate as Certificate
    from integraph.certify.certificate.replay import Checked as Checked
    from integraph.certify.loops.certificate import LoopCertificate as LoopCertificate
    from integraph.certify.proof import Proof as Proof
    from integraph.certify.properties.certificate import PropertyCertificate as PropertyCertificate
    from integraph.certify.properties.proof import PropertyProof as PropertyProof
    from integraph.constructions.graph.construction import Layouts as Layouts
    from integraph.constructions.lifting.quadratic_system import QuadraticSystem as QuadraticSystem
    from integraph.constructions.theorem1.plans import Plan as Plan
    from integraph.frontends import function as function
    from integraph.frontends import network as network
    from integraph.learn.identification.identify import identify as identify
    from integraph.program import Budget as Budget
    from integraph.program import Index as Index
    from integraph.program import Origin as Origin
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
    from integraph.targets import Function as Function
    from integraph.targets import Layer as Layer
    from integraph.targets import Network as Network
    from integraph.targets.graph import Graph as Graph

_HOMES = {  # where each name lives
    "Bounds": "certify.bounds.bounds",
    "Budget": "program",
    "Certificate": "certify.certificate.certificate",
    "Checked": "certify.certificate.replay",
    "Comparison": "api.comparison",
    "Function": "targets",
    "Graph": "targets.graph",
    "Index": "program",
    "Layer": "targets",
    "Layouts": "constructions.graph.construction",
    "LoopCertificate": "certify.loops.certificate",
    "Network": "targets",
    "Origin": "program",
    "Partition": "bounds.paper.partition_of_unity",
    "Plan": "constructions.theorem1.plans",
    "Probe": "program",
    "Program": "program",
    "Proof": "certify.proof",
    "PropertyCertificate": "certify.properties.certificate",
    "PropertyProof": "certify.properties.proof",
    "QuadraticSystem": "constructions.lifting.quadratic_system",
    "Registers": "program",
    "Segment": "program",
    "Sobolev": "bounds.sobolev.norm",
    "Status": "program",
    "View": "program",
    "bound": "api.bounds",
    "build": "program",
    "certify": "api.certificates",
    "check": "api.certificates",
    "compare": "api.comparison",
    "compile": "api.compiler",
    "function": "frontends",
    "graph": "api.graphs",
    "identify": "learn.identification.identify",
    "layouts": "api.graphs",
    "lift": "api.lifting",
    "load": "program",
    "loop": "api.loops",
    "loop_program": "api.loop_programs",
    "network": "frontends",
    "plan": "api.planning",
    "prove": "api.properties",
    "report": "report",
    "segment": "program",
    "simulate": "api.loops",
    "sobolev_norm": "api.planning",
    "tensor": "program",
}
_PACKAGES = ("flow", "gadgets", "learn", "paper", "plot")

__all__ = ["__version__", *_PACKAGES, *_HOMES]


def __getattr__(name: str) -> "Any":
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return attribute


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


for _package in (
    "certify",
    "report",
):  # functions take the names of these: bound first, and let go
    importlib.import_module(f"{__name__}.{_package}")
    del globals()[_package]
del TYPE_CHECKING
