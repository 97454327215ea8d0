"""The formats, one line each: names, suffixes, how large a program may be, and who has simulated what we write."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from integraph.errors import UsageError

SMALL = 2_000  # terms of a circuit, or of a drawing
TEXT = 20_000  # terms of a file in which each is written out
NETWORK = 5_000  # terms of a reaction network: up to four reactions for each
PAGE = 200_000  # terms that a browser integrates while a slider moves
TABLES = 5_000_000  # terms of a file of arrays
ORT = "onnxruntime"
NOT_RUN = "not run by our tests"
BIOLOGY = "libSBML, libRoadRunner, COPASI"
Writer = Callable[..., str | bytes]


@dataclass(frozen=True, slots=True)
class Format:
    name: str  # as `--to` takes it
    suffixes: tuple[str, ...]  # of its files; the first format with a suffix is that of the suffix
    what: str
    module: str  # of this package
    limit: int = TEXT  # terms
    exact: bool = True  # holds every number to the last bit
    binary: bool = False  # bytes, not text
    judge: str = NOT_RUN  # the tools that simulate what we write, in our tests

    @property
    def write(self) -> Writer:
        writer: Writer = import_module(f"integraph.export.{self.module}").write
        return writer

    def options(self) -> dict[str, Any]:
        """The options that this format takes, and their defaults."""
        given = inspect.signature(self.write).parameters.values()
        return {one.name: one.default for one in given if one.kind is inspect.Parameter.KEYWORD_ONLY}


FORMATS = (
    Format("c", (".c", ".h"), "C99 without a library: Taylor steps over tables", "c.c99", TABLES, judge="gcc"),
    Format("c-closed", (".closed.c",), "C99: closed forms as one function", "c.closed", TABLES, judge="gcc"),
    Format("onnx", (".onnx",), "ONNX: closed forms as array nodes", "onnx.onnx_graph", TABLES, binary=True, judge=ORT),
    Format(
        "jax",
        (".jaxexport",),
        "jax.export: closed forms, derivative",
        "solvers.jax_export",
        TABLES,
        binary=True,
        judge="jax",
    ),
    Format("fmu", (".fmu",), "FMU 2.0: co-simulation, model exchange", "c.fmu", TABLES, binary=True, judge="FMPy"),
    Format("modelica", (".mo",), "Modelica: one model", "solvers.modelica", judge="rumoca, pymoca"),
    Format("sbml", (".sbml", ".xml"), "SBML L3V2: rate rules and events", "biology.sbml", judge=BIOLOGY),
    Format("crn", (".crn.xml",), "a reaction network with mass action, as SBML", "biology.crn", NETWORK, judge=BIOLOGY),
    Format("antimony", (".ant",), "the same network as Antimony", "biology.antimony", NETWORK, False, judge=BIOLOGY),
    Format("spice", (".cir", ".sp"), "SPICE: capacitors and B sources", "circuits.spice", exact=False, judge="ngspice"),
    Format("lucidac", (".lucidac.py",), "LUCIDAC, by lucipy", "circuits.lucidac", SMALL, False, judge="lucipy"),
    Format("verilog", (".v",), "Verilog in fixed point", "circuits.verilog", SMALL, False, judge="Icarus"),
    Format("heyoka", (".py",), "heyoka.py: a Taylor integrator for each segment", "solvers.heyoka", judge="heyoka"),
    Format("matlab", (".m",), "MATLAB and Octave: integrates with ode45", "solvers.matlab", judge="Octave"),
    Format("julia", (".jl",), "Julia: OrdinaryDiffEq.jl", "solvers.julia"),
    Format("mtk", (".mtk.jl",), "Julia: ModelingToolkit.jl, symbolic systems", "solvers.modeling_toolkit"),
    Format("juliareach", (".reach.jl",), "JuliaReach: @taylorize and flowpipes", "reach.juliareach"),
    Format("cora", (".cora.m",), "CORA (MATLAB): reachable sets", "reach.cora"),
    Format("flowstar", (".model",), "Flow*: a hybrid system with a clock", "reach.flowstar"),
    Format("capd", (".capd.cpp", ".cpp"), "CAPD (C++): validated integration", "reach.capd"),
    Format("dreal", (".smt2",), "dReal: flows for questions about outputs", "reach.dreal"),
    Format("page", (".html",), "a page that integrates the ODE in a browser", "documents.page", PAGE, judge="Chromium"),
    Format("latex", (".tex",), "LaTeX: equations and a legend", "documents.latex", judge="pdflatex"),
    Format("dot", (".dot", ".gv"), "Graphviz: which register moves which", "documents.graphviz", SMALL, judge="dot"),
    Format("json", (".json",), "the terms, with exact numbers", "documents.term_table", TABLES, judge="Python's json"),
    Format("csv", (".csv",), "the terms as a table", "documents.term_csv", TABLES, judge="Python's csv"),
)


def format_named(name: str | None, path: Path) -> Format:
    """The format of that name, or, without a name, that of the suffix."""
    if name is not None:
        for one in FORMATS:
            if one.name == name.lower():
                return one
        raise UsageError(f"no format is called {name!r}: there are {_names()}", argument="format", value=name)
    for one in sorted(FORMATS, key=lambda one: -max(map(len, one.suffixes))):  # .reach.jl before .jl
        if path.name.lower().endswith(one.suffixes):
            return one
    cause = f"no format has the suffix {path.suffix!r}" if path.suffix else "a name without a suffix names no format"
    listed = ", ".join(f"{one.suffixes[0]} ({one.name})" for one in FORMATS)
    raise UsageError(f"{path.name}: {cause}: choose one of {listed}; or keep the name and give the format too (--to)")


def _names() -> str:
    return ", ".join(one.name for one in FORMATS)
