"""Where a program comes from, as data: what each construction says, through files, copies and transformations."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from command import call
from integraph import Origin, Program
from integraph.errors import SpecError
from integraph.program.schema import encode
from networks import random_network
from stored import forge, refused

NET = random_network((2, 3, 1), "tanh")
MADE: dict[str, tuple[Any, dict[str, Any], tuple[Any, ...]]] = {  # source, options, what the origin says
    "formula": ("x*y", {}, ("x*y", "formula", "exact", None, {"free": "keep"}, ("x", "y"))),
    "order": (
        ["x - y", "max(x, y)"],
        {"variables": "y x", "eps": 1e-2, "free": "clean"},
        ("x - y, max(x, y)", "formula", "exact", 1e-2, {"free": "clean", "smoothed": True}, ("y", "x")),
    ),
    "lean": (
        "exp(x)", {"eps": 1e-3, "method": "lean", "order": 3},
        ("exp(x)", "formula", "lean", 1e-3, {"order": 3, "N": None, "c": None}, ("x",)),
    ),
    "remark": (
        "x/4", {"eps": 0.2, "method": "remark", "order": 1, "gamma": 0.25},
        ("x/4", "formula", "remark", 0.2, {"order": 1, "N": None, "c": None, "gamma": 0.25}, ("x",)),
    ),
    "function": (
        np.cos, {"eps": 0.1}, ("cos()", "function", "lean", 0.1, {"order": None, "N": None, "calls": None}, ()),
    ),
    "narrow": (NET, {"eps": 1e-3}, (NET.description, "network", "narrow", 1e-3, {"bound": "tight"}, ())),
    "wide": (
        NET, {"eps": 1e-3, "method": "wide", "free": "decay"},
        (NET.description, "network", "wide", 1e-3, {"free": "decay"}, ()),
    ),
    "graph": (NET, {"method": "exact"}, (NET.description, "graph", "exact", None, {"free": "keep"}, ())),
}  # fmt: skip


def compiled(name: str) -> Program:
    source, options, _ = MADE[name]
    return integraph.compile(source, box=(-1, 2) if name != "remark" else None, **options)


def facts(origin: Origin | None) -> list[Any]:
    """Everything that an origin says."""
    assert origin is not None
    values = {field.name: getattr(origin, field.name) for field in fields(origin)}
    box = values.pop("box")
    return [values | {"options": dict(origin.options)}, None if box is None else (box.low.tolist(), box.high.tolist())]


@pytest.mark.parametrize("name", MADE)
def test_what_constructions_say(name: str) -> None:
    program = compiled(name)
    source, kind, method, eps, options, variables = MADE[name][2]
    said, box = facts(program.origin)
    assert (said["source"], said["kind"], said["method"], said["eps"]) == (source, kind, method, eps)
    assert (said["variables"], said["version"]) == (variables, integraph.__version__)
    chosen = {key: value for key, value in options.items() if value is not None}
    assert chosen.items() <= said["options"].items()
    assert set(said["options"]) - {"c"} == set(options) - {"c"}
    assert program.box is not None
    assert box == (program.box.low.tolist(), program.box.high.tolist())


@pytest.mark.parametrize("name", MADE)
def test_files_and_copies_keep_it(name: str, path: Path) -> None:
    program = compiled(name)
    program.save(path)
    for other in (integraph.load(path), pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        assert facts(other.origin) == facts(program.origin)
        assert other.digest == program.digest


def test_a_program_of_gadgets_has_none(path: Path) -> None:
    registers = integraph.Registers()
    program = integraph.build(registers, [], registers.inputs("x"), source="x, exact")
    program.save(path)
    assert program.origin is None
    assert integraph.load(path).origin is None  # its text is not read
    assert call("info", path, "--json").data["origin"] is None


def test_programs_of_programs() -> None:
    program = compiled("formula")
    assert facts(program.rescale_time(4.0).rescale_states(2.0).origin) == facts(program.origin)
    back = program.reverse()
    assert back.origin is not None
    assert (back.origin.kind, back.origin.method, back.origin.source) == ("program", "inverse", program.source)
    assert back.source == f"inverse flow of {program.source}"
    assert (back.reverse().source, back.reverse().origin) == (program.source, None)
    twice = compiled("order").then(compiled("formula"))
    assert twice.origin is not None
    assert (twice.origin.kind, twice.origin.method) == ("program", "composition")


def test_info_and_the_report_show_it(path: Path) -> None:
    compiled("order").save(path)
    said = call("info", path).out
    assert "exact, eps = 0.01, free = clean, smoothed\n" in said
    assert f"integraph {integraph.__version__}\n" in said
    data = call("info", path, "--json").data["origin"]
    assert data == {
        "source": "x - y, max(x, y)", "kind": "formula", "variables": ["y", "x"], "method": "exact", "eps": 0.01,
        "options": {"free": "clean", "smoothed": True}, "low": [-1.0, -1.0], "high": [2.0, 2.0],
        "version": integraph.__version__,
    }  # fmt: skip
    page = compiled("order").report(path.with_suffix(".html")).read_text()
    assert "exact, eps = 0.01, free = clean, smoothed" in page


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": "guess"}, "kind of an origin is 'guess'"),
        ({"eps": float("nan")}, "eps of an origin must be finite"),
        ({"options": {"free": None}}, "option free of an origin is None"),
        ({"options": {"c": float("inf")}}, "option c of an origin is inf"),
        ({"options": {str(n): n for n in range(99)}}, "at most 32 options"),
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        Origin(**({"source": "x", "kind": "formula", "method": "exact"} | wrong))


def test_options_are_plain_and_cannot_be_changed() -> None:
    origin = Origin("x\n", "formula", "exact\x1b", options={"order": np.int64(3), "c": np.float64(0.5)})
    assert (origin.source, origin.method) == ("x\\n", "exact\\x1b")
    assert json.dumps(dict(origin.options)) == '{"order": 3, "c": 0.5}'
    with pytest.raises(TypeError):
        origin.options["order"] = 4  # type: ignore[index]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("kind", "guess", "kind of an origin"),
        ("eps", 0.1, "eps of the origin is 0.1"),
        ("options", {"free": ["keep"]}, "option 'free' of the origin"),
        ("options", {"free": None}, "option 'free' of the origin"),
        ("options", [], "options of the origin"),
        ("variables", [1], "a variable of the origin"),
        ("variables", [f"x{n}" for n in range(100_000)], "the origin has 100,000 variables, the program 2 inputs"),
        ("box", ["t0"], "the domain is"),
        ("version", 1, "version of the origin"),
        ("more", 1, "the origin has the keys"),
    ],
)
def test_hostile_files(key: str, value: Any, said: str, path: Path) -> None:
    program = compiled("formula")
    document, tensors = encode(program)
    document["origin"][key] = value
    forge(path, document, tensors, program.digest)
    refused(path, said)


def test_nobody_reads_the_text() -> None:
    """Facts come from the origin; only files of version 0.1 have nothing but `Program.source`."""
    source = r"(?:program|first|second)\.source"
    call = rf"(?<!plain)\((?:\w+\.)?{source}\)"  # `plain` shows it in a comment of another language
    reading = re.compile(rf"{source}\.\w+\(|{source}\[| in \w+(?:\.program)?\.source\b|{call}")
    assert reading.search("parse(program.source)")
    root = Path(integraph.__file__).parent
    files = [path for path in root.rglob("*.py") if path.name != "old_source.py"]
    assert [path.name for path in files if reading.search(path.read_text())] == []
    assert reading.search((root / "program" / "old_source.py").read_text())
