"""The program file: exact both ways, and one clear FileError for everything that is damaged or no such file."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from safetensors import safe_open

import integraph
from integraph import Index, Program, Registers, View, build, load, progress, segment, tensor
from integraph.errors import FileError
from integraph.gadgets import affine, product, tanh
from integraph.program import Budget, Probe, storage
from law import examples
from random_programs import programs
from stored import controls, everything, refused, rich, small

SHARED_FOLDER = {"suppress_health_check": [HealthCheck.function_scoped_fixture]}


# --- exact both ways


def budgets(program: Program) -> st.SearchStrategy[Budget | None]:
    sides = st.lists(st.floats(-1e9, 1e9), min_size=program.inputs, max_size=program.inputs).map(np.array)
    box = st.tuples(sides, sides).map(lambda ends: (np.minimum(*ends), np.maximum(*ends)))
    part = st.floats(0.0, 1e300)
    return st.none() | st.builds(lambda ends, *parts: Budget(*ends, *parts), box, part, part, part)


def probes(program: Program) -> st.SearchStrategy[tuple[Probe, ...]]:
    registers = st.lists(st.integers(0, program.width - 1), min_size=1, max_size=min(program.width, 4))
    refs = registers.map(lambda found: Index(np.array(found))) | st.just(View(0, (program.width,), (1,)))
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    segments, layers = st.integers(0, max(program.depth - 1, 0)), st.none() | st.integers(1, 9)
    probe = st.builds(Probe, st.text(max_size=9), segments, refs, numbers, numbers, layers)
    return st.lists(probe, max_size=3 if program.depth else 0).map(tuple)


@given(
    program=programs(),
    source=st.text(max_size=20),
    proven=st.none() | st.floats(allow_nan=False),
    data=st.data(),
    seen=st.none() | st.floats(),
)
@examples(100, **SHARED_FOLDER)
def test_round_trip_is_bit_exact(
    path: Path, program: Program, source: str, proven: Any, seen: Any, data: st.DataObject
) -> None:
    budget, places = data.draw(budgets(program)), data.draw(probes(program))
    program = replace(program, source=source, proven=proven, seen=seen, budget=budget, probes=places)
    program.save(path)
    back = load(path)
    assert everything(back) == everything(program)
    assert controls(back) == controls(program)
    assert back.__dict__["digest"] == program.digest == load(path).digest
    assert back.__dict__["terms"] == program.terms
    first = path.read_bytes()
    back.save(path)
    assert path.read_bytes() == first
    assert list(path.parent.iterdir()) == [path]


def test_shared_tensors_are_stored_once(path: Path) -> None:
    r = Registers()
    x, z, y = r.inputs("x", 50), r.new("z", 50), r.new("y", 50)
    w, order = tensor(np.random.default_rng(0).normal(size=(50, 50))), Index(np.arange(50)[::-1])
    blocks = [affine(z, x, w=w), affine(y, x, w=w), product(z, order, x), product(y, order, x)]
    build(r, [segment("s", *blocks), segment("t", affine(y, x, w=w))], y).save(path)
    back = load(path)
    weights = [b.tensors["w"] for s in back.segments for b in s.blocks if b.op.name == "affine"]
    assert all(array is weights[0] and not array.flags.writeable for array in weights)
    assert path.stat().st_size < 50 * 50 * 8 + 8000


def test_transposed_weights_and_odd_texts(path: Path) -> None:
    r = Registers()
    x, z = r.inputs("\ud800 \x00 \u202e", 3), r.new("ζ", 2)
    w = np.arange(6.0).reshape(3, 2)
    w.flags.writeable = False
    program = build(r, [segment('"\\\n𝄞', affine(z, x, w=w.T), duration=1e-320)], z, source="x ↦ 'A·x'")
    program.save(path)
    assert everything(load(path)) == everything(program)
    assert load(path).segments[0].blocks[0].tensors["w"].tolist() == w.T.tolist()


def test_a_program_without_segments(path: Path) -> None:
    r = Registers()
    program = build(r, [], r.inputs("x", 2), [[1.0, -0.0]])
    program.save(path)
    assert everything(load(path)) == everything(program)


def test_loaded_programs_run(path: Path) -> None:
    r = Registers()
    x, mu, al, la = r.inputs("x", 2), r.new("mu", 3), r.new("alpha", 3), r.new("lam", 3)
    a = np.random.default_rng(1).normal(size=(3, 2))
    program = build(r, [segment("affine", affine(mu, x, w=a)), segment("tanh", tanh(al, la, mu))], al)
    program.save(path)
    inputs = np.random.default_rng(2).normal(size=(5, 2))
    assert load(path)(inputs).tobytes() == program(inputs).tobytes()


def test_any_safetensors_reader_sees_what_it_is(path: Path) -> None:
    small().save(path)
    with safe_open(path, framework="np") as file:
        metadata = file.metadata()
    assert metadata["format"] == "integraph program"
    assert metadata["version"] == "2"
    assert metadata["digest"] == small().digest


# --- writing


def test_an_interrupted_save_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small().save(path)
    before = path.read_bytes()
    other = small().rescale_time(3.0)
    for call, failure, seen in (
        ("replace", KeyboardInterrupt(), pytest.raises(KeyboardInterrupt)),
        ("replace", OSError(28, "No space left"), pytest.raises(FileError, match="integraph: No space left")),
        ("fsync", OSError(5, "Input/output error"), pytest.raises(FileError, match=r"cannot write .*: Input/output")),
    ):
        with monkeypatch.context() as patch, seen:
            patch.setattr(os, call, Mock(side_effect=failure))
            other.save(path)
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]
    other.save(path)
    assert load(path).digest == other.digest


def test_unwritable_targets(tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "no folder" / "p", tmp_path / ("n" * 300), str(tmp_path / "nul\0")):
        with pytest.raises(FileError, match="cannot write"):
            small().save(target)
    assert list(tmp_path.iterdir()) == []


def test_saving_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    small().save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "real").digest == small().digest


def test_what_cannot_be_stored_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "MAX_HEADER", 100)
    with pytest.raises(FileError, match="too many blocks"):
        small().save(path)
    assert not path.exists()


# --- damage


def refused_or_equal(path: Path, program: Program) -> bool:
    try:
        back = load(path)
    except FileError:
        return True
    assert everything(back) == everything(program)
    assert controls(back) == controls(program)
    return False


@pytest.mark.slow
def test_every_flipped_byte_is_refused_or_harmless(path: Path) -> None:
    program = small()
    program.save(path)
    good = path.read_bytes()
    for position in range(len(good)):
        for mask in (0x01, 0xFF):
            path.write_bytes(good[:position] + bytes([good[position] ^ mask]) + good[position + 1 :])
            kept = not refused_or_equal(path, program)
            assert not kept or good[position : position + 1] == b" ", position  # padding of the header


@given(data=st.data())
@examples(60, **SHARED_FOLDER)
def test_random_damage(path: Path, data: st.DataObject) -> None:
    program = data.draw(programs())
    program.save(path)
    good = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(good)
    refused_or_equal(path, program)


@pytest.mark.slow
def test_every_truncation_is_refused(path: Path) -> None:
    small().save(path)
    good = path.read_bytes()
    for length in range(len(good)):
        path.write_bytes(good[:length])
        refused(path, "empty" if length == 0 else "not a program file|truncated")
    path.write_bytes(good + b"\0")
    refused(path, "damaged or truncated")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "the file is empty"),
        (b"hello world, this is text\n", "not a program file"),
        (pickle.dumps({"a": np.zeros(3)}), "not a program file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "Git LFS pointer.*git lfs pull"),
        (b"\xff" * 8 + b"{}", "truncated: its header has 18446744073709551615 bytes"),
        (
            (1 << 25).to_bytes(8, "little") + b"{" + b" " * (1 << 25),
            "a header of 33554432 bytes is more than the limit",
        ),
        ((2).to_bytes(8, "little") + b"{}", "not a program of Integraph"),
        ((40_000).to_bytes(8, "little") + b'{"a":' * 8_000, "damaged or truncated"),
        ((4).to_bytes(8, "little") + b"{\xff\xfe}", "damaged or truncated"),
    ],
)
def test_other_files(path: Path, content: bytes, match: str) -> None:
    path.write_bytes(content)
    refused(path, match)


def test_what_is_not_a_file(tmp_path: Path) -> None:
    refused(tmp_path, "cannot read the file: it is a directory")
    refused(tmp_path / "missing", "cannot read the file: No such file or directory")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "cannot read the file: it is not a regular file")
    with pytest.raises(FileError, match=r"cannot read the file: .*embedded null"):
        load("a\0b")


# --- a person waits


def test_a_bar_for_large_programs_only_at_a_terminal(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    rich().save(path)
    monkeypatch.setattr(progress, "LARGE", 1)
    load(path)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    load(path)
    assert "checking" in capsys.readouterr().err


def test_public_names() -> None:
    assert integraph.load is load
    assert "load" in integraph.__all__
