"""The project around the code: make targets, pinned versions, no addresses, one version number, a demo that runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

import numpy as np
import pytest

import integraph

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS = {
    "help",
    "demo",
    "test",
    "quick",
    "test-all",
    "test-long",
    "fuzz",
    "bench",
    "bench-peers",
    "docs",
    "kernels",
    "dist",
    "lint",
    "types",
    "clean",
}
ADDRESSES = (
    "index" + "-url",
    "find" + "-links",
    "/sim" + "ple/",
    "registry" + " = ",
    "pypi" + ".org",
    "python" + "hosted",
)
LEFT_OUT = {
    ".git",
    ".venv",
    ".venv-peers",
    "out",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    "dist",
}


def files() -> list[Path]:
    """What is, or could be, tracked: no caches, no pictures."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        found += [Path(folder, name) for name in names]
    return [p for p in found if p.suffix not in {".png", ".pyc", ".nbi", ".nbc"}]


def addresses(text: str) -> list[str]:
    return [word for word in ADDRESSES if word in text]


def test_no_registry_addresses() -> None:
    assert {p.relative_to(ROOT).as_posix() for p in files()} >= {"Makefile", "constraints.txt", ".ci/run"}
    assert {p.name: found for p in files() if (found := addresses(p.read_text(errors="replace")))} == {}


def test_an_address_would_be_noticed() -> None:
    assert addresses("--extra-index" + "-url https://host/sim" + "ple/") == ["index" + "-url", "/sim" + "ple/"]


def pins() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    wrong = [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)]
    assert wrong == [], "constraints are name==version"
    return {_plain(name): number for name, number in (line.split("==") for line in lines)}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_everything_installed_is_pinned() -> None:
    """Follows the requirements of the package, with its extras, through what is installed here."""
    pinned = pins()
    todo, seen = list(requires("integraph") or []), {"integraph"}  # an extra may name others of the package
    while todo:
        requirement = todo.pop()
        name = _plain(re.match(r"[\w.-]+", requirement)[0])
        marker = requirement.partition(";")[2]
        ours = requirement in (requires("integraph") or [])
        if name in seen or (marker and not ours):  # an extra or another platform
            continue
        seen.add(name)
        assert name in pinned, f"{name} is not in constraints.txt"
        try:
            here = version(name).partition("+")[0]  # torch 2.13.0+cpu is a build of 2.13.0
            assert here == pinned[name], f"{name} is installed in another version than constraints.txt says"
            todo += requires(name) or []
        except ModuleNotFoundError:
            assert re.search(r"extra == '(?!dev)", marker.replace('"', "'")), f"{name} is not installed"
    assert {"numpy", "numba", "llvmlite", "ruff"} <= seen


def test_make_targets() -> None:
    text = (ROOT / "Makefile").read_text()
    found = set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))
    assert found == TARGETS
    assert set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split()) == TARGETS


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_help_names_every_target() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^make ([a-z-]+)", shown, re.MULTILINE)) == TARGETS


def test_what_readers_are_told_to_install_and_make_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text() for page in pages)
    named = re.findall(r"pip install -e '\.\[([\w,]+)\]'|integraph\[([\w,]+)\]|\.venv/\.extra-(\w+)", text)
    extras = {name for found in named for name in ",".join(found).split(",") if name}
    assert {"onnx", "torch", "sklearn", "docs"} <= extras <= set(PROJECT["optional-dependencies"])
    made = set(re.findall(r"(?:^ {4}|`)make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert {"demo", "test", "docs"} <= made <= TARGETS


def test_ci_is_strict_and_runs_the_tests() -> None:
    """All extras that tests import are installed, and no test may be skipped."""
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111, "not executable"
    text = script.read_text()
    assert "set -euo pipefail" in text
    assert text.rstrip().endswith("export PYTEST_ADDOPTS=--nothing-skipped\nmake test\nmake test-all")
    extras = set(re.search(r"^extras=\(([\w ]+)\)", text, re.MULTILINE)[1].split())
    reached = {"onnx", "torch", "sklearn", "keras"} if "nets" in extras else set()
    assert set(PROJECT["optional-dependencies"]) - extras - reached == {"bench", "sympy"}  # sympy is in dev


@pytest.mark.slow
def test_a_skipped_test_can_be_a_failure(tmp_path: Path) -> None:
    """As CI runs the tests: with `--nothing-skipped` a test that was skipped fails the run, without it does not."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_one.py").write_text("import pytest\ndef test_one():\n    pytest.skip()\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "support")}
    env.pop("PYTEST_ADDOPTS", None)
    for option, code in (("--nothing-skipped", 1), ("--strict-markers", 0)):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", option]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True, env=env, check=False).returncode == code


def test_one_version() -> None:
    assert PROJECT["version"] == integraph.__version__ == version("integraph")
    assert f"\nversion: {integraph.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_licence() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert PROJECT["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


@pytest.mark.slow
def test_demo(tmp_path: Path) -> None:
    """Runs as `make demo` does; the table says that engines and file agree, and the picture is one."""
    command = [sys.executable, ROOT / "examples" / "demo.py"]
    wide = {**os.environ, "COLUMNS": "160"}
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=wide)
    assert result.returncode == 0, result.stderr
    rows = re.findall(r"(exact|taylor) .*? (\d\.\de-\d\d) .*? (same|OTHER)", result.stdout)
    assert [(engine, same) for engine, _, same in rows] == [("exact", "same"), ("taylor", "same")]
    promised = float(re.search(r"promised error +≤ (\S+)", result.stdout)[1])
    assert max(float(error) for _, error, _ in rows) <= promised <= 1e-9
    assert (tmp_path / "out" / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_the_example_has_the_size_of_theorem_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """W = 3·max(W̃, d), D = 3·D̃, and the value of the net."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    from tanh_net import compile_net, evaluate, random_net

    layers, readout = random_net((3, 8, 8, 8, 2), seed=0)
    program = compile_net(layers, readout)
    assert (program.width, program.depth, program.horizon, program.inputs, program.outputs) == (24, 9, 9.0, 3, 2)
    x = np.random.default_rng(0).uniform(size=(20, 3))
    np.testing.assert_allclose(program(x), evaluate(layers, readout, x), rtol=0, atol=1e-13)


@pytest.mark.slow
def test_benchmarks_start_as_make_starts_them() -> None:
    """All modules import with the path that the Makefile sets, and the quickest table can be made."""
    recipe = re.search(r"@(PYTHONPATH=\w+) \$\(BIN\)/python benchmarks/run.py", (ROOT / "Makefile").read_text())
    assert recipe is not None
    name, value = recipe[1].split("=")
    code = "import sys; sys.path.insert(0, 'benchmarks'); import run, scaling; print(scaling.measure(12, 2)[:4])"
    env = {**os.environ, name: value}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=env)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip().startswith("('8-12×2-1', 36, 6")
