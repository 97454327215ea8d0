"""`integraph eval`: points from arguments, tables and arrays, good and bad. Values are those of numpy and mpmath."""

from __future__ import annotations

import io
import math
import struct
from pathlib import Path

import mpmath
import numpy as np
import pytest

import integraph
from command import call
from integraph.cli.csv_table import read_csv

FORMULA = "sin(3*x)*exp(-y)"


def wanted(points: object) -> np.ndarray:
    x, y = np.array(points, float).T
    return np.sin(3 * x) * np.exp(-y)


@pytest.fixture(scope="module")
def wave(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of two inputs, x and y."""
    path = tmp_path_factory.mktemp("programs") / "wave.integraph"
    integraph.compile(FORMULA).save(path)
    return path


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of one input and two outputs, which not every input survives."""
    path = tmp_path_factory.mktemp("programs") / "log.integraph"
    integraph.compile(["ln(x)", "x^2"], box=(1, 2)).save(path)
    return path


def numbers(text: str) -> np.ndarray:
    return np.array([[float(part) for part in line.split(",")] for line in text.splitlines()])


@pytest.mark.parametrize(
    ("words", "points"),
    [
        (["0.3", "0.8"], [(0.3, 0.8)]),
        (["0.3,0.8"], [(0.3, 0.8)]),
        (["0.3,0.8", "0.1,0.2"], [(0.3, 0.8), (0.1, 0.2)]),
        (["-0.3", "-.5"], [(-0.3, -0.5)]),
        (["-0.3,0.8", "-1e-3,-2"], [(-0.3, 0.8), (-1e-3, -2)]),
        (["--", "-0.3", "0.8"], [(-0.3, 0.8)]),
    ],
)
def test_points_as_arguments(wave: Path, words: list[str], points: list[tuple[float, float]]) -> None:
    said = call("eval", wave, *words)
    assert said.code == 0, said.err
    assert np.allclose(numbers(said.out)[:, 0], wanted(points), rtol=1e-13)
    assert ("outside [0, 1]^2" in said.err) == (np.min(points) < 0)


def test_one_input_takes_many_numbers(log: Path) -> None:
    said = call("eval", log, "1", "1.5", "2")
    exact = [[float(mpmath.ln(x)), x * x] for x in (1, 1.5, 2)]
    assert np.allclose(numbers(said.out), exact, rtol=1e-14, atol=1e-16)
    assert said.err == ""


def test_json(wave: Path) -> None:
    data = call("eval", wave, "0.3,0.8", "0.3,1.8", "--json").data
    program = integraph.load(wave)
    assert data["outputs"] == program([(0.3, 0.8), (0.3, 1.8)]).tolist()
    assert (data["engine"], data["points"], data["outside"]) == ("exact", 2, 1)
    assert data["warnings"] == ["1 of 2 points is outside [0, 1]^2, where the error is promised"]


@pytest.mark.parametrize("engine", ["exact", "taylor", "oracle", "precise"])
def test_engines(wave: Path, engine: str) -> None:
    data = call("eval", wave, "0.3", "0.8", "--engine", engine, "--json").data
    assert data["engine"] == engine
    assert abs(data["outputs"][0][0] - wanted([(0.3, 0.8)])[0]) < 1e-9


def test_the_tolerance_reaches_the_engine(wave: Path) -> None:
    coarse, fine = (
        call("eval", wave, "0.9", "0.1", "--engine", "taylor", "--rtol", rtol, "--json").data["outputs"][0][0]
        for rtol in ("1e-3", "1e-14")
    )
    value = wanted([(0.9, 0.1)])[0]
    assert abs(fine - value) < 1e-14
    assert 1e-14 < abs(coarse - value) < 1e-2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no points"),
        (["0.3"], "'0.3' has 1 number: a point has 2, x, y"),
        (["0.1", "0.2", "0.3", "0.4"], "has 4 numbers"),
        (["0.3,0.8", "0.1"], "'0.1' has 1 number"),
        (["0.3,a"], "'a' in '0.3,a' is not a number"),
        (["0.3,"], "'' in '0.3,' is not a number"),
        (["nan", "0.2"], "not finite"),
        (["0.2", "-inf"], "not finite"),
        (["0.2", "0.1", "--engine", "fast"], "unknown engine 'fast'"),
        (["0.2", "0.1", "--rtol", "-1"], "rtol"),
        (["0.2", "0.1", "--rtol", "nan"], "rtol"),
        (["0.2", "0.1", "-o", "out.txt"], ".csv or .npy"),
        (["0.2", "0.1", "--engin", "exact"], "--engine"),
        (["0.2", "0.1", "--points", "x.csv"], "give one of them"),
        (["--points", "none.csv"], "cannot read the points in none.csv"),
        (["--points", "."], "folder"),
        (["points.csv"], "points.csv is the name of a file: to read points from it, write --points points.csv"),
    ],
)
def test_bad_arguments(wave: Path, words: list[str], said: str) -> None:
    found = call("eval", wave, *words)
    assert (found.code, found.out) == (2, "")
    assert said in found.err


