"""An exporter is a small thing: none has more than 120 lines."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from integraph.export.formats import FORMATS, Format

MOST = 120


@pytest.mark.parametrize("format", FORMATS, ids=lambda one: one.name)
def test_an_exporter_is_short(format: Format) -> None:
    path = Path(str(import_module(f"integraph.export.{format.module}").__file__))
    files = path.parent.glob("*.py") if path.name == "__init__.py" else [path]
    long = {one.name: lines for one in files if (lines := len(one.read_text().splitlines())) > MOST}
    assert long == {}
