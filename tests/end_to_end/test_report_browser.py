"""Reports in a real browser: from disk, wide and narrow, light and dark, moved, hidden, printed, and attacked."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from browser import Visit, chromium, visit
from integraph.report.markup import details, facts, table
from integraph.report.page import Section, page
from integraph.text import lines
from report_pages import HOSTILE, all_hostile, all_kinds
from slow import mostly_slow

LOOKS = [(1280, "light"), (400, "dark")]
TEXTS = """() => [...document.querySelectorAll("body *")].filter((e) => !e.closest("script, style, noscript")
    && e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && e.getClientRects().length
    && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))"""
SMALL = f"() => ({TEXTS})().filter((e) => parseFloat(getComputedStyle(e).fontSize) < 10).map((e) => e.textContent)"
PALE = f"""() => {{
    const parse = (c) => {{ const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; }};
    const light = ([r, g, b]) => {{
        const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    }};
    const ground = (e) => {{
        for (; e; e = e.parentElement) {{
            const c = parse(getComputedStyle(e).backgroundColor);
            if (c[3] === 1) return c;
        }}
        return [255, 255, 255, 1];
    }};
    return ({TEXTS})().map((e) => {{
        const style = getComputedStyle(e);
        const ink = parse(e.closest("svg") ? style.fill : style.color);
        const [a, b] = [light(ink), light(ground(e))].sort((x, y) => y - x);
        return [(a + 0.05) / (b + 0.05), e.textContent.slice(0, 40)];
    }}).filter(([contrast]) => contrast < 4.5);
}}"""
COLLIDING = """(selector) => {
    const all = [...document.querySelectorAll(selector)];
    const found = all.filter((e) => e.textContent.trim() && e.getClientRects().length);
    const boxes = found.map((e) => e.getBoundingClientRect());
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
    const bad = [];
    for (let i = 0; i < found.length; i++) for (let j = 0; j < i; j++) {
        if (over(boxes[i], boxes[j]) && !found[i].contains(found[j]) && !found[j].contains(found[i])) {
            bad.push([found[j].textContent, found[i].textContent]);
        }
    }
    return bad;
}"""
PROSE = "h1, h2, h3, p, dt, dd, figcaption, label, output, summary, .legend button, .legend li, .slider input, .plot"
DRAWN = """() => [...document.querySelectorAll(".plot")].map((plot) => [
    Number(plot.dataset.values), plot.querySelectorAll(".marks path, .marks rect, .marks image").length,
    plot.getBoundingClientRect().width])"""
INSIDE = """() => [...document.querySelectorAll(".plot")].every((plot) => {
    const box = plot.getBoundingClientRect();
    return [...plot.querySelectorAll("text")].every((e) => {
        const b = e.getBoundingClientRect();
        return b.left >= box.left - 1 && b.right <= box.right + 1 && b.top >= box.top - 1 && b.bottom <= box.bottom + 1;
    });
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def kinds(folder: Path) -> Path:
    """Every kind of picture, and of text."""
    words = ["A paragraph.", facts([("name", "value"), ("hash", "0123456789abcdef" * 8)])]
    wide = table([f"column {n}" for n in range(30)], [[f"{n}" for n in range(30)]] * 3, "A wide table")
    sections = [Section("Facts", [*words, wide, details("More", "hidden")]), Section("Pictures", all_kinds())]
    path = folder / "kinds.html"
    path.write_text(page("All kinds of things", sections, "A lead."), "utf-8")
    return path


@pytest.fixture(scope="module")
def formula(folder: Path) -> Path:
    return integraph.report(integraph.compile("exp(-x)*sin(5*x)"), folder / "formula.html")


@pytest.fixture(scope="module")
def net(folder: Path) -> Path:
    """A network with its proof."""
    rng = np.random.default_rng(0)
    source = integraph.network([(rng.normal(size=(4, 2)), rng.normal(size=4), "tanh"), (rng.normal(size=(1, 4)), None)])
    program = integraph.compile(source, 1e-6)
    proof = integraph.certify(program, source, seconds=5, workers=1, progress=False)
    return integraph.report(program, folder / "net.html", source, proof=proof)


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Path:
    words = [
        HOSTILE,
        facts([(HOSTILE, HOSTILE)]),
        table([HOSTILE], [[HOSTILE, HOSTILE]], HOSTILE),
        details(HOSTILE, HOSTILE),
    ]
    path = folder / "hostile.html"
    path.write_text(page(HOSTILE, [Section(HOSTILE, [*words, *all_hostile()])], HOSTILE), "utf-8")
    return path


def readable(seen: Visit) -> None:
    """Everything that is promised of a page, whatever is on it."""
    assert seen.said == seen.asked == seen.dialogs == []
    assert seen.run("document.documentElement.scrollWidth <= innerWidth")
    assert seen.run(SMALL) == []
    assert seen.run(PALE) == []
    assert seen.run(COLLIDING, PROSE) == []
    plots = seen.run(DRAWN)
    assert plots
    assert all((drawn > 0) == (values > 0) and width > 250 for values, drawn, width in plots), plots


@mostly_slow(("width", "scheme"), LOOKS, quick=1)
@mostly_slow("name", ["kinds", "formula", "net"], quick=1)
def test_readable(name: str, width: int, scheme: str, browser: Any, request: pytest.FixtureRequest) -> None:
    with visit(browser, request.getfixturevalue(name), width=width, scheme=scheme) as seen:
        readable(seen)
        for axis in ("x", "y"):
            for n in range(seen.run("document.querySelectorAll('.plot').length")):
                seen.run("([n]) => document.querySelectorAll('.plot')[n].id = 'this'", [n])
                assert seen.run(COLLIDING, f"#this .{axis}tick, #this .span-name, #this .level-name") == []
        assert seen.run(INSIDE)


@pytest.mark.slow
def test_pictures_are_not_blank(browser: Any, kinds: Path) -> None:
    from matplotlib.image import imread

    with visit(browser, kinds) as seen:
        image = np.asarray(imread(io.BytesIO(seen.page.screenshot(full_page=True)), format="png"))[..., :3]
        boxes = seen.run(
            """() => [...document.querySelectorAll(".plot")].filter((p) => p.dataset.values > 0).map((p) => {
            const b = p.getBoundingClientRect(); return [b.left, b.top + scrollY, b.right, b.bottom + scrollY]; })"""
        )
    assert len(boxes) == 8
    for left, top, right, bottom in np.array(boxes).astype(int):
        part = (image[top:bottom, left:right] * 255).astype(int)
        assert len(np.unique(part.reshape(-1, 3), axis=0)) > 20


def test_a_page_that_is_bad_is_noticed(browser: Any, tmp_path: Path) -> None:
    """The checks above can fail."""
    path = tmp_path / "bad.html"
    path.write_text(
        "<body style='background:#fff'><p style='color:#999'>pale</p><p style='font-size:8px'>small</p>"
        "<p style='width:2000px'>wide</p><p>one</p><p style='margin-top:-2em'>two</p>"
        "<script>console.warn('hm'); fetch('https://example.org/x').catch(() => 0); alert(1)</script>"
    )
    with visit(browser, path, drawn=False) as seen:
        assert any("hm" in text for text in seen.said)
        assert seen.asked == ["https://example.org/x"]
        assert seen.dialogs == ["1"]
        assert seen.run(SMALL) == ["small"]
        assert [text for _, text in seen.run(PALE)] == ["pale"]
        assert ["one", "two"] in seen.run(COLLIDING, PROSE)
        assert not seen.run("document.documentElement.scrollWidth <= innerWidth")
        assert not seen.quiet


PATHS = """(n) => [...document.querySelectorAll("figure")[n].querySelectorAll(".marks path")]
    .map((path) => path.getAttribute("d"))"""


@pytest.mark.slow
def test_sliders_move_the_picture(browser: Any, kinds: Path) -> None:
    with visit(browser, kinds) as seen:
        figure = seen.page.locator("figure").nth(1)
        before, words = seen.run(PATHS, 1), figure.locator("output").inner_text()
        figure.locator("input").press("ArrowRight")
        seen.page.wait_for_selector("#picture-2[data-drawn='1']")
        after = seen.run(PATHS, 1)
        assert len(after) == len(before) > 0
        assert after != before
        assert (words, figure.locator("output").inner_text()) == ("x = 0", "x = 1")
        assert figure.locator("input").get_attribute("aria-valuetext") == "x = 1"
        figure.locator("input").press("Home")
        seen.page.wait_for_selector("#picture-2[data-drawn='0']")
        assert seen.run(PATHS, 1) == before
        assert seen.quiet


@pytest.mark.slow
def test_a_picture_begins_with_its_first_frame(browser: Any, kinds: Path) -> None:
    with visit(browser, kinds) as seen:
        figure = seen.page.locator("figure").nth(3)
        assert figure.get_attribute("data-drawn") == figure.locator("input").input_value() == "1"
        assert figure.locator("output").inner_text() == "second"
        assert seen.run(PATHS, 3) == []  # an empty matrix
        figure.locator("input").press("ArrowLeft")
        seen.page.wait_for_selector("#picture-4[data-drawn='0']")
        (dots,) = seen.run(PATHS, 3)
        assert dots.count("M") == 80


@pytest.mark.slow
def test_names_hide_and_show(browser: Any, kinds: Path) -> None:
    """The twelve curves of a group have one name, and a button keeps the focus."""
    with visit(browser, kinds) as seen:
        names = seen.page.locator("figure").nth(1).locator(".panel").nth(0).locator(".legend button")
        assert names.all_inner_texts() == ["z", "w"]
        visible = "() => document.querySelectorAll('.plot')[2].querySelectorAll('.marks .trace').length"
        assert seen.run(visible) == 13
        names.nth(0).focus()
        seen.page.keyboard.press("Enter")
        seen.until(f"({visible})() === 1")
        assert names.nth(0).get_attribute("aria-pressed") == "false"
        assert seen.run("document.activeElement.textContent") == "z"
        seen.page.keyboard.press("Enter")
        seen.until(f"({visible})() === 13")


GROUND = "() => document.querySelector('.plot').dataset.ground"
INK = "() => getComputedStyle(document.querySelector('.plot .trace path')).stroke"
MAP = "() => document.querySelector('.plot image').getAttribute('href')"


@pytest.mark.slow
def test_the_light_can_change(browser: Any, kinds: Path) -> None:
    with visit(browser, kinds) as seen:
        assert seen.run(GROUND) == "light"
        before = seen.run(INK), seen.run(MAP)
        seen.page.emulate_media(color_scheme="dark")
        seen.until(f"({GROUND})() === 'dark'")
        seen.until("document.querySelectorAll('.plot')[7].dataset.ground === 'dark'")
        assert all(old != new for old, new in zip(before, (seen.run(INK), seen.run(MAP)), strict=True))
        assert seen.run(PALE) == []
        assert seen.quiet


@pytest.mark.slow
def test_the_width_can_change(browser: Any, kinds: Path) -> None:
    with visit(browser, kinds) as seen:
        seen.page.set_viewport_size({"width": 400, "height": 900})
        width = "() => Math.max(...[...document.querySelectorAll('.plot')].map((p) => p.firstChild.clientWidth))"
        seen.until(f"({width})() < 400")
        readable(seen)


@pytest.mark.slow
def test_paper_is_white_and_narrow_and_nothing_is_folded(browser: Any, kinds: Path) -> None:
    with visit(browser, kinds, scheme="dark") as seen:
        seen.run(
            """() => addEventListener("beforeprint", () => { const plot = document.querySelector(".plot");
            window.printed = [plot.dataset.ground, document.body.clientWidth,
                              document.querySelector("details").open]; })"""
        )
        assert seen.page.pdf()[:5] == b"%PDF-"
        assert seen.run("window.printed") == ["light", 700, True]
        seen.until(f"({GROUND})() === 'dark'")
        assert not seen.run("document.querySelector('details').open")


def without_policy(path: Path) -> Path:
    """The same page, without the policy that would stop a script anyway."""
    text, count = re.subn('<meta http-equiv="Content-Security-Policy".*?>', "", path.read_text("utf-8"), count=1)
    assert count == 1
    open_door = path.with_name(f"open-{path.name}")
    open_door.write_text(text, "utf-8")
    return open_door


@pytest.mark.slow
@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_names_are_not_code(guarded: bool, width: int, scheme: str, browser: Any, hostile: Path) -> None:
    path = hostile if guarded else without_policy(hostile)
    with visit(browser, path, width=width, scheme=scheme) as seen:
        assert seen.quiet, (seen.said, seen.asked, seen.dialogs)
        assert seen.run("window.hit === undefined")
        assert seen.run("document.querySelectorAll('svg a, img, main a, iframe').length") == 0
        assert seen.run("document.title") == lines(HOSTILE)
        assert seen.run("document.querySelector('h1').textContent") == lines(HOSTILE)
        assert seen.run("document.documentElement.scrollWidth <= innerWidth")
        slider = seen.page.locator("figure").nth(3).locator("input")
        slider.press("ArrowRight")
        seen.page.wait_for_selector("#picture-4[data-drawn='1']")
        seen.page.locator("figure").nth(0).locator(".plot").nth(0).hover()
        seen.page.wait_for_timeout(200)
        assert seen.run("window.hit === undefined")
        assert seen.quiet


def test_the_attack_works_where_nothing_is_escaped(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "open.html"
    path.write_text(f"<p>{HOSTILE}</p>")
    with visit(browser, path, drawn=False) as seen:
        assert seen.dialogs == ["1"]
        assert seen.run("window.hit") in (1, 2)


@pytest.mark.slow
def test_the_policy_stops_a_script_that_got_in(browser: Any, folder: Path, kinds: Path) -> None:
    path = folder / "broken-into.html"
    path.write_text(kinds.read_text("utf-8").replace("</main>", "<script>window.hit = 1</script></main>"), "utf-8")
    with visit(browser, path) as seen:
        assert seen.run("window.hit === undefined")
        assert any("Content Security Policy" in text for text in seen.said)


@pytest.mark.slow
def test_without_scripts_the_facts_are_there(browser: Any, formula: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        opened = context.new_page()
        opened.goto(formula.as_uri())
        text = opened.inner_text("body")
    finally:
        context.close()
    for words in ("Width W", "Promised error", "JavaScript, which is off", "exp(-x)*sin(5*x)"):
        assert words in text
