"""Names of functions in C files, and what gcc says about one that C has already."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from integraph.export.c.c_names import function_name
from lazy import needs_command
from taylor_programs import ln_program


@pytest.mark.parametrize("name", ["wave", "step", "half", "well", "model", "y", "memory"])
def test_other_names_stay(name: str) -> None:
    assert function_name(name) == name


@pytest.mark.parametrize(
    "name", ["gamma", "round", "index", "y0", "read", "linux", "sinf", "roundl", "floorf64x", "int8_t", "EOF"]
)
def test_names_of_the_library_are_left_to_it(name: str, tmp_path: Path) -> None:
    for format in ("c", "c-closed"):
        text = ln_program().export(tmp_path / "wave.c", format, name=name).read_text()
        assert f"int model_{name}(const double *x, double *y)" in text


@pytest.mark.parametrize("format", ["c", "c-closed"])
def test_comments_hold_no_trigraph(format: str, tmp_path: Path) -> None:
    """C99 reads two question marks and a slash as a backslash, which joins two lines."""
    text = replace(ln_program(), source="\\\\/").export(tmp_path / "wave.c", format).read_text()
    assert "source:" in text
    assert "??" not in text


@needs_command("gcc", "gcc")
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["x", "y", "W", "memory", "segment", "status", "start", "count", "TABLES", "gamma", "EOF"]
)
def test_gcc_takes_any_name(name: str, tmp_path: Path) -> None:
    ln_program().export(tmp_path / "wave.c", name=name)
    for standard in ("c99", "gnu17"):
        command = ["gcc", f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-DINTEGRAPH_MAIN", "wave.c", "-o", "wave"]
        subprocess.run(command, cwd=tmp_path, check=True)
        assert subprocess.run(["./wave", "0"], cwd=tmp_path, capture_output=True, check=True).stdout == b"1\n"
