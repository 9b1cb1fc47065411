"""Tables come by migrations only; databases of other versions; full disks; several processes; SIGKILL."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg import OperationalError
from small import all_said, new, opened, page_of, work
from sqlalchemy import event, literal_column, select, text

from amcc.errors import InputError, StoreError
from amcc.serve import changing, webhooks
from amcc.serve.addresses import Target
from amcc.serve.service import Service
from amcc.serve.store import versions
from amcc.serve.store.database import Database, _Job, sqlite_url
from amcc.serve.store.prepared import Prepared
from amcc.serve.store.schema import metadata
from amcc.serve.views import NoWork, WorkPage

REVISIONS = sorted(path.name.split("_")[0] for path in (versions.FOLDER / "versions").glob("[0-9]*.py"))


@pytest.fixture
def database(tmp_path, database_url):
    made = Database(database_url or sqlite_url(tmp_path / "empty.db"))
    yield made
    made.close()


def test_the_newest_revision_is_the_head():
    assert REVISIONS[-1] == versions.HEAD


@pytest.mark.parametrize("first", REVISIONS)
def test_every_revision_becomes_the_tables_of_today(database, first):
    database.write(lambda connection: versions.upgrade(connection, first))
    with database.read() as connection:
        assert versions.revision_of(connection) == first
    versions.bring_up_to_date(database)
    with database.read() as connection:
        assert versions.revision_of(connection) == versions.HEAD
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


FIRST = {
    "account": {"id": 1, "budget": 100, "paid": 0, "due": 2, "reserved": 0, "head": "h", "votes_head": b"s",
                "n_ledger": 3, "n_questions": 1, "n_votes": 1, "n_leases": 1, "n_workers": 1, "n_items": 1},
    "campaign": {"id": 1, "settings": '{"name": "pets", "languages": ["en"]}', "password": "p", "made_at": 5.0},
    "items": {"id": 0, "name": "i", "kind": "text", "content": "A text"},
    "labels": {"id": 0, "name": "cat", "question": "Is there a cat?", "help": ""},
    "workers": {"id": 0, "name": "wabc", "kind": "human", "made_at": 5.0, "earned": 2, "n_pages": 1, "n_answers": 1},
    "leases": {"id": 0, "worker_id": 0, "item_id": 0, "kind": "work", "state": "answered", "leased_at": 5.0,
               "expires_at": 9.0, "vote_price": 2, "page_price": 0},
    "questions": {"number": 0, "lease_id": 0, "item_id": 0, "label_id": 0, "worker_id": 0, "price": 2, "fee": 0,
                  "state": "answered"},
    "votes": {"id": 0, "question": 0, "item_id": 0, "label_id": 0, "worker_id": 0, "value": 1, "kind": "work",
              "at": 6.0, "seal": b"s"},
}  # fmt: skip


def test_a_campaign_of_the_first_schema_keeps_what_it_holds(database):
    """Rows as version 0001 wrote them, in plain SQL, stay as they are; what is new is empty, and can be used."""

    def first(connection):
        versions.upgrade(connection, "0001")
        for table, row in FIRST.items():
            names = ", ".join(row)
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES (:{names.replace(', ', ', :')})"), row)

    database.write(first)
    versions.bring_up_to_date(database)
    with database.read() as connection:
        for table, row in FIRST.items():
            (found,) = connection.execute(text(f"SELECT * FROM {table}")).mappings()
            assert {name: found[name] for name in row} == row
        assert connection.execute(text("SELECT n_events FROM account")).scalar_one() == 0
        assert connection.execute(text("SELECT proposed_at FROM workers")).scalar_one() is None
    settings = database.write(lambda c: changing.change(c, {"state": "paused"}, "test", "", 7.0) or changing._stored(c))
    assert (settings.state, settings.pages_per_worker) == ("paused", 0)
    target = Target.of("https://93.184.215.14/")
    number, _ = database.write(lambda c: webhooks.add(c, target, "https://93.184.215.14/", (), b"key", "test", 8.0))
    database.write(lambda c: changing.change(c, {"state": "running"}, "test", "", 9.0))
    with database.read() as connection:
        assert [(each.id, each.waiting) for each in webhooks.listed(connection)] == [(number, 1)]
        assert connection.execute(text("SELECT n_events FROM account")).scalar_one() == 1


def test_an_upgrade_that_fails_leaves_nothing(database):
    def half(connection):
        versions.upgrade(connection)
        raise InputError("something else")

    with pytest.raises(InputError):
        database.write(half)
    with database.read() as connection:
        assert versions.revision_of(connection) is None
    with pytest.raises(StoreError, match="no tables of one"):
        versions.bring_up_to_date(database)


def test_a_newer_database_is_refused(tmp_path, database_url):
    with opened(tmp_path, database_url) as service:
        service._core.database.write(
            lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999'")).rowcount
        )
        with pytest.raises(StoreError, match=r"it is of 9999\. Install the newer amcc"):
            Service.open(service.folder)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("mysql://x/y", "SQLite or PostgreSQL"),
        ("no url", "must be a URL"),
        ("postgresql:///x?host=/nowhere", "cannot be used"),
    ],
)
def test_odd_urls(tmp_path, url, problem):
    with pytest.raises(StoreError, match=problem):
        new(tmp_path, url)
    assert not (tmp_path / "pets").exists() and not list(tmp_path.glob(".part*"))


def test_a_database_in_use_is_refused(tmp_path, postgres_url):
    new(tmp_path / "first", postgres_url)
    with pytest.raises(InputError, match="must be empty"):
        new(tmp_path / "second", postgres_url)
    assert not (tmp_path / "second" / "pets").exists()


def test_work_that_fails_does_not_undo_that_of_others(database):
    """Those who share a transaction stand for themselves."""
    database.write(lambda c: c.execute(text("CREATE TABLE notes (n INTEGER PRIMARY KEY)")).rowcount)

    def note(number):
        def job(connection):
            connection.execute(text("INSERT INTO notes VALUES (:n)"), {"n": number})
            if number % 3 == 0:
                raise InputError("no")
            if number == 4:
                connection.execute(text("INSERT INTO notes VALUES (1)"))  # breaks a rule of the database

        return job

    jobs = [_Job(note(number)) for number in range(1, 8)]
    database._waiting.extend(jobs[:-1])
    database.write(note(7))
    with database.read() as connection:
        assert connection.execute(text("SELECT n FROM notes ORDER BY n")).scalars().all() == [1, 2, 5, 7]
    for number, job in enumerate(jobs[:-1], start=1):
        if number % 3 == 0 or number == 4:
            with pytest.raises((InputError, StoreError)):
                job.outcome(database.url)
        else:
            job.outcome(database.url)


class Notes:
    """A table of numbers, and jobs that share a transaction."""

    def __init__(self, database):
        self.database = database
        database.write(lambda c: c.execute(text("CREATE TABLE notes (n INTEGER PRIMARY KEY)")).rowcount)

    @staticmethod
    def note(number):
        return lambda c: c.execute(text("INSERT INTO notes VALUES (:n)"), {"n": number}).rowcount

    def write(self, *numbers):
        """All in one transaction; gives what came of each."""
        *others, last = [_Job(self.note(number)) for number in numbers]
        self.database._waiting.extend(others)
        came = []
        for ask in (
            lambda: self.database.write(last.work),
            *(partial(job.outcome, self.database.url) for job in others),
        ):
            try:
                came.append(ask())
            except BaseException as error:
                came.append(error)
        return came

    def stored(self):
        with self.database.read() as connection:
            return connection.execute(text("SELECT n FROM notes ORDER BY n")).scalars().all()


@contextlib.contextmanager
def before_commit(database, do):
    event.listen(database.engine, "commit", do)
    try:
        yield
    finally:
        event.remove(database.engine, "commit", do)


def test_what_is_not_on_the_disk_is_not_done(database):
    """Whatever goes wrong at the last moment, also what no database says: nobody of those who share it is told 1."""
    notes = Notes(database)

    def fail(_):
        raise MemoryError

    with before_commit(database, fail):
        assert [type(each) for each in notes.write(1, 2, 3)] == [MemoryError] * 3
    assert notes.stored() == []
    assert notes.write(1, 2) == [1, 1] and notes.stored() == [1, 2]


TERMINATE = "SELECT pg_terminate_backend(pg_backend_pid())"


def cut(connection):
    """End the connection from the other side, as when the database is started again."""
    with contextlib.suppress(OperationalError):
        connection.connection.cursor().execute(TERMINATE)


def test_a_connection_lost_at_the_commit_is_not_tried_again(postgres_url):
    """It may be on the disk: done again it might be done twice."""
    database = Database(postgres_url)
    notes, ran = Notes(database), []
    with before_commit(database, cut), pytest.raises(StoreError, match="lost just when this was written"):
        database.write(lambda c: ran.append(notes.note(1)(c)))
    assert ran == [1]
    with before_commit(database, cut):
        assert {type(each) for each in notes.write(2, 3)} == {StoreError}
    assert notes.write(4, 5) == [1, 1] and notes.stored() == [4, 5]
    database.close()


def test_a_connection_lost_before_is_tried_again(postgres_url):
    database = Database(postgres_url)
    notes, ran = Notes(database), []
    look = Prepared(select(literal_column("n")).select_from(text("notes")))

    def breaks_once(connection):
        ran.append(notes.note(len(ran))(connection))
        if len(ran) == 1:
            cut(connection)
        return look.all(connection)  # by the driver, beside SQLAlchemy

    assert database.write(breaks_once) == [(1,)]
    assert notes.stored() == [1]
    with pytest.raises(StoreError, match="cannot be used"), database.read() as connection:
        cut(connection)
        look.all(connection)
    assert notes.stored() == [1]
    database.close()


def test_two_servers_while_connections_break(tmp_path, postgres_url):
    """Items and workers come beside, connections are cut: workers are told to try again, and nothing else."""
    over, problems, acknowledged = threading.Event(), [], set()
    with (
        opened(tmp_path, postgres_url, workers=8, n_items=30, budget="900.00", audit_share=0.3) as first,
        Service.open(first.folder, clock=first.clock) as second,
    ):

        def visit(worker):
            rng = random.Random(worker)
            while not over.is_set():
                with suppressed(problems, StoreError):
                    page = rng.choice((first, second)).next_page(worker)
                    while isinstance(page, WorkPage) and page.lease_id not in acknowledged:
                        with suppressed(problems, StoreError):
                            rng.choice((first, second)).answer(worker, page.lease_id, all_said(page))
                            acknowledged.add(page.lease_id)

        threads = [threading.Thread(target=visit, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        with psycopg.connect(postgres_url, autocommit=True) as beside:
            for n in range(20):
                time.sleep(0.1)
                items = tmp_path / f"more{n}.csv"
                items.write_text("item,text\n" + "".join(f"more{n} {k},Text\n" for k in range(20)))
                with suppressed(problems, StoreError):
                    first.add_items(items, actor="test")
                with suppressed(problems, StoreError):
                    second.invite([f"late {n}"], actor="test")
                beside.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND pid <> pg_backend_pid() AND random() < 0.3"
                )
        over.set()
        for thread in threads:
            thread.join()
        assert problems == []
        assert first.verify() == []
        assert acknowledged and acknowledged <= {row.id for row in _answered(first)}


@contextlib.contextmanager
def suppressed(problems, *expected):
    try:
        yield
    except expected:
        pass
    except BaseException as error:
        problems.append(error)


def test_items_that_came_since_the_last_look(tmp_path, postgres_url):
    """Another server adds items and hands them out, between two reads of this one."""
    with opened(tmp_path, postgres_url, n_items=2) as first, Service.open(first.folder, clock=first.clock) as second:
        page_of(first, 0)
        core = first._core
        with core.database.read() as connection:
            before = core.look(connection)
            (tmp_path / "more.csv").write_text("item,text\n" + "".join(f"more{n},Text\n" for n in range(20)))
            second.add_items(tmp_path / "more.csv", actor="test")
            for _ in range(2):
                work(second, 1)
            work(second, 1, "skip")
            page_of(second, 1)
            core.live_now.catch_up(connection, before)
            core.live_now.read_leases(connection)
            found = core.live_now.propose(connection, 2, vote_price=2, page_price=1, most_labels=3, audit=0, check=0)
        assert found.item < 2
        assert page_of(first, 2)


def test_a_full_disk_loses_nothing(tmp_path):
    with opened(tmp_path, n_items=300, budget="900.00") as service:
        page = page_of(service, 0)
        service._core.database.engine.dispose()
        full = "PRAGMA max_page_count = 1"  # SQLite takes the present size where this is less: no page can be added

        @event.listens_for(service._core.database.engine, "connect")
        def limit(connection, _):
            connection.execute(full)

        service._core.database.engine.dispose()
        before, problem = service.balance, None
        try:
            service.answer(0, page.lease_id, all_said(page))
            for _ in range(100):
                before = service.balance
                assert not isinstance(work(service, 0), NoWork)
        except StoreError as error:
            problem = str(error)
        assert problem is not None and "the disk is full. Nothing was lost" in problem
        event.remove(service._core.database.engine, "connect", limit)
        service._core.database.engine.dispose()
        assert service.verify() == []
        assert service.balance.due >= before.due
        assert work(service, 1)


KILLED = """
import sys, random
sys.path.insert(0, sys.argv[3])
from small import all_said
from amcc.serve.service import Service
from amcc.serve.views import WorkPage
service = Service.open(sys.argv[1])
worker, rng = int(sys.argv[2]), random.Random(int(sys.argv[2]))
while True:
    page = service.next_page(worker)
    if not isinstance(page, WorkPage):
        break
    receipt = service.answer(worker, page.lease_id, all_said(page, rng.choice(["yes", "no"])))
    print(page.lease_id, receipt.earned, flush=True)
