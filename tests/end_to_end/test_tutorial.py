"""The tutorial, typed line by line into an empty folder: every command works, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

import integraph
from pages import MARK, ROOT, RUN, blocks, run, unprinted

TEXT = (ROOT / "docs" / "tutorial.md").read_text()
pytestmark = pytest.mark.slow  # all need the one session in which everything is typed


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("tutorial")
    result = run(TEXT, folder)
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def test_it_prints_what_it_shows(done: tuple[Path, str]) -> None:
    assert unprinted(TEXT, done[1]) == []


def test_it_leaves_what_it_names(done: tuple[Path, str]) -> None:
    folder, _ = done
    assert {path.name for path in folder.iterdir()} == {
        "page.md",
        "wave.integraph",
        "lean.integraph",
        "lean.proof.json",
        "lean.html",
    }
    assert integraph.check(
        folder / "lean.proof.json", integraph.load(folder / "lean.integraph"), "sin(3*x)*exp(-y)/(1+x*y)"
    )
    assert (folder / "lean.html").read_text().lstrip().lower().startswith("<!doctype html>")


def test_every_block_is_run_or_compared(done: tuple[Path, str]) -> None:
    kinds = [block.kind for block in blocks(TEXT)]
    assert set(kinds) == {*RUN, "text"}
    assert done[1].count(MARK) == sum(kind in RUN for kind in kinds) >= 10
    assert kinds.count("text") >= 10


def test_another_output_would_be_noticed(done: tuple[Path, str]) -> None:
    for said, wrong in (
        ("status            proved", "status            refuted"),
        ("W = 36", "W = 63"),
        ("0.351971468868", "0.351981468868"),
    ):
        assert said in TEXT
        changed = TEXT.replace(said, wrong, 1)
        assert len(unprinted(changed, done[1])) == 1
