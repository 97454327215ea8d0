"""Pictures of a page under the pointer, in a real browser: what is pointed at is named, a drag enlarges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from browser import Visit, chromium, visit
from integraph.report.page import Section, page
from report_pages import all_kinds


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of picture."""
    path = tmp_path_factory.mktemp("pages") / "kinds.html"
    path.write_text(page("All kinds of things", [Section("Pictures", all_kinds())]), "utf-8")
    return path


TIP = "() => [...document.querySelectorAll('.tip:not([hidden]) div')].map((line) => line.textContent)"


def point_at(seen: Visit, plot: int, across: float, up: float) -> None:
    """Move the pointer to a share of the frame of a picture."""
    frame = seen.page.locator(".plot").nth(plot).locator(".frame")
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    seen.page.mouse.move(box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"])


@pytest.mark.slow
def test_what_is_pointed_at_is_named(browser: Any, kinds: Path) -> None:
    """The value under the pointer is that of the array that was drawn, not one that is read off the screen."""
    with visit(browser, kinds) as seen:
        point_at(seen, 0, 0.5, 0.95)  # sin(3x) is 0.9975 at 0.5
        name, where = seen.run(TIP)
        x, y = (float(part) for part in where.strip("()").split(","))
        assert name in ("source", "program")
        assert y == pytest.approx(np.sin(3 * x) + (name == "program") * 0.01, abs=1e-4)
        point_at(seen, 4, 0.5, 0.5)  # the middle of a heat map
        name, where = seen.run(TIP)
        point, z = where.split(": ")
        x, y = (float(part) for part in point.strip("()").split(","))
        assert name == "f(x, y)"
        assert float(z) == pytest.approx(np.sin(3 * x) * y, abs=1e-4)
        seen.page.mouse.move(2, 2)
        assert seen.run(TIP) == []
        assert seen.quiet


@pytest.mark.slow
def test_a_drag_enlarges_and_a_double_click_goes_back(browser: Any, kinds: Path) -> None:
    ticks = (
        "() => [...document.querySelectorAll('.plot')[0].querySelectorAll('.xtick')].map((t) => Number(t.textContent))"
    )
    with visit(browser, kinds) as seen:
        before = seen.run(ticks)
        point_at(seen, 0, 0.25, 0.25)
        seen.page.mouse.down()
        point_at(seen, 0, 0.5, 0.75)
        seen.page.mouse.up()
        near = seen.run(ticks)
        assert 0.2 < min(near) < max(near) < 0.55
        seen.page.locator(".plot").nth(0).locator("svg").dblclick()
        assert seen.run(ticks) == before
        assert seen.quiet


@pytest.mark.slow
def test_the_tube_of_a_loop_plays(browser: Any, tmp_path: Path) -> None:
    """A click and the time runs, with the box and the simulated states of each moment; a second one stops it."""
    setting = {"plant": {"x": "x + 0.1*v", "v": "v - 0.1*x + u"}, "controller": "-0.2*v", "discrete": True}
    start = {"x": (0.8, 0.9), "v": (0.5, 0.6)}
    result = integraph.loop(**setting, period=0.5, steps=30, start=start, spec="x <= 2", progress=False)
    shown = "() => [document.querySelector('output').textContent, document.querySelector('.play').textContent]"
    drawn = "() => [...document.querySelectorAll('.plot')].at(-1).innerHTML"
    with visit(browser, integraph.report(result, tmp_path / "tube.html")) as seen:
        assert seen.run(shown) == ["t = 0", "Play"]
        before = seen.run(drawn)
        seen.page.click(".play")
        seen.until("() => parseFloat(document.querySelector('output').textContent.slice(4)) >= 1.5")
        assert seen.run(shown)[1] == "Stop"
        assert seen.run(drawn) != before
        seen.page.click(".play")
        held = seen.run(shown)
        assert held[1] == "Play"
        seen.page.wait_for_timeout(700)
        assert seen.run(shown) == held
        assert seen.quiet
