"""docs/command.md and the real `--help`: the same words, each with the same options, and nothing that is not there."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from integraph.cli.app import app
from pages import ROOT

TEXT = (ROOT / "docs" / "command.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
SHARED = {"--json", "--debug", "--help"}
WORDS = tuple(word for word in SECTIONS if word.islower())


def shown(*words: str) -> str:
    """What the command says of itself, wide enough that nothing is cut, without colours and frames."""
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "400", "NO_COLOR": "1", "TERM": "dumb"})
    assert result.exit_code == 0
    return re.sub(r"\x1b\[[\d;]*m", "", result.output)


def options(text: str) -> set[str]:
    """Those that have a line of their own: long names, and the short ones behind them."""
    lines = re.findall(r"^\W*(--[A-Za-z-]+)[, ]*(-[a-z]\b)?", text, re.MULTILINE)
    return {name for pair in lines for name in pair if name}


def written(section: str) -> set[str]:
    """The options of a section: the first cells of its table."""
    cells = re.findall(r"^\| (`--.*?) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(--?[A-Za-z-]+)`", cell)}


def test_the_words_are_those_of_the_command() -> None:
    listed = re.findall(r"^\W*([a-z0-9]+) {2,}[A-Z]", shown().partition("Make")[2], re.MULTILINE)
    assert sorted(listed) == sorted(WORDS)
    assert len(WORDS) == 20
    assert all(f"[`{word}`](#{word})" in TEXT for word in WORDS)


@pytest.mark.parametrize("word", WORDS)
def test_the_options_are_those_of_the_word(word: str) -> None:
    assert written(SECTIONS[word]) == options(shown(word)) - SHARED - {"-h"}


def test_the_options_of_all_words() -> None:
    assert written(SECTIONS["For all commands"]) == SHARED | {"-h"}
    assert all(options(shown(word)) >= SHARED for word in WORDS)
    assert all(f"`{name}`" in SECTIONS["For all commands"] for name in options(shown()) - {"-h"})


def test_another_option_would_be_noticed() -> None:
    assert "--eps" in written(SECTIONS["certify"])
    assert "-o" in written(SECTIONS["certify"]) & options(shown("certify"))
    assert "--gap" not in written(SECTIONS["check"]) | options(shown("check"))