POINTS = [(0.3, 0.8), (0.1, -0.25), (1e-3, 1.0)]
PLAIN = "0.3,0.8\n0.1,-0.25\n1e-3,1\n"


@pytest.mark.parametrize(
    ("text", "points"),
    [
        (PLAIN, POINTS),
        ("x,y\n" + PLAIN, POINTS),
        ("y,x\n" + PLAIN, [(y, x) for x, y in POINTS]),
        ('"y" , "x"\n' + PLAIN, [(y, x) for x, y in POINTS]),
        ("first,second\n" + PLAIN, POINTS),
        ("# y x\n" + PLAIN.replace(",", " "), [(y, x) for x, y in POINTS]),
        (PLAIN.replace(",", ";"), POINTS),
        (PLAIN.replace(",", "\t"), POINTS),
        (PLAIN.replace(",", "   "), POINTS),
        ("\ufeffx,y\r\n" + PLAIN.replace("\n", "\r\n"), POINTS),
        ("0.3,0.8\n\n  \n0.1,-0.25\n1e-3,1", POINTS),
        ('"0.3","0.8"\n"0.1",-0.25\n1e-3, 1\n', POINTS),
    ],
)
def test_tables(wave: Path, tmp_path: Path, text: str, points: list[tuple[float, float]]) -> None:
    table = tmp_path / "points.csv"
    table.write_bytes(text.encode())
    for said in (call("eval", wave, "--points", table), call("eval", wave, "--points", "-", stdin=text.encode())):
        assert said.code == 0, said.err
        assert np.allclose(numbers(said.out)[:, 0], wanted(points), rtol=1e-13)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "empty"),
        (b"x,y\n", "only a header"),
        (b"x,y\n0.1,0.2\n0.3,nan\n", "line 3, column 2: 'nan' is not finite: needed is a value of y"),
        (b"0.1,0.2\n\n-inf,1\n", "line 3, column 1: '-inf' is not finite"),
        (b"0.1,0.2\n0.1,0.2,0.3\n", "line 2: 3 columns, and there are 2 inputs: x, y"),
        (b"0.1\n", "line 1: 1 column"),
        (b"0.1,0.2\n0.1,\n", "line 2, column 2: '' is not a number"),
        (b"0.1,0.2\n0.1,zero\n", "line 2, column 2: 'zero' is not a number"),
        (b"0.1,1_0\n", "line 1, column 2: '1_0' is not a number"),
        (b"x,y,z\n1,2,3\n", "line 1: a header of 3 columns, and there are 2 inputs"),
        (b"x,z\n1,2\n", "names some of the inputs and not all"),
        (b"x,x\n1,2\n", "names some of the inputs and not all"),
        (b"0,1;0,2\n", "line 1: 3 columns"),
        (b"0.1,0.2\n\xff\xfe1,2\n", "0xff is not UTF-8"),
        (b"0.1,0.2\n\x00\x00,1\n", "line 2, column 1"),
        ("0.1,0.2\n".encode("utf-16"), "not UTF-8"),
    ],
)
def test_bad_tables(wave: Path, tmp_path: Path, text: bytes, said: str) -> None:
    table = tmp_path / "points.csv"
    table.write_bytes(text)
    found = call("eval", wave, "--points", table)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert "points.csv" in found.err
    assert call("eval", wave, "--points", table, "--json").data["error"]["kind"] == "FileError"


