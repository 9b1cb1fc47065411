"""The documentation site: it builds without a warning, every page is in it, and nothing comes from another host."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from browser import PHONE

from doc_pages import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The built site. A page that is not in the navigation, or a link that leads nowhere, ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


class Loads(HTMLParser):
    """Addresses of what a browser loads when it shows a page: not links, which readers follow if they like."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        loaded = "src" if tag != "link" else "href"
        if tag != "a" and given.get(loaded):
            self.addresses.append(given[loaded] or "")
        self.addresses += re.findall(r"url\(([^)]*)\)", given.get("style") or "")


def elsewhere(address: str) -> bool:
    return re.match(r"\s*[\"']?(https?:)?//", address) is not None


def test_pages_load_nothing_from_another_host(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text()
        styles = "".join(re.findall(r"<style.*?</style>", text, flags=re.DOTALL))
        addresses = [*Loads(text).addresses, *re.findall(r"url\(([^)]*)\)|@import\s+(\S+)", styles)]
        assert not [address for address in addresses if elsewhere("".join(address))], page


def test_style_sheets_load_nothing_from_another_host(site):
    sheets = list(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        loaded = re.findall(r"(?:url\(|@import\s)\s*[\"']?([^)\"'\s]+)", sheet.read_text())
        assert not [address for address in loaded if elsewhere(address)], sheet


def test_what_would_be_loaded_from_elsewhere_is_noticed():
    page = '<link href="//cdn.example/a.css"><img src="https://img.example/b.png"><a href="https://ok.example">c</a>'
    assert [elsewhere(address) for address in Loads(page).addresses] == [True, True]


def test_links_lead_to_what_is_there(site):
    """mkdocs does not look at links that leave its folder. The page for what is not found needs a server."""
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    links = {(page, link) for page in pages for link in re.findall(r'<a [^>]*?href="([^"#?]+)', page.read_text())}
    inside = [(page, link) for page, link in links if not re.match(r"[a-z]+:", link)]
    assert len(inside) > 1000
    assert not [f"{page.name}: {link}" for page, link in inside if not (page.parent / unquote(link)).exists()]


def test_every_page_is_listed_for_programs_with_a_sentence(site):
    listed = re.findall(r"^- \[(.+)\]\((.+)\): (.+)$", (site / "llms.txt").read_text(), flags=re.MULTILINE)
    pages = {str(path.relative_to(site)) for path in site.rglob("*.html")} - {"404.html"}
    reports = {place for place in pages if place.startswith("gallery/")}  # for people: gallery.html leads to them
    assert {place for _, place, _ in listed} == pages - reports
    assert len(reports) >= 4 and all(f'href="{report}"' in (site / "gallery.html").read_text() for report in reports)
    assert all(re.search(r"[.:!?…]$", sentence) for *_, sentence in listed), listed
    assert "amcc consensus" in (site / "llms-full.txt").read_text()


def test_reference_has_every_public_name(site):
    import amcc

    page = (site / "api" / "amcc.html").read_text()
    assert not [name for name in amcc.__all__ if f'id="amcc.{name}"' not in page]
    assert 'id="amcc.AMCC.fit"' in page


def test_docstrings_become_lists():
    text = load("docs/api_docstrings.py").as_markdown(
        "One line.\n\nParameters\n----------\na : int\n    How many.\nb, c : what they\n    are.\n\n>>> 1 + 1\n2"
    )
    assert "**Parameters**" in text
    assert "- `a`: *int*. How many." in text
    assert "- `b`, `c`: what they are." in text
    assert "```pycon\n>>> 1 + 1\n2\n```" in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_print_what_they_show(path):
    """In a process of its own, with a real kernel; warnings of its libraries are not ours."""
    code = (
        "import sys; sys.path.insert(0, 'docs'); from pathlib import Path; import nbformat, build_notebooks as build;"
        "path = Path(sys.argv[1]); shown = build.printed(nbformat.read(path, as_version=4));"
        "assert build.printed(build.executed(path)) == shown, 'run `make pages`'"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]


def load(name: str):
    spec = importlib.util.spec_from_file_location("script", ROOT / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_search_works_from_a_disk(site, page):
    """Without a server, where browsers start no workers: docs/assets/iframe-worker.js stands in for them."""
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.click(".md-search__input")
    page.keyboard.type("spammer", delay=20)
    page.wait_for_selector(".md-search-result__item")
    assert "matching documents" in page.inner_text(".md-search-result__meta")
    assert all(address.startswith(("file:", "data:", "about:")) for address in requested), requested


@pytest.mark.parametrize("place", ["index.html", "tasks.html", "cli.html", "api/amcc.html", "active-results.html"])
def test_pages_fit_a_phone(place, site, new_page):
    """What is wider, tables and code, scrolls by itself."""
    page = new_page(**PHONE)
    page.goto((site / place).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
