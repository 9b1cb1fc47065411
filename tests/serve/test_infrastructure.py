"""That the browser and the databases of the tests are real: what follows rests on them."""

from __future__ import annotations

import pytest
from browser import grave_violations
from live import serving

from required import absent


async def hello(scope, receive, send):
    """The smallest page, with a picture that nobody describes."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    body = b"<!doctype html><html lang=en><title>t</title><main><h1>hello</h1><img src='data:,'></main>"
    await send({"type": "http.response.body", "body": body})


def test_the_browser_reads_a_page_and_axe_finds_what_is_wrong_with_it(page):
    with serving(hello) as address:
        page.goto(address)
        assert page.inner_text("h1") == "hello"
        (found,) = grave_violations(page)
    assert found.startswith("image-alt (critical)")


def test_databases_are_new_each_time(postgres_cluster):
    import psycopg

    first, second = postgres_cluster.database(), postgres_cluster.database()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE t (x int)")
    with psycopg.connect(second) as connection:
        assert connection.execute("SELECT to_regclass('t')").fetchone() == (None,)
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


def test_both_databases_are_used(database_url):
    assert database_url is None or database_url.startswith("postgresql://")


def test_what_is_required_is_not_skipped(monkeypatch):
    monkeypatch.setenv("AMCC_REQUIRE", "browser,postgres")
    with pytest.raises(pytest.fail.Exception, match="AMCC_REQUIRE names postgres, but it is away"):
        absent("postgres", "it is away")
    monkeypatch.delenv("AMCC_REQUIRE")
    with pytest.raises(pytest.skip.Exception, match="it is away"):
        absent("postgres", "it is away")
