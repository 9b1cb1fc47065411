"""A worker's visit, as forms and links alone give it."""

from __future__ import annotations

import pytest
from page_reading import tags, work_form
from web_live import EVERY_KIND, TEXTS

LEASE = 1800


def test_a_whole_visit(make_live):
    live = make_live({"one": TEXTS["text0"], "two": TEXTS["text1"]}, check_share=0.0)
    client = live.client()
    welcome = client.get(f"/w/{live.invite().token}")
    assert "Welcome" in welcome.text
    assert "<strong>dog</strong>" in welcome.text  # instructions are Markdown
    assert "0.02" in welcome.text
    seen = set()
    for earned in ("0.07", "0.14"):  # three answers and the page
        page = client.get("/work")
        seen |= {name for name in ("number 0", "number 1") if name in page.text}
        form = work_form(page.text)
        assert len(form.choices) == 3
        assert set(map(tuple, form.choices.values())) == {("yes", "no", "skip")}
        sent = client.post("/work", data=form.filled())
        assert sent.status_code == 303
        assert sent.headers["location"] == "/work"
        after = client.get("/work")
        assert earned in after.text
    assert seen == {"number 0", "number 1"}
    assert "All done" in after.text
    assert "PETS-2026" in after.text
    assert live.service.balance.due == 14


def test_a_fixed_number_of_pages(make_live):
    """As Prolific wants it: so many pages are one submission, then comes the code, by page and by API."""
    live = make_live(check_share=0.0, pages_per_worker=2)
    token = live.invite().token
    client = live.client()
    assert "Pages that you can answer, at most: 2" in client.get(f"/w/{token}").text
    for place in range(2):
        page = client.get("/work")
        assert f"<dd>{place} / 2</dd>" in page.text
        client.post("/work", data=work_form(page.text).filled())
    end = client.get("/work").text
    assert "All done" in end
    assert "Those were all the pages for you." in end
    assert "PETS-2026" in end
    program = live.client(origin=False)
    told = program.post("/api/v1/lease", headers={"Authorization": f"Bearer {token}"}).json()
    assert told == {"page": None, "reason": "pages", "done": True}


def test_the_note_is_said_once(live):
    ann = live.worker()
    ann.post("/work", data=work_form(ann.get("/work").text).filled())
    assert "Saved. You earned 0.07" in ann.get("/work").text
    assert "Saved." not in ann.get("/work").text


