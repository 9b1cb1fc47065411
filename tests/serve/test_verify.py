"""`verify` finds every change, and names the row; a backup restores to the same."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from small import new, opened, page_of, work

from amcc.active.accounts import Account
from amcc.errors import FileFormatError, InputError, StoreError
from amcc.serve.service import Service, restore
from amcc.serve.store.schema import ledger
from amcc.serve.views import Receipt

CHANGES = {
    "UPDATE account SET due = due + 1, budget = budget + 1": "account.budget",
    "UPDATE account SET head = 'x'": "ledger row",
    "UPDATE votes SET value = -value WHERE id = 2": "votes row 2",
    "UPDATE votes SET label_id = 0 WHERE id = 1": "votes row 1",
    "UPDATE votes SET kind = 'check' WHERE id = 1": "votes row 1",
    "DELETE FROM votes WHERE id = 1": "votes row 1",
    "DELETE FROM votes WHERE id = (SELECT max(id) FROM votes)": "votes row",
    "DELETE FROM skips": "questions row 2",
    "UPDATE workers SET earned = earned + 1 WHERE id = 0": "workers row 0",
    "UPDATE questions SET state = 'released' WHERE number = 0": "questions row 0",
    "UPDATE questions SET price = 1 WHERE number = 0": "questions row 0",
    "UPDATE questions SET fee = 2 WHERE number = 0": "questions row 0",
    "UPDATE questions SET fee = 1 WHERE number = 1": "questions row 1",
    "UPDATE leases SET page_price = 9 WHERE id = 1": "leases row 1",
    "UPDATE leases SET item_id = 0 WHERE id = (SELECT max(id) FROM leases)": "leases row",
    "UPDATE leases SET state = 'expired' WHERE id = 1": "leases row 1",
    "UPDATE votes SET at = at + 1 WHERE id = 2": "votes row 2",
    "UPDATE skips SET at = at - 1": "skips row 0",
    "UPDATE workers SET n_pages = n_pages + 1 WHERE id = 2": "workers row 2",
    "UPDATE workers SET n_answers = 0 WHERE id = 1": "workers row 1",
    "DELETE FROM ledger WHERE seq = 2": "ledger row 2",
    "DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)": "ledger row",
}


@pytest.fixture(scope="module")
def worked(tmp_path_factory):
    """A campaign with answers, a skip, an open page and a payment."""
    with opened(tmp_path_factory.mktemp("worked")) as service:
        page = page_of(service, 0)
        service.answer(0, page.lease_id, {0: "yes", 1: "no", 2: "skip"})
        for worker in (1, 2, 1):
            work(service, worker, "no")
        service.pay(actor="test")
        work(service, 0)
        page_of(service, 2)
        service.backup(service.folder.parent / "backup.zip")
        yield service


@pytest.fixture
def copy(worked, tmp_path):
    with Service.open(restore(worked.folder.parent / "backup.zip", tmp_path / "copy"), clock=worked.clock) as service:
        yield service


@pytest.mark.parametrize("change", CHANGES)
def test_changes_show(copy, change):
    assert copy.verify() == []
    with sqlite3.connect(copy.folder / "campaign.db") as database:
        assert database.execute(change).rowcount
    database.close()
    found = copy.verify()
    assert found and found[0].where.startswith(CHANGES[change])


def test_any_byte_of_the_ledger(copy):
    rng = random.Random(7)
    path = copy.folder / "campaign.db"
    database = sqlite3.connect(path)
    rows = database.execute("SELECT seq, line FROM ledger").fetchall()
    for _ in range(60):
        seq, line = rng.choice(rows)
        place, bit = rng.randrange(len(line)), 1 << rng.randrange(8)
        changed = line[:place] + bytes([line[place] ^ bit]) + line[place + 1 :]
        with database:
            database.execute("UPDATE ledger SET line = ? WHERE seq = ?", (changed, seq))
        # The hash of a row is also what the next one follows on: a change of it shows in either.
        assert copy.verify()[0].where in (f"ledger row {seq}", f"ledger row {seq + 1}")
        with database:
            database.execute("UPDATE ledger SET line = ? WHERE seq = ?", (line, seq))
    database.close()
    assert copy.verify() == []


def test_any_byte_of_the_file(copy, tmp_path):
    """Whatever byte it is: no crash; and where the ledger or a vote is another one now, it is said."""
    rng, path = random.Random(3), copy.folder / "campaign.db"
    copy.close()
    whole, before, named = path.read_bytes(), rows_of(path), 0
    used = [place for place, byte in enumerate(whole) if byte]  # most of a small file is empty
    for place in rng.sample(used, 80):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :])
        now = rows_of(path)
        try:
            with Service.open(copy.folder, clock=copy.clock) as service:
                found = [each.where for each in service.verify()]
        except StoreError as error:
            found = [str(error)]
            assert "damaged" in found[0] or "cannot be used" in found[0] or "must " in found[0]
        assert found or now == before
        named += now is not None and now != before
        for left in path.parent.glob("campaign.db-*"):
            left.unlink()
    assert named > 3  # or this would say nothing


def rows_of(path):
    """The ledger and the votes in a file; None where SQLite cannot read it."""
    database = sqlite3.connect(path)
    try:
        return [database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in ("ledger", "votes")]
    except (sqlite3.Error, UnicodeDecodeError):
        return None
    finally:
        database.close()


def test_the_ledger_is_that_of_amcc_next(copy, tmp_path):
    """Its lines, in a file, are an account that `amcc pay` reads."""
    with copy._core.database.read() as connection:
        lines = [row.line for row in connection.execute(ledger.select().order_by(ledger.c.seq))]
    (tmp_path / "money.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    with Account.open(tmp_path / "money.jsonl") as account:
        assert account.balance == copy.balance
        assert account.head == copy.status().head
        earned = {each.worker: (each.earned, each.paid) for each in account.workers()}
    assert earned == {each.name: (each.earned, each.paid) for each in copy.status().workers}


@pytest.mark.parametrize("into", ["sqlite", "postgres"])
def test_a_backup_restores_to_the_same(worked, tmp_path, database_url, into, request):
    """From both databases, into both."""
    url = request.getfixturevalue("postgres_url") if into == "postgres" else None
    first = restore(worked.folder.parent / "backup.zip", tmp_path / "first", database=database_url)
    with Service.open(first, clock=worked.clock) as service:
        service.backup(tmp_path / "second.zip")
        with pytest.raises(InputError, match="is there already"):
            service.backup(tmp_path / "second.zip")
    if database_url and url:
        url = request.getfixturevalue("postgres_cluster").database()
    with Service.open(restore(tmp_path / "second.zip", tmp_path / "again", database=url), clock=worked.clock) as again:
        assert again.verify() == []
        assert again.status().head == worked.status().head
        assert again.votes_table() == worked.votes_table()
        assert again.balance == worked.balance
        for service in (worked, again):
            service.export_consensus(tmp_path / f"{service.folder.name}.csv")
        assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "pets.csv").read_bytes()
        assert again.check_password("not a secret") and not again.check_password("another one")
        assert work(again, 1)  # and it goes on


def test_a_backup_while_many_answer(tmp_path, database_url):
    """It holds one moment: whatever was written meanwhile is in it whole, or not at all."""
    folder = new(tmp_path, database_url, n_items=60, budget="50.00")
    over = threading.Event()
    with Service.open(folder, server=True, learn=False) as service, ThreadPoolExecutor(4) as pool:
        service.invite([f"person {n}" for n in range(4)], actor="test")

        def answer(worker):
            while not over.is_set() and isinstance(work(service, worker), Receipt):
                pass

        workers = [pool.submit(answer, worker) for worker in range(4)]
        try:
            while service.status().n_votes < 20:
                time.sleep(0.01)
            with Service.open(folder) as beside:  # as `amcc campaign backup` does
                copies = [beside.backup(tmp_path / f"{n}.backup") for n in range(3)]
        finally:
            over.set()
        for each in workers:
            each.result()
        after = service.votes_table()
    for n, path in enumerate(copies):
        with Service.open(restore(path, tmp_path / f"copy {n}")) as copy:
            assert copy.verify() == []
            votes = copy.votes_table()
            assert 20 <= len(votes) <= len(after) and votes == after.slice(0, len(votes))


def test_what_is_no_backup(worked, tmp_path):
    (tmp_path / "text.zip").write_text("no backup")
    with pytest.raises(FileFormatError, match="must be a backup"):
        restore(tmp_path / "text.zip", tmp_path / "folder")
    whole = (worked.folder.parent / "backup.zip").read_bytes()
    (tmp_path / "half.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError, match="must be a backup"):
        restore(tmp_path / "half.zip", tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="is there already"):
        restore(worked.folder.parent / "backup.zip", tmp_path / "there")
