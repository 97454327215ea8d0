"""SBML and Antimony → dynamical systems: reactions with kinetic laws, rules, compartments, and the start of the file.

Read `xml_text` (what a file may be before libSBML sees it), `mathematics` (MathML → steps), `symbols` (what an
identifier stands for), `model` (rates of species), and `antimony`. Nothing is executed, and no other file is read.
"""

from integraph.frontends.dynamics.sbml.antimony import read_antimony
from integraph.frontends.dynamics.sbml.model import read_sbml

__all__ = ["read_antimony", "read_sbml"]