def test_htmx_gets_the_next_page_at_once(live):
    ann = live.worker()
    answer = ann.post("/work", data=work_form(ann.get("/work").text).filled(), headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert "Saved. You earned 0.07" in answer.text
    assert work_form(answer.text).choices


def test_reloading_gives_the_same_page(live):
    ann = live.worker()
    first, second = (work_form(ann.get("/work").text).hidden["lease"] for _ in range(2))
    assert first == second
    assert live.service.balance.reserved == 7


def test_a_double_click_counts_once(live):
    ann = live.worker()
    form = work_form(ann.get("/work").text).filled()
    for _ in range(3):
        assert ann.post("/work", data=form).status_code == 303
    assert "not counted twice" in ann.get("/work").text
    assert live.service.balance.due == 7


def test_other_answers_to_a_page_that_is_done_change_nothing(live):
    ann = live.worker()
    form = work_form(ann.get("/work").text)
    ann.post("/work", data=form.filled("yes"))
    before = live.service.votes_table().to_pylist()
    ann.post("/work", data=form.filled("no"))
    assert "The first ones count" in ann.get("/work").text
    assert live.service.votes_table().to_pylist() == before


def test_a_page_left_open_for_a_day_is_taken_while_it_is_of_use(live):
    ann = live.worker()
    form = work_form(ann.get("/work").text).filled()
    live.clock.now += 86400
    live.service.expire()
    assert live.service.balance.reserved == 0
    ann.post("/work", data=form)
    assert "still of use" in ann.get("/work").text
    assert live.service.balance.due == 7


def test_a_page_left_open_until_the_end_is_refused_kindly(live):
    ann = live.worker()
    form = work_form(ann.get("/work").text).filled()
    live.clock.now += 86400
    live.service.expire()
    live.service.end("test")
    ann.post("/work", data=form)
    assert live.service.balance.due == 0
    live.service.resume("test")
    answer = ann.post("/work", data=form | {"lease": form["lease"]}, headers={"HX-Request": "true"})
    assert answer.status_code == 200


@pytest.mark.parametrize("lease", ["", "x", "-1", "0", "999999", "9" * 30, "1.5", "0 OR 1=1"])
def test_made_up_leases_change_nothing(live, lease):
    ann = live.worker()
    form = work_form(ann.get("/work").text).filled()
    sent = ann.post("/work", data=form | {"lease": lease}) if lease != form["lease"] else None
    assert sent is None or sent.status_code == 303
    assert live.service.balance.due == 0


def test_answers_are_missing(live):
    ann = live.worker()
    form = work_form(ann.get("/work").text)
    first, *rest = form.choices
    answer = ann.post("/work", data=form.hidden | {first: "yes", rest[0]: "perhaps"})
    assert answer.status_code == 422
    assert answer.text.count("Please answer this question.") == 2
    again = work_form(answer.text)
    assert again.hidden == form.hidden
    assert any("checked" in given for given in tags(answer.text, "input"))  # what was answered stays
    assert live.service.balance.due == 0


def test_answers_to_other_labels_change_nothing(live):
    ann = live.worker()
    form = work_form(ann.get("/work").text)
    assert ann.post("/work", data=form.filled() | {"answer-99": "yes"}).status_code == 422
    assert live.service.balance.due == 0


def test_another_workers_page(live):
    """Nobody learns whether it exists, and nothing changes."""
    ann, bob = live.worker("ann"), live.worker("bob")
    form = work_form(ann.get("/work").text).filled()
    foreign = bob.post("/work", data=form, headers={"HX-Request": "true"})
    missing = bob.post("/work", data=form | {"lease": "4711"}, headers={"HX-Request": "true"})
    assert foreign.text == missing.text
    assert "not yours" in foreign.text
    bob.post("/work/release", data=form)
    assert live.service.balance.due == 0
    assert work_form(ann.get("/work").text).hidden["lease"] == form["lease"]


def test_nobody_gets_no_page(live):
    client = live.client()
    for answer in (client.get("/work"), client.post("/work", data={"lease": "1"}), client.get("/work/pause"),
                   client.post("/work/release", data={"lease": "1"})):  # fmt: skip
        assert answer.status_code == 401
        assert "open your link again" in answer.text
    assert live.service.balance.reserved == 0


def test_an_expired_link(live):
    link = live.invite()
    ann = live.client()
    ann.get(f"/w/{link.token}")
    assert ann.get("/work").status_code == 200
    live.clock.now = link.expires_at + 1
    for answer in (ann.get(f"/w/{link.token}"), ann.get("/work")):
        assert answer.status_code == 401
        assert "has expired" in answer.text


def test_a_revoked_link_ends_the_visit(live):
    ann = live.worker()
    live.service.revoke(name_of(live), actor="test")
    answer = ann.get("/work")
    assert answer.status_code == 401
    assert "no longer valid" in answer.text


def name_of(live) -> str:
    return live.service.status().workers[0].name


def test_a_changed_token(live):
    token = live.invite().token
    # Not the last character: in base64 it has bits that mean nothing.
    for place in range(0, len(token) - 1, 7):
        letter = "A" if token[place] != "A" else "B"
        answer = live.client().get(f"/w/{token[:place]}{letter}{token[place + 1 :]}")
        assert answer.status_code == 401, place
        assert "does not work" in answer.text


def test_a_new_link_replaces_the_old_one(live):
    ann = live.worker("ann")
    live.invite("ann")
    assert ann.get("/work").status_code == 401


def test_a_platform_sends_people(make_live):
    live = make_live(platform="prolific", worker_param="PROLIFIC_PID", completion_url="https://app.prolific.com/done")
    client = live.client()
    answer = client.get(
        "/join", params={"PROLIFIC_PID": "5f0c0000000000000000abcd", "STUDY_ID": "s", "SESSION_ID": "t"}
    )
    assert answer.status_code == 200
    assert work_form(client.get("/work").text)
    again = live.client()
    again.get("/join", params={"PROLIFIC_PID": "5f0c0000000000000000abcd"})
    assert work_form(again.get("/work").text).hidden == work_form(client.get("/work").text).hidden
    assert live.service.status().n_workers == 1
    assert "5f0c" not in answer.text
    missing = live.client().get("/join", params={"STUDY_ID": "s"})
    assert missing.status_code == 400
    assert "PROLIFIC_PID" in missing.text


def test_a_campaign_without_a_platform_takes_nobody_from_one(live):
    assert live.client().get("/join", params={"PROLIFIC_PID": "5f0c0000000000000000abcd"}).status_code == 400
    assert live.service.status().n_workers == 0


def test_a_full_study(make_live):
    live = make_live(platform="other", worker_param="who", max_workers=1)
    assert live.client().get("/join?who=a1").status_code == 200
    answer = live.client().get("/join?who=b2")
    assert "study is full" in answer.text


def test_the_end_leads_back_to_the_platform(make_live):
    live = make_live({"one": TEXTS["text0"]}, platform="other", worker_param="who",
                     completion_url="https://platform.example/done?cc=PETS-2026", check_share=0.0)  # fmt: skip
    client = live.client()
    client.get("/join?who=a1")
    client.post("/work", data=work_form(client.get("/work").text).filled())
    end = client.get("/work").text
    (back,) = [given for given in tags(end, "a") if str(given.get("href")).startswith("https://platform")]
    assert back["rel"] == "noreferrer"


def test_paused_blocked_ended(live):
    ann = live.worker()
    form = work_form(ann.get("/work").text).filled()
    live.service.pause("test")
    assert work_form(ann.get("/work").text).hidden["lease"] == form["lease"]  # what is open can be finished
    ann.post("/work", data=form)
    assert "has paused it" in ann.get("/work").text
    live.service.resume("test")
    live.service.block(name_of(live), "clicks", "test")
    blocked = ann.get("/work").text
    assert "stopped your work" in blocked
    assert "0.07" in blocked
    assert "clicks" not in blocked
    live.service.unblock(name_of(live), "test")
    live.service.end("test")
    ended = ann.get("/work").text
    assert "PETS-2026" in ended


def test_nothing_left_for_a_newcomer_is_no_fault_of_theirs(live):
    live.service.end("test")
    text = live.worker().get("/work").text
    assert "done nothing wrong" in text
    assert "PETS-2026" not in text


def test_giving_a_page_back(live):
    ann = live.worker()
    first = work_form(ann.get("/work").text)
    for _ in range(2):  # twice is once
        assert ann.post("/work/release", data=first.hidden).status_code == 303
    second = work_form(ann.get("/work").text)
    assert second.hidden != first.hidden
    assert live.service.balance.reserved == 7


def test_a_break_changes_nothing(live):
    ann = live.worker()
    form = work_form(ann.get("/work").text)
    live.clock.now += 60
    text = ann.get("/work/pause").text
    assert f"minutes left: {(LEASE - 60) // 60}" in text
    assert work_form(ann.get("/work").text).hidden == form.hidden


def test_what_workers_never_see(live):
    """Other people's answers, what the model believes, who they are, how much money there is."""
    for name in ("bob", "cid"):
        client = live.worker(name)
        for _ in range(3):
            client.post("/work", data=work_form(client.get("/work").text).filled("no"))
    ann = live.worker("ann@example.org")
    text = ann.get("/work").text
    for secret in (
        "probab",
        "consensus",
        "example.org",
        "20.00",
        *(each.name for each in live.service.status().workers),
    ):
        assert secret not in text
    assert not [given for given in tags(text, "input") if "checked" in given]


def test_scripts_in_texts_and_labels_are_text(make_live):
    live = make_live({"text": EVERY_KIND["text"]})
    text = live.worker().get("/work").text
    assert "<script>window" not in text
    assert "&lt;script&gt;window.hacked=1&lt;/script&gt; Rex" in text
    assert "onerror=window" not in text.replace("&lt;img src=x onerror=window.hacked=1&gt;", "")


def test_languages(live):
    ann = live.worker()
    assert 'lang="en"' in ann.get("/work").text
    assert "Weiß nicht" in ann.get("/work", headers={"Accept-Language": "de-AT,de;q=0.9"}).text
    answer = ann.get("/language/zh", params={"next": "/work"})
    assert answer.headers["location"] == "/work"
    assert "无法判断" in ann.get("/work", headers={"Accept-Language": "de"}).text
    assert live.client().get("/language/tlh").status_code == 303


def test_a_campaign_in_one_language_offers_no_other(make_live):
    live = make_live(languages=("de",))
    text = live.worker().get("/work", headers={"Accept-Language": "en"}).text
    assert 'lang="de"' in text
    assert "/language/" not in text


# -- what is judged


def shown(make_live, kind: str, rows=None):
    live = make_live(rows or {kind: EVERY_KIND[kind]}, audit_share=0.0, check_share=0.0)
    ann = live.worker()
    return live, ann, ann.get("/work").text


def test_a_picture(make_live):
    _, ann, text = shown(make_live, "picture")
    (image,) = tags(text, "img")
    assert image["alt"]
    answer = ann.get(image["src"])
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.content.startswith(b"\x89PNG")


def test_a_sound_can_be_wound(make_live):
    _, ann, text = shown(make_live, "sound")
    (audio,) = tags(text, "audio")
    answer = ann.get(audio["src"], headers={"Range": "bytes=0-3"})
    assert answer.status_code == 206
    assert answer.content == b"RIFF"
    assert answer.headers["content-type"] == "audio/wav"


def test_an_address(make_live):
    _, _, text = shown(make_live, "address")
    (link,) = [given for given in tags(text, "a") if given.get("target") == "_blank"]
    assert link["href"] == "https://example.org/page?a=1&b=2"
    assert {"noopener", "noreferrer"} <= set(link["rel"].split())


def test_a_document_is_in_a_frame_without_scripts(make_live):
    _, ann, text = shown(make_live, "document")
    (frame,) = tags(text, "iframe")
    assert "allow-scripts" not in frame["sandbox"]
    assert "allow-same-origin" not in frame["sandbox"]
    answer = ann.get(frame["src"])
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in policy
    assert "sandbox" in policy
    assert "script-src" not in policy
    assert "<h1>Rex</h1>" in answer.text
    for evil in ("<script", "onerror", "onclick", "javascript:", "<style"):
        assert evil not in answer.text
    picture = ann.get(frame["src"] + "blue.png")  # relative addresses in the document work
    assert picture.status_code == 200
    assert ann.get(frame["src"] + "sounds/silence.wav").status_code == 404  # no part of the document


@pytest.mark.parametrize(
    "name",
    ["../pets0/secret.key", "..%2fpets0%2fsecret.key", "%2e%2e/labels.csv", "labels.csv", "/etc/passwd", "//etc/passwd",
     "sounds/silence.wav", "blue.png%00", "blue.png/", "./blue.png", "sounds/../blue.png", "", "items.csv"],
)  # fmt: skip
def test_only_the_items_own_file_is_sent(make_live, name):
    _, ann, text = shown(make_live, "picture")
    base = tags(text, "img")[0]["src"].removesuffix("blue.png")
    answer = ann.get(f"{base}{name}")
    assert answer.status_code in (404, 200)
    assert answer.status_code == 404 or answer.content.startswith(b"\x89PNG")  # ./ is taken away by the client
    assert b"label,question" not in answer.content


def test_a_grant_is_of_one_item(make_live):
    rows = {"picture": EVERY_KIND["picture"], "sound": EVERY_KIND["sound"]}
    live, ann, _ = shown(make_live, "", rows)
    from amcc.serve.web.sessions import Sessions

    sessions = Sessions(live.service, https=False)
    names = {live.service.item(number).name: number for number in range(2)}
    assert ann.get(f"/item/{sessions.item_grant(names['picture'])}/blue.png").status_code == 200
    assert ann.get(f"/item/{sessions.item_grant(names['sound'])}/blue.png").status_code == 404
    assert ann.get(f"/item/{sessions.item_grant(99)}/blue.png").status_code == 404
    assert ann.get("/item/forged/blue.png").status_code == 404


def test_links_out_of_the_media_folder_are_not_followed(make_live, tmp_path):
    rows = {"linked": EVERY_KIND["picture"]}  # of its own: this test changes the folder
    live, ann, text = shown(make_live, "", rows)
    picture = live.service.media / "blue.png"
    (tmp_path / "secret.png").write_bytes(b"secret")
    picture.unlink()
    picture.symlink_to(tmp_path / "secret.png")
    assert ann.get(tags(text, "img")[0]["src"]).status_code == 404
