"""Webhooks: what is told, signed, once for each success, in the transaction of what it tells; receivers that fail."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from receiver import receiving
from small import Clock, all_said, new, opened, page_of, work
from sqlalchemy import text

from amcc.errors import InputError, NotFoundError
from amcc.serve import changing, postman, webhooks
from amcc.serve.events import EVENTS
from amcc.serve.learned import Learned, store_learned
from amcc.serve.noticing import tell_fit, tell_proposals
from amcc.serve.service import Service, restore
from amcc.serve.views import NoWork

OPERATIONS = Path(__file__).parents[2] / "docs" / "campaigns-operations.md"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def service(tmp_path, database_url, clock):
    with opened(tmp_path, database_url, clock=clock, n_items=40) as made:
        yield made


@pytest.fixture
def told():
    with receiving() as made:
        yield made


def hook(service, told, **given):
    return service.add_webhook(f"{told.address}/in?x=1", private=True, actor="test", **given)


def send(service) -> None:
    """All that is due, as the postman does it."""
    with service._core.database.read() as connection:
        numbers = webhooks.due(connection, service.clock())
    for number in numbers:
        while postman.deliver(service._core, number):
            pass


def genuine(secret: str, headers: dict[str, str], body: bytes) -> bool:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    mark = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return headers["webhook-signature"] == f"v1,{mark}"


def test_a_page_is_told_without_personal_data(service, told, clock):
    number, secret = hook(service, told)
    page = page_of(service, 0)
    service.answer(0, page.lease_id, {0: "yes", 1: "no", 2: "skip"})
    service.answer(0, page.lease_id, {0: "yes", 1: "no", 2: "skip"})  # a double click is no second event
    send(service)
    ((headers, body),), (event,) = told.requests, told.bodies
    assert event == {
        "id": headers["webhook-id"], "type": "page.answered", "timestamp": "2027-01-15T08:00:00Z", "campaign": "pets",
        "data": {"page": page.lease_id, "kind": "work", "worker": service.worker(0).name, "item": page.item.name,
                 "answers": {"cat": "yes", "dog": "no", "bird": "skip"}, "earned": "0.07", "currency": "",
                 "late": False},
    }  # fmt: skip
    assert b"person" not in body
    assert headers["webhook-timestamp"] == str(int(clock.now))
    assert genuine(secret, headers, body) and not genuine(secret, headers, body + b" ")
    (listed,) = service.webhooks()
    assert (listed.id, listed.waiting, listed.sent, listed.lost, listed.said) == (number, 0, 1, 0, "taken")


def test_the_secret_is_shown_once(service, told):
    _, secret = hook(service, told)
    _, other = hook(service, told)
    assert secret != other
    stored = [service._core.database.url.encode(), *(path.read_bytes() for path in service.folder.glob("campaign.db*"))]
    assert all(base64.b64decode(secret.removeprefix("whsec_")) not in each for each in stored)
    assert secret not in str(service.webhooks()) + str(service.log())


def test_money_that_ends_is_told_once_each(tmp_path, told, clock):
    with opened(tmp_path, clock=clock, n_items=40, budget="0.75", workers=2) as service:
        hook(service, told, events=["budget.low", "budget.used_up"])
        service.next_page(1)  # reserved money comes back: it is not spent
        while not isinstance(work(service, 0), NoWork):
            pass
        clock.pass_by(1801)
        service.expire()
        while not isinstance(work(service, 0), NoWork):
            pass
        service.add_budget("1.00", actor="test")
        service.add_budget("-0.95", actor="test")
        send(service)
        assert told.types == ["budget.low", "budget.used_up", "budget.low"]
        assert told.bodies[0]["data"] == {"budget": "0.75", "currency": "", "unspent": "0.07"}


def test_states_are_told_with_their_reason(service, told):
    hook(service, told)
    service.pause("ann", "a pause")
    service.pause("ann", "a pause")  # it is paused already
    service.resume("ann")
    service.change(actor="ann", title="Other")
    service.end("ann", "done")
    send(service)
    assert [(each["type"], each["data"]["reason"]) for each in told.bodies] == [
        ("campaign.paused", "a pause"), ("campaign.resumed", ""), ("campaign.ended", "done"),
    ]  # fmt: skip
    assert "ann" not in str(told.bodies)


def test_a_fit_is_told_once_by_however_many_servers(service, told, clock):
    hook(service, told, events=["fit.finished"])
    work(service, 0)
    store_learned(service._core.database, Learned.cold(3), clock())
    with Service.open(service.folder, clock=clock) as other:
        for each in (service, other, service):
            with each._core.database.read() as connection:
                each._core.live(connection)
            each._core.take_new_beliefs()
            tell_fit(each._core)
    send(service)
    (event,) = told.bodies
    assert event["data"].keys() == {"version", "votes", "settled_share", "expected_error"}
    assert event["data"]["version"] == 1 and 0 <= event["data"]["expected_error"] <= 1


def test_a_worker_who_might_be_blocked_is_told_once(service, told, clock):
    hook(service, told)
    change = "UPDATE workers SET n_checks = 12, n_checks_right = 2 WHERE id = 1"
    service._core.database.write(lambda c: c.execute(text(change)).rowcount)
    for _ in range(2):
        tell_proposals(service._core)
    send(service)
    (event,) = told.bodies
    assert event["type"] == "worker.proposed"
    assert event["data"] == {"worker": service.worker(1).name, "why": "only 2 of 12 check questions right"}
    assert service.status().workers[1].state == "active"  # a person decides


def test_an_event_is_written_with_what_it_tells_or_not_at_all(service, told):
    hook(service, told)

    def half(connection):
        changing.change(connection, {"state": "paused"}, "test", "", 1.0)
        raise InputError("something else")

    with pytest.raises(InputError, match="something else"):
        service._core.database.write(half)
    assert service.webhooks()[0].waiting == 0 and service.settings.state == "running"


def test_only_wanted_events(service, told):
    hook(service, told, events=["campaign.ended", "campaign.ended"])
    service.pause("test")
    service.end("test")
    send(service)
    assert told.types == ["campaign.ended"]
    with pytest.raises(InputError, match=r"an event must be one of page\.answered"):
        hook(service, told, events=["page.opened"])
    assert service.webhooks()[0].events == ("campaign.ended",)


def test_a_receiver_that_fails_is_tried_again_and_gets_all(service, clock):
    with receiving(lambda n: 500 if n < 3 else 204) as told:
        hook(service, told)
        service.pause("test")
        service.resume("test")
        waits = []
        while service.webhooks()[0].waiting:
            send(service)
            before = service.webhooks()[0]
            clock.pass_by(1)
            waits.append(1)
            assert len(waits) < 1000 and before.lost == 0
        assert sorted(told.types[3:]) == ["campaign.paused", "campaign.resumed"]
        assert {each["type"] for each in told.bodies} == {"campaign.paused", "campaign.resumed"}
        assert 100 < len(waits) < 500  # 5, 20 and 80 seconds
        assert len({each["id"] for each in told.bodies}) == 2  # the same id each time
        assert service.webhooks()[0].failures == 0


def test_one_event_that_is_refused_does_not_hold_up_others(service, clock):
    with receiving(lambda n: 422 if b"paused" in told.requests[n][1] else 204) as told:
        hook(service, told)
        service.pause("test")
        service.resume("test")
        for _ in range(30):
            send(service)
            clock.pass_by(1)
        assert "campaign.resumed" in told.types
        assert service.webhooks()[0].waiting == 1


def test_a_day_later_it_is_lost_and_counted(service, clock):
    with receiving(lambda n: 500) as told:
        hook(service, told)
        service.pause("test")
        for _ in range(200):
            send(service)
            clock.pass_by(600)
        (listed,) = service.webhooks()
        assert (listed.waiting, listed.sent, listed.lost, listed.said) == (0, 0, 1, "status 500")
        assert 100 < len(told.requests) < 160  # bounded: every ten minutes at most


def test_a_process_that_was_killed_while_it_sent(service, told, clock):
    """Its claim ends, and others send the same event with the same id."""
    number, _ = hook(service, told)
    service.pause("test")
    claimed = service._core.database.write(lambda c: webhooks.claim(c, number, clock()))
    assert len(claimed.events) == 1
    with Service.open(service.folder, clock=clock) as other:
        send(other)
        assert told.requests == []  # somebody has it
        clock.pass_by(webhooks.CLAIM_SECONDS + 1)
        send(other)
    assert [each["id"] for each in told.bodies] == [claimed.events[0].event_id]
    service._core.database.write(lambda c: webhooks.settle(c, claimed, claimed.events, None, clock()))
    send(service)
    assert len(told.requests) == 1


def test_two_servers_send_everything_once(tmp_path, postgres_url, told):
    folder = new(tmp_path, postgres_url, n_items=60, budget="9.00")
    with Service.open(folder, server=True, learn=False) as one, Service.open(folder, server=True, learn=False) as two:
        one.invite(["ann", "bob"], actor="test")
        hook(one, told)
        for place in range(50):
            work((one, two)[place % 2], place % 2)
        end = time.monotonic() + 60
        while one.webhooks()[0].waiting:
            assert time.monotonic() < end
            time.sleep(0.05)
    ids = [each["id"] for each in told.bodies]
    assert len(ids) == len(set(ids)) == 50


def test_a_slow_receiver_keeps_nobody_waiting(tmp_path, told):
    folder = new(tmp_path, n_items=60, budget="9.00")
    with receiving(blocked=True) as slow, Service.open(folder, server=True, learn=False) as service:
        service.invite(["ann"], actor="test")
        hook(service, slow)
        hook(service, told)
        end = time.monotonic() + 30
        while not slow.requests or len(told.requests) < 5:
            work(service, 0)
            assert time.monotonic() < end
            time.sleep(0.02)
        assert len(slow.requests) == 1  # still not answered
        slow.free.set()


def test_what_waits_survives_a_restart(tmp_path, told, clock):
    folder = new(tmp_path, clock=clock)
    with Service.open(folder, clock=clock) as service:
        hook(service, told)
        service.pause("test")
    with Service.open(folder, server=True, clock=clock, learn=False) as service:
        end = time.monotonic() + 30
        while service.webhooks()[0].waiting:
            assert time.monotonic() < end
            time.sleep(0.02)
    assert told.types == ["campaign.paused"]


def test_removed(service, told):
    number, _ = hook(service, told)
    service.pause("test")
    service.remove_webhook(number, actor="test")
    assert service.webhooks() == ()
    service.resume("test")
    send(service)
    assert told.requests == []
    with pytest.raises(NotFoundError, match="no webhook 1"):
        service.remove_webhook(number, actor="test")
    with pytest.raises(NotFoundError, match="no webhook 1"):
        service.test_webhook(number)


def test_a_test_is_sent_at_once(service, told):
    number, secret = hook(service, told)
    assert service.test_webhook(number).taken
    ((headers, body),) = told.requests
    assert told.types == ["webhook.test"] and genuine(secret, headers, body)


def test_private_addresses_and_many_webhooks_are_refused(service, told):
    for url in (told.address, told.address.replace("http", "https"), "https://localhost/", "https://0x7f.1/"):
        with pytest.raises(InputError, match="must"):
            service.add_webhook(url, actor="test")
    for _ in range(webhooks.MOST_WEBHOOKS):
        hook(service, told)
    with pytest.raises(InputError, match="at most 10 webhooks"):
        hook(service, told)
    assert told.requests == []


def test_a_backup_keeps_webhooks_and_their_secrets(tmp_path, service, told):
    _, secret = hook(service, told)
    service.pause("test")
    restore(service.backup(tmp_path / "a.backup"), tmp_path / "again")
    with Service.open(tmp_path / "again", clock=service.clock) as again:
        send(again)
    ((headers, body),) = told.requests
    assert genuine(secret, headers, body)


def test_without_webhooks_nothing_is_written(service):
    page = page_of(service, 0)
    service.answer(0, page.lease_id, all_said(page))
    with service._core.database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM outbox")).scalar_one() == 0


def test_the_receiver_of_the_docs(tmp_path, clock):
    """It takes what is ours, once, and nothing else."""
    (code,) = re.findall(r"```python\n(.*?)```", OPERATIONS.read_text(), flags=re.DOTALL)
    (tmp_path / "receiver.py").write_text(code)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with opened(tmp_path, clock=time.time) as service:
        number, secret = service.add_webhook(f"http://127.0.0.1:{port}/", private=True, actor="test")
        _, other = service.add_webhook(f"http://127.0.0.1:{port}/", private=True, actor="test")
        assert other != secret
        environment = {**os.environ, "WEBHOOK_SECRET": secret, "PORT": str(port), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, tmp_path / "receiver.py"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL) as running:  # fmt: skip
            try:
                end = time.monotonic() + 30
                while not service.test_webhook(number).taken:
                    assert time.monotonic() < end
                    time.sleep(0.05)
                assert service.test_webhook(number + 1).said == "status 401"  # signed with another secret
                service.pause("test")
                claimed = service._core.database.write(lambda c: webhooks.claim(c, number, time.time()))
                with postman._line(claimed.hook) as line:
                    key = webhooks.key_of(service.secret, claimed.hook.salt)
                    for _ in range(2):  # the same twice
                        assert postman._post(line, key, claimed.events[0], time.time()).taken
                    assert not postman._post(line, key, claimed.events[0], time.time() - 3600).taken  # an old one again
            finally:
                running.terminate()
            assert running.stdout.read().split() == ["webhook.test", "campaign.paused"]


def test_every_event_is_in_the_docs():
    page = OPERATIONS.read_text()
    assert all(f"`{name}`" in page for name in EVENTS)
