"""Gadgets, engines, front ends, validated solutions, exports, machines, pictures and the report belong to later layers,
which earlier ones may not import. They are loaded by name when the first of them is needed, so a program does not
depend on them, and `import integraph` is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

EXPORT, FLOW, FRONTENDS, GADGETS = "export", "flow", "frontends", "gadgets"
MACHINE, PLOT, REPORT = "machine", "plot", "report"
SOLUTIONS = "certify.solutions"


def load_layer(layer: str) -> Any:
    """The package of a layer, loaded: whatever it registers is registered then."""
    return importlib.import_module(f"integraph.{layer}")
