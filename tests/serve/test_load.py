"""A few kills of what `make load` does a hundred times, and that its own books notice what is wrong."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from postgres import PATIENCE, Cluster
from small import all_said, opened, page_of, work

from amcc.errors import StoreError

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import books
import load


def plan(database: str | None, **more) -> load.Scenario:
    return load.Scenario("a few kills", database, **{"kills": 5, "workers": 20, "seed": 3, "seconds": 120,
                                                     "quiet_seconds": 1.0, **more})  # fmt: skip


def well(found: load.Outcome) -> None:
    assert found.well, (found.problems, found.rows)


def test_nothing_is_lost_when_the_server_is_killed(database_url, tmp_path):
    well(load.try_scenario(plan(database_url), tmp_path))


def test_nothing_is_lost_with_two_servers(postgres_url, tmp_path):
    well(load.try_scenario(plan(postgres_url, servers=2, kills=3), tmp_path))


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_full_disk_loses_nothing(database, request):
    server = request.getfixturevalue("postgres_cluster") if database == "postgres" else None
    went = load.try_full_disk(20, 1, server)
    if went is None:
        pytest.skip("this user cannot mount a small disk")
    well(went)


# Megabytes of a disk for a whole cluster: what initdb makes, and two files of its journal.
WHOLE_CLUSTER = 112


def test_a_database_that_stops_because_its_journal_has_no_room(tmp_path, postgres_cluster):
    """PostgreSQL ends itself then. Workers are told so; after room was made and it was started, all goes on."""
    with load.small_disk(WHOLE_CLUSTER) as disk:
        if disk is None:
            pytest.skip("this user cannot mount a small disk")
        (disk / "pg").mkdir()
        cluster, filler = Cluster(disk / "pg", careful=True), disk / "filler"
        with ending(cluster), opened(tmp_path, cluster.database(), n_items=300, budget="900.00") as service:
            page = page_of(service, 0)
            receipts = [work(service, 1) for _ in range(3)]
            with filler.open("wb") as file, contextlib.suppress(OSError):
                file.write(bytes(shutil.disk_usage(disk).free))
            with pytest.raises(StoreError):  # it cannot be used, or was lost while it wrote
                for _ in range(10_000):  # until the journal needs its next file
                    switch_journal(cluster)
                    receipts.append(work(service, 1))
            filler.unlink()
            until = time.monotonic() + PATIENCE
            while not service.healthy() and time.monotonic() < until:
                if not cluster.is_up:  # it tries to go on by itself, and gives up where it cannot
                    cluster.start()
                time.sleep(0.1)
            receipts.append(service.answer(0, page.lease_id, all_said(page)))
            assert service.verify() == []
            unsure = service.balance.due - sum(each.earned for each in receipts)
            assert unsure in (0, page.most)  # the page that was being written when it ended, whole or not at all
            work(service, 2)


@contextlib.contextmanager
def ending(cluster: Cluster) -> Iterator[None]:
    """It ends with the block, if it has not ended by itself."""
    try:
        yield
    finally:
        cluster.stop()


def switch_journal(cluster: Cluster) -> None:
    """Let it begin its next file."""
    with contextlib.suppress(psycopg.OperationalError), psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute("SELECT pg_switch_wal()")


# -- the books by hand ---------------------------------------------------------------------------------------------


def asked(item: str, worker: str, labels: list[str], price: int = 2, fee: int = 1) -> dict:
    n = len(labels)
    return {"event": "asked", "item": [item] * n, "label": labels, "worker": [worker] * n,
            "price": [price + fee, *[price] * (n - 1)], "page": [fee, *[0] * (n - 1)]}  # fmt: skip


ACCOUNT = {"event": "account", "format": 1, "decimals": 2, "budget": 10}


def test_books_by_hand():
    events = [ACCOUNT, asked("a", "ann", ["x", "y"]), {"event": "answered", "question": [0, 1]}]
    assert books.replay(events) == ({"ann": 5}, 0, 0)
    events += [asked("b", "bob", ["x", "y"]), {"event": "released", "question": [2, 3]}, asked("b", "cid", ["x"]),
               {"event": "answered", "question": [4]}]  # fmt: skip
    assert books.replay(events) == ({"ann": 5, "cid": 3}, 0, 0)


def test_books_notice_an_overdraft_and_a_second_payment():
    over = [ACCOUNT, *(asked(item, "ann", ["x", "y"]) for item in "abc")]
    assert books.replay(over)[2] == 5
    twice = [ACCOUNT, asked("a", "ann", ["x"]), *[{"event": "answered", "question": [0]}] * 2]
    assert books.replay(twice) == ({"ann": 3}, 1, 0)


def found(noted: books.Noted, stored: books.Answers, earned: int) -> load.Outcome:
    return load.outcome(plan(None), noted, 5, books.Books(stored, Counter(ann=earned), 0, 0, []))


def test_a_lost_answer_is_a_finding():
    noted = books.Noted(answers={("ann", "a", "x"): "yes"}, earned=Counter(ann=3))
    assert found(noted, {("ann", "a", "x"): "yes"}, 3).well
    for stored in ({}, {("ann", "a", "x"): "no"}):
        lost = found(noted, stored, 3)
        assert not lost.well and lost.rows["acknowledged answers lost"] == "1"


def test_what_was_sent_and_never_acknowledged_may_be_stored_and_nothing_else():
    sent = {("ann", "a", "x"): "yes", ("ann", "a", "y"): "skip"}
    noted = books.Noted(unsure=[books.Unsure("ann", sent, 5)])
    assert found(noted, {}, 0).well and found(noted, sent, 5).well
    assert not found(noted, {}, 5).well
    assert not found(noted, sent, 0).well
    assert not found(noted, {("ann", "a", "x"): "yes"}, 5).well  # half of it
    assert not found(noted, {**sent, ("ann", "a", "y"): "no"}, 5).well
    assert not found(noted, {**sent, ("ann", "b", "x"): "no"}, 5).well  # what nobody sent


def test_fewer_kills_than_wanted_are_a_finding():
    assert not load.outcome(plan(None), books.Noted(), 4, books.Books({}, Counter(), 0, 0, [])).well
