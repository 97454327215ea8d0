"""Files of formulas: definitions, outputs, comments; bad files are errors that name the line."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph.errors import FileError, IntegraphError, SourceError, UsageError
from integraph.frontends import SourceKind, kind_of
from integraph.frontends.formula.formula_file import LARGEST, read
from integraph.frontends.formula.parser import parse

TEXT = """# a pendulum with friction
s = sin(theta)   # used below
torque = -g*s - c*omega

omega
torque^2 + s
"""


def written(folder: Path, text: str | bytes, name: str = "model.formula") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("name", ["model.formula", "model.txt", "MODEL.Formula"])
def test_a_file_is_read_everywhere(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, TEXT, name)
    f = integraph.function(path, variables="theta, omega", parameters={"g": 9.81, "c": "1/5"})
    assert f.expression is not None
    closed = "s = sin(theta); torque = -9.81*s - (1/5)*omega; omega, torque^2 + s"
    assert f.expression.source == closed
    program = integraph.compile(str(path), variables="theta, omega", parameters={"g": 9.81, "c": "1/5"})
    x = np.random.default_rng(0).uniform(size=(50, 2))
    torque = -9.81 * np.sin(x[:, 0]) - 0.2 * x[:, 1]
    assert np.allclose(program(x), np.stack([x[:, 1], torque**2 + np.sin(x[:, 0])], 1), rtol=1e-12)
    assert program.origin is not None
    assert program.origin.source == closed
    program.save(tmp_path / "p.integraph")
    path.unlink()
    assert integraph.certify(integraph.load(tmp_path / "p.integraph"), f, 1e-9).status == "proved"


def test_lines_that_nothing_uses_are_outputs_in_order(tmp_path: Path) -> None:
    f = read(written(tmp_path, "a = x\nb = a + y\n\tc = a*b\nx - y, x\n"))
    assert f.expression is not None
    assert f.expression.source == "a = x; b = a + y; a*b, x - y, x"
    windows = read(written(tmp_path, "\ufeffa = x\r\na + 1\r\n"))
    assert windows.outputs == 1
    assert read(written(tmp_path, "u = x; u^2\n")).outputs == 1
    assert read(written(tmp_path, "y = x^2")).outputs == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\ny +\n", "model.formula: a value is missing before the end, in line 2, at column 4"),
        ("# one\n\nx ? y", "model.formula: '[?]' is not part of a formula, in line 3, at column 3"),
        ("y = u\nu = x", "'u' is used before it is defined, in line 2"),
        ("u = x\nu = y", "'u' is defined already, in line 2"),
        ("x' = v\nv' = -x", "x' = … is a differential equation, not a formula, in line 1"),
        ("u = x, y\nu", "u is defined as 2 formulas, in line 1"),
        ("+".join(["x"] * 9000), "a formula of 17,999 characters: at most 10,000"),
    ],
)
def test_mistakes_name_the_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=message):
        read(written(tmp_path, text))


def test_files_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"model.formula has no formula"):
        read(written(tmp_path, "# nothing\n\n"))
    with pytest.raises(FileError, match="is not text in UTF-8"):
        read(written(tmp_path, b"\xff\xfe\x00x"))
    with pytest.raises(FileError, match=f"more than {LARGEST:,} bytes"):
        read(written(tmp_path, b"#" * (LARGEST + 1)))
    with pytest.raises(IntegraphError, match="there is no such file"):
        integraph.compile(str(tmp_path / "absent.formula"))
    with pytest.raises(IntegraphError, match="there is no such file"):
        integraph.compile(str(tmp_path / "absent.txt"))
    with pytest.raises(UsageError, match="b does not occur in the formula"):
        read(written(tmp_path, "x"), parameters={"b": 1})
    for hostile in (b"\x00" * 100, os.urandom(3000), b"(" * 100_000, b"x\n" * 100_000, b"u = u\n" * 999):
        with pytest.raises((FileError, SourceError)) as caught:
            read(written(tmp_path, hostile))
        assert len(str(caught.value)) < 700


def test_a_text_of_polar_is_a_network(tmp_path: Path) -> None:
    polar = written(tmp_path, "1\n1\n0\n1\n0.5\n0.25\n", "net.txt")
    assert kind_of(polar) is SourceKind.NETWORK
    assert kind_of(written(tmp_path, "x + 1\n", "f.txt")) is SourceKind.FORMULA


def test_a_program_cannot_name_a_file_to_read(tmp_path: Path) -> None:
    from integraph.api.origin import recalled

    path = written(tmp_path, "x")
    program = integraph.compile("x")
    assert recalled(program) is not None
    assert program.origin is not None
    forged = program.annotate(
        origin=integraph.Origin(str(path), program.origin.kind, program.origin.method, variables=("x",))
    )
    assert recalled(forged) is None
    with pytest.raises(SourceError):
        parse(str(path))
