"""`integraph.__all__` is the public face, and the exception tree drawn in errors.py is the real one."""

from __future__ import annotations

import inspect
import re
from types import UnionType

import pytest

import integraph
from integraph import errors, gadgets, program

FACES = (integraph, program, gadgets)


@pytest.mark.parametrize("package", FACES, ids=lambda package: package.__name__)
def test_every_public_name_is_there(package: object) -> None:
    names = package.__all__
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(package, name)] == []


def test_star_import_gives_the_public_face() -> None:
    namespace: dict[str, object] = {}
    exec("from integraph import *", namespace)
    assert set(namespace) - {"__builtins__"} == set(integraph.__all__)


@pytest.mark.parametrize("package", FACES, ids=lambda package: package.__name__)
def test_nothing_public_is_left_out_of_all(package: object) -> None:
    """Names without underscore that are not submodules belong to `__all__`."""
    found = {n for n, v in vars(package).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert found - set(package.__all__) == set()


def documented(thing: object) -> bool:
    """Whether a reader finds out what it is: from the thing, for a gadget from the file that is all about it."""
    if isinstance(thing, gadgets.Gadget):
        return bool(inspect.getdoc(inspect.getmodule(type(thing))))
    if inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing):
        return bool(inspect.getdoc(thing))
    return isinstance(thing, str | int | UnionType) or bool(inspect.getdoc(type(thing)))


@pytest.mark.parametrize("package", FACES, ids=lambda package: package.__name__)
def test_every_public_name_has_a_docstring(package: object) -> None:
    assert [name for name in package.__all__ if not documented(getattr(package, name))] == []


def test_every_public_method_has_a_docstring() -> None:
    for cls in (integraph.Program, integraph.Registers):
        methods = {n: m for n, m in vars(cls).items() if inspect.isfunction(m) and not n.startswith("_")}
        assert len(methods) > 3
        assert [n for n, m in methods.items() if not m.__doc__] == []


def drawn(text: str) -> dict[str, str | None]:
    """The tree in a docstring as child → parent, read from the columns of its branches."""
    stack: list[tuple[int, str]] = []
    tree: dict[str, str | None] = {}
    for line in text.splitlines():
        if match := re.match(r"^([ │├└─]*)(\w+Error)\b", line):
            column = len(match[1])
            while stack and stack[-1][0] >= column:
                stack.pop()
            tree[match[2]] = stack[-1][1] if stack else None
            stack.append((column, match[2]))
    return tree


def real() -> dict[str, str | None]:
    """The same for the classes that the module defines."""
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__]
    return {c.__name__: next((b.__name__ for b in c.__bases__ if b in classes), None) for c in classes}


def test_the_drawn_exception_tree_is_the_real_one() -> None:
    assert errors.__doc__ is not None
    assert len(real()) > 4
    assert drawn(errors.__doc__) == real()


def test_the_tree_reader_sees_a_difference() -> None:
    assert errors.__doc__ is not None
    assert drawn(errors.__doc__.replace("├── EscapeError", "├── LostError")) != real()
    assert drawn(errors.__doc__.replace("    ├── EscapeError", "├── EscapeError")) != real()


def test_one_base_catches_everything() -> None:
    for name in real():
        assert issubclass(getattr(errors, name), errors.IntegraphError)
