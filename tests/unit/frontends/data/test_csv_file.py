"""CSV files as people have them, and as nobody should: against the numbers that were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph.errors import FileError, IntegraphError, SourceError, UsageError
from integraph.frontends.data import columns, csv_file

ROWS = [(1.5, 2.0, -3e-4), (2.5, 4.0, 5.0), (3.5, 8.0, 7.25)]
PLAIN = "\n".join(",".join(map(str, row)) for row in ROWS)
GERMAN = "\n".join(";".join(str(number).replace(".", ",") for number in row) for row in ROWS)


def wrote(folder: Path, text: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"a,b,c\n{PLAIN}\n",
        f"T [K],p [bar],rho\n{PLAIN}\n\n",
        f"# measured on Monday\na,b,c\n{PLAIN}".replace("\n", "\r\n"),
        f"a;b;c\n{GERMAN}",
        f"a|b|c\n{PLAIN.replace(',', '|')}",
        f"a\tb\tc\n{GERMAN.replace(';', chr(9))}",
        "a, b, c\n" + PLAIN.replace(",", ", "),
        '"a","b, with a comma","c"\n' + "\n".join(",".join(f'"{n}"' for n in row) for row in ROWS),
        "\n".join(",".join(f'"{str(n).replace(".", ",")}"' for n in row) for row in ROWS),
        b"\xef\xbb\xbf" + f"a,b,c\n{PLAIN}".encode(),
        f"a,b,c\n{PLAIN}".encode("utf-16"),
        "ϑ [°C],b,c\n".encode() + PLAIN.encode(),
        "t [°C],b,c\n".encode("latin-1") + PLAIN.encode(),
        "site,a,b,c\n" + "\n".join(f"Ulm,{line}" for line in PLAIN.split("\n")),
        "a,b,c,\n" + "\n".join(f"{line}," for line in PLAIN.split("\n")),
        f"a,b,c\n{PLAIN}\n,,\n",
        f"a,b,c\n{PLAIN}\n1,,2\n1,nan,2\nn/a,3,4\n1,2,inf\n",
    ],
)
def test_the_numbers_are_read(tmp_path: Path, text: str | bytes) -> None:
    f = integraph.function(wrote(tmp_path, text), inputs=2)
    assert (f.inputs, f.outputs) == (2, 1)
    assert f.rows is not None
    np.testing.assert_array_equal(np.column_stack([f.rows.x, f.rows.y]), np.array(ROWS))


def test_encodings(tmp_path: Path) -> None:
    """A mark of the byte order is no part of a name; what is not UTF-8 is read as Latin-1, and that is said."""
    text = f"T [°C],b,c\n{PLAIN}"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "latin-1"):
        f = integraph.function(wrote(tmp_path, text.encode(encoding)), inputs=2)
        assert f.rows is not None
        assert f.variables == ("T [°C]", "b")
        assert bool(f.rows.notes) == (encoding == "latin-1")


def test_what_was_left_out_is_counted_and_said(tmp_path: Path) -> None:
    text = "site,T [K],u,y\n" + "\n".join(f"Ulm,{n},{'' if n < 3 else n},{n * n}" for n in range(30))
    f = integraph.function(wrote(tmp_path, text), inputs=2)
    assert f.rows is not None
    assert f.rows.gaps == 3
    assert f.rows.notes == ("site is text, and left out", "3 rows with gaps left out")
    assert f.variables == ("T [K]", "u")
    assert f.rows.names == ("y",)
    program = integraph.compile(wrote(tmp_path, "x,y\n" + "\n".join(f"{n},{n % 7 or ''}" for n in range(30))))
    assert "data.csv: x → y, Theorem 1" in program.source
    assert "5 rows with gaps left out" in program.source
    assert program.origin is not None
    assert program.origin.options["rows with gaps"] == 5
    assert program.origin.kind == "data"


def test_inputs_by_name(tmp_path: Path) -> None:
    """In any order, with or without their units; the rest are outputs."""
    path = wrote(tmp_path, f"T [K],p (bar),rho / SI\n{PLAIN}")
    f = integraph.function(path, variables=["rho", "T [K]"])
    assert f.rows is not None
    assert f.variables == ("rho / SI", "T [K]")
    assert f.rows.names == ("p (bar)",)
    assert sorted(f.rows.x[:, 0]) == [row[2] for row in ROWS]
    assert integraph.function(wrote(tmp_path, PLAIN), variables="a, b").variables == ("a", "b")
    assert integraph.function(wrote(tmp_path, "# a b c\n" + PLAIN), variables="c b").variables == ("c", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no rows in it"),
        ("a,b,c\n", "there is a header, and no row after it"),
        ("a,b\n1,2,3\n", "line 2 has 3 cells, the first one 2: every row needs as many"),
        ("1\n2\n3\n", "it has one column: data need an input and an output"),
        ("a,b\nx,y\nu,v\n", "it has 0 columns of numbers"),
        ("a,b\n1,2\n3,4\n5,six\n", "line 4, b: 'six' is not a number: correct it, or leave the cell empty"),
        ("a,b\n1,2\n3,1_000\n5,6\n", "'1_000' is not a number"),
        ("a;b\n1,5;2.5\n", r"what is '1,5'\? '2\.5' has a decimal point: write every number with a decimal point"),
        ('a,b\n"1,234",2\n"2,345",3\n', r"what is '1,234'\? it may be a decimal comma or mark thousands"),
        ('a,b\n1,"2\n', "line 2: unexpected end of data"),
        (b"a,b\n1,2\0\n", "it holds zero bytes: this is no text"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "it holds zero bytes"),
        ("version https://git-lfs.github.com/spec/v1\n", "git-lfs pointer"),
        ("a,b\n1," + "2" * 200_000 + "\n", "field larger than field limit"),
    ],
)
def test_bad_files(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(FileError, match=message):
        integraph.compile(wrote(tmp_path, text))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"data\.csv has 3 columns \(a, b, c\): say how many of them are inputs, the first ones"),
        ({"inputs": 3}, r"inputs = 3: data\.csv has 3 columns of numbers \(a, b, c\): at least one is an input"),
        ({"inputs": 0}, "inputs = 0"),
        ({"variables": "a, z"}, r"no column of numbers called 'z' \(a, b, c\)"),
        ({"variables": "a, b, c"}, "it names every column of data.csv: leave one as output"),
        ({"variables": "a", "inputs": 2}, "inputs = 2: variables names 1 input"),
        ({"inputs": (1, 2)}, "shapes of arguments are for torch modules"),
    ],
)
def test_which_columns(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        integraph.compile(wrote(tmp_path, f"a,b,c\n{PLAIN}"), **options)  # type: ignore[arg-type]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such file"):
        integraph.compile(str(tmp_path / "none.csv"))


def test_a_row_of_numbers_is_too_little(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="1 row: at least 5 different ones are needed"):
        integraph.compile(wrote(tmp_path, "x,y\n1,2\n"))


def test_huge_files_are_refused_with_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = wrote(tmp_path, f"a,b,c\n{PLAIN}")
    monkeypatch.setattr(columns, "CELLS", 8)
    with pytest.raises(IntegraphError, match=r"3 rows of 3 columns are more than 8 numbers: take every second row"):
        integraph.function(path, inputs=2)
    monkeypatch.setattr(csv_file, "BYTES", 10)
    with pytest.raises(FileError, match="is more than 1e-05 MB"):
        integraph.function(path, inputs=2)


def test_many_rows_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in parts of a few lines, some with gaps: the same numbers."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1000, 3))
    table[rng.random(table.shape) < 0.01] = np.nan
    np.savetxt(tmp_path / "data.csv", table, delimiter=",", header="a,b,c", fmt="%.17g")
    monkeypatch.setattr(csv_file, "LINES", 7)
    f = integraph.function(tmp_path / "data.csv", inputs=2)
    assert f.rows is not None
    whole = table[np.isfinite(table).all(1)]
    np.testing.assert_array_equal(np.column_stack([f.rows.x, f.rows.y]), whole[np.lexsort(whole.T[::-1])])
    assert f.rows.gaps == 1000 - len(whole)
    assert f.variables == ("a", "b")
