"""Layers above a program plug gadgets, engines, pictures and the report into it. They are imported by name when the
first of them is needed: a program does not depend on any of them, and `import integraph` is quick."""

from __future__ import annotations

import importlib
from typing import Any

FLOW, GADGETS, PLOT, REPORT = "flow", "gadgets", "plot", "report"


def load_layer(layer: str) -> Any:
    """The package of a layer, loaded: whatever it registers is registered then."""
    return importlib.import_module(f"integraph.{layer}")
