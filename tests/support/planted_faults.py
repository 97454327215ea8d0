"""A fault in one formula of a module, wherever its functions are used."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType

import pytest


def plant(monkeypatch: pytest.MonkeyPatch, module: ModuleType, text: str, wrong: str) -> None:
    """Replace a text of the source, once, and put what it then defines into all modules of the package around it."""
    source = inspect.getsource(module)
    assert text in source, f"{module.__name__} has changed: {text}"
    faulty = ModuleType(module.__name__)
    faulty.__dict__.update(vars(module))
    exec(compile(source.replace(text, wrong, 1), f"{module.__name__}, faulty", "exec"), faulty.__dict__)
    around = module.__name__.rpartition(".")[0]
    for name, right in list(vars(module).items()):
        if getattr(right, "__module__", None) != module.__name__:
            continue
        for other in [m for key, m in sys.modules.items() if key.startswith(around) and m is not None]:
            for alias, value in list(vars(other).items()):
                if value is right:
                    monkeypatch.setattr(other, alias, vars(faulty)[name])
