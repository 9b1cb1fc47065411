"""A worker's visit in a real browser: by mouse, by keys, on a telephone, without scripts; what foreign scripts do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from browser import PHONE, grave_violations
from web_live import EVERY_KIND, TEXTS, Live

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FEW = {name: TEXTS[name] for name in ("text0", "text1", "text2")}
PLAIN = "label,question,help\ndog,Is there a dog?,Any dog.\ncat,Is there a cat?,\n"
PAGE = 5  # minor units: two answers and the page


@pytest.fixture
def three(make_live: Callable[..., Live]) -> Live:
    """Three texts with two questions each."""
    return make_live(FEW, labels=PLAIN, check_share=0.0, audit_share=0.0)


@pytest.fixture
def visit(new_page: Callable[..., Page], live_server: Callable[..., str]) -> Iterator[Callable[..., Page]]:
    """`visit(live)`: a page of a worker who has opened their link. At its end, no script and no policy was broken."""
    troubles: list[str] = []

    def start(live: Live, name: str = "ann", **options: Any) -> Page:
        page = new_page(**options)
        page.on("console", lambda told: troubles.append(told.text) if told.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(f"{live_server(live.service)}/w/{live.invite(name).token}")
        return page

    yield start
    assert not troubles


def answer_all(page: Page, value: str) -> None:
    for choice in page.locator(f"input[value={value}]").all():
        choice.check()


def begin(page: Page) -> None:
    """From the first page to the questions."""
    page.get_by_role("link", name="Start").click()
    page.wait_for_url("**/work")
    page.locator("fieldset").first.wait_for()


def send(page: Page) -> None:
    """Send the page, and wait until another one is in its place."""
    lease = page.locator("form[data-work] input[name=lease]").input_value()
    page.get_by_role("button", name="Send and continue").click()
    page.locator(f"form[data-work] input[name=lease][value='{lease}']").wait_for(state="detached")


def said(live: Live) -> list[int]:
    return sorted(live.service.votes_table().column("value").to_pylist())


def test_a_visit_by_mouse(three, visit):
    page = visit(three)
    begin(page)
    page.evaluate("window.stayed = true")
    for _ in FEW:
        for group in page.locator("fieldset").all():
            group.get_by_role("radio", name="Yes").click()
        send(page)
    page.get_by_role("heading", name="All done").wait_for()
    assert page.evaluate("window.stayed")  # the next page came without a new load
    assert page.locator(".code").inner_text() == "PETS-2026"
    assert three.service.balance.due == 3 * PAGE
    assert set(said(three)) == {1}


def test_a_visit_by_keys_only(three, visit):
    page = visit(three)
    for _ in range(12):  # to "Start"
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Start":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/work")
    for keys in (("y", "n"), ("2", "s", "1", "y"), ("y", "c")):
        page.locator("fieldset").first.wait_for()
        lease = page.locator("form[data-work] input[name=lease]").input_value()
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        page.locator(f"form[data-work] input[name=lease][value='{lease}']").wait_for(state="detached")
    page.get_by_role("heading", name="All done").wait_for()
    assert three.service.balance.due == 3 * PAGE
    status = three.service.status()
    assert (status.n_votes, status.n_skips) == (4, 2)


def test_focus_is_seen_and_goes_on(three, visit):
    page = visit(three)
    begin(page)
    page.keyboard.press("2")
    focused = "document.activeElement.closest('fieldset')?.querySelector('.number').textContent"
    assert page.evaluate(focused) == "2"
    outline = page.evaluate("getComputedStyle(document.activeElement.nextElementSibling).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("n")
    assert page.evaluate(focused) == "1"  # the one that is still open
    page.keyboard.press("y")
    assert page.evaluate("document.activeElement.matches('button[data-send]')")
    page.keyboard.press("Enter")
    page.locator("#status", has_text="Saved").wait_for(state="attached")  # what screen readers say
    assert page.evaluate("document.activeElement.matches('h1')")


def test_a_visit_on_a_telephone(three, visit):
    page = visit(three, **PHONE)
    assert_fits(page)
    begin(page)
    for _ in FEW:
        assert_fits(page)
        for button in page.locator(".choice span").all():
            assert button.bounding_box()["height"] >= 44  # as large as a finger
        for group in page.locator("fieldset").all():
            group.get_by_role("radio", name="No", exact=True).tap()
        send(page)
    page.get_by_role("heading", name="All done").wait_for()
    assert_fits(page)
    assert set(said(three)) == {0}


def assert_fits(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_visit_without_scripts(three, visit):
    page = visit(three, java_script_enabled=False)
    begin(page)
    for _ in FEW:
        answer_all(page, "yes")
        page.get_by_role("button", name="Send and continue").click()
    assert page.get_by_role("heading", name="All done").is_visible()
    assert "PETS-2026" in page.locator(".code").inner_text()
    assert three.service.balance.due == 3 * PAGE
    page.go_back()
    page.reload()
    assert three.service.balance.due == 3 * PAGE


def test_a_double_click_counts_once(three, visit):
    page = visit(three)
    begin(page)
    answer_all(page, "yes")
    page.get_by_role("button", name="Send and continue").dblclick()
    page.locator("#status", has_text="Saved").wait_for(state="attached")
    assert three.service.balance.due == PAGE
    assert page.locator("input:checked").count() == 0


def test_a_lost_connection_is_told_and_loses_nothing(three, new_page, live_server):
    page = new_page()
    page.goto(f"{live_server(three.service)}/w/{three.invite().token}")
    begin(page)
    answer_all(page, "yes")
    page.context.set_offline(True)
    page.get_by_role("button", name="Send and continue").click()
    page.get_by_text("nothing counts twice").wait_for()
    page.context.set_offline(False)
    page.get_by_role("button", name="Send and continue").click()
    page.locator("#status", has_text="Saved").wait_for(state="attached")
    assert three.service.balance.due == PAGE


def test_the_browser_asks_for_missing_answers(three, visit):
    page = visit(three)
    begin(page)
    page.keyboard.press("y")
    page.get_by_role("button", name="Send and continue").click()
    assert page.locator("input:invalid").count() > 0
    assert three.service.balance.due == 0


def test_the_language_can_be_chosen(three, visit):
    page = visit(three)
    page.get_by_role("link", name="Deutsch").click()
    page.get_by_role("link", name="Beginnen").click()
    assert page.get_by_role("button", name="Senden und weiter").is_visible()
    assert page.evaluate("document.documentElement.lang") == "de"


def test_scripts_in_items_labels_and_names_do_nothing(make_live, new_page, live_server):
    """Items of every kind full of scripts, labels and a campaign with scripts in their names."""
    live = make_live(EVERY_KIND, title="<script>window.hacked=1</script>Pets", check_share=0.0, audit_share=0.0)
    page, address = new_page(), live_server(live.service)
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page.goto(f"{address}/w/{live.invite('<img src=x onerror=alert(1)>').token}")
    begin(page)
    frames = 0
    for _ in EVERY_KIND:
        frames += page.locator("iframe").count()
        for frame in page.frames:
            assert frame.evaluate("window.hacked") is None
        if page.locator("iframe").count():
            inside = page.frame_locator("iframe")
            inside.get_by_role("heading", name="Rex").wait_for()
            assert width_of(inside.locator("img")) == 320  # from our own folder
        if page.locator(".item img").count():
            assert width_of(page.locator(".item img")) == 320
        answer_all(page, "skip")
        send(page)
    assert frames == 1
    assert live.service.status().n_skips == 3 * len(EVERY_KIND)


def test_inline_scripts_would_not_run(three, visit, new_page, live_server):
    """Were a script to get into a page in spite of all, the policy would stop it."""
    page = new_page()
    page.goto(f"{live_server(three.service)}/signin")
    page.evaluate(
        """() => { const script = document.createElement("script"); script.textContent = "window.hacked = 1";
                   document.body.append(script);
                   document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.hacked = 1'>"); }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None


def width_of(picture: Locator) -> int:
    """Its own width, once it has come."""
    return int(picture.evaluate("image => image.decode().then(() => image.naturalWidth)"))


@pytest.mark.parametrize(
    ("rows", "options"), [(EVERY_KIND, {}), (FEW, {"color_scheme": "dark", **PHONE})], ids=["desk", "dark-telephone"]
)
def test_nothing_keeps_people_with_aids_out(make_live, visit, rows, options):
    """axe-core on every page of a visit."""
    live = make_live(rows, check_share=0.0, audit_share=0.0)
    page = visit(live, **options)
    assert not grave_violations(page)
    begin(page)
    for _ in rows:
        assert not grave_violations(page)
        answer_all(page, "skip")
        send(page)
    page.get_by_role("heading", name="All done").wait_for()
    assert not grave_violations(page)
    page.goto(page.url.replace("/work", "/work/pause"))
    assert not grave_violations(page)


def test_a_fixed_number_of_pages(make_live, visit):
    page = visit(make_live(FEW, labels=PLAIN, check_share=0.0, audit_share=0.0, pages_per_worker=2))
    page.get_by_text("at most: 2").wait_for()
    begin(page)
    for _ in range(2):
        answer_all(page, "yes")
        send(page)
    page.get_by_text("Those were all the pages for you.").wait_for()
    assert page.get_by_text("PETS-2026").is_visible()
    assert not grave_violations(page)
