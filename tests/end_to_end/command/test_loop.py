"""`integraph loop`: verdicts, exit codes, JSON, the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import integraph
from command import call

FILE = """controller = "-x - 2*v"
period = 1
steps = 15
discrete = true
spec = "{spec}"
[plant]
x = "x + 0.1*v"
v = "v + 0.1*u"
[start]
x = [0.4, 0.5]
v = 0.1
"""


def test_verdicts_and_exit_codes(tmp_path: Path) -> None:
    path, page = tmp_path / "bench.toml", tmp_path / "tube.html"
    path.write_text(FILE.format(spec="x in [-1, 1] always"))
    good = call("loop", path, "--report", page, "--json")
    assert (good.code, good.data["status"]) == (0, "proved")
    assert "Play" in page.read_text()
    path.write_text(FILE.format(spec="x <= 0.1"))
    bad = call("loop", path, "--json")
    assert (bad.code, bad.data["status"]) == (1, "refuted")
    assert 0.4 <= bad.data["start"]["x"] <= 0.5
    assert bad.data["clauses"] == ["refuted"]
    path.write_text(FILE.format(spec="x <= 0.4"))
    there = call("loop", path, "--cells", "1")
    assert there.code in (0, 1, 3)
    path.write_text(FILE.format(spec="x <="))
    assert call("loop", path).code == 2
    assert call("loop", tmp_path / "none.toml").code != 0


def test_the_last_box_of_a_proof_is_printed_outward(tmp_path: Path) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(FILE.format(spec="x in [-1, 1] always"))
    answer, exact = call("loop", path), call("loop", path, "--json").data["boxes"][-1]
    line = next(line for line in answer.out.splitlines() if line.startswith("at t = 15: x in ["))
    printed = [float(end) for end in re.findall(r"-?[\d.]+(?:e-?\d+)?", line.split(":", 1)[1])]
    assert len(printed) == 4
    for low, high, ends in zip(printed[::2], printed[1::2], exact, strict=True):
        assert ends[0] - 1e-5 < low <= ends[0]
        assert ends[1] <= high < ends[1] + 1e-5


def test_the_clause_that_fails_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(FILE.format(spec="v <= 1 always; x <= 0.3 from 2"))
    answer = call("loop", path)
    assert answer.code == 1
    assert 'fails "x <= 0.3 from 2" by t = 2' in answer.out.replace("\n", " ")
    path.write_text(FILE.format(spec="v <= 1 always; (x - v)^2 > -1e-9*x").replace("v = 0.1\n", "v = [0.4, 0.5]\n"))
    assert call("loop", path, "--json", "--cells", "4").data["clauses"] == ["proved", "proved"]


def test_cells_that_are_open_are_named(tmp_path: Path) -> None:
    """x = v on all of a line: no cell that it meets is decided."""
    path = tmp_path / "bench.toml"
    path.write_text(FILE.format(spec="(x - v)^2 > -1e-9*x always").replace("v = 0.1\n", "v = [0.4, 0.5]\n"))
    answer = call("loop", path, "--cells", "16")
    assert answer.code == 3
    lines = [line for line in answer.out.splitlines() if line.startswith("open: ")]
    assert len(lines) == 5
    said = 'do not decide "(x - v)^2 > -1e-9*x always"'
    assert all("x in [0.4" in line and "v in [0.4" in line and said in line for line in lines)
    assert "more open cells" in answer.out


REFUSALS = {  # a change of the file, and what the message says
    ("period = 1", "period = 0"): "period",
    ("steps = 15", "steps = 0"): "steps",
    ("x = [0.4, 0.5]", "x = [0.5, 0.4]"): "x needs (low, high)",
    ("discrete = true", "discrete = true\ndisturbances = {w = [0, 1]}"): "w does not occur",
    ("discrete = true", "discrete = true\nparameters = {x = 1}"): "rename",
    ("discrete = true", "discret = true"): "did you mean discrete",
    ("always", "from 0.5"): "a sampling time",
    ("always", "until 3"): "a clause may end in",
    ("x in [-1, 1] always", "x <= 1 at end always"): "a clause may end in",
}


@pytest.mark.parametrize("change", REFUSALS)
def test_refusals(change: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(FILE.format(spec="x in [-1, 1] always").replace(*change))
    answer = call("loop", path)
    assert answer.code == 2
    assert REFUSALS[change] in answer.err


@pytest.mark.slow
def test_kinks_are_exported_within_eps(tmp_path: Path) -> None:
    path, target = tmp_path / "bench.toml", tmp_path / "loop.integraph"
    path.write_text(FILE.format(spec="x in [-1, 1] always").replace("steps = 15", "steps = 2\nlimits = [-0.5, 0.5]"))
    refused = call("loop", path, "--export", target)
    assert refused.code == 2
    assert "eps" in refused.err
    assert "proved for all starts" in refused.out
    assert call("loop", path, "--export", target, "--eps", "1e-3").code == 0
    assert "--export" in call("loop", path, "--eps", "1e-3").err
    x, v = 0.45, 0.1
    for _ in range(2):
        u = min(max(-x - 2 * v, -0.5), 0.5)
        x, v = x + 0.1 * v, v + 0.1 * u
    assert integraph.load(target)([[0.45, 0.1]])[0] == pytest.approx([x, v], abs=1e-3)


def test_an_export_that_cannot_be_written_hides_no_answer(tmp_path: Path) -> None:
    path, target = tmp_path / "bench.toml", tmp_path / "loop.m"
    path.write_text(FILE.format(spec="x in [-1, 1] always"))
    small = call("loop", path, "--export", target, "--to", "cora", "--limit", "3")
    assert small.code == 2
    assert "proved for all starts" in small.out
    assert "terms are more than the 3" in small.err
    assert not target.exists()
    assert call("loop", path, "--export", target, "--to", "cora", "--limit", "100000").code == 0
    for option in (("--limit", "3"), ("--to", "cora")):
        assert "--export" in call("loop", path, *option).err


def test_json_has_what_the_page_says(tmp_path: Path) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(FILE.format(spec="x in [-1, 1] always"))
    options = ("-o", tmp_path / "proof.json", "--report", tmp_path / "tube.html", "--export", tmp_path / "l.integraph")
    page = (Path(__file__).parents[3] / "docs" / "command.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| `loop` | `status`"))
    assert all(f"`{key}`" in row for key in call("loop", path, "--json", *options).data)


def test_a_proof_answers_what_the_file_asks(tmp_path: Path) -> None:
    path, proof = tmp_path / "bench.toml", tmp_path / "proof.json"
    path.write_text(FILE.format(spec="x in [-1, 1] always"))
    assert call("loop", path, "-o", proof).code == 0
    assert call("check", proof, path).code == 0
    path.write_text(FILE.format(spec="x in [-0.1, 0.1] always"))
    other = call("check", proof, path)
    assert other.code == 1
    assert "it is about" in other.out
    path.write_text(FILE.format(spec="x in [-1, 1] always").replace("[0.4, 0.5]", "[0.4, 0.6]"))
    assert call("check", proof, path).code == 1


def test_a_loop_with_disturbances_has_no_program(tmp_path: Path) -> None:
    path, target = tmp_path / "bench.toml", tmp_path / "loop.m"
    text = FILE.format(spec="x in [-1, 1] always").replace("0.1*u", "0.1*u + w")
    path.write_text(f"{text}[disturbances]\nw = [-0.001, 0.001]\n")
    answer = call("loop", path, "--export", target, "--to", "cora")
    assert (answer.code, answer.out, target.exists()) == (2, "", False)
    assert "a program has no disturbances" in answer.err


def test_disturbances_have_a_proof(tmp_path: Path) -> None:
    path, proof, page = tmp_path / "pushed.toml", tmp_path / "proof.json", tmp_path / "tube.html"
    pushed = FILE.format(spec="x in [-1, 1] always").replace("0.1*u", "0.1*u + w")
    path.write_text(f"{pushed}[disturbances]\nw = [-0.001, 0.001]\n")
    result = call("loop", path, "-o", proof, "--report", page, "--json")
    assert (result.code, result.data["status"]) == (0, "proved")
    assert page.exists()
    assert call("check", proof, path, "--workers", "1").code == 0
    path.write_text(f"{pushed}[disturbances]\nw = [-0.001, 0.0011]\n")
    assert call("check", proof, path).code == 1


def test_without_a_certificate(tmp_path: Path) -> None:
    """The checker does not read a program with rescaled states."""
    net = integraph.network([([[-0.5, -1.0]], [0.0], "tanh"), ([[1.0]], [0.0])])
    program = integraph.compile(net)
    program.rescale_states(np.full(program.width, 2.0)).save(tmp_path / "law.integraph")
    path, proof = tmp_path / "bench.toml", tmp_path / "proof.json"
    path.write_text(FILE.format(spec="x in [-1, 1] always").replace("-x - 2*v", "law.integraph"))
    result = call("loop", path, "-o", proof, "--json")
    assert (result.code, result.data["status"]) == (0, "proved")
    assert not proof.exists()
    assert "the checker cannot follow the controller" in " ".join(result.data["warnings"])


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_proved(tmp_path: Path) -> None:
    """(x − v)² ≥ 0 is not decided where x = v, in ever more cells."""
    from terminals import ended, spawn  # which skips where there is no such terminal

    path = tmp_path / "bench.toml"
    text = FILE.format(spec="x^2 - 2*x*v + v^2 >= 0 always").replace("v = 0.1\n", "v = [0.4, 0.5]\n")
    path.write_text(text.replace("x + 0.1*v", "x").replace("v + 0.1*u", "v + 0*u"))
    child = spawn("loop", path, "--seconds", "600", "--cells", "1000000", "--workers", "1", cwd=tmp_path)
    child.expect(r"[1-9]\d* cells? proved", timeout=300)  # however long kernels take to compile
    child.sendintr()
    code, out = ended(child)
    assert code == 130, out
    assert 0 < float(out.split("unknown: ")[1].split("%")[0]) < 100
