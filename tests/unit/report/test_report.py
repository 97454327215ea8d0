"""Reports as texts: the same bytes each time, nothing fetched, everything escaped, and what they say is true."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph import Program, Registers, build, segment
from integraph.errors import FileError, UsageError
from integraph.gadgets import affine
from integraph.plot import pictures, subject
from integraph.plot.picture import Curve, Heat
from integraph.report import page as page_module
from integraph.report.decimation import POINTS, digits, subsampled
from integraph.report.error_summary import below
from integraph.report.markup import Html, escaped, facts, table, tag
from integraph.report.page import Section, data, page
from integraph.report.panel_data import frames
from integraph.text import lines
from report_pages import HOSTILE, Reader, all_hostile, all_kinds, everything, identity, read
from transformers import to_graph, transformer


@pytest.mark.slow
def test_the_name_is_the_function() -> None:
    """And what is in the package of that name can still be imported."""
    code = "import integraph; from integraph.report import page; print(callable(integraph.report), callable(page.page))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["True", "True"]


@pytest.mark.slow
def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    """In another process too, where texts have other hashes."""
    code = (
        "import hashlib, integraph, sys\n"
        "path = integraph.report(integraph.compile('x^2*y'), sys.argv[1])\n"
        "print(hashlib.sha256(path.read_bytes()).hexdigest())"
    )
    path = integraph.report(integraph.compile("x^2*y"), tmp_path / "one.html")
    assert path == tmp_path / "one.html"
    other = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "two.html")],
        capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7", "PATH": ""},
    )  # fmt: skip
    assert other.stdout.strip() == hashlib.sha256(path.read_bytes()).hexdigest()


def checked(reader: Reader) -> None:
    """One file that needs no other, with a heading for everything."""
    assert not reader.open
    assert not {"link", "iframe", "img", "object", "embed", "base", "form"} & {name for name, _ in reader.tags}
    addresses = [a[key] for _, a in reader.tags for key in ("src", "href", "srcset", "action", "style") if key in a]
    assert all(address is not None and address.startswith("#section-") for address in addresses)
    ids = [a["id"] for _, a in reader.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert len(reader.of("h1")) == len(reader.of("main")) == 1
    named = [a["aria-labelledby"] for name, a in reader.tags if name in ("figure", "section")]
    assert set(named) <= set(ids)
    assert all(a.get("aria-label") for a in reader.of("div") if a.get("role") == "img")
    policy = next(a["content"] for a in reader.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy
    for kind, text in reader.scripts:
        if kind is None:
            assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
        else:
            assert kind == "application/json"
            assert not set("<>&\u2028\u2029") & set(text)
            json.loads(text)


def test_a_report_needs_nothing_else(program: Program, tmp_path: Path) -> None:
    path = integraph.report(program, tmp_path / "report.html")
    reader = read(path)
    checked(reader)
    style = re.search(r"<style>(.*?)</style>", path.read_text("utf-8"), re.DOTALL)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert 20_000 < path.stat().st_size < 1_000_000


def test_a_page_without_pictures_has_no_script() -> None:
    text = page(
        "Title", [Section("One", ["Two <b>", table(["a", "b"], [["1", "2"]]), facts([("c", Html("<i>d</i>"))])])]
    )
    reader = Reader(text)
    checked(reader)
    assert reader.scripts == []
    assert len(text) < 20_000
    assert "Two &lt;b&gt;" in text
    assert "<i>d</i>" in text
    assert len(reader.of("nav")) == 0


def test_hostile_names_stay_names() -> None:
    parts = [HOSTILE, table([HOSTILE], [[HOSTILE]], HOSTILE), *all_hostile()]
    reader = Reader(page(HOSTILE, [Section(HOSTILE, parts), Section("other", [])], HOSTILE))
    checked(reader)
    assert len([kind for kind, _ in reader.scripts if kind is None]) == 2
    assert reader.words.count(" ".join(lines(HOSTILE).split())) > 8
    found = [json.loads(text) for kind, text in reader.scripts if kind is not None]
    assert found[0][0]["panels"][0]["marks"][0]["entry"] == HOSTILE


def test_hostile_names_of_a_program(tmp_path: Path) -> None:
    r = Registers()
    x, z = r.inputs(HOSTILE, 1), r.new("<b>", 1)
    program = build(r, [segment(HOSTILE, affine(z, x, w=1.0))], z, source=HOSTILE)
    reader = read(integraph.report(program, tmp_path / "report.html"))
    checked(reader)
    assert len([kind for kind, _ in reader.scripts if kind is None]) == 2


def test_markup() -> None:
    assert escaped("<&\"'>") == "&lt;&amp;&quot;&#x27;&gt;"
    assert tag("p", "<", Html("<b></b>"), class_='a"b', hidden=True) == '<p class="a&quot;b" hidden>&lt;<b></b></p>'
    shown = data({"a": [None, 1.5, "</script>\u2028"]})
    assert shown.startswith('<script type="application/json">')
    assert json.loads(shown[len('<script type="application/json">') : -len("</script>")]) == {
        "a": [None, 1.5, "</script>\u2028"]
    }
    with pytest.raises(ValueError, match="JSON"):
        data(float("nan"))


def test_panels_are_what_the_script_reads() -> None:
    """Every field of a panel and of its marks is named in chart.js or page.js, and the other way round."""
    folder = Path(page_module.__file__).parent
    script = (folder / "chart.js").read_text("utf-8") + (folder / "page.js").read_text("utf-8")
    drawn = [*all_kinds(), everything()]
    panels = [panel for picture in drawn for frame in frames(picture) for panel in frame["panels"]]
    fields = {key for panel in panels for key in panel} | {key for panel in panels for m in panel["marks"] for key in m}
    assert not {name for name in fields if not re.search(rf"[.{{, ]{name}\b", script)}
    assert set(re.findall(r"\bpanel\.([a-z]+)", script)) <= fields
    assert set(re.findall(r"\bmark\.([a-z]+)", script)) <= fields


def test_numbers_reach_the_page_as_they_are() -> None:
    picture = everything()
    curve, drawn = picture.frames[0].panels[0].marks[0], frames(picture)[0]["panels"][0]["marks"][0]
    assert isinstance(curve, Curve)
    assert [np.nan if y is None else y for y in drawn["y"]] == pytest.approx(curve.y.tolist(), nan_ok=True)
    heat, sent = picture.frames[0].panels[1].marks[0], frames(picture)[0]["panels"][1]["marks"][0]
    assert isinstance(heat, Heat)
    assert np.allclose(np.array(sent["z"], float), heat.z, rtol=1e-5, equal_nan=True)
    assert sent["scale"] == "diverging"


@pytest.mark.parametrize("shift", [0.0, 1e6, -3e9])
def test_digits_are_those_an_eye_can_see(shift: float) -> None:
    x = shift + np.linspace(-1.0, 1.0, 101)
    found = np.array(digits(x), float)
    assert np.abs(found - x).max() <= 2e-6
    small = np.geomspace(1e-300, 1.0, 50)
    assert np.allclose(np.array(digits(small), float), small, rtol=1e-5, atol=0)


def test_what_is_no_number_is_a_gap() -> None:
    assert digits(np.array([1.0, np.nan, np.inf, -np.inf, 0.25])) == [1, None, None, None, 0.25]
    assert digits(np.array([np.nan])) == [None]
    assert digits(np.zeros(0)) == []
    assert json.dumps(digits(np.array([3.0, 1e300]))) == "[3, 1e+300]"


def test_long_curves_keep_their_ends_their_peaks_and_their_gaps() -> None:
    y = np.sin(np.linspace(0.0, 50.0, 100_000))
    y[12_345], y[54_321], y[77_777] = 9.0, -9.0, np.nan
    kept = subsampled(y)
    assert len(kept) <= POINTS
    assert {0, 12_345, 54_321, 77_777, len(y) - 1} <= set(kept.tolist())
    assert (np.diff(kept) > 0).all()
    assert subsampled(y[:POINTS]).tolist() == list(range(POINTS))


@pytest.mark.parametrize("bound", [0.0, 1e-17, 8.185e-8, 0.1, 1 / 3, 2.0, 1e300])
def test_lower_bounds_are_rounded_down(bound: float) -> None:
    shown = Decimal(below(bound))
    assert 0 <= Decimal(bound) - shown <= Decimal(bound) / 100


@pytest.mark.slow
def test_the_old_report_stays_until_the_new_one_is_whole(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("os.fsync", lambda file: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        integraph.report(program, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    for path in (tmp_path / "nowhere" / "report.html", tmp_path / "folder.html"):
        with pytest.raises(FileError, match="cannot write"):
            integraph.report(identity(), path)
    with pytest.raises(FileError, match="a path must be a string or a Path"):
        integraph.report(identity(), 3)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot make the folder"):
        integraph.report(identity(), tmp_path / "report.html", figures=tmp_path / "file")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("name", ["p.integraph", "report", "report.html.txt", ".html"])
def test_a_page_takes_no_other_files_place(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    identity().save(path)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"a report is a page, \.html or \.htm"):
        identity().report(path)
    assert path.read_bytes() == before


def test_a_page_has_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert identity().report() == integraph.report(identity()) == Path("report.html")
    assert b'<meta name="generator" content="integraph">' in (tmp_path / "report.html").read_bytes()[:300]
    assert integraph.report(identity(), "PAGE.HTM").exists()


def test_a_page_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pictures cannot be written there is no page."""

    def failing(*_: object) -> None:
        raise FileError("the disk is full")

    monkeypatch.setattr("integraph.plot.matplotlib_renderer.save", failing)
    with pytest.raises(FileError, match="disk is full"):
        integraph.report(identity(), tmp_path / "report.html", figures=tmp_path / "figures")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_figures_are_files(tmp_path: Path) -> None:
    told: list[str] = []
    program = integraph.compile("x^2*y")
    integraph.report(
        program, tmp_path / "r.html", figures=tmp_path / "figures", formats=("png", "svg"), progress=told.append
    )
    names = {picture.name for picture in pictures(subject(program))}
    found = {path.name for path in (tmp_path / "figures").iterdir()}
    assert found == {f"{name}.{suffix}" for name in names for suffix in ("png", "svg")}
    assert len(names) >= 3
    assert all((tmp_path / "figures" / f"{name}.png").read_bytes()[:4] == b"\x89PNG" for name in names)
    assert {"writing the page", *names} <= set(told)


