"""What holds for every format: texts from outside are harmless, the header is there, limits are said, files whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import export_programs
from integraph import Program
from integraph.errors import FileError, UsageError
from integraph.export.exporter import model_name
from integraph.export.formats import FORMATS, Format
from integraph.export.header import plain
from lazy import needs

EVERY = pytest.mark.parametrize(
    "format",
    [pytest.param(one, id=one.name, marks=[needs(one.name)] if one.name in ("onnx", "jax") else []) for one in FORMATS],
)
TEXTS = [one for one in FORMATS if not one.binary]


def written(program: Program, format: Format, tmp_path: Path) -> str:
    path = program.export(tmp_path / f"wave{format.suffixes[0]}", format.name)
    return path.read_text(encoding="ascii")


@pytest.mark.parametrize("format", TEXTS, ids=lambda one: one.name)
def test_texts_from_outside_stay_in_their_comments(format: Format, tmp_path: Path) -> None:
    """Lines that no harmless file has begin with nothing that an attacker wrote, and no word of his was added."""
    hostile, harmless = export_programs.hostile(), export_programs.formula()
    text, other = (written(one, format, tmp_path) for one in (hostile, harmless))
    for line in set(text.splitlines()) - set(other.splitlines()):
        assert not re.match(r"\s*(\.control|shell|#include|`include|\\input|rm )", line), line
    for word in ("*/ -->", "]]>", "$(", "`id`", "^^M", "<script", "\x1b"):
        assert text.count(word) <= other.count(word), word


@pytest.mark.parametrize("format", TEXTS, ids=lambda one: one.name)
def test_the_header_says_what_it_is(format: Format, tmp_path: Path) -> None:
    program = export_programs.formula()
    text = re.sub(r"\s+", " ", written(program, format, tmp_path))
    assert program.digest in text
    assert f"W = {program.width} registers, D = {program.depth} segments" in text
    assert "Bounds are for the exact flow" in text
    assert ("to the last bit." in text) != ("Not bit-exact" in text)
    assert ("Not bit-exact" in text) != format.exact


@EVERY
def test_the_limit_is_said_with_a_format_that_can(format: Format, tmp_path: Path) -> None:
    program = export_programs.formula()
    with pytest.raises(UsageError, match=rf"{program.terms} terms are more than the 3 that {format.name} takes"):
        program.export(tmp_path / "a", format.name, limit=3)
    assert not list(tmp_path.iterdir())


@EVERY
def test_an_interrupted_export_leaves_the_old_file(
    format: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"old")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        export_programs.formula().export(path, format.name)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@EVERY
def test_the_same_file_twice(format: Format, tmp_path: Path) -> None:
    program = export_programs.formula()
    first, second = (program.export(tmp_path / name, format.name, name="wave").read_bytes() for name in "ab")
    assert first == second


def test_a_program_of_more_bits_is_refused(tmp_path: Path) -> None:
    import integraph

    program = integraph.compile("x*x", method="paper", eps=0.5)
    assert program.bits > 53
    with pytest.raises(UsageError, match=rf"needs {program.bits} bits.*'lean'"):
        program.export(tmp_path / "a.json")


def test_an_unknown_suffix_lists_the_formats(tmp_path: Path) -> None:
    program = export_programs.formula()
    with pytest.raises(UsageError, match=r"no format has the suffix '\.wat': choose one of .*\.json \(json\)"):
        program.export(tmp_path / "a.wat")
    with pytest.raises(UsageError, match=r"a name without a suffix"):
        program.export(tmp_path / "a")
    with pytest.raises(UsageError, match=r"no format is called 'wat': there are .*json"):
        program.export(tmp_path / "a.json", "wat")
    with pytest.raises(UsageError, match=r"has no option 'speed': it has none"):
        program.export(tmp_path / "a.json", speed=3)
    with pytest.raises(FileError, match=r"no file or directory|cannot write|No such"):
        program.export(tmp_path / "missing" / "a.json")


@pytest.mark.parametrize(
    ("path", "name"),
    [("wave.c", "wave"), ("my wave-2.c", "my_wave_2"), ("double.c", "model_double"), ("2x.c", "model_2x"),
     ("λ.c", "model"), ("a" * 40 + ".c", "a" * 16), (".c", "model")],
)  # fmt: skip
def test_the_model_has_a_name_that_every_language_takes(path: str, name: str) -> None:
    assert model_name(Path(path)) == name


def test_a_name_that_no_language_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name is an ASCII letter"):
        export_programs.formula().export(tmp_path / "a.json", name="double")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a*/b", "a* /b"), ("a---b", "a- - -b"), ("−x·y ≤ ε", "-x*y <= eps"), ("a\\\nb", "a??b"), ("é$`%;", "e????"),
     ("<!-- </p", "< !- - < /p"), ("//*", "/ / *")],
)  # fmt: skip
def test_comments_are_plain(text: str, shown: str) -> None:
    assert plain(text) == shown
