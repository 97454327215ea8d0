"""Whether a callable is written in jax, decided without calling it and without importing anything.

It is if jax is imported already and one of these holds:

* its type is of jax, equinox, flax or haiku: `jax.jit(f)`, an `eqx.nn.MLP`, an `nnx.Module`;
* it was defined by one of them: `jax.grad(f)`, `jax.nn.gelu`;
* the names that its code uses, its defaults, what it closes over, or the attributes of the object whose method it is,
  refer to one of them, to an array of jax, or to another function that is written in jax.

A function that uses numpy only is none of these. Names are looked up, properties are never run.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from itertools import chain, islice
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from integraph.errors import UsageError

PACKAGES = ("jax", "jaxlib", "equinox", "flax", "haiku")
DEPTH = 6  # functions that functions call, containers inside containers
ENTRIES = 256  # of a container, or attributes of an object
VALUES = 10_000  # in all


def is_jax(source: Any) -> bool:
    return "jax" in sys.modules and _uses(source, DEPTH, set())


def is_module(source: Any) -> bool:
    """Whether it is a layer or a model of equinox, flax or haiku, which has no meaning but this."""
    return any(_root(cls.__module__) in PACKAGES[2:] for cls in type(source).__mro__)


def check_parameters(source: Any) -> None:
    """A UsageError for models of flax.linen and haiku, which hold no parameters."""
    kinds = {(str(cls.__module__), cls.__name__) for cls in type(source).__mro__}
    linen = ("flax.linen.module", "Module") in kinds and getattr(source, "scope", None) is None
    if linen:
        raise UsageError(
            f"a {type(source).__name__} of flax.linen has no parameters: pass model.bind(variables), or "
            "lambda x: model.apply(variables, x)"
        )
    if any(_root(module) == "haiku" and "Transformed" in name for module, name in kinds):
        raise UsageError(
            f"a haiku {type(source).__name__} has no parameters: pass lambda x: model.apply(params, x), or "
            "model.apply(params, None, x) where it wants a key"
        )


def _uses(value: Any, depth: int, seen: set[int]) -> bool:
    if id(value) in seen or depth == 0 or len(seen) > VALUES:
        return False
    seen.add(id(value))
    if isinstance(value, ModuleType):
        return _root(value.__name__) in PACKAGES
    if any(_root(cls.__module__) in PACKAGES for cls in type(value).__mro__):
        return True
    return any(_uses(part, depth - 1, seen) for part in islice(_parts(value), ENTRIES))


def _parts(value: Any) -> Iterator[Any]:
    """What a value is made of, or refers to."""
    if isinstance(value, FunctionType):
        names, home = list(_names(value.__code__)), value.__globals__
        modules = (_root(name) for name in (home.get("__name__"), *names))  # its own, and what it imports itself
        yield from (sys.modules[name] for name in modules if name in PACKAGES and name in sys.modules)
        yield from (home[name] for name in names if name in home)
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
        yield from (content for cell in value.__closure__ or () for content in _contents(cell))
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif type(value) is dict:
        yield from value.values()
    elif type(value) in (list, tuple):
        yield from value
    elif isinstance(own := _attributes(value), dict):
        yield from chain((type(value).__dict__.get("__call__"),), own.values())


def _contents(cell: CellType) -> tuple[Any, ...]:
    """What a cell holds; it may be empty still."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _attributes(value: Any) -> Any:
    """The attributes of an object of the user's own class."""
    if isinstance(value, type) or type(value).__module__ in ("builtins", "numpy"):
        return None
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def _names(code: CodeType) -> Iterator[str]:
    """The names that code uses, and functions inside of it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _root(name: Any) -> str:
    return str(name).split(".")[0]
