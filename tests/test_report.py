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
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph import Certificate, Program, Registers, build, segment
from integraph.errors import FileError, UsageError
from integraph.gadgets import affine
from integraph.plot import pictures, subject
from integraph.plot.picture import Picture
from integraph.report import page as page_module
from integraph.report.interactive import frames
from integraph.report.known import below
from integraph.report.markup import Html, escaped, facts, table, tag
from integraph.report.numbers import POINTS, digits, some
from integraph.report.page import Section, data, page
from report_pages import HOSTILE, all_hostile, all_kinds
from transformers import to_graph, transformer

VOID = {"meta", "input"}


class Reader(HTMLParser):
    """Elements in order, their texts, and whether all that was opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, text: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append((self.tags[-1][1].get("type"), text))
        elif self.open and self.open[-1] != "style":
            self.texts.append(text)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


def read(path: Path) -> Reader:
    return Reader(path.read_text("utf-8"))


def identity(source: str = "gadgets") -> Program:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    return build(r, [segment("copy", affine(z, x, w=1.0))], z, source=source)


@pytest.fixture(scope="module")
def program() -> Program:
    return integraph.compile("exp(-x)*sin(5*x)", 1e-3, method="lean", order=3)


@pytest.fixture(scope="module")
def net() -> tuple[integraph.Network, Program]:
    rng = np.random.default_rng(0)
    source = integraph.network([(rng.normal(size=(4, 2)), rng.normal(size=4), "tanh"), (rng.normal(size=(1, 4)), None)])
    return source, integraph.compile(source, 1e-6)


def test_the_name_is_the_function() -> None:
    """And what is in the package of that name can still be imported."""
    code = "import integraph; from integraph.report import page; print(callable(integraph.report), callable(page.page))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["True", "True"]


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
    own = path.stat().st_size - len(page_module._plotly().encode())
    assert 20_000 < own < 1_000_000


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
    assert reader.words.count(" ".join(HOSTILE.split())) > 8
    found = [json.loads(text) for kind, text in reader.scripts if kind is not None]
    assert found[0][0]["panels"][0]["data"][0]["meta"] == HOSTILE


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


def valid(picture: Picture) -> None:
    """Plotly's own classes know every field, and its kind."""
    graph_objects = pytest.importorskip("plotly.graph_objects", reason="plotly is not installed")
    for frame in frames(picture):
        for panel in frame["panels"]:
            graph_objects.Figure(data=panel["data"], layout=panel["layout"])


def test_plotly_takes_the_pictures(program: Program, net: tuple[integraph.Network, Program]) -> None:
    drawn = [*all_kinds(), *all_hostile(), *pictures(subject(program)), *pictures(subject(net[1], net[0]))]
    assert len(drawn) > 12
    for picture in drawn:
        valid(picture)


def test_a_field_that_plotly_does_not_know_is_noticed() -> None:
    graph_objects = pytest.importorskip("plotly.graph_objects", reason="plotly is not installed")
    panel = frames(all_kinds()[0])[0]["panels"][0]
    with pytest.raises(ValueError, match="colour"):
        graph_objects.Figure(data=panel["data"], layout=panel["layout"] | {"colour": 1})


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
    kept = some(y)
    assert len(kept) <= POINTS
    assert {0, 12_345, 54_321, 77_777, len(y) - 1} <= set(kept.tolist())
    assert (np.diff(kept) > 0).all()
    assert some(y[:POINTS]).tolist() == list(range(POINTS))


@pytest.mark.parametrize("bound", [0.0, 1e-17, 8.185e-8, 0.1, 1 / 3, 2.0, 1e300])
def test_lower_bounds_are_rounded_down(bound: float) -> None:
    shown = Decimal(below(bound))
    assert 0 <= Decimal(bound) - shown <= Decimal(bound) / 100


def card(reader: Reader, name: str) -> str:
    found = re.search(rf"{name} (\S+(?: \S+)?) ", reader.words)
    assert found is not None
    return found[1]


