"""Biology: SBML with rate rules, and reaction networks with mass action, as SBML and as Antimony.

Read `sbml` over `sbml_document`; then `reactions` (registers as pairs of species), `annihilation` (the rate at which
the two of a pair vanish), `crn` and `antimony`.
"""
