"""What is refused before anybody looks at it, and what every answer has."""

from __future__ import annotations

import json
import logging
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from page_reading import tags, work_form
from web_live import HERE, PASSWORD

from amcc.serve.web import app as web_app
from amcc.serve.web.security import (
    LARGEST_BODY,
    PAGE_POLICY,
    WINDOW_SECONDS,
    WRONG_PASSWORDS,
    JsonLines,
    SignInLimit,
)  # fmt: skip

PAGES = [
    "/signin",
    "/work",
    "/w/forged",
    "/join",
    "/nothing",
    "/healthz",
    "/static/page.css",
    "/api/v1/status",
    "/item/x/",
]


@pytest.mark.parametrize("address", PAGES)
def test_every_answer_has_the_headers(live, address):
    headers = live.client().get(address).headers
    assert headers["content-security-policy"] == PAGE_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "strict-transport-security" not in headers


def test_nothing_inline_is_allowed():
    assert "unsafe" not in PAGE_POLICY
    assert "default-src 'none'" in PAGE_POLICY
    assert "frame-ancestors 'none'" in PAGE_POLICY


@pytest.mark.parametrize(
    "address", ["/signin", "/dashboard", "/dashboard/workers", "/dashboard/disputed", "/dashboard/settings"]
)
def test_pages_of_the_requester_have_nothing_inline(live, address):
    visitor = live.client() if address == "/signin" else live.requester()
    assert_nothing_inline(visitor.get(address).text)


def test_pages_of_workers_have_nothing_inline(live):
    ann = live.worker()
    assert_nothing_inline(ann.get("/work").text)
    assert_nothing_inline(ann.get("/work/pause").text)


def assert_nothing_inline(text: str) -> None:
    assert all(each.get("src", "").startswith("/static/") for each in tags(text, "script"))
    assert not tags(text, "style")
    names = ("a", "body", "button", "div", "form", "input", "p", "section", "svg", "rect", "line", "text")
    every = [given for name in names for given in tags(text, name)]
    assert every
    assert not [given for given in every if "style" in given or any(name.startswith("on") for name in given)]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "evil.example:8000"])
def test_a_foreign_host_is_refused(live, host):
    answer = live.client().get("/signin", headers={"Host": host})
    assert answer.status_code == 400
    assert "password" not in answer.text.lower().replace("--public", "")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "[::1]:80", "Study.Example"])
def test_our_own_names_are_right(live, host):
    assert live.client(hosts=["study.example"]).get("/signin", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},  # another scheme is another origin
        {"Origin": "http://127.0.0.1:81"},
        {"Origin": "http://127.0.0.1.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},  # every browser says something
    ],
)
def test_forms_of_other_sites_are_refused(live, headers):
    signed_in = live.requester()
    del signed_in.headers["Origin"]
    answer = signed_in.post("/dashboard/pause", headers=headers)
    assert answer.status_code == 403
    assert live.service.settings.state == "running"


def test_a_form_of_ours_is_taken(live):
    assert live.requester().post("/dashboard/pause").status_code == 303
    assert live.service.settings.state == "paused"


def test_programs_need_no_origin_but_a_foreign_one_is_refused(live):
    program, token = live.client(origin=False), live.invite().token
    mine = {"Authorization": f"Bearer {token}"}
    assert program.post("/api/v1/lease", headers=mine).status_code == 200
    refused = program.post("/api/v1/lease", headers=mine | {"Origin": "https://evil.example"})
    assert refused.status_code == 403
    assert refused.json()["error"] == "origin"


def test_behind_tls_cookies_are_secure_and_origins_are_https(live):
    client = live.client(https=True, origin=False)
    assert client.post("/signin", data={"password": PASSWORD}, headers={"Origin": HERE}).status_code == 403
    answer = client.post("/signin", data={"password": PASSWORD}, headers={"Origin": "https://127.0.0.1"})
    assert answer.status_code == 303
    assert "Secure" in answer.headers["set-cookie"]
    assert "strict-transport-security" in answer.headers


def test_large_bodies_are_refused(live):
    client, whole = live.client(), b"x" * (LARGEST_BODY + 1)
    assert client.post("/signin", content=whole).status_code == 413
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/signin", content=iter([b"password=", whole]), headers=form).status_code == 413
    mine = {"Authorization": f"Bearer {live.invite().token}", "Content-Type": "application/json"}
    api = client.post("/api/v1/answer", content=iter([b'{"lease_id": 1', b" " * LARGEST_BODY, b"}"]), headers=mine)
    assert api.status_code == 413
    assert api.json()["error"] == "too_large"


