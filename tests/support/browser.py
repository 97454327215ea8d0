"""Debian's Chromium, driven by Playwright: a page as a person would see it, and everything that it asks for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lazy import framework

NAMES = ("chromium", "chromium-browser", "google-chrome")
SETTINGS = ("--no-sandbox", "--disable-background-networking")
LOCAL = ("file:", "data:", "blob:")
PATIENCE = 60_000  # milliseconds for all pictures, on a busy machine
STEP = 50


@dataclass
class Visit:
    """A page that is open, and what it did."""

    page: Any
    said: list[str] = field(default_factory=list)  # on the console, or thrown
    asked: list[str] = field(default_factory=list)  # requests that left the page
    dialogs: list[str] = field(default_factory=list)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.page.evaluate(script, *arguments)

    def until(self, script: str) -> None:
        """Wait for it to be true; asked from outside, because a page may forbid itself to evaluate texts."""
        for _ in range(PATIENCE // STEP):
            if self.run(script):
                return
            self.page.wait_for_timeout(STEP)
        raise AssertionError(f"it never became true: {script}")

    @property
    def quiet(self) -> bool:
        """Nothing on the console, nothing fetched, no dialog."""
        return not (self.said or self.asked or self.dialogs)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, or a test that is skipped and says why."""
    api = framework("playwright.sync_api")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no chromium is installed")
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(SETTINGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(browser: Any, path: Path, *, width: int = 1280, scheme: str = "light", drawn: bool = True) -> Iterator[Visit]:
    """A file of this machine, opened; when it is `drawn`, after the last of its pictures."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    seen = Visit(context.new_page())
    seen.page.on("console", lambda message: seen.said.append(f"{message.type}: {message.text}"))
    seen.page.on("pageerror", lambda error: seen.said.append(f"error: {error}"))
    seen.page.on("request", lambda r: None if r.url.startswith(LOCAL) else seen.asked.append(r.url))
    seen.page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
    try:
        seen.page.goto(path.resolve().as_uri())
        if drawn:
            seen.page.wait_for_selector("html[data-drawn=all]", timeout=PATIENCE)
        yield seen
    finally:
        context.close()
