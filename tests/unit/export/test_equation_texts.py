"""The formats that are texts of equations: read back term by term, run where their tool is at hand, else compared with
a golden file that was read by eye."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import export_programs
from integraph.export.equations import equations
from integraph.export.formats import FORMATS, NOT_RUN
from lazy import needs_command
from slow import mostly_slow
from term_texts import Rows, infix, prefix, same_terms

GOLDEN = Path(__file__).parents[2] / "data" / "exports"
ROWS = {  # where a segment begins, and what an equation in it looks like
    "matlab": (r"^function dy = segment", r"^  dy\((\d+)\) = (.*);$", "y({})"),
    "cora": (r"^function dy = segment", r"^  dy\((\d+), 1\) = (.*);$", "y({})"),
    "julia": (r"^function segment", r"^    dy\[(\d+)\] = (.*)$", "y[{}]"),
    "juliareach": (r"^@taylorize function segment", r"^    dy\[(\d+)\] = (.*)$", "y[{}]"),
    "mtk": (r"^    ODESystem", r"^        D\((\w+)\) ~ (.*),$", ""),
    "flowstar": (r"^    segment\d+  #", r"^        (\w+)' = (.*)$", ""),
    "heyoka": (r"^    \[  #", r"^        \((\w+), (?:hy\.expression\()?([^()]*?)\)*,$", ""),
    "dreal": (r"^\(define-ode", r"\(= d/dt\[(\w+)\] (.*?)\)(?= \(= d/dt|\)\)$)", ""),
    "capd": (r'^    "var:', r'^    "()([^:"]*)[,;]",?$', ""),
}


def rows(text: str, start: str, equation: str, names: list[str]) -> Rows:
    segments: Rows = []
    for line in text.splitlines():
        if re.search(start, line):
            segments.append([])
        for left, right in re.findall(equation, line) if segments else []:
            place = len(segments[-1]) if left == "" else int(left) - 1 if left.isdigit() else None
            if place is not None or left in names:
                segments[-1].append((names.index(left) if place is None else place, right))
    return segments


READ_BACK = export_programs.EQUATIONS | {"closed loop": export_programs.closed_loop}


@pytest.mark.parametrize("name", [*export_programs.EQUATIONS, pytest.param("closed loop", marks=pytest.mark.slow)])
@pytest.mark.parametrize("format", ROWS)
def test_the_terms_stand_in_the_text_to_the_last_bit(format: str, name: str, tmp_path: Path) -> None:
    program = READ_BACK[name]()
    text = program.export(tmp_path / "wave", format).read_text()
    start, equation, place = ROWS[format]
    names = list(equations(program).names)
    letters = [place.format(number + 1) for number in range(program.width)] if place else names
    parser: Callable[..., object] = prefix if format == "dreal" else infix
    same_terms(program, rows(text, start, equation, names), parser(letters))


@pytest.mark.parametrize("format", [one.name for one in FORMATS if one.judge == NOT_RUN])
def test_a_text_that_no_tool_runs_here_is_the_one_that_was_read(format: str, tmp_path: Path) -> None:
    text = export_programs.formula().export(tmp_path / "wave", format).read_text()
    golden = (GOLDEN / f"{format}.txt").read_text()
    assert re.sub(r"written by integraph \S+", "", text) == re.sub(r"written by integraph \S+", "", golden)


def octave(path: Path, code: str) -> str:
    path.write_text(code)
    answer = subprocess.run(["octave-cli", "--norc", str(path)], cwd=path.parent, capture_output=True, text=True)
    return answer.stdout


@needs_command("octave-cli", "octave")
@mostly_slow("name", export_programs.EQUATIONS, quick=1)
def test_octave_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    program.export(tmp_path / "wave.m")
    x = export_programs.inputs(program, 3)
    calls = "".join(f"printf('%.17g\\n', wave({point}));\n" for point in x.tolist())
    outputs = np.array(octave(tmp_path / "call_wave.m", calls).split(), np.float64)
    assert np.abs(outputs - program(x)[:, 0]).max() <= 1e-10


@needs_command("octave-cli", "octave")
@pytest.mark.slow
@pytest.mark.parametrize("x", [2.0, 1 + 1e-10])  # up to t = 1/2, and to just before the end of the segment
def test_octave_says_that_a_solution_ends(x: float, tmp_path: Path) -> None:
    export_programs.escaping().export(tmp_path / "wave.m", solver="ode45")
    said = octave(tmp_path / "call_wave.m", f"try, wave({x!r}), catch e, disp(e.message), end\n")
    assert "no solution up to the end of segment" in said or "failed" in said.lower()
    assert "ans" not in said


@needs_command("pdflatex", "texlive-latex-base texlive-latex-recommended")
@mostly_slow("name", [*export_programs.EQUATIONS, "hostile"], quick=1)
def test_latex_is_typeset_and_fits_the_page(name: str, tmp_path: Path) -> None:
    program = (export_programs.EQUATIONS | {"hostile": export_programs.hostile})[name]()
    program.export(tmp_path / "wave.tex")
    answer = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "wave.tex"], cwd=tmp_path, capture_output=True
    )
    said = answer.stdout.decode(errors="replace")
    assert answer.returncode == 0, said[-2000:]
    wide = [float(size) for size in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", said)]
    assert max(wide, default=0.0) <= 10 or name == "hostile", wide


@pytest.mark.parametrize("name", export_programs.EQUATIONS)
def test_latex_holds_the_terms_to_the_last_bit(name: str, tmp_path: Path) -> None:
    from integraph.export.documents.latex import symbol

    program = export_programs.EQUATIONS[name]()
    text = re.sub(r" \\\\\n&\\quad \{\}", "", program.export(tmp_path / "wave.tex").read_text())
    names = list(equations(program).names)
    lefts = {symbol(one, r"\dot"): place for place, one in enumerate(names)}
    segments: Rows = []
    for line in text.splitlines():
        if line.startswith("\\subsection*") and "duration" in line:
            segments.append([])
        if line.startswith("\\dot"):
            left, right = line.removesuffix(" \\\\").split(" &= ")
            right = re.sub(r"\\cdot 10\^\{(-?\d+)\}", r"e\1", right)
            right = re.sub(r" ([+-])(?=\S)", r" \1 ", right.replace(r"\,", "*"))
            segments[-1].append((lefts[left.strip()], re.sub(r"^\s*([+-]) ", r"\1", right)))
    same_terms(program, segments, infix([symbol(one) for one in names]))


@needs_command("dot", "graphviz")
@pytest.mark.parametrize("name", ["formula", "narrow", "wide"])
def test_graphviz_draws_it(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    path = program.export(tmp_path / "wave.dot")
    answer = subprocess.run(["dot", "-Tplain", str(path)], capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")
    drawn = {float(value) for value in re.findall(r'label="(-?[\d.e+-]+)"', path.read_text())}
    controls = program.controls()
    assert {float(v) for v in controls.value[controls.k >= 0]} <= drawn | {float(v) for v in program.readout.data}
