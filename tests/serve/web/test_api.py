"""The API for programs: what it does, and what it refuses."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from amcc.serve.web.sessions import Sessions

if TYPE_CHECKING:
    from schemathesis import Case
    from schemathesis.schemas import APIOperation

# Requests to each operation: enough to find what breaks at once; more are for `schemathesis run`.
EXAMPLES = 40


@pytest.fixture
def program(live):
    client = live.client(origin=False)
    client.headers["Authorization"] = f"Bearer {live.invite().token}"
    return client


@pytest.fixture
def owner(live):
    client = live.client(origin=False)
    client.headers["Authorization"] = f"Bearer {Sessions(live.service, https=False).requester_token()}"
    return client


def answers_to(page, value="yes"):
    return {"lease_id": page["lease_id"], "answers": {str(each["label_id"]): value for each in page["questions"]}}


def test_lease_answer_and_again(live, program):
    page = program.post("/api/v1/lease", json={}).json()["page"]
    assert page["item"]["kind"] == "text"
    assert page["pays"] == 7
    assert program.post("/api/v1/lease").json()["page"]["lease_id"] == page["lease_id"]
    key = {"Idempotency-Key": "k1"}
    first = program.post("/api/v1/answer", json=answers_to(page), headers=key)
    assert first.status_code == 200
    assert first.json() == {"lease_id": page["lease_id"], "earned": 7, "n_answers": 3, "n_skips": 0, "already": False,
                            "late": False}  # fmt: skip
    again = program.post("/api/v1/answer", json=answers_to(page), headers=key)
    assert again.status_code == 200
    assert again.json() == first.json()
    without = program.post("/api/v1/answer", json=answers_to(page)).json()
    assert without == {**first.json(), "already": True}
    other = program.post("/api/v1/answer", json=answers_to(page, "no"))
    assert other.status_code == 409
    assert other.json()["error"] == "contradiction"
    assert live.service.balance.due == 7


@pytest.mark.parametrize("address", ["lease", "answer", "skip", "release"])
def test_every_request_with_a_key_is_done_once(live, program, address):
    """The same key gives the same answer, however much happened since; another request with it is refused."""
    key, path = {"Idempotency-Key": "k"}, f"/api/v1/{address}"
    page = program.post("/api/v1/lease").json()["page"]
    of_lease = {"lease_id": page["lease_id"]}
    body = {"lease": {}, "answer": answers_to(page)}.get(address, of_lease)
    first = program.post(path, json=body, headers=key)
    assert first.status_code == 200
    if address == "lease":
        program.post("/api/v1/answer", json=answers_to(page))
    following = program.post("/api/v1/lease").json()["page"]
    before = live.service.balance
    again = program.post(path, json=body, headers=key)
    assert (again.status_code, again.json()) == (200, first.json())
    other = {"lease": {"x": 1}, "answer": answers_to(following)}.get(address, {"lease_id": following["lease_id"]})
    refused = program.post(path, json=other, headers=key)
    assert (refused.status_code, refused.json()["error"]) == ((422, "invalid") if address == "lease" else (409, "key"))
    assert live.service.balance == before
    assert program.post("/api/v1/lease").json()["page"] == following


def test_skip(live, program):
    page = program.post("/api/v1/lease").json()["page"]
    for _ in range(2):
        answer = program.post("/api/v1/skip", json={"lease_id": page["lease_id"]})
        assert answer.status_code == 200
        assert answer.json()["n_skips"] == 3
    assert live.service.status().n_skips == 3
    assert live.service.status().n_votes == 0


def test_release(live, program):
    page = program.post("/api/v1/lease").json()["page"]
    for _ in range(2):
        assert program.post("/api/v1/release", json={"lease_id": page["lease_id"]}).status_code == 200
    assert live.service.balance.reserved == 0


def test_campaign(program):
    told = program.get("/api/v1/campaign").json()
    assert told["title"] == "Pets"
    assert "puppy" in told["instructions"]
    assert (told["vote_price"], told["page_price"], told["currency"]) == (2, 1, "EUR")
    assert "budget" not in told


def test_why_there_is_no_page(live, program):
    live.service.pause("test")
    assert program.post("/api/v1/lease").json() == {"page": None, "reason": "paused", "done": False}


def test_pictures_have_an_address(make_live):
    live = make_live({"picture": ("image", "blue.png")})
    client = live.client(origin=False)
    client.headers["Authorization"] = f"Bearer {live.invite().token}"
    item = client.post("/api/v1/lease").json()["page"]["item"]
    assert client.get(item["content"]).content.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"lease_id": 0},
        {"lease_id": 0, "answers": {}},
        {"lease_id": 0, "answers": {"0": "perhaps"}},
        {"lease_id": 0, "answers": {"x": "yes"}},
        {"lease_id": "x", "answers": {"0": "yes"}},
        {"lease_id": -1, "answers": {"0": "yes"}},
        {"lease_id": 10**30, "answers": {"0": "yes"}},
        {"lease_id": 0, "answers": {"0": "yes"}, "worker": "bob"},
        [],
    ],
)
def test_bodies_that_are_none(live, program, body):
    program.post("/api/v1/lease")
    answer = program.post("/api/v1/answer", json=body)
    assert answer.status_code == 422
    assert set(answer.json()) == {"error", "message"}
    assert live.service.balance.due == 0


def test_a_lease_of_somebody_else_is_not_found(live, program):
    page = program.post("/api/v1/lease").json()["page"]
    other = live.client(origin=False)
    other.headers["Authorization"] = f"Bearer {live.invite('bob').token}"
    for address in ("answer", "skip", "release"):
        body = answers_to(page) if address == "answer" else {"lease_id": page["lease_id"]}
        foreign = other.post(f"/api/v1/{address}", json=body)
        missing = other.post(f"/api/v1/{address}", json=body | {"lease_id": 4711})
        assert foreign.status_code == missing.status_code == 404
        assert foreign.json() == missing.json()
    assert live.service.balance.due == 0
    assert live.service.balance.reserved == 7


@pytest.mark.parametrize("token", [None, "", "x", "Basic abc", "Bearer", "Bearer x.y.z"])
def test_no_token(live, token):
    client = live.client(origin=False)
    headers = {} if token is None else {"Authorization": token}
    for method, address in (
        ("POST", "lease"),
        ("POST", "skip"),
        ("GET", "status"),
        ("GET", "votes"),
        ("GET", "payments"),
    ):
        answer = client.request(
            method, f"/api/v1/{address}", headers=headers, json={"lease_id": 1} if method == "POST" else None
        )
        assert answer.status_code in (401, 403), address
        assert {"error", "message"} == set(answer.json())


@pytest.mark.parametrize("why", ["expired", "revoked", "forged"])
def test_a_token_that_does_not_hold_any_more_changes_nothing(live, why):
    link, client = live.invite(), live.client(origin=False)
    client.headers["Authorization"] = f"Bearer {link.token}"
    page = client.post("/api/v1/lease", headers={"Idempotency-Key": "k"}).json()["page"]
    if why == "expired":
        live.clock.now = link.expires_at + 1
    elif why == "revoked":
        live.service.revoke(link.worker, actor="test")
    else:
        # In the middle of the signature: the last character of base64 has bits that mean nothing.
        other = "A" if link.token[-9] != "A" else "B"
        client.headers["Authorization"] = f"Bearer {link.token[:-9]}{other}{link.token[-8:]}"
    for address in ("lease", "answer", "skip", "release"):
        body = {"lease": {}, "answer": answers_to(page)}.get(address, {"lease_id": page["lease_id"]})
        refused = client.post(f"/api/v1/{address}", json=body, headers={"Idempotency-Key": "k"})
        assert (refused.status_code, refused.json()["error"]) == (401, why), address
    assert client.get("/api/v1/campaign").status_code == 401
    assert live.service.balance.due == 0
    assert len(live.service.votes_table()) == live.service.status().n_skips == 0


@pytest.mark.parametrize("address", ["status", "votes", "consensus", "payments"])
def test_workers_read_nothing_of_the_requesters(program, address):
    assert program.get(f"/api/v1/{address}").status_code == 403


@pytest.mark.parametrize("address", ["lease", "answer", "skip", "release"])
def test_the_requester_is_no_worker(owner, address):
    answer = owner.post(
        f"/api/v1/{address}", json={"lease_id": 0, "answers": {"0": "yes"}} if address == "answer" else {"lease_id": 0}
    )
    assert answer.status_code in (403, 422)
    assert owner.post("/api/v1/lease").status_code == 403


def test_what_the_requester_reads(live, program, owner):
    for _ in range(3):
        program.post("/api/v1/answer", json=answers_to(program.post("/api/v1/lease").json()["page"]))
    status = owner.get("/api/v1/status").json()
    assert status["due"] == 21
    assert status["budget"] == status["paid"] + status["due"] + status["reserved"] + status["left"]
    votes = owner.get("/api/v1/votes", params={"limit": 5}).json()
    assert len(votes["rows"]) == 5
    rest = owner.get("/api/v1/votes", params={"after": votes["next"]}).json()
    assert rest["next"] is None
    assert len(votes["rows"]) + len(rest["rows"]) == status["n_votes"]
    assert {row["value"] for row in rest["rows"]} == {1}
    assert all(0 <= row["probability"] <= 1 for row in owner.get("/api/v1/consensus").json()["rows"])
    (payment,) = owner.get("/api/v1/payments").json()["rows"]
    assert payment["due"] == 21
    assert "ann" not in owner.get("/api/v1/payments").text


def test_the_document_describes_bodies_and_errors(live):
    document = live.client().get("/api/v1/openapi.json").json()
    names = ["campaign", "lease", "answer", "skip", "release", "status", "votes", "consensus", "payments"]
    assert set(document["paths"]) == {f"/api/v1/{name}" for name in names}
    for path in document["paths"].values():
        for operation in path.values():
            assert "application/json" in operation["responses"]["200"]["content"]
            assert operation["responses"]["401"]["content"]["application/json"]["schema"]["$ref"].endswith("ErrorBody")
            assert operation["security"]
    for name in ("lease", "answer", "skip", "release"):
        names = [each["name"] for each in document["paths"][f"/api/v1/{name}"]["post"]["parameters"]]
        assert "Idempotency-Key" in names


def test_made_up_requests_break_nothing_and_move_no_money(live):
    """Requests that schemathesis makes from the document: no error of the server, and no answer that the document does
    not describe; money moves for pages that were leased only."""
    app = live.client(hosts=["testserver"]).app
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    tokens = {"worker": live.invite().token, "requester": Sessions(live.service, https=False).requester_token()}
    seen: Counter[int] = Counter()

    def run(operation: APIOperation) -> None:
        token = tokens[operation.tags[0]]

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @seed(1)
        @given(case=st.one_of(operation.as_strategy(generation_mode=mode) for mode in GenerationMode))
        def sends(case: Case) -> None:
            answer = case.call(headers={"Authorization": f"Bearer {token}"})
            seen[answer.status_code] += 1
            # Which labels a page has stands in the page, not in the document; parameters that nobody knows do no harm.
            checks = [positive_data_acceptance, negative_data_rejection]
            case.validate_response(answer, excluded_checks=checks)

        sends()

    operations = [found.ok() for found in schema.get_all_operations()]
    for operation in operations:
        run(operation)
    assert len(operations) == 9
    assert seen[200] > 20  # some were right
    assert seen[422] > 20 or seen[404] > 20  # and some were not
    balance = live.service.balance
    assert balance.budget == balance.paid + balance.due + balance.reserved + balance.left
    assert not live.service.verify()
