"""A certificate is checked against what is asked: specification, starts, and constants between their ends."""

from __future__ import annotations

from pathlib import Path

import pytest

import integraph
from integraph.errors import UsageError

FILE = """controller = "-{gain}*x"
period = 1
steps = 3
discrete = true
spec = "x in [-1, 1] always"
plant = "x' = c*x + u"
start = {{x = [0.4, {end}]}}
parameters = {{c = [{low}, 1.0]}}
"""
ASKED = {"gain": 0.5, "end": 0.5, "low": 0.5}


def written(folder: Path, **change: float) -> Path:
    path = folder / "bench.toml"
    path.write_text(FILE.format(**ASKED | change))
    return path


@pytest.fixture(scope="module")
def result():
    return integraph.loop(
        "x' = c*x + u", "-0.5*x", period=1, steps=3, discrete=True, start={"x": (0.4, 0.5)},
        parameters={"c": (0.5, 1.0)}, spec="x in [-1, 1] always", progress=False,
    )  # fmt: skip


def test_the_same_question_is_answered(result, tmp_path: Path) -> None:
    certificate = result.certificate(workers=1)
    for subject in (result, result.loop, written(tmp_path), str(written(tmp_path)), written(tmp_path, end=0.45)):
        assert integraph.check(certificate, subject, workers=1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"low": 0.4}, "see c"), ({"end": 0.6}, "see x"), ({"low": 0.4, "end": 0.6}, "see x, c"), ({"gain": 1}, "loop")],
)
def test_other_starts_constants_and_loops(result, tmp_path: Path, change: dict[str, float], reason: str) -> None:
    checked = integraph.check(result.certificate(workers=1), written(tmp_path, **change), workers=1)
    assert (checked.holds, checked.status) == (False, "unknown")
    assert reason in checked.reason


def test_a_failure_is_one_of_those_asked_about(tmp_path: Path) -> None:
    failing = integraph.loop(
        "x' = c*x + u", "-0.5*x", period=1, steps=3, discrete=True, start={"x": (0.4, 0.5)},
        parameters={"c": (0.5, 9.0)}, spec="x in [-1, 1] always", progress=False,
    )  # fmt: skip
    certificate = failing.certificate(workers=1)
    assert integraph.check(certificate, failing, workers=1).status == "refuted"
    assert "see c" in integraph.check(certificate, written(tmp_path), workers=1).reason


def test_arguments_that_say_nothing(result) -> None:
    certificate = result.certificate(workers=1)
    for more in ({"source": "x"}, {"variables": "x"}, {"inputs": 1}, {"parameters": {"c": 1}}):
        with pytest.raises(UsageError, match="leave it out"):
            integraph.check(certificate, result, **more)
