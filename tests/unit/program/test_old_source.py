"""Files that version 0.1 wrote still load, compute what they computed, and prove what they proved."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.api.origin import recalled
from integraph.certify.statement import digest
from integraph.program.old_source import with_old_origin

FOLDER = Path(__file__).parents[2] / "data" / "version_0_1"
RECORD: dict[str, Any] = json.loads((FOLDER / "record.json").read_text())
PROVED = [name for name, made in RECORD.items() if "proof" in made]


def source(name: str) -> Any:
    """What was compiled: a formula, several, or the layers of a network."""
    given = RECORD[name]["source"]
    return [tuple(layer) for layer in given] if isinstance(given[0], list) else given


def program(name: str) -> integraph.Program:
    return integraph.load(FOLDER / f"{name}.integraph")


def numbers(rows: list[list[str]]) -> Any:
    return np.array([[float.fromhex(text) for text in row] for row in rows])


@pytest.mark.parametrize("name", RECORD)
def test_programs_load_and_compute_the_same(name: str) -> None:
    old, made = program(name), RECORD[name]
    assert (old.digest, old.source) == (made["digest"], made["program.source"])
    assert np.allclose(old(numbers(made["x"])), numbers(made["y"]), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", RECORD)
def test_the_same_source_gives_the_same_ode(name: str) -> None:
    made = RECORD[name]
    assert integraph.compile(source(name), **made["options"]).digest == made["digest"]


@pytest.mark.parametrize("name", RECORD)
def test_the_origin_is_what_the_text_tells(name: str) -> None:
    """As far as it goes: the same as that of the program which is compiled from the same source today."""
    made = RECORD[name]
    old, new = program(name).origin, integraph.compile(source(name), **made["options"]).origin
    assert old is not None
    assert new is not None
    assert (old.method, old.version) == (new.method, "0.1")
    assert {key: new.options[key] for key in old.options} == dict(old.options)
    assert (old.eps, old.box is None) == (None, False)


@pytest.mark.parametrize("name", RECORD)
def test_formulas_are_recalled(name: str) -> None:
    made = RECORD[name]
    remembered = recalled(program(name))
    if isinstance(made["source"][0], list):
        assert remembered is None
        return
    wanted = integraph.function(source(name), variables=made["options"].get("variables"))
    assert remembered is not None
    assert remembered.expression is not None
    assert wanted.expression is not None
    assert digest(remembered.expression) == digest(wanted.expression)


@pytest.mark.parametrize("name", [name for name in RECORD if program(name).probes])
def test_probes_know_their_layers(name: str) -> None:
    new = integraph.compile(source(name), **RECORD[name]["options"])
    layers = [probe.layer for probe in program(name).probes]
    assert layers == [probe.layer for probe in new.probes] == [*range(1, len(layers) + 1)]


def test_a_text_that_tells_nothing() -> None:
    assert with_old_origin(replace(program("formula"), source="gadgets", origin=None)).origin is None


def test_a_text_that_names_other_inputs() -> None:
    old = with_old_origin(replace(program("formula"), source="x in (x, y, z), exact", origin=None)).origin
    assert old is not None
    assert (old.source, old.variables) == ("x", ())


@pytest.mark.parametrize("name", PROVED)
def test_certificates_check(name: str) -> None:
    claimed = RECORD[name]["proof"]
    certificate = integraph.Certificate.load(FOLDER / f"{name}.proof.json")
    checked = integraph.check(certificate, program(name), source(name))
    assert checked.holds, checked.reason
    assert (checked.status, certificate.upper) == (claimed["status"], float.fromhex(claimed["upper"]))
