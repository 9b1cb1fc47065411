"""A real browser: Debian's Chromium driven by Playwright, and axe-core to look at a page as people with aids do."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Nothing leaves the machine, nothing asks for a graphics card, and no sandbox that a container would refuse.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",  # containers have little of it
)

PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
"""A small telephone."""

DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}

# What keeps somebody from using a page; axe-core also has "minor" and "moderate".
GRAVE = ("serious", "critical")

# Milliseconds for a step: a page that takes longer on a busy machine is broken.
STEP = 10_000


def chromium() -> str | None:
    """The program, or None."""
    return shutil.which("chromium")


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    """A browser with a new user's folder. While it is open, `asyncio.run` cannot be called in this thread."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def visiting(browser: Browser, **options: Any) -> Iterator[Page]:
    """A page of a visitor without cookies; `options` are those of Playwright's new_context, as PHONE."""
    context = browser.new_context(**{"locale": "en-GB", **DESKTOP, **options})
    context.set_default_timeout(STEP)
    try:
        yield context.new_page()
    finally:
        context.close()


@cache
def axe_script() -> str:
    """The source of axe-core."""
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def grave_violations(page: Page) -> list[str]:
    """What axe-core finds serious or critical: rule, how often, and the first place."""
    # Evaluated by the debugger, so that the page's own policy of scripts does not forbid it.
    page.evaluate(axe_script())
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{each['id']} ({each['impact']}): {each['help']}, {len(each['nodes'])} times, first {each['nodes'][0]['html']}"
        for each in found
        if each["impact"] in GRAVE
    ]