"""


def test_killed_at_any_moment(tmp_path, database_url):
    """Processes are killed while they work: what was acknowledged is there, and the sums are right."""
    rng, acknowledged = random.Random(3), {}
    with opened(tmp_path, database_url, n_items=400, budget="90.00", workers=2, clock=time.time) as service:
        command = [sys.executable, "-c", KILLED, str(service.folder)]
        for _ in range(3):
            running = [
                subprocess.Popen([*command, str(n), str(Path(__file__).parent)], stdout=subprocess.PIPE, text=True)
                for n in range(2)
            ]
            first = [each.stdout.readline() for each in running]
            time.sleep(rng.random() * 0.3)
            for each, said in zip(running, first, strict=True):
                os.kill(each.pid, signal.SIGKILL)
                for line in [said, *each.communicate()[0].splitlines()]:
                    if len(words := line.split()) == 2:
                        acknowledged[int(words[0])] = int(words[1])
            assert service.verify() == []
        assert len(acknowledged) >= 6
        now = service.balance
        assert now.due >= sum(acknowledged.values()) and now.left >= 0
        done = {row.id for row in _answered(service)}
        assert set(acknowledged) <= done
        assert len(done) <= len(acknowledged) + 6  # at most one page of each process was not acknowledged


def _answered(service):
    with service._core.database.read() as connection:
        return connection.execute(text("SELECT id FROM leases WHERE state = 'answered'")).all()
