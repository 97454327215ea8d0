"""The page, opened in Chromium: its own engine against ours, its sliders, names that are no code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import export_programs
from browser import Visit, chromium, visit
from integraph import Program, Registers, build, segment
from integraph.gadgets import affine
from lazy import needs
from slow import mostly_slow
from taylor_programs import ln_program

pytestmark = needs("playwright")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as one:
        yield one


def run(seen: Visit, x: np.ndarray) -> tuple[set[str], np.ndarray]:
    """Statuses and outputs that the script of the page computes."""
    script = "xs => xs.map(x => integraph.run(x)).map(r => [r.status, r.outputs.map(v => isFinite(v) ? v : null)])"
    results = seen.run(script, x.tolist())
    return {status for status, _ in results}, np.array([outputs for _, outputs in results], np.float64)


@mostly_slow("name", export_programs.EQUATIONS, quick=1)
def test_chromium_gives_the_same_outputs(name: str, browser: Any, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    x = export_programs.inputs(program, 20)
    with visit(browser, program.export(tmp_path / "wave.html")) as seen:
        status, outputs = run(seen, x)
        assert seen.quiet, (seen.said, seen.asked)
    assert status == {"done"}
    assert np.abs(outputs - program(x)).max() <= 1e-10


@pytest.mark.parametrize("name", export_programs.EQUATIONS)
def test_the_data_are_the_terms(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    text = program.export(tmp_path / "wave.html").read_text("ascii")
    match = re.search(r'<script type="application/json" id="model">(.*?)</script>', text)
    assert match is not None
    model, controls = json.loads(match[1]), program.controls()
    for letter in ("i", "j", "k", "value"):
        assert [one for part in model["segments"] for one in part[letter]] == getattr(controls, letter).tolist()
    counts = np.bincount(controls.segment, minlength=program.depth)
    assert [len(part["value"]) for part in model["segments"]] == counts.tolist()
    assert [part["duration"] for part in model["segments"]] == [one.duration for one in program.segments]
    matrix = np.zeros(program.readout.shape)
    for output, register, weight in model["readout"]:
        matrix[output, register] += weight
    assert np.array_equal(matrix, program.readout.toarray())


def shows(seen: Visit, outputs: np.ndarray) -> None:
    script = f"Math.abs(Number(document.querySelector('output').textContent) - {float(outputs[0])!r}) < 1e-13"
    seen.until(script)


@pytest.mark.slow
def test_a_person_moves_a_slider(browser: Any, tmp_path: Path) -> None:
    program = export_programs.formula()
    with visit(browser, program.export(tmp_path / "wave.html"), width=400, scheme="dark") as seen:
        assert seen.run("document.documentElement.scrollWidth <= innerWidth")
        page = seen.page
        curves = page.locator("#chart path").all()
        assert len(curves) == program.width
        page.locator("#input-0").fill("0.75")
        page.get_by_role("spinbutton", name="y").fill("0.5")
        shows(seen, program([0.75, 0.5]))
        assert page.locator("#all").input_value() == "0.75, 0.5"
        page.locator("#all").fill("0.25, 1")
        shows(seen, program([0.25, 1.0]))
        page.locator("#all").fill("0.25")
        seen.until("document.querySelector('output').textContent === 'no value'")
        assert "not a finite number" in page.locator("#status").inner_text()
        page.locator("#all").fill("0.3, 0.3")
        page.get_by_role("button", name="x").first.click()
        assert page.locator("#chart path").count() == program.width - 1
        page.locator("#compress").check()
        page.locator("#chart").hover()
        assert "at t = " in page.locator("#moment").inner_text()
        shows(seen, program([0.3, 0.3]))
        assert seen.quiet, (seen.said, seen.asked)


@pytest.mark.slow
def test_an_escape_has_no_value(browser: Any, tmp_path: Path) -> None:
    program = ln_program()
    x = np.array([[-4.0], [-1.0 - 1e-9], [-1.0], [-1e20]])
    with visit(browser, program.export(tmp_path / "wave.html")) as seen:
        status, outputs = run(seen, x)
        assert status == {"escape"}
        assert np.isnan(outputs).all()
        good = np.array([[-1.0 + 1e-6], [0.0], [3.0]])
        status, outputs = run(seen, good)
        assert status == {"done"}
        assert np.allclose(outputs, 1 + np.log1p(good), rtol=0, atol=1e-9)
        seen.page.locator("#all").fill("-2")
        seen.until("document.querySelector('output').textContent === 'no value'")
        assert "escapes: it leaves every bound at t = 0.5" in seen.page.locator("#status").inner_text()


@pytest.mark.slow
@pytest.mark.parametrize("guarded", [True, False])
def test_names_are_not_code(guarded: bool, browser: Any, tmp_path: Path) -> None:
    path = export_programs.hostile().export(tmp_path / "wave.html")
    if not guarded:
        text, count = re.subn('<meta http-equiv="Content-Security-Policy".*?>', "", path.read_text(), count=1)
        assert count == 1
        path.write_text(text)
    with visit(browser, path) as seen:
        assert seen.quiet, (seen.said, seen.asked, seen.dialogs)
        assert seen.run("document.querySelectorAll('img, iframe, a').length") == 0
        assert seen.run("window.hit === undefined")


@pytest.mark.slow
def test_the_policy_stops_a_script_that_got_in(browser: Any, tmp_path: Path) -> None:
    path = export_programs.formula().export(tmp_path / "wave.html")
    path.write_text(path.read_text().replace("</main>", "<script>window.hit = 1</script></main>"))
    with visit(browser, path) as seen:
        assert seen.run("window.hit === undefined")
        assert any("Content Security Policy" in text for text in seen.said)


def many() -> Program:
    """More inputs, outputs, registers and terms in a row than the page lists, and a segment that is very short."""
    r = Registers()
    x, y, z = r.inputs("x", 40), r.new("y", 60), r.new("z", 70)
    weights = np.random.default_rng(1).normal(size=(60, 40))
    steps = [
        segment("wide", affine(y, x, w=weights)),
        segment("sum", affine(z, y, w=np.resize(weights @ weights.T, (70, 60))), duration=1e-3),
    ]
    return build(r, steps, z)


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1280])
def test_a_wide_program_fits_the_page(width: int, browser: Any, tmp_path: Path) -> None:
    program = many()
    x = np.random.default_rng(2).normal(size=(3, 40))
    with visit(browser, program.export(tmp_path / "wave.html"), width=width) as seen:
        assert np.allclose(run(seen, x)[1], program(x), rtol=1e-12)
        assert seen.run("document.documentElement.scrollWidth <= innerWidth")
        text = seen.page.inner_text("main")
    for words in (
        "first 16 of 40 inputs",
        "first 48 of 170 registers",
        "same width",
        "24 more terms",
        "20 more registers",
        "6 more outputs",
    ):
        assert words in text
