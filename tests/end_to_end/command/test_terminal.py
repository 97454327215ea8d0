"""The command in a real terminal: colours, bars, Ctrl-C; and killed in the middle of writing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph.cli.paths import PAGE
from terminals import ANY, COLOUR, ended, spawn

SLOW = """
import pathlib, time
def f(x):
    pathlib.Path("begun").touch()
    time.sleep(300)
"""


def until(file: Path) -> None:
    while not file.exists():
        time.sleep(0.05)


@pytest.mark.slow
def test_colours_are_for_people(tmp_path: Path) -> None:
    code, text = ended(spawn("compile", "exxp(x)", cwd=tmp_path))
    assert code == 2
    assert COLOUR.search(text)
    plain = ANY.sub("", text).splitlines()
    row = next(n for n, line in enumerate(plain) if line.strip() == "exxp(x)")
    assert plain[row + 1].index("^") == plain[row].index("exxp")
    code, text = ended(spawn("--help", cwd=tmp_path))
    assert code == 0
    assert COLOUR.search(text)
    assert "╭" in text


@pytest.mark.slow
def test_the_answer_is_plain_even_here(tmp_path: Path) -> None:
    code, text = ended(spawn("compile", "x*y", "--json", cwd=tmp_path))
    assert code == 0
    answer = text[text.index("{\r\n") :]  # after the bar, if there was one
    assert json.loads(answer)["width"] == 3
    assert "\x1b" not in answer


@pytest.mark.slow
def test_ctrl_c_in_a_long_compile(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    old = tmp_path / "old.integraph"
    integraph.compile("x*y").save(old)
    before = old.read_bytes()
    child = spawn("compile", "slow:f", "-o", old, cwd=tmp_path)
    child.expect("compiling")  # the bar
    until(tmp_path / "begun")
    child.sendintr()
    code, text = ended(child)
    assert code == 130
    assert "interrupted" in text
    assert old.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "__pycache__") == [
        "begun",
        "old.integraph",
        "slow.py",
    ]


CALLED = """
import time
def f(x, y):
    time.sleep(0.01)
    return abs(float(x) - float(y))
"""


@pytest.mark.slow
def test_ctrl_c_while_a_black_box_is_called(tmp_path: Path) -> None:
    (tmp_path / "called.py").write_text(CALLED)
    child = spawn("compile", "called:f", "--eps", "1e-4", "--max-calls", "3000", "-o", "f.integraph", cwd=tmp_path)
    child.expect(r"calling f: \d+ points")
    child.sendintr()
    code, text = ended(child)
    assert code == 130, text
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "__pycache__") == ["called.py"]


PROVING = """
import sys
from integraph import progress
progress.AFTER = 0.0  # its bar at once, however fast the machine is
sys.argv = ["integraph", *sys.argv[1:]]
from integraph.cli.app import main
main()
"""


@pytest.mark.slow
def test_ctrl_c_in_a_long_proof(tmp_path: Path) -> None:
    words = ("compile", "exp(sin(7*x*y))", "--method", "lean", "--eps", "1e-2", "-o", "wave", "--certify")
    child = spawn(*words, cwd=tmp_path, code=PROVING)
    child.expect("proving")
    child.sendintr()
    code, text = ended(child)
    assert code == 130, text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_bar_for_many_points(tmp_path: Path) -> None:
    program = integraph.compile("sin(3*x)*exp(-y)")
    program.save(tmp_path / "wave.integraph")
    x = np.random.default_rng(0).uniform(size=(20_000, 2))
    np.save(tmp_path / "x.npy", x)
    words = ("--points", "x.npy", "--engine", "oracle", "-o", "y.npy")
    child = spawn("eval", "wave.integraph", *words, cwd=tmp_path)
    child.expect("evaluating, engine oracle")
    child.sendintr()
    code, text = ended(child)
    assert code == 130, text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["wave.integraph", "x.npy"]


@pytest.mark.slow
def test_whoever_reads_may_stop(tmp_path: Path) -> None:
    path = tmp_path / "wide.integraph"
    integraph.compile([f"sin({n}*x)" for n in range(1, 60)]).save(path)
    command = f"{sys.executable} -m integraph describe {path} | head -n 1"
    found = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=120)
    assert found.stdout.startswith("Program of ")
    assert found.stderr == ""


KILLED = """
import os, signal, sys
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
sys.argv = ["integraph", *sys.argv[1:]]
from integraph.cli.app import main
main()
"""


def killed(cwd: Path, *words: str) -> None:
    """The command, killed when all is written but not yet in its place."""
    found = subprocess.run([sys.executable, "-c", KILLED, *words], cwd=cwd, capture_output=True, timeout=120)
    assert found.returncode == -signal.SIGKILL, found.stderr


@pytest.mark.slow
def test_killed_while_writing_the_old_file_is_there(tmp_path: Path) -> None:
    old = {"a.integraph": b"", "a.html": PAGE.mark + b" old", "y.csv": b"old", "y.npy": b"old"}
    integraph.compile("x*y").save(tmp_path / "a.integraph")
    old["a.integraph"] = (tmp_path / "a.integraph").read_bytes()
    for name, content in old.items():
        (tmp_path / name).write_bytes(content)
    killed(tmp_path, "compile", "exp(-x)", "-o", "a.integraph")
    killed(tmp_path, "compile", "exp(-x)", "-o", "b.integraph")
    killed(tmp_path, "report", "a.integraph", "-o", "a.html")
    killed(tmp_path, "eval", "a.integraph", "0.5", "0.5", "-o", "y.csv")
    killed(tmp_path, "eval", "a.integraph", "0.5", "0.5", "-o", "y.npy")
    assert {name: (tmp_path / name).read_bytes() for name in old} == old
    assert not (tmp_path / "b.integraph").exists()
    assert integraph.load(tmp_path / "a.integraph")([0.5, 0.25]) == [0.125]