def test_what_is_said_of_the_program(program: Program, tmp_path: Path) -> None:
    words = read(integraph.report(program, tmp_path / "report.html")).words
    for name, value in (("Width W", program.width), ("Depth D", program.depth), ("Terms", f"{program.terms:,}")):
        assert f"{name} {value} " in words
    assert program.source in words
    assert program.digest in words
    assert f"largest rate {program.rate:.4g} " in words
    assert "53 bits" in words
    assert program.budget is not None
    shown = re.search(r"Promised error ≤ (\S+) ", words)
    assert shown is not None
    assert 0 <= float(shown[1]) - program.budget.total <= 0.01 * program.budget.total
    assert f"SHA-256 of the ODE {program.digest}" in words


def test_the_error_is_seen(program: Program, tmp_path: Path) -> None:
    """At as many points as it says; a fine grid in mpmath sees at least as much as 90 % of it."""
    import mpmath

    words = read(integraph.report(program, tmp_path / "report.html")).words
    found = re.search(r"Seen error (\S+) The largest \|source − program\| at ([\d,]+) points", words)
    assert found is not None
    x = np.linspace(0.0, 1.0, 2001)
    truth = np.array([float(mpmath.exp(-t) * mpmath.sin(5 * t)) for t in x])
    largest = np.abs(program(x)[:, 0] - truth).max()
    assert 0.9 * largest <= float(found[1]) <= 1.01 * largest
    assert int(found[2].replace(",", "")) == len(subject(program).seen.points)


@pytest.mark.parametrize("off", ["0.25", "1e-11"])
def test_another_source_is_noticed(off: str, tmp_path: Path) -> None:
    words = read(integraph.report(integraph.compile("x^2"), tmp_path / "report.html", f"x^2 + {off}")).words
    assert f"Seen error {off} " in words
    assert "more than is promised: is this the source that was compiled?" in words
    right = read(integraph.report(integraph.compile("x^2"), tmp_path / "report.html", "x^2")).words
    assert "is this the source" not in right


def test_without_a_source_it_says_so(tmp_path: Path) -> None:
    words = read(integraph.report(identity(), tmp_path / "report.html")).words
    assert "no source was given" in words
    assert "Promised error unknown" in words
    assert "Proven error unknown" in words
    assert "Seen error unknown Not measured" in words
    assert "Not shown" in words
    known = read(integraph.report(identity().with_errors(proven=1.5e-3, seen=2e-4), tmp_path / "report.html")).words
    assert "Proven error unknown What the program says was proved of it, ≤ 0.0015, is for a box" in known
    assert "Seen error 0.0002 Not measured" in known


