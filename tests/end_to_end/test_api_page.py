"""docs/api.md is true: every public name is there, with the signature that it has."""

from __future__ import annotations

import inspect
import re

import pytest

import integraph
from integraph import program
from lazy import framework
from pages import ROOT

# Signatures are written "| `Program.rhs(t, y)` | …", and attributes "| `Program.width`, `Program.depth` | …".
API = (ROOT / "docs" / "api.md").read_text()
CALLS = dict(re.findall(r"^\| `([\w.]+)\((.*?)\)` \|", API, re.MULTILINE))


def parts(function: object) -> list[tuple[str, object, object]]:
    """Name, kind and default of each parameter, without self."""
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in found if p.name != "self"]


def real(name: str) -> object:
    if name == "Program":  # the page shows how it is called, not how `build` makes it
        return integraph.Program.__call__
    owner, _, member = name.partition(".")
    thing = getattr(integraph, owner, None) or getattr(program, owner)
    return getattr(thing, member) if member else thing


def differs(name: str, written: str) -> bool:
    """Whether the page and the code disagree; `...` stands for a default that the page does not tell."""
    space: dict[str, object] = {}
    exec(f"def shown({written}): pass", space)
    shown, true = parts(space["shown"]), parts(real(name))
    if len(shown) != len(true):
        return True
    return any(a[:2] != b[:2] or a[2] not in (b[2], ...) for a, b in zip(shown, true, strict=True))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name.startswith("learn.") else name for name in CALLS]
)
def test_api_signature(name: str) -> None:
    for extra in ("jax", "equinox", "optax", "sklearn") if name.startswith("learn.") else ():
        framework(extra)
    hidden = {"tensor": "array, dtype=..."}  # int64 tensors are for files only
    assert not differs(name, hidden.get(name, CALLS[name])), f"{name}{inspect.signature(real(name))}"


@pytest.mark.parametrize("wrong", ["t", "t, state", "t, *, y", "t, y=0", "t, y, z"])
def test_a_wrong_signature_is_noticed(wrong: str) -> None:
    assert not differs("Program.rhs", "t, y")
    assert differs("Program.rhs", wrong)


DOCUMENTED = (
    integraph.Program,
    integraph.Registers,
    program.Flow,
    integraph.Function,
    integraph.Graph,
    integraph.Partition,
    integraph.Plan,
    integraph.Sobolev,
    integraph.Proof,
    integraph.Certificate,
    integraph.Checked,
)


@pytest.mark.parametrize("cls", DOCUMENTED, ids=lambda cls: cls.__name__)
def test_api_lists_every_member(cls: type) -> None:
    own = [n for one in cls.__mro__ if one.__module__.startswith("integraph") for n in vars(one)]
    members = {n for n in (*own, *getattr(cls, "__dataclass_fields__", ())) if not n.startswith("_")}
    listed = set(re.findall(rf"`{cls.__name__}\.(\w+)[`(]", API))
    assert len(members) > 3
    assert listed == members


def test_api_lists_every_public_name() -> None:
    names = set(integraph.__all__) - {"__version__", "flow", "gadgets"}
    assert [n for n in sorted(names) if not re.search(rf"`{n}\b", API)] == []
