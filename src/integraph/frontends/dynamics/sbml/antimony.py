"""Antimony, reactions as text: translated to SBML by its own library, which reads no other file here."""

from __future__ import annotations

import re
from pathlib import Path

from integraph.errors import SourceError
from integraph.frontends.dynamics.sbml.model import system_of
from integraph.frontends.dynamics.sbml.xml_text import LARGEST
from integraph.frontends.extras import need
from integraph.frontends.formula.formula_file import text_of
from integraph.frontends.formula.parameters import Parameters
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.text import clean, shortened

IMPORT = re.compile(r"""\bimport\s*["']""")
SHOWN = 300  # characters of a message


def read_antimony(
    path: Path, inputs: tuple[str, ...] = (), positive: tuple[str, ...] = (), parameters: Parameters = None
) -> DynamicalSystem:
    """The system of an Antimony file; of several models in it, the main one."""
    text = text_of(path)
    if IMPORT.search(text):
        raise SourceError(f"{path.name} imports another file, and none is read: write the model in one file")
    antimony = need("antimony", "sbml")
    antimony.clearPreviousLoads()
    if antimony.loadAntimonyString(text) < 0:
        said = shortened(clean(" ".join(antimony.getLastError().split())), SHOWN)
        raise SourceError(f"{path.name} is no Antimony that can be read: {said}")
    sbml = antimony.getSBMLString(antimony.getMainModuleName())
    antimony.clearPreviousLoads()
    if len(sbml) > LARGEST:
        raise SourceError(
            f"{path.name} makes more than {LARGEST:,} characters of SBML: a model of this size is not read"
        )
    return system_of(sbml, path.name, inputs, positive, parameters)