def test_errors_that_nobody_expected_give_a_reference_and_no_text(live, monkeypatch, caplog):
    """The one place where the service is broken on purpose: no request can break it."""

    def broken(self):
        raise RuntimeError("secret: 5f0c1234 of /srv/pets")

    signed_in = live.requester()
    monkeypatch.setattr(type(live.service), "status", broken)
    with caplog.at_level(logging.INFO, "amcc.serve"):
        answer = signed_in.get("/dashboard")
        api = signed_in.get("/api/v1/status", headers={"Authorization": f"Bearer {token_of(signed_in)}"})
    for each in (answer, api):
        assert each.status_code == 500
        assert "secret" not in each.text
        assert "Traceback" not in each.text
    assert set(api.json()) == {"error", "message", "reference"}
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "amcc.serve"]
    errors = [line for line in lines if line["event"] == "error"]
    assert {line["kind"] for line in errors} == {"RuntimeError"}
    assert api.json()["reference"] == errors[-1]["reference"]
    assert errors[0]["reference"] in answer.text
    assert "secret" not in caplog.text


def token_of(signed_in) -> str:
    text = signed_in.post("/dashboard/token").text
    return text.split('class="code token">')[1].split("<")[0]


def test_the_log_holds_no_tokens_names_or_addresses(live, caplog):
    link = live.invite("ann@example.org")
    with caplog.at_level(logging.INFO, "amcc.serve"):
        client = live.client()
        client.get(f"/w/{link.token}")
        client.post("/work", data=work_form(client.get("/work").text).filled())
        client.get("/join?PROLIFIC_PID=5f0c00000000000000000000")
    text = "\n".join(record.getMessage() for record in caplog.records if record.name == "amcc.serve")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["route"] for line in lines] == ["/w/{token}", "/work", "/work", "/join"]
    for secret in (link.token, link.worker, "example.org", "5f0c", "testclient", "127.0.0.1"):
        assert secret not in text


def test_sign_in(live):
    client = live.client()
    sent_away = client.get("/dashboard/workers")
    assert sent_away.status_code == 303
    assert sent_away.headers["location"] == "/signin?next=/dashboard/workers"
    assert client.post("/signin", data={"password": "wrong horse"}).status_code == 403
    assert client.post("/signin").status_code == 403
    answer = client.post("/signin", data={"password": PASSWORD, "next": "/dashboard/workers"})
    assert answer.headers["location"] == "/dashboard/workers"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.get("/dashboard").status_code == 200
    assert client.post("/signout").status_code == 303
    assert client.get("/dashboard").status_code == 303


@pytest.mark.parametrize(
    "wanted", ["https://evil.example", "//evil.example", "/\\evil.example", "/dashboard\n", "/work"]
)
def test_sign_in_leads_to_our_own_pages_only(live, wanted):
    answer = live.client().post("/signin", data={"password": PASSWORD, "next": wanted})
    assert answer.headers["location"] == "/dashboard"


@pytest.mark.parametrize("wanted", ["https://evil.example", "//evil.example", "/\\evil.example"])
def test_a_choice_of_language_leads_to_our_own_pages_only(live, wanted):
    assert live.client().get("/language/de", params={"next": wanted}).headers["location"] == "/"


def test_many_wrong_passwords_must_wait_even_with_the_right_one(live):
    client = live.client()
    for _ in range(WRONG_PASSWORDS):
        assert client.post("/signin", data={"password": "wrong horse"}).status_code == 403
    answer = client.post("/signin", data={"password": PASSWORD})
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= WINDOW_SECONDS + 1


def test_the_limit_counts_by_address_and_ends():
    now = [0.0]
    limit = SignInLimit(lambda: now[0])
    for _ in range(WRONG_PASSWORDS):
        assert limit.wait("a") == 0
        limit.note_wrong("a")
    assert limit.wait("a") > 0
    assert limit.wait("b") == 0
    now[0] = WINDOW_SECONDS + 1
    assert limit.wait("a") == 0


