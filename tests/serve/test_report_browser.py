"""The report in a real browser: for people with aids, on a phone, without a script, in print, in German."""

from itertools import pairwise

import pytest

pytest.importorskip("playwright")
pytest.importorskip("altair")

from browser import browsing, chromium, grave_violations, visiting

from amcc import AMCC
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.report import write_report
from required import absent

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The same crowd in both languages: more workers than have their entries in the page."""
    crowd = simulate_crowd(CrowdSpec(n_items=250, n_workers=60, n_labels=5, answers_per_item=6, seed=2))
    folder, model = tmp_path_factory.mktemp("report"), AMCC().fit(crowd.votes)
    for language in ("en", "de"):
        write_report(model, crowd.votes, folder / f"{language}.html", language=language)
    return folder


@pytest.fixture(scope="module")
def browser():
    if chromium() is None:
        absent("browser", "there is no chromium")
    with browsing() as browser:
        yield browser


def opened(page, pages, language="en"):
    """The page, drawn, with what it complained about."""
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto(f"{(pages / language).as_uri()}.html")
    page.locator("#chart-0 svg, .chart svg").first.wait_for()
    page.locator("#items-pages button").first.wait_for()
    return complaints


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("language", "looks"), [("en", {}), ("de", PHONE)])
def test_nothing_keeps_people_with_aids_out(browser, pages, language, looks, scheme):
    with visiting(browser, color_scheme=scheme, **looks) as page:
        assert opened(page, pages, language) == []
        page.locator("summary").first.click()
        assert grave_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_headings_go_down_one_step_at_a_time(browser, pages):
    with visiting(browser) as page:
        opened(page, pages)
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(each => +each.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_items_are_found_filtered_and_turned_with_the_keyboard(browser, pages):
    with visiting(browser) as page:
        opened(page, pages)
        rows = page.locator("#items-table tbody tr")
        assert rows.count() == 100
        page.locator("#items-find").focus()
        page.keyboard.type("i012")
        page.wait_for_function("document.querySelectorAll('#items-table tbody tr').length === 1")
        assert rows.first.locator("th").inner_text() == "i012"
        page.locator("#items-find").fill("")
        page.locator("#items-label").select_option("1")
        page.locator("#items-state").select_option("open")
        page.wait_for_function("document.querySelectorAll('#items-table tbody tr').length > 1")
        assert "label_1" not in rows.first.inner_text()  # the label of code 1 is label_2
        page.locator("#items-state").select_option("")
        page.locator("#items-label").select_option("")
        page.locator("#items-pages button").last.focus()
        page.keyboard.press("Enter")
        assert page.locator("#items-pages span").inner_text() == "page 2 of 3"


def test_links_lead_to_workers_who_are_not_in_the_page_yet(browser, pages):
    with visiting(browser) as page:
        opened(page, pages)
        absent_one = page.evaluate("[...Array(60).keys()].find(code => !document.getElementById('worker-' + code))")
        page.locator("#worker-find").fill("w")
        page.evaluate(f"location.hash = 'worker-{absent_one}'")
        entry = page.locator(f"#worker-{absent_one}")
        entry.locator("table").first.wait_for()
        assert entry.get_attribute("open") is not None
        assert page.locator("#worker-found li").count() == 30


def test_without_a_script_the_tables_can_be_read(browser, pages):
    with visiting(browser, java_script_enabled=False) as page:
        page.goto((pages / "en.html").as_uri())
        assert page.locator("#items-table tbody tr").count() == 25
        assert not page.locator("#items-controls").is_visible()
        assert "need JavaScript" in page.locator("body").inner_text()
        assert "amcc consensus votes.csv -o consensus.csv" in page.locator("#items").inner_text()


def test_it_can_be_printed(browser, pages):
    with visiting(browser) as page:
        opened(page, pages)
        assert page.pdf()[:5] == b"%PDF-"
        page.emulate_media(media="print")
        assert not page.locator("#items-controls").is_visible()
        assert not page.locator("nav").first.is_visible()
        assert page.locator("#answer").is_visible()


def test_numbers_are_german_in_german(browser, pages):
    with visiting(browser) as page:
        opened(page, pages, "de")
        assert page.locator("#items-status").inner_text() == "250 von 250 Objekten"
        assert page.locator("#items-table tbody tr").first.locator("td").last.inner_text().count(",") == 1


# Short words of cells that stand on two lines. Unbroken spaces keep words together, so they count as letters.
BROKEN_WORDS = """() => {
  const broken = [];
  for (const cell of document.querySelectorAll("td")) {
    const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      for (const word of walk.currentNode.data.matchAll(/[^ \\n-]{1,12}(?=[ \\n-]|$)/g)) {
        const range = document.createRange();
        range.setStart(walk.currentNode, word.index);
        range.setEnd(walk.currentNode, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
        if (lines.size > 1) broken.push(word[0]);
      }
    }
  }
  return broken;
}"""


@pytest.mark.parametrize("language", ["en", "de"])
def test_words_and_keys_are_whole_on_a_phone(browser, pages, language):
    """Wide tables scroll, and so need not break numbers; keys of charts stand within the screen."""
    with visiting(browser, **PHONE) as page:
        opened(page, pages, language)
        page.wait_for_timeout(1000)  # charts are drawn above what is shown, and move it
        assert page.evaluate(BROKEN_WORDS) == []
        keys = page.evaluate(
            "[...document.querySelectorAll('.role-legend')].map(key => key.getBoundingClientRect().right)"
        )
        assert keys
        assert len([right for right in keys if right > page.viewport_size["width"]]) == 0