@pytest.mark.parametrize("formats", [("jpg",), "png", ("png", "../x")])
def test_a_format_that_is_not_known_is_refused_first(formats: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        integraph.report(identity(), tmp_path / "report.html", figures=tmp_path / "figures", formats=formats)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_large_program_makes_no_large_page(tmp_path: Path) -> None:
    net = transformer(tokens=8, width=16, heads=2, hidden=32, layers=1)
    graph = to_graph(net)
    program = integraph.compile(graph)
    assert program.width > 2000
    path = integraph.report(program, tmp_path / "report.html", graph)
    checked(read(path))
    assert path.stat().st_size < 2_000_000


def test_a_program_without_segments(tmp_path: Path) -> None:
    r = Registers()
    program = build(r, [], r.inputs("x", 2))
    words = read(integraph.report(program, tmp_path / "report.html")).words
    assert "There is no segment" in words


def test_the_lines_make_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = integraph.compile("x^2*y")
    program.save("program.integraph")
    first = integraph.report(program, "first.html", box=(0.0, 3.0))
    found = re.search(r"<code>(import integraph.*?)</code>", first.read_text("utf-8"), re.DOTALL)
    assert found is not None
    exec(html.unescape(found[1]), {})
    assert Path("report.html").read_bytes() == first.read_bytes()