def test_the_limit_holds_while_many_try_at_once():
    """A list that changes while another thread reads it would be an error of the server."""
    limit, before = SignInLimit(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def attempt(place: int) -> None:
        for _ in range(200):
            limit.wait(str(place))
            limit.note_wrong(str(place))

    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(attempt, range(8)))
    finally:
        sys.setswitchinterval(before)
    assert all(limit.wait(str(place)) > 0 for place in range(8))


def test_lines_of_others_in_the_log_are_json_without_the_text_of_errors(caplog):
    try:
        raise ValueError("ann@example.org")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    line = JsonLines().format(caplog.records[-1])
    assert "ann@example.org" not in line
    told = json.loads(line)
    assert (told["event"], told["kind"]) == ("error", "ValueError") and told["lines"]


def test_many_addresses_together_are_limited():
    limit = SignInLimit(lambda: 0.0)
    for place in range(50):
        assert limit.wait(str(place)) == 0
        limit.note_wrong(str(place))
    assert limit.wait("another") > 0


@pytest.mark.parametrize("address", ["", "/live", "/workers", "/disputed", "/settings", "/download/votes.csv"])
def test_nobody_and_workers_see_no_dashboard(live, address):
    for client in (live.client(), live.worker()):
        assert client.get(f"/dashboard{address}").status_code == 303
        assert client.get(f"/dashboard{address}", headers={"HX-Request": "true"}).status_code == 401


@pytest.mark.parametrize(
    "action", ["pause", "resume", "end", "price", "budget", "items", "block", "unblock", "decide", "token"]
)
def test_nobody_and_workers_change_nothing(live, action):
    before = live.service.log()
    for client in (live.client(), live.worker()):
        before = live.service.log()
        assert client.post(f"/dashboard/{action}", data={"amount": "5", "worker": "w"}).status_code == 401
        assert live.service.log() == before


def test_a_new_password_ends_sessions_and_tokens(live):
    signed_in = live.requester()
    token = {"Authorization": f"Bearer {token_of(signed_in)}"}
    assert signed_in.get("/api/v1/status", headers=token).status_code == 200
    live.service.set_password("another long password", actor="test")
    assert signed_in.get("/dashboard").status_code == 303
    assert signed_in.get("/api/v1/status", headers=token).status_code == 403


def test_a_changed_cookie_is_none(live):
    signed_in = live.requester()
    value = signed_in.cookies["amcc_requester"]
    # In the middle of the signature: the last character of base64 has bits that mean nothing.
    other_signature = value[:-9] + ("A" if value[-9] != "A" else "B") + value[-8:]
    for changed in (other_signature, "", "x.y.z", value + "x"):
        other = live.client()
        other.cookies.set("amcc_requester", changed)
        assert other.get("/dashboard").status_code == 303


def test_cookies_of_one_kind_are_not_those_of_another(live):
    """A worker's cookie in place of the requester's, and the other way round."""
    ann, signed_in = live.worker(), live.requester()
    other = live.client()
    other.cookies.set("amcc_requester", ann.cookies["amcc_worker"])
    other.cookies.set("amcc_worker", signed_in.cookies["amcc_requester"])
    assert other.get("/dashboard").status_code == 303
    assert other.get("/work").status_code == 401


def test_health_tells_nothing_else(live):
    assert live.client().get("/healthz").json() == {"status": "ok"}


def test_metrics_are_for_the_requester(live):
    assert live.client().get("/metrics").status_code == 401
    assert live.worker().get("/metrics").status_code == 401
    me = live.requester()
    assert me.get("/work").status_code == 401  # the requester is no worker
    text = me.get("/metrics").text
    assert 'amcc_requests_total{method="GET",route="/work",status="401"} 1.0' in text
    assert 'amcc_money{part="budget"} 20.0' in text
    assert 'amcc_money{part="left"}' in text
    assert 'amcc_requests_total{method="POST",route="/signin",status="303"} 1.0' in text


def test_unknown_methods_and_pages(live):
    client = live.client()
    assert client.get("/nothing").status_code == 404
    assert client.delete("/work").status_code == 405
    assert client.head("/work").status_code == 405  # it would lease a page that nobody sees
    assert "<h1" in client.get("/nothing").text
    assert client.get("/api/v1/nothing").json()["error"] == "not_found"
    assert web_app.refusal_of(ValueError("x")) == (422, "invalid")
