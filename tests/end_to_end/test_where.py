"""The table "Where is what" of docs/architecture.md: every file is there and defines the name beside it."""

from __future__ import annotations

import re

import pytest

from pages import ROOT

TEXT = (ROOT / "docs" / "architecture.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| `([\w/]+\.py)` \| `(\w+)` \|$", TEXT, re.MULTILINE)


def defines(source: str, name: str) -> bool:
    """Whether a class, a function or a constant of this name begins a line."""
    return re.search(rf"^(?:(?:class|def) {name}\b|{name}\b.*=)", source, re.MULTILINE) is not None


@pytest.mark.parametrize(("question", "file", "name"), ROWS, ids=[row[0] for row in ROWS])
def test_the_answer_is_right(question: str, file: str, name: str) -> None:
    path = ROOT / "src" / "integraph" / file
    assert path.exists()
    assert defines(path.read_text(), name)


def test_files_named_without_their_folder_exist() -> None:
    files = {path.name for path in (ROOT / "src" / "integraph").rglob("*.py")}
    named = set(re.findall(r"`(\w+\.py)`", TEXT))
    assert len(named) > 10
    assert named - files == set()


def test_there_are_twenty_questions() -> None:
    assert len({question for question, *_ in ROWS}) >= 20


def test_a_wrong_answer_is_noticed() -> None:
    source = "class Tanh(Elementwise):\nOPS: dict[str, Rule] = {\nfrom integraph import plan\n"
    assert all(defines(source, name) for name in ("Tanh", "OPS"))
    assert not any(defines(source, name) for name in ("plan", "Rule", "Tan"))
