"""Faults that are put into the source of modules: functions get the code of a text that was changed."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any


@contextmanager
def fault(module: ModuleType, before: str, after: str) -> Iterator[None]:
    """The functions and tables of a module as if its text had `after` in place of `before`, whoever imported them."""
    source = inspect.getsource(module)
    assert source.count(before) == 1, f"{module.__name__} has {source.count(before)} times {before!r}"
    changed: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(source.replace(before, after), str(module.__file__), "exec"), changed)  # our own text
    old, new = dict(_functions(vars(module), module.__name__)), dict(_functions(changed, module.__name__))
    codes = {function: function.__code__ for function in old.values()}
    tables = {name: dict(value) for name, value in vars(module).items() if name.isupper() and isinstance(value, dict)}
    try:
        for name, function in old.items():
            function.__code__ = new[name].__code__
        for name in tables:
            vars(module)[name].update(changed[name])
        yield
    finally:
        for function, code in codes.items():
            function.__code__ = code
        for name, table in tables.items():
            vars(module)[name].update(table)


def _functions(names: dict[str, Any], module: str) -> Iterator[tuple[str, FunctionType]]:
    for name, value in list(names.items()):
        if getattr(value, "__module__", None) != module:
            continue
        members = vars(value).items() if isinstance(value, type) else [("", value)]
        for part, member in members:
            function = (
                member.fget if isinstance(member, property) else inspect.unwrap(member) if callable(member) else None
            )
            if isinstance(function, FunctionType) and function.__code__.co_filename.endswith(".py"):
                yield f"{name}.{part}", function
