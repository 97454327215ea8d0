"""What `make dist` builds: all files of the package, and a wheel that works where the repository is not."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import integraph

ROOT = Path(__file__).parents[2]
VERSION = integraph.__version__
pytestmark = pytest.mark.slow


def ours(folder: Path) -> set[str]:
    """The files of the package as they are in the repository, from `integraph/` on."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder.parent).as_posix() for path in found}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make dist` does, elsewhere."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_make_dist_is_what_is_tested() -> None:
    assert "python -m build --no-isolation --outdir dist\n" in (ROOT / "Makefile").read_text()


def test_the_wheel_has_every_file(dist: Path) -> None:
    with zipfile.ZipFile(dist / f"integraph-{VERSION}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        licence = wheel.read(f"integraph-{VERSION}.dist-info/licenses/LICENSE")
    assert {name for name in names if name.startswith("integraph/")} == ours(ROOT / "src" / "integraph")
    assert {
        "integraph/py.typed",
        "integraph/report/page.css",
        "integraph/report/page.js",
        "integraph/report/chart.js",
    } <= names
    assert licence == (ROOT / "LICENSE").read_bytes()


def test_the_source_archive_has_what_a_wheel_is_built_from(dist: Path) -> None:
    with tarfile.open(dist / f"integraph-{VERSION}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO"} <= names
    assert {f"src/{name}" for name in ours(ROOT / "src" / "integraph")} <= names


def test_the_wheel_works_in_a_clean_environment(dist: Path, tmp_path: Path) -> None:
    """What it depends on is that of this environment, by a path that runs no .pth file: nothing of the repository."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    wheel = dist / f"integraph-{VERSION}-py3-none-any.whl"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "-q"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True, env=env, cwd=tmp_path)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))

    def said(*command: str | Path) -> str:
        done = subprocess.run(
            list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, check=False, env=env
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert Path(said(python, "-c", "import integraph; print(integraph.__file__)").strip()).is_relative_to(folder)
    command = folder / "bin" / "integraph"
    assert VERSION in said(command, "--version")
    said(command, "compile", "x*y", "-o", "product.integraph")
    assert float(said(command, "eval", "product.integraph", "0.5,0.25").split()[-1]) == pytest.approx(0.125, abs=1e-12)
    said(command, "report", "product.integraph", "-o", "product.html")
    assert "<style" in (tmp_path / "product.html").read_text()
