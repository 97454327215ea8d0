"""The layer table of docs/architecture.md, enforced on the source: a module imports only from layers above its own."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import integraph

TESTS = Path(__file__).parents[1]
SRC = TESTS.parent / "src"
PACKAGE = "integraph"
MAX_LINES = 350

LAYERS = (
    "version",
    "text",
    "errors",
    "clock",
    "progress",
    "files",
    "numbers",
    "program",
    "gadgets",
    "flow",
    "targets",
    "bounds",
    "constructions",
    "certify",
    "frontends",
    "interface",
)
INTERFACE = (
    "api",
    "export",
    "machine",
    "plot",
    "report",
    "paper",
    "cli",
    "__main__",
)  # and the package's own __init__
MAY_NOT_KNOW = {  # besides everything below
    "numbers": {"progress", "files"},  # arithmetic: a deadline may stop it, nothing more
    "targets": {"gadgets", "flow"},  # what is compiled knows nothing of how
    "bounds": {"program", "gadgets", "flow"},  # formulas over arrays
    "constructions": {"flow"},  # they do not evaluate
    "certify": {"flow"},  # a proof never trusts a float solver
    "frontends": {"certify"},
}
ONLY_IN = {  # another package → the layers that may import it
    "flint": {"numbers", "gadgets", "flow", "targets", "certify"},
    "mpmath": {"tests"},  # where it is an independent opinion
}
EXECUTES = {"eval", "exec", "compile", "__import__"}  # calls that run what they are given
UNPICKLES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
HEAVY = (
    "numba",
    "matplotlib",
    "scipy.integrate",
    "scipy.special",
    "rich",
    "onnx",
    "torch",
    "sklearn",
    "h5py",
    "keras",
    "mpmath",
    "sympy",
    "jax",
    "flint",
    "distributed",
    "dask",
    "typer",
)  # must not be imported by `import integraph`


def layer(module: str) -> str:
    """The layer of a module of the package; whatever is not a layer by name is part of the interface."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "interface"


def imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """(line, module) of every import, wherever it stands: in functions and under TYPE_CHECKING too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".") if is_package else module.split(".")[:-1]
                base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [node.module])])
            # `from integraph import program` names a layer, not the interface
            yield from ((node.lineno, f"{base}.{a.name}" if base == PACKAGE else base) for a in node.names)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            yield from ((node.lineno, a.value) for a in node.args[:1] if isinstance(a, ast.Constant))


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def breaches(module: str, source: str, is_package: bool = False) -> list[str]:
    """Every rule of the table that a module breaks."""
    tree = ast.parse(source)
    own = layer(module)
    found = []
    for line, target in imports(tree, module, is_package):
        where, top = f"{module}:{line}", target.split(".")[0]
        if top == PACKAGE:
            other = layer(target)
            if LAYERS.index(other) > LAYERS.index(own) or other in MAY_NOT_KNOW.get(own, ()):
                found.append(f"{where}: {own} may not import {other} ({target})")
        elif own not in ONLY_IN.get(top, {own}):
            found.append(f"{where}: only {' and '.join(sorted(ONLY_IN[top]))} may import {top}")
        elif top in UNPICKLES:
            found.append(f"{where}: imports {top}, which can execute what it reads")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EXECUTES:
            found.append(f"{module}:{node.lineno}: calls {node.func.id}")
        if (
            isinstance(node, ast.keyword)
            and node.arg == "allow_pickle"
            and getattr(node.value, "value", 1) is not False
        ):
            found.append(f"{module}:{node.value.lineno}: allows pickle")
    return found


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def test_every_module_obeys_the_table() -> None:
    assert [b for module, path in modules() for b in breaches(module, path.read_text(), path.stem == "__init__")] == []


def test_every_folder_is_in_the_table() -> None:
    found = {module.split(".")[1] for module, _ in modules() if "." in module}
    assert found <= {*LAYERS, *INTERFACE}
    assert {"errors", "program", "gadgets", "flow"} <= found, "the walk over the source found nothing"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("integraph.errors", "import integraph.program"),
        ("integraph.program.spec", "from integraph.gadgets import tanh"),
        ("integraph.program.spec", "from integraph import gadgets"),
        ("integraph.program.spec", "from integraph import build"),
        ("integraph.program.spec", "import integraph"),
        ("integraph.program.spec", "from ..gadgets import tanh"),
        ("integraph.program.spec", "def f():\n    from integraph.flow import exact"),
        ("integraph.program.spec", "if TYPE_CHECKING:\n    from integraph.gadgets.tanh import Tanh"),
        ("integraph.program.spec", "import importlib\nimportlib.import_module('integraph.flow')"),
        ("integraph.numbers.balls", "from integraph.program import Program"),
        ("integraph.numbers.balls", "from integraph.progress import progress_bar"),
        ("integraph.bounds.moment", "from integraph.program import Program"),
        ("integraph.bounds.moment", "from integraph.gadgets import tanh"),
        ("integraph.targets.network", "from integraph.gadgets import tanh"),
        ("integraph.constructions.theorem1.lean", "from integraph.flow import exact"),
        ("integraph.constructions.theorem1.lean", "from integraph.certify import prove"),
        ("integraph.certify.balls", "from integraph.flow.taylor.engine import run"),
        ("integraph.frontends.onnx", "from integraph.certify import prove"),
        ("integraph.frontends.onnx", "from integraph.cli import main"),
        ("integraph.bounds.moment", "import flint"),
        ("integraph.cli.main", "from flint import arb"),
        ("integraph.targets.constants", "def f():\n    import mpmath"),
        ("integraph.program.storage", "import pickle"),
        ("integraph.program.storage", "numpy.load(f, allow_pickle=True)"),
        ("integraph.program.storage", "eval('1')"),
        ("integraph.cli.main", "exec('1')"),
    ],
)
def test_the_checker_can_fail(module: str, source: str) -> None:
    assert len(breaches(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("integraph.certify.balls", "import flint\nfrom integraph.bounds import moment"),
        (
            "integraph.flow.exact.engine",
            "from integraph import gadgets\nfrom integraph.flow.exact.riccati_flow import tanh",
        ),
        ("integraph.frontends.onnx", "from integraph.constructions import graph"),
        (
            "integraph.cli.main",
            "import integraph\nfrom integraph.plot import draw\nfrom integraph.certify import prove",
        ),
        (
            "integraph.program.spec",
            "from .block import Block\nfrom ..errors import SpecError\nimport re\nre.compile('')",
        ),
    ],
)
def test_the_checker_allows_what_the_table_allows(module: str, source: str) -> None:
    assert breaches(module, source) == []


def test_relative_imports_in_a_package() -> None:
    assert breaches("integraph.program", "from . import block\nfrom .block import Block", is_package=True) == []
    assert len(breaches("integraph.program", "from ..gadgets import tanh", is_package=True)) == 1


def test_no_file_is_longer_than_an_idea() -> None:
    """Tests too."""
    files = [*SRC.rglob("*.py"), *TESTS.rglob("*.py")]
    lengths = {str(path.relative_to(SRC.parent)): len(path.read_text().splitlines()) for path in files}
    assert {path: n for path, n in lengths.items() if n > MAX_LINES} == {}


def packages() -> Iterator[tuple[Path, set[str]]]:
    """Every folder of the package, with the names of its modules and folders."""
    for path in sorted(SRC.rglob("__init__.py")):
        inside = {p.stem for p in path.parent.glob("*.py")} | {p.parent.name for p in path.parent.glob("*/__init__.py")}
        yield path, inside - {"__init__", "__main__"}


def test_large_folders_say_how_to_read_them() -> None:
    """A docstring with a last paragraph "Read `a`, `b`, …": names of modules and folders that exist."""
    silent, wrong = [], []
    for path, inside in packages():
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        order = re.search(r"^Read (.*)", text, re.MULTILINE | re.DOTALL)
        if len(inside) > 3 and order is None and path.parent.name != PACKAGE:  # whose docstring is for users
            silent.append(str(path.relative_to(SRC)))
        named = re.findall(r"`(\w+)`", order[1]) if order else []
        wrong += [f"{path.parent.relative_to(SRC)}: {name}" for name in named if name not in inside]
    assert silent == []
    assert wrong == []


def test_no_module_lies_beside_a_folder_of_its_name() -> None:
    assert [str(p) for p in SRC.rglob("*.py") if p.with_suffix("").is_dir()] == []


def test_import_is_light() -> None:
    """All names but those that proofs are made of, which come with Arb."""
    proofs = {"Certificate", "Checked", "LoopCertificate", "Proof", "PropertyCertificate", "PropertyProof"}
    names = sorted(set(integraph.__all__) - proofs)
    code = f"import sys; from integraph import {', '.join(names)}; print([m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
