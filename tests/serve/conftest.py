"""For tests of live campaigns: both databases, a real browser, a real server."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from browser import browsing, chromium, visiting
from live import serving
from postgres import Cluster, cluster, programs

from required import absent

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    """One for each process of the tests."""
    if programs() is None:
        absent("postgres", "PostgreSQL is not installed (apt-get install postgresql)")
    with cluster() as made:
        yield made


@pytest.fixture
def postgres_url(postgres_cluster: Cluster) -> str:
    """A new, empty database of PostgreSQL."""
    return postgres_cluster.database()


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """What a campaign is told about its database: None for the SQLite file in its folder, or a URL of PostgreSQL."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres_url")


# For a file, not for all of them: while Playwright runs, `asyncio.run` cannot be called in the same thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    if chromium() is None:
        absent("browser", "Chromium is not installed (apt-get install chromium)")
    with browsing() as opened:
        yield opened


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Pages of new visitors; options are those of Playwright's new_context, for example java_script_enabled=False."""
    with contextlib.ExitStack() as pages:
        yield lambda **options: pages.enter_context(visiting(browser, **options))


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page of a new visitor at a desk."""
    return new_page()


@pytest.fixture
def live_server() -> Iterator[Callable[..., str]]:
    """`live_server(service)` gives the address at which the campaign is served until the test ends."""
    from amcc.serve.web.app import create_app

    with contextlib.ExitStack() as servers:

        def start(service: Any, **options: Any) -> str:
            return servers.enter_context(serving(create_app(service, **options)))

        yield start
