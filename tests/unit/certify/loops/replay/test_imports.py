"""The checker shares data with the search, and no code that computes sets."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from integraph.certify.loops import replay

LOOPS = "integraph.certify.loops"
DATA = {  # what the checker takes from elsewhere in its package: what is asked, and of which loop
    "certificate": {"PROVED", "CertifiedStep", "LoopCertificate", "Path", "fault", "loop_digest"},
    "controller": {"Controller", "ControllerGroup", "Law"},
    "disturbance": {"Disturbance"},
    "loop": {"Loop"},
    "spec": {"Clause", "Specification", "When"},
}
FILES = sorted(Path(replay.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_code_of_the_search(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            assert not any(name.name.startswith(LOOPS) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(LOOPS):
            path = str(node.module).removeprefix(LOOPS).removeprefix(".")
            if path.split(".")[0] != "replay":
                assert {name.name for name in node.names} <= DATA.get(path, set()), (file.name, path)


def test_numbers_are_arb() -> None:
    """No kernels, no models in floats."""
    for file in FILES:
        text = file.read_text()
        assert not any(word in text for word in ("numba", "njit", "numbers.models", "numbers.intervals")), file.name