def test_a_header_goes_by_the_names_of_the_formula(tmp_path: Path) -> None:
    program, table = tmp_path / "lean.integraph", tmp_path / "points.csv"
    integraph.compile("x/(2+y)", 1e-3, method="lean").save(program)  # its registers are x[0] and x[1]
    table.write_text("y,x\n0.25,0.75\n")
    assert abs(numbers(call("eval", program, "--points", table).out)[0, 0] - 0.75 / 2.25) < 1e-3


def test_a_fault_in_a_later_piece_has_the_right_line(
    wave: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("integraph.cli.csv_table.LINES", 4)
    table = tmp_path / "points.csv"
    rows = [f"{n / 10},0.5" for n in range(10)]
    table.write_text("x,y\n" + "\n".join(rows))
    assert np.allclose(
        numbers(call("eval", wave, "--points", table).out)[:, 0], wanted([(n / 10, 0.5) for n in range(10)])
    )
    rows[7] = "0.7,?"
    table.write_text("x,y\n" + "\n".join(rows))
    assert "line 9, column 2: '?'" in call("eval", wave, "--points", table).err


@pytest.mark.slow
def test_many_rows_are_what_numpy_reads(tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(250_000, 2))
    table = tmp_path / "points.csv"
    table.write_text("".join(f"{a!r},{b!r}\n" for a, b in x.tolist()))
    with table.open("rb") as file:
        assert np.array_equal(read_csv(file, "points.csv", ("x", "y"), None)[0], x)


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "i4"])
def test_arrays(wave: Path, tmp_path: Path, dtype: str) -> None:
    x = (np.random.default_rng(2).uniform(size=(7, 2)) * 2).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    said = call("eval", wave, "--points", tmp_path / "x.npy")
    assert np.allclose(numbers(said.out)[:, 0], wanted(x), rtol=1e-13)


def test_shapes_of_arrays(wave: Path, log: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([0.3, 0.8]))
    assert np.allclose(numbers(call("eval", wave, "--points", path).out)[:, 0], wanted([(0.3, 0.8)]))
    np.save(path, np.array([1.3, 1.8, 1.2]))
    assert numbers(call("eval", log, "--points", path).out).shape == (3, 2)
    np.save(path, np.ones((4, 2), order="F"))
    assert numbers(call("eval", wave, "--points", path).out).shape == (4, 1)


def _bad_arrays(folder: Path) -> dict[str, str]:
    good = folder / "good.npy"
    np.save(good, np.ones((100, 2)))
    whole = good.read_bytes()
    np.save(folder / "objects.npy", np.array([[1, None]], object), allow_pickle=True)
    np.save(folder / "complex.npy", np.ones((2, 2), complex))
    np.save(folder / "words.npy", np.array([["a", "b"]]))
    np.save(folder / "wide.npy", np.ones((2, 3)))
    np.save(folder / "deep.npy", np.ones((2, 2, 2)))
    np.save(folder / "none.npy", np.ones((0, 2)))
    np.save(folder / "nan.npy", np.array([[0.1, 0.2], [0.3, math.nan]]))
    np.savez(folder / "zip.npy.npz", a=np.ones((2, 2)))
    (folder / "truncated.npy").write_bytes(whole[:-8])
    (folder / "header.npy").write_bytes(whole[:40])
    (folder / "empty.npy").write_bytes(b"")
    (folder / "text.npy").write_text("0.1,0.2\n")
    (folder / "liar.npy").write_bytes(whole.replace(b"(100, 2), }", b"(10**9, 2)}", 1))
    (folder / "huge.npy").write_bytes(whole[:8] + struct.pack("<H", 118) + whole[10:].replace(b"(100", b"(9**", 1))
    return {
        "objects.npy": "object", "complex.npy": "complex128", "words.npy": "real numbers", "wide.npy": "(batch, 2)",
        "deep.npy": "(batch, 2)", "none.npy": "no points", "nan.npy": "input 1 is not finite: component 1",
        "zip.npy.npz": "zip", "truncated.npy": "truncated", "header.npy": "truncated", "empty.npy": "it is empty",
        "text.npy": "its first bytes are others", "liar.npy": "truncated", "huge.npy": "truncated",
    }  # fmt: skip


