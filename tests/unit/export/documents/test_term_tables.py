"""JSON and CSV, read back by Python's own modules: every number is that of the program."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import export_programs
from integraph import Program

EVERY = pytest.mark.parametrize("name", export_programs.EQUATIONS)


def same(program: Program, terms: list[list[float]]) -> None:
    controls = program.controls()
    columns = np.array(terms, np.float64).T
    for mine, own in zip((controls.segment, controls.i, controls.j, controls.k, controls.value), columns, strict=True):
        assert np.array_equal(mine, own)


@EVERY
def test_json(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    document = json.loads(program.export(tmp_path / "wave.json").read_text())
    same(program, [[n, *term] for n, one in enumerate(document["segments"]) for term in one["terms"]])
    assert [one["duration"] for one in document["segments"]] == [s.duration for s in program.segments]
    matrix = np.zeros(program.readout.shape)
    for row, column, value in document["readout"]:
        matrix[row, column] += value
    assert np.array_equal(matrix, program.readout.toarray())
    assert document["registers"] == [program.registers.name(n) for n in range(program.width)]
    assert (document["digest"], document["inputs"]) == (program.digest, program.inputs)


@EVERY
def test_csv(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    lines = program.export(tmp_path / "wave.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    terms = [row for row in rows if row["kind"] == "term"]
    same(program, [[float(row[key]) for key in ("segment", "i", "j", "k", "value")] for row in terms])
    durations = [float(row["value"]) for row in rows if row["kind"] == "duration"]
    assert durations == [segment.duration for segment in program.segments]
    matrix = np.zeros(program.readout.shape)
    for row in (row for row in rows if row["kind"] == "readout"):
        matrix[int(row["i"]), int(row["k"])] += float(row["value"])
    assert np.array_equal(matrix, program.readout.toarray())
