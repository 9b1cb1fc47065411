"""The requester's pages: what they show, and what their forms do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from page_reading import forms, tags, work_form
from receiver import receiving
from web_live import EVERY_KIND

from amcc.serve.reports import note_history
from amcc.serve.views import NextMoneyView
from amcc.serve.web.forecast import pace
from amcc.serve.web.overview import overview, settled_chart
from amcc.serve.web.strings import strings_in

ANSWERS = {"ann": "yes", "bob": "no", "cid": "yes"}


@pytest.fixture
def worked(live):
    """A campaign in which three people have answered."""
    # The learner's thread notes the history when it comes to it; tests must not depend on when that is.
    assert note_history(live.service._core, learned=True)
    for name, value in ANSWERS.items():
        client = live.worker(name)
        for _ in range(4):
            client.post("/work", data=work_form(client.get("/work").text).filled(value))
            live.clock.now += 30
    assert note_history(live.service._core, learned=True)
    return live


def test_overview_shows_the_money(worked):
    text = worked.requester().get("/dashboard").text
    balance = worked.service.balance
    assert balance.due == 12 * 7
    for units in (balance.due, balance.reserved, balance.left, balance.budget):
        assert f"{units / 100:.2f}\u00a0EUR" in text
    assert "Running" in text
    assert tags(text, "meta")[-1].get("http-equiv") == "refresh"


def test_charts_and_labels_are_there(worked):
    text = worked.requester().get("/dashboard").text
    titles = [given["aria-label"] for given in tags(text, "svg") if given.get("role") == "img"]
    assert "Money left over time" in titles
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>alert" not in text


def test_the_live_part_is_a_part(worked):
    text = worked.requester().get("/dashboard/live", headers={"HX-Request": "true"}).text
    assert "<html" not in text
    assert "<form" not in text  # nobody loses what they type
    assert "EUR" in text


@pytest.mark.parametrize(
    ("pairs", "said"), [(0.0, "less than one pair"), (0.96, "less than one pair"), (12.4, "pairs: 12.")]
)
def test_small_gains_are_said_in_words(worked, pairs, said):
    """Nobody can do anything with "0.0 pairs"."""
    status = replace(worked.service.status(), next_money=NextMoneyView(100, pairs, 0.0, 0.0002))
    t = strings_in("en")
    shown = overview(status, t)
    text = t(
        shown["next_key"], amount="1.00", pairs=f"{pairs:.0f}", error=t.share(status.next_money.expected_error_after)
    )
    assert said in text and "0.0" not in text and "<\u00a00.1" in text


def test_a_pace_of_the_past_promises_nothing(worked):
    """Money never "lasts until" a time that is over: nobody works any more."""
    status, t = worked.service.status(), strings_in("en")
    assert status.history[-1].spent > status.history[0].spent
    ends = pace(status.history).ends_at
    assert overview(replace(status, at=ends - 1), t)["ends_at"]
    later = overview(replace(status, at=ends + 1), t)
    assert later["ends_at"] == "" and later["per_hour"] == 0


def test_steps_of_an_axis_are_told_apart(worked):
    """10 % has steps of 2.5 %, which must not be written as 2 %, 5 %, 8 %."""
    status, t = worked.service.status(), strings_in("en")
    history = [replace(status.history[-1], spent=spent, settled=1) for spent in (0, 100)]
    ticks = settled_chart(replace(status, n_pairs=10, history=history), t).y_ticks
    assert [each.text.partition("\u00a0")[0] for each in ticks] == ["0.0", "2.5", "5.0", "7.5", "10.0"]


def test_pause_and_resume(live):
    me = live.requester()
    assert me.post("/dashboard/pause").headers["location"] == "/dashboard"
    page = me.get("/dashboard").text
    assert "no new ones are handed out" in page
    assert "Resume the campaign" in page
    me.post("/dashboard/resume")
    assert live.service.settings.state == "running"
    me.post("/dashboard/end")
    assert live.service.settings.state == "ended"


def test_add_budget_once_per_form(live):
    me = live.requester()
    (form,) = [form for form in forms(me.get("/dashboard/settings").text) if form.action == "/dashboard/budget"]
    for _ in range(3):  # a double click
        assert me.post("/dashboard/budget", data=form.hidden | {"amount": "5.50"}).status_code == 303
    assert live.service.balance.budget == 2550


def test_pages_per_worker(live):
    me = live.requester()
    assert me.post("/dashboard/rules", data={"pages_per_worker": "20"}).status_code == 303
    page = me.get("/dashboard/settings").text
    assert "The rule is changed" in page
    (field,) = [given for given in tags(page, "input") if given.get("name") == "pages_per_worker"]
    assert field["value"] == "20"
    for wrong in ("", "x", "-1", "1.5", "9" * 9):
        assert me.post("/dashboard/rules", data={"pages_per_worker": wrong}).status_code == 422
    assert live.service.settings.pages_per_worker == 20


def test_webhooks_are_added_tested_and_removed(live):
    me, address = live.requester(), "https://93.184.215.14/in"
    added = me.post("/dashboard/webhook_add", data={"url": address, "event": ["campaign.ended", "budget.low"]})
    assert "whsec_" in added.text
    page = me.get("/dashboard/settings").text
    assert address in page
    assert "whsec_" not in page  # shown once
    (hook,) = live.service.webhooks()
    assert (hook.events, hook.private) == (("campaign.ended", "budget.low"), False)
    assert me.post("/dashboard/webhook_remove", data={"webhook": "1"}).status_code == 303
    assert "The webhook is removed" in me.get("/dashboard/settings").text
    assert live.service.webhooks() == ()
    assert me.post("/dashboard/webhook_remove", data={"webhook": "1"}).status_code == 422


@pytest.mark.parametrize(
    "url", ["", "x", "http://example.org", "https://localhost:1/", "https://127.1/", "https://[::1]/"]
)
def test_the_dashboard_adds_no_private_webhook(live, url):
    answer = live.requester().post("/dashboard/webhook_add", data={"url": url, "event": "budget.low", "private": "on"})
    assert answer.status_code == 422
    assert "must" in answer.text
    assert live.service.webhooks() == ()


def test_a_webhook_is_tested(live):
    me = live.requester()
    with receiving(lambda n: 204 if n == 0 else 500) as told:
        live.service.add_webhook(told.address, private=True, actor="test")
        assert "The test arrived (status 204)." in me.post("/dashboard/webhook_test", data={"webhook": "1"}).text
        assert "The test did not arrive: status 500" in me.post("/dashboard/webhook_test", data={"webhook": "1"}).text
    assert me.post("/dashboard/webhook_test", data={"webhook": "7"}).status_code == 422
    assert me.post("/dashboard/webhook_add", data={"url": "https://93.184.215.14"}).status_code == 422  # no event
    assert live.client().post("/dashboard/webhook_test", data={"webhook": "1"}).status_code == 401


@pytest.mark.parametrize("amount", ["", "x", "0.001", "-500", "nan", "1e99"])
def test_amounts_that_are_none(live, amount):
    answer = live.requester().post("/dashboard/budget", data={"amount": amount, "key": "k"})
    assert answer.status_code == 422
    assert 'class="note bad"' in answer.text
    assert "Traceback" not in answer.text
    assert live.service.balance.budget == 2000


def test_change_the_prices(live):
    me = live.requester()
    assert me.post("/dashboard/price", data={"vote_price": "0.05", "page_price": "0"}).status_code == 303
    assert (live.service.settings.vote_price, live.service.settings.page_price) == (5, 0)
    refused = me.post("/dashboard/price", data={"vote_price": "0", "page_price": "0"})
    assert refused.status_code == 422
    assert live.service.settings.vote_price == 5


def test_add_items(live):
    me = live.requester()
    before = live.service.status().n_items
    more = b"item,text\nnew1,A new dog.\nnew2,A new cat.\n"
    assert me.post("/dashboard/items", files={"file": ("more.csv", more)}).status_code == 303
    assert live.service.status().n_items == before + 2
    for name, content in (("more.csv", b"thing\nx\n"), ("more.exe", more), ("../../more.csv", b""), ("more.csv", more)):
        answer = me.post("/dashboard/items", files={"file": (name, content)})
        assert answer.status_code == 422, name
    assert me.post("/dashboard/items").status_code == 422
    assert live.service.status().n_items == before + 2


def test_block_needs_a_reason(worked):
    me, name = worked.requester(), worked.service.status().workers[0].name
    assert name in me.get("/dashboard/workers").text
    assert me.post("/dashboard/block", data={"worker": name, "reason": " "}).status_code == 422
    assert state_of(worked, name) == "active"
    assert me.post("/dashboard/block", data={"worker": name, "reason": "<b>clicks</b>"}).status_code == 303
    assert state_of(worked, name) == "blocked"
    page = me.get("/dashboard/workers").text
    assert "&lt;b&gt;clicks&lt;/b&gt;" in page
    me.post("/dashboard/unblock", data={"worker": name})
    assert state_of(worked, name) == "active"
    assert me.post("/dashboard/block", data={"worker": "w4711", "reason": "x"}).status_code == 422


def state_of(live, name: str) -> str:
    return next(each.state for each in live.service.status().workers if each.name == name)


def test_names_of_people_are_on_no_page(worked):
    me = worked.requester()
    for address in ("", "/workers", "/disputed", "/settings"):
        text = me.get(f"/dashboard{address}").text
        assert not [name for name in ANSWERS if f">{name}<" in text]


def test_decide_disputed_pairs(make_live):
    live = make_live({"one": EVERY_KIND["text"], "two": EVERY_KIND["picture"]}, check_share=0.0)
    for name, value in ANSWERS.items():
        client = live.worker(name)
        for _ in range(2):
            client.post("/work", data=work_form(client.get("/work").text).filled(value))
    me = live.requester()
    text = me.get("/dashboard/disputed").text
    assert "<script>window" not in text
    found = [form for form in forms(text) if form.action == "/dashboard/decide"]
    assert found
    assert me.post("/dashboard/decide", data=found[0].hidden | {"present": "yes"}).status_code == 303
    assert live.service.status().known == 1
    assert "known truth" in me.get("/dashboard/disputed").text
    for wrong in ({}, {"item": "x"}, found[0].hidden, found[0].hidden | {"item": "99", "present": "no"}):
        assert me.post("/dashboard/decide", data=wrong).status_code == 422


def test_downloads(worked):
    me = worked.requester()
    votes = me.get("/dashboard/download/votes.csv")
    assert votes.headers["content-type"].startswith("text/csv")
    assert votes.text.startswith("worker,item,label,value")
    assert len(votes.text.splitlines()) == 1 + 36
    assert me.get("/dashboard/download/payments.csv").status_code == 200
    assert me.get("/dashboard/download/consensus.csv").text.startswith("item,label")
    assert me.get("/dashboard/download/secret.csv").status_code == 404


def test_unknown_actions(live):
    me = live.requester()
    assert me.post("/dashboard/explode").status_code == 404
    assert me.get("/dashboard/explode").status_code == 404
    for form in ("pause", "webhook_add", "token"):  # they are there, but nothing to look at
        assert me.get(f"/dashboard/{form}").status_code == 405


def test_languages_of_the_dashboard(worked):
    me = worked.requester()
    for address in ("", "/workers", "/disputed", "/settings"):
        for language, word in (("de", "Übersicht"), ("es", "Resumen"), ("zh", "概览")):
            text = me.get(f"/dashboard{address}", headers={"Accept-Language": language}).text
            assert word in text
