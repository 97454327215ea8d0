"""`make docs`: the pages build strictly, ask nothing of the network, and show what was written."""

from __future__ import annotations

import html
import importlib.util
import os
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from browser import chromium, visit
from pages import PAGES, ROOT, label

NEEDED = ("mkdocs", "material", "mkdocstrings", "pymdownx", "latex2mathml")
missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)}: not installed, pip install -e '.[docs]'"),
]
DOCS = [page for page in PAGES if page.is_relative_to(ROOT / "docs")]
QUIET = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}


def build(config: Path, to: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", to]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=QUIET)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    result = build(ROOT / "mkdocs.yml", folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


class Fetched(HTMLParser):
    """What a browser loads for a page: scripts, styles, pictures, frames; not what a reader may follow."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag != "a":
            self.found += [value for name in ("src", "href", "srcset", "data", "poster") if (value := given.get(name))]


def fetched(text: str) -> list[str]:
    parser = Fetched()
    parser.feed(text)
    return parser.found + re.findall(r"(?:@import\s+|url\()[\"']?([^\"')\s]+)", text)


def outside(found: list[str]) -> list[str]:
    return [address for address in found if re.match(r"(?:https?:)?//", address)]


def test_every_page_is_built(site: Path) -> None:
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for page in DOCS}
    assert {path.relative_to(site).as_posix() for path in site.rglob("*.html")} == pages | {"404.html"}


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(files) > len(DOCS)
    assert {path.name: found for path in files if (found := outside(fetched(path.read_text())))} == {}
    for text in (
        '<script src="https://a/b.js"></script>',
        '<img src="//a/b.png">',
        "<style>@import 'https://a'</style>",
    ):
        assert outside(fetched(text))
    assert not outside(fetched('<a href="https://a">a</a><img src="img/b.png">'))


@pytest.mark.parametrize("page", [page for page in DOCS if page.parent.name != "reference"], ids=label)
def test_emphasis_was_meant(page: Path, site: Path) -> None:
    """A formula with underscores is not taken for emphasis: what is emphasised has stars around it in the text."""
    built = (site / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text()
    text = " ".join(page.read_text().replace("`", "").split())
    found = [
        re.sub(r"<[^>]+>", "", part) for part in re.findall(r"<(?:em|strong)>(.*?)</(?:em|strong)>", built, re.DOTALL)
    ]
    meant = [" ".join(html.unescape(part).split()) for part in found]
    assert [part for part in meant if f"*{part}*" not in text] == []


def test_the_reference_shows_docstrings(site: Path) -> None:
    text = html.unescape((site / "reference" / "programs.html").read_text())
    assert "How many control terms eq. (1) has." in text
    assert 'id="integraph.program.Program.flow"' in text


@pytest.mark.parametrize("page", DOCS, ids=label)
def test_every_formula_is_typeset(page: Path, site: Path) -> None:
    """As many formulas as the page has, and no LaTeX left of them."""
    built = (site / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text()
    text = page.read_text()
    fences = re.findall(r"^```math$", text, re.MULTILINE)
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    assert built.count("<math ") == len(fences) + prose.count("$") / 2
    assert "arithmatex" not in built


def test_formulas_as_mathml() -> None:
    typeset = runpy.run_path(str(ROOT / "docs" / "hooks" / "typeset.py"))["mathml"]
    functions = ElementTree.fromstring(typeset(r"\lambda\tanh(x)")).findall(".//{*}mo")
    assert functions[0].attrib == {"lspace": "0.17em", "rspace": "0em"}
    minus = [operator.get("form") for operator in ElementTree.fromstring(typeset("-a=-b-c")).findall(".//{*}mo")]
    assert minus == ["prefix", None, "prefix", None]
    assert ElementTree.fromstring(typeset("y_1'")).findall(".//{*}msup") == []
    assert "".join(ElementTree.fromstring(typeset("y_1'")).itertext()) == "y1′"
    for wrong in (r"\nocommand", r"\begin{aligned}a &= b\end{aligned}"):
        with pytest.raises(ValueError, match="typeset"):
            typeset(wrong)


def test_pages_can_be_read_from_disk(site: Path) -> None:
    """On a desk and on a telephone, light and dark: nothing is fetched, nothing is wider than the screen."""
    with chromium() as browser:
        for name in (
            "index",
            "tutorial",
            "mathematics",
            "gadgets",
            "functions",
            "architecture",
            "api",
            "paper-map",
            "command",
            "reference/programs",
        ):
            for width, scheme in ((1280, "light"), (400, "dark")):
                with visit(browser, site / f"{name}.html", width=width, scheme=scheme, drawn=False) as seen:
                    assert seen.asked == []
                    assert seen.run("document.documentElement.scrollWidth") <= width, name
                    background = seen.run("getComputedStyle(document.body).backgroundColor")
                    assert (background == "rgb(255, 255, 255)") == (scheme == "light")


def test_a_broken_link_fails(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n\n[there](nowhere.md)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: small\ntheme:\n  name: material\n  font: false\n")
    result = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert result.returncode != 0
    assert "nowhere.md" in result.stdout + result.stderr
