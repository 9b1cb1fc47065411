"""A requester's whole campaign in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from browser import PHONE, grave_violations
from web_live import EVERY_KIND, PASSWORD, Live

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Milliseconds: the overview asks for news every five seconds.
NEWS = 15_000


def work(live: Live, name: str, value: str, pages: int) -> int:
    """Somebody answers some pages; gives their number."""
    worker = live.service.worker_by_token(live.invite(name).token)
    for _ in range(pages):
        page = live.service.next_page(worker.id)
        live.service.answer(worker.id, page.lease_id, {each.label_id: value for each in page.questions})
        live.clock.now += 40
    return worker.id


def sign_in(page: Page, address: str) -> None:
    page.goto(f"{address}/dashboard")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Overview").wait_for()


@pytest.fixture
def campaign(make_live: Callable[..., Live]) -> Live:
    """Items of every kind, and people who disagree about them."""
    live = make_live(EVERY_KIND, check_share=0.0, audit_share=0.5)
    for name, value in (("ann", "yes"), ("bob", "no"), ("cid", "yes")):
        work(live, name, value, 3)
    return live


def test_a_whole_campaign(campaign, page, live_server, tmp_path):
    address = live_server(campaign.service)
    page.goto(f"{address}/dashboard")
    page.get_by_label("Password").fill("wrong horse")
    page.get_by_role("button", name="Sign in").click()
    assert page.get_by_role("alert").is_visible()
    sign_in(page, address)

    page.get_by_role("button", name="Pause the campaign").click()
    page.get_by_text("no new ones are handed out").wait_for()
    assert campaign.service.settings.state == "paused"
    page.get_by_role("button", name="Resume the campaign").click()
    page.get_by_text("The campaign runs.").wait_for()

    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Change by (EUR)").fill("5.00")
    page.get_by_role("button", name="Change the budget").dblclick()
    page.get_by_text("The budget is changed.").wait_for()
    assert campaign.service.balance.budget == 2500
    page.get_by_label("For each answer (EUR)").fill("0.001")
    page.get_by_role("button", name="Change the prices").click()
    assert "decimals" in page.get_by_role("alert").inner_text()
    page.get_by_label("For each answer (EUR)").fill("0.03")
    page.get_by_role("button", name="Change the prices").click()
    page.get_by_text("The prices are changed").wait_for()
    assert campaign.service.settings.vote_price == 3
    more = tmp_path / "more.csv"
    more.write_text("item,text\nnew,A new dog.\n")
    page.get_by_label("Table with the columns").set_input_files(more)
    page.get_by_role("button", name="Add the items").click()
    page.get_by_text("The items are added.").wait_for()
    with page.expect_download() as found:
        page.get_by_role("link", name="Answers (CSV)").click()
    assert found.value.path().read_text().startswith("worker,item,label,value")

    page.get_by_role("link", name="Disputed").click()
    page.get_by_role("button", name="Yes, it holds").first.click()
    page.get_by_text("kept as known truth.").wait_for()
    assert campaign.service.status().known == 1

    page.get_by_role("link", name="Workers").click()
    row = page.get_by_role("row").nth(1)
    row.get_by_text("Block …").click()
    row.get_by_label("Reason").fill("clicks without looking")
    row.get_by_role("button").click()
    page.get_by_text("The worker is blocked.").wait_for()
    assert [each.reason for each in campaign.service.status().workers if each.state == "blocked"] == [
        "clicks without looking"
    ]

    page.get_by_role("link", name="Settings").click()
    page.get_by_text("End the campaign …").click()
    page.get_by_role("button", name="Yes, end it now").click()
    page.get_by_text("The campaign has ended.").wait_for()
    assert campaign.service.settings.state == "ended"
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{address}/dashboard")
    assert page.get_by_label("Password").is_visible()
    assert not campaign.service.verify()


def test_the_overview_moves_by_itself(campaign, page, live_server):
    sign_in(page, live_server(campaign.service))
    page.evaluate("window.stayed = true")
    before = campaign.service.status().n_votes
    work(campaign, "dora", "yes", 2)
    page.locator(".counts dd", has_text=str(before + 6)).first.wait_for(timeout=NEWS)
    assert page.evaluate("window.stayed")


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark", **PHONE}], ids=["desk", "dark-telephone"])
def test_nothing_keeps_people_with_aids_out(campaign, new_page, live_server, options):
    page, address = new_page(**options), live_server(campaign.service)
    page.goto(f"{address}/dashboard")
    assert not grave_violations(page)
    sign_in(page, address)
    for tab in ("", "/workers", "/disputed", "/settings"):
        page.goto(f"{address}/dashboard{tab}")
        assert not grave_violations(page), tab
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), tab


def test_the_dashboard_works_without_scripts(campaign, new_page, live_server):
    page = new_page(java_script_enabled=False)
    sign_in(page, live_server(campaign.service))
    page.get_by_role("button", name="Pause the campaign").click()
    assert page.get_by_text("no new ones are handed out").is_visible()
