"""The folders of the package: no module has the name of a folder beside it, and a large folder says what it is for."""

from __future__ import annotations

import ast
from pathlib import Path

import integraph

SOURCE = Path(integraph.__file__).parent
MANY = 3  # modules that need no introduction


def namesakes(root: Path) -> list[str]:
    """Modules x.py beside a folder x/ with modules."""
    folders = {path.parent for path in root.rglob("*.py")}
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py") if path.with_suffix("") in folders)


def unexplained(root: Path) -> list[str]:
    """Folders of many modules without a docstring in `__init__.py`."""
    found = []
    for folder in sorted({path.parent for path in root.rglob("*.py")}):
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        first = folder / "__init__.py"
        if len(modules) > MANY and not (first.exists() and ast.get_docstring(ast.parse(first.read_text()))):
            found.append(folder.relative_to(root).as_posix())
    return found


def test_no_module_beside_a_folder_of_its_name() -> None:
    assert namesakes(SOURCE) == []


def test_large_folders_say_what_they_are_for() -> None:
    assert unexplained(SOURCE) == []


def test_both_would_be_noticed(tmp_path: Path) -> None:
    for name in ("room.py", "room/a.py", "room/b.py", "room/c.py", "other/a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert namesakes(tmp_path) == ["room.py"]
    assert unexplained(tmp_path) == []
    (tmp_path / "room" / "d.py").write_text("")
    assert unexplained(tmp_path) == ["room"]
    (tmp_path / "room" / "__init__.py").write_text('"""What it is for."""')
    assert unexplained(tmp_path) == []