def test_bad_arrays(wave: Path, tmp_path: Path) -> None:
    for name, said in _bad_arrays(tmp_path).items():
        found = call("eval", wave, "--points", tmp_path / name)
        assert (found.code, found.out) == (2, ""), name
        assert said in found.err, (name, found.err)
        assert name in found.err


def test_inputs_that_fail(log: Path, tmp_path: Path) -> None:
    said = call("eval", log, "1.5", "-1", "2", "0", "-o", tmp_path / "out.csv")
    assert (said.code, said.out) == (1, "")
    assert "input 1: the solution blows up" in said.err
    assert "(and 1 more inputs)" in said.err
    assert not (tmp_path / "out.csv").exists()
    data = call("eval", log, "1.5", "-1", "2", "0", "--json").data
    assert data["error"]["inputs"] == [1, 3]


def test_pieces_count_on(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integraph.cli.commands.evaluate.WORK", {"exact": 1})
    points = [f"{1 + n / 10}" for n in range(10)]
    out = numbers(call("eval", log, *points).out)
    assert np.allclose(out[:, 1], (1 + np.arange(10) / 10) ** 2)
    points[7] = "-7"
    assert call("eval", log, *points, "--json").data["error"]["inputs"] == [7]


def test_outputs_in_files(log: Path, tmp_path: Path) -> None:
    x = 1 + np.random.default_rng(3).uniform(size=1000)
    np.save(tmp_path / "x.npy", x)
    exact = np.stack([np.log(x), x**2], 1)
    for name in ("out.csv", "out.npy", "bare"):
        said = call("eval", log, "--points", tmp_path / "x.npy", "-o", tmp_path / name)
        assert said.code == 0
        assert "1,000 points by engine exact" in said.out
    found = np.load(tmp_path / "out.npy")
    assert np.allclose(found, exact, rtol=1e-13)
    for name in ("out.csv", "bare.csv"):
        assert np.array_equal(np.loadtxt(tmp_path / name, delimiter=",", skiprows=1), found)
    assert (tmp_path / "out.csv").read_text().startswith("output[0],output[1]\n")
    before = (tmp_path / "x.npy").read_bytes()
    said = call("eval", log, "--points", tmp_path / "x.npy", "-o", tmp_path / "x.npy")
    assert (said.code, (tmp_path / "x.npy").read_bytes()) == (2, before)


@pytest.mark.parametrize(
    "text",
    ["\n\n0.5,0.25\n", "# two inputs\n# of a table\n0.5,0.25\n", "\n# z\ny,x\n0.25,0.5\n", "# y,x\n0.25,0.5\n# end\n"],
)
def test_empty_lines_and_comments(text: str) -> None:
    found, warnings = read_csv(io.BytesIO(text.encode()), "points.csv", ("x", "y"), None)
    assert (found.tolist(), warnings) == ([[0.5, 0.25]], ())


def test_a_mistake_behind_comments_has_its_line(path: Path) -> None:
    integraph.compile("x*y").save(path)
    said = call("eval", path, "--points", "-", stdin=b"# a\n\nx,y\n1,2\n# b\n1,two\n")
    assert said.code == 2
    assert "line 6, column 2: 'two'" in said.err


def test_a_header_that_names_no_input_is_a_warning(path: Path) -> None:
    integraph.compile("x - y").save(path)
    said = call("eval", path, "--points", "-", stdin=b"lat,lon\n0.75,0.25\n")
    assert (said.code, said.out) == (0, "0.5\n")
    assert "line 1: the header (lat, lon) names none of the inputs" in said.err
    (warning,) = call("eval", path, "--points", "-", "--json", stdin=b"lat,lon\n0.75,0.25\n").data["warnings"]
    assert "taken in order" in warning
    beside = call("compare", path, "--points", "-", "--json", stdin=b"lat,lon\n0.75,0.25\n").data
    assert "taken in order" in beside["warnings"][0]


def test_a_line_without_end(path: Path) -> None:
    integraph.compile("x*y").save(path)
    said = call("eval", path, "--points", "/dev/zero")
    assert said.code == 2
    assert "more than 1,000,000 characters" in said.err