def test_a_source_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"1 → 1.*2 → 1"):
        integraph.report(identity(), tmp_path / "report.html", "x*y")
    with pytest.raises(UsageError, match="program"):
        integraph.report("x^2", tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_box_of_its_own(tmp_path: Path) -> None:
    """What is promised for [0, 1] is not promised for more."""
    program = integraph.compile("sin(x)", 1e-4, method="lean")
    words = read(integraph.report(program, tmp_path / "report.html", box=(0.0, 2.0))).words
    assert "box x in [0, 2]" in words
    assert re.search(r"Promised error unknown The promise, ≤ \S+, is for x in \[0, 1\] only", words)
    assert "box=(0.0, 2.0))" in words


def test_what_is_proved_for_one_box_is_not_said_of_another(tmp_path: Path) -> None:
    """By the program's word, and by a certificate; on a part of the box it holds too."""
    program = integraph.compile("tanh(x)", box=(0, 1)).with_errors(proven=1e-9)
    path = tmp_path / "report.html"
    for box in ((0, 1), (0.25, 0.5)):
        assert "Proven error ≤ 1e-09 What the program says" in read(integraph.report(program, path, box=box)).words
    other = read(integraph.report(program, path, box=(0, 1.5))).words
    assert re.search(r"Proven error unknown What .*?, ≤ 1e-09, is for x in \[0, 1\] only", other)
    proof = integraph.certify(program, "tanh(x)", 1e-6, seconds=5, workers=1, progress=False)
    assert proof.status == "proved"
    reader = read(integraph.report(program, path, box=(0, 1.5), proof=proof))
    assert re.search(r"Proven error unknown The proof, ≤ \S+, is for x in \[0, 1\] only", reader.words)
    assert not any("proved" in (a.get("class") or "") for a in reader.of("div"))
    reader = read(integraph.report(program, path, box=(0, 0.5), proof=proof))
    assert any(a.get("class") == "card proved" for a in reader.of("div"))


def test_a_proof_is_shown(net: tuple[integraph.Network, Program], tmp_path: Path) -> None:
    source, program = net
    proof = integraph.certify(program, source, seconds=5, workers=1, progress=False)
    assert proof.status == "proved"
    assert proof.certificate is not None
    reader = read(integraph.report(program, tmp_path / "report.html", source, proof=proof))
    words = reader.words
    shown = re.search(r"Proven error ≤ (\S+) Computed with ball arithmetic", words)
    assert shown is not None
    assert float(shown[1]) >= proof.upper
    assert "status of the proof proved" in words
    assert proof.certificate.seal in words
    assert all(text in words for text in proof.assumed)
    proof.certificate.save(tmp_path / "proof.json")
    loaded = Certificate.load(tmp_path / "proof.json")
    pages = [
        integraph.report(program, tmp_path / f"{n}.html", source, proof=given).read_bytes()
        for n, given in enumerate((loaded, tmp_path / "proof.json"))
    ]
    assert pages[0] == pages[1]
    assert "not by this report: integraph.check computes every box of it again" in pages[0].decode()


def test_a_refuted_promise_is_shown(net: tuple[integraph.Network, Program], tmp_path: Path) -> None:
    source, program = net
    proof = integraph.certify(program, source, 1e-12, seconds=5, workers=1, progress=False)
    assert proof.status == "refuted"
    reader = read(integraph.report(program, tmp_path / "report.html", source, proof=proof))
    assert "status of the proof refuted" in reader.words
    assert "More than the 1e-12 that was asked for" in reader.words
    assert any(a.get("class") == "card refuted" for a in reader.of("div"))


def test_a_proof_of_something_else_is_refused(net: tuple[integraph.Network, Program], tmp_path: Path) -> None:
    source, program = net
    proof = integraph.certify(program, source, seconds=5, workers=1, progress=False)
    other = integraph.compile(source, 1e-4)
    with pytest.raises(UsageError, match="about a program with hash"):
        integraph.report(other, tmp_path / "report.html", source, proof=proof)
    layers = [(layer.A, layer.b + 1e-9, layer.activation) for layer in source.layers]
    with pytest.raises(UsageError, match="another source"):
        integraph.report(program, tmp_path / "report.html", integraph.network(layers), proof=proof)
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(FileError):
        integraph.report(program, tmp_path / "report.html", source, proof=tmp_path / "bad.json")
    assert not (tmp_path / "report.html").exists()


def test_a_proof_that_found_nothing(tmp_path: Path) -> None:
    program = integraph.compile(lambda x: x * x, 1e-2, norm=2.0, order=2)
    proof = integraph.certify(program, lambda x: x * x, seconds=1, workers=1, progress=False)
    assert proof.status == "unknown"
    words = read(integraph.report(program, tmp_path / "report.html", lambda x: x * x, proof=proof)).words
    assert "Proven error unknown The proof ended without a bound" in words
    assert "known at points only" in words


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
    with pytest.raises(FileError, match="a path is a text or a Path"):
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

    monkeypatch.setattr("integraph.plot.static.save", failing)
    with pytest.raises(FileError, match="disk is full"):
        integraph.report(identity(), tmp_path / "report.html", figures=tmp_path / "figures")
    assert not (tmp_path / "report.html").exists()


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


def test_a_large_program_makes_no_large_page(tmp_path: Path) -> None:
    net = transformer(tokens=8, width=16, heads=2, hidden=32, layers=1)
    graph = to_graph(net)
    program = integraph.compile(graph)
    assert program.width > 2000
    path = integraph.report(program, tmp_path / "report.html", graph)
    checked(read(path))
    assert path.stat().st_size - len(page_module._plotly().encode()) < 3_000_000


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
