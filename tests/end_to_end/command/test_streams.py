"""The command where its streams are closed, full or cut off, and where it is interrupted before it has begun."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import integraph
from command import Said, call, process
from slow import mostly_slow

SOURCE = Path(integraph.__file__).parent.parent
RUN = f"{sys.executable} -m integraph"
FULL = Path("/dev/full")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell that closes streams")


def shell(command: str, cwd: Path) -> Said:
    found = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=cwd, capture_output=True, text=True, timeout=300
    )
    assert "Traceback" not in found.stderr
    assert "Exception ignored" not in found.stderr
    return Said(found.returncode, found.stdout, found.stderr)


@mostly_slow("to", [">/dev/full", ">&-"], quick=1)
@mostly_slow("words", ["compile 'x*y'", "compile 'exxp(x)' --json", "--version", "-h"], quick=1)
def test_an_answer_that_is_lost(words: str, to: str, tmp_path: Path) -> None:
    if "full" in to and not FULL.exists():
        pytest.skip("needs /dev/full")
    said = shell(f"{RUN} {words} {to}", tmp_path)
    assert said.code == 1
    assert said.err.startswith("error: cannot write to stdout: ")
    assert len(said.err.splitlines()) == 1


@mostly_slow(
    ("command", "code", "out"),
    [
        ("compile 'x*y' --json 2>&-", 0, '"width": 3'),
        ("compile 'exxp(x)' 2>&-", 2, ""),
        ("compile 'exxp(x)' 2>/dev/full", 2, ""),
        ("compile 'x*y' --json <&-", 0, '"width": 3'),
        ("compile 'x*y' <&- >&- 2>&-", 1, ""),
    ],
    quick=1,
)
def test_nobody_listens(command: str, code: int, out: str, tmp_path: Path) -> None:
    if "full" in command and not FULL.exists():
        pytest.skip("needs /dev/full")
    said = shell(f"{RUN} {command}", tmp_path)
    assert (said.code, said.err) == (code, "")
    assert out in said.out


@pytest.mark.slow
def test_points_of_a_closed_stdin(path: Path) -> None:
    assert call("compile", "x*y", "-o", path).code == 0
    said = shell(f"{RUN} eval {path} --points - <&-", path.parent)
    assert said.code == 2
    assert "there are no points" in said.err


@mostly_slow("words", ["--help", "plan 'sin(x)'", "compile 'x*y' --json"], quick=1)
def test_whoever_reads_has_seen_enough(words: str, tmp_path: Path) -> None:
    """The reader is gone before there is a word."""
    said = shell(f"{{ sleep 0.1; {RUN} {words}; }} | true", tmp_path)
    assert (said.code, said.err) == (0, "")


@pytest.mark.slow
def test_a_verdict_is_one_though_nobody_reads_it(path: Path) -> None:
    assert call("compile", "x*y", "-o", path).code == 0
    assert shell(f"{RUN} compare {path} 'x*y + 1' | true", path.parent).code == 1


def test_ctrl_c_while_modules_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    said = process("--help", cwd=tmp_path)  # whose modules come first
    assert (said.code, said.out, said.err) == (130, "", "")


def test_nothing_is_loaded_before_ctrl_c_is_caught() -> None:
    """Python's own start aside: of the package only what says where its names are."""
    code = "import sys; old = {*sys.modules}; import integraph.cli.start; print(*sorted({*sys.modules} - old))"
    said = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {code}"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    others = [name for name in said.stdout.split() if not name.startswith(("integraph", "importlib", "_", "warnings"))]
    assert others == []


def test_the_command_starts_there() -> None:
    import tomllib

    from pages import ROOT

    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"integraph": "integraph.cli.start:main"}


@pytest.mark.parametrize("name", ["a.integraph", "a.html", "a.csv", "a.npy"])
def test_a_full_disk_is_no_misuse(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    program = tmp_path / "p.integraph"
    assert call("compile", "x*y", "-o", program).code == 0
    words = {
        ".integraph": ["compile", "x*y", "-o", tmp_path / name],
        ".html": ["report", program, "-o", tmp_path / name],
    }.get(Path(name).suffix, ["eval", program, "0.1,0.2", "-o", tmp_path / name])
    monkeypatch.setattr(os, "fsync", full)
    said = call(*words)
    assert (said.code, said.out) == (1, "")
    assert "No space left on device" in said.err
    assert not (tmp_path / name).exists()


def test_memory_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*given: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("integraph.compile", greedy)
    said = call("compile", "x")
    assert (said.code, said.err) == (1, "error: there is not enough memory for this: ask for less at once\n")
