"""`amcc campaign new`: a folder with a database, from files; whole, or not there at all."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from amcc.active.prices import budget_units, major_units, minor_units
from amcc.errors import InputError
from amcc.files import make_folder, written_to
from amcc.serve.folders import SQLITE, write_folder
from amcc.serve.money import Till
from amcc.serve.passwords import hashed
from amcc.serve.people import INVITED, add_worker, refuse_free
from amcc.serve.reading import Row, read_items, read_known, read_labels, read_workers
from amcc.serve.settings import Settings
from amcc.serve.store import versions
from amcc.serve.store.database import Database, sqlite_url
from amcc.serve.store.schema import campaign, items, labels, truth

Clock = Callable[[], float]


def new_campaign(
    folder: str | Path, *, items: str | Path, labels: str | Path, budget: Any, decimals: int = 2, currency: str = "",
    price: Any, page_price: Any = 0, workers: str | Path | None = None, truth: Sequence[str | Path] = (),
    password: str, database: str | None = None, clock: Clock = time.time, **settings: Any,
) -> Path:  # fmt: skip
    """Make a campaign's folder from files, whole or not at all; gives the folder.

    database : URL of a PostgreSQL database that is empty; None for an SQLite file in the folder.
    settings : others of `Settings` (title, instructions, most_labels, …).
    """
    folder = Path(folder)
    money = budget_units(budget, decimals)
    prices = minor_units(price, decimals, "the price"), minor_units(page_price, decimals, "the page price")
    refuse_free(*prices, "the campaign")
    item_rows, media = read_items(items)
    label_rows = read_labels(labels)
    known = read_known(truth, *([row["name"] for row in rows] for rows in (item_rows, label_rows)))
    people = [] if workers is None else read_workers(workers, decimals)
    given = Settings(
        name=folder.name, decimals=decimals, currency=currency, vote_price=prices[0], page_price=prices[1],
        **{"title": folder.name, **settings},
    )  # fmt: skip
    if sum(prices) > money:
        text = (major_units(units, decimals) for units in (sum(prices), money))
        raise InputError(f"the budget must pay for at least one answer, {next(text)}; got {next(text)}.")
    given.refuse_small_cap(money)
    secret_hash = hashed(password)

    def fill(connection: Connection) -> None:
        versions.upgrade(connection)
        now = clock()
        _fill(connection, item_rows, label_rows, known)
        row = {"id": 1, "settings": json.dumps(given.as_json()), "password": secret_hash, "made_at": now}
        connection.execute(campaign.insert(), row)
        till = Till.begin(connection, money, decimals)
        till.n_items, till.n_truth = len(item_rows), len(known)
        for each in people:
            rest = {name: each[name] for name in ("kind", "family", "vote_price", "page_price")}
            add_worker(till, platform=INVITED, external=each["worker"], now=now, **rest)
        till.log(now, "requester", "new", items=len(item_rows), labels=len(label_rows), budget=money)
        till.close()

    make_whole(folder, database, media, fill)
    return folder


def _fill(connection: Connection, item_rows: list[Row], label_rows: list[Row], known: Sequence[Sequence[Any]]) -> None:
    connection.execute(items.insert(), [{"id": place, **row} for place, row in enumerate(item_rows)])
    connection.execute(labels.insert(), [{"id": place, **row} for place, row in enumerate(label_rows)])
    if known:
        rows = [{"item_id": item, "label_id": label, "present": present, "source": "given", "serial": place}
                for place, (item, label, present) in enumerate(known)]  # fmt: skip
        connection.execute(truth.insert(), rows)


def make_whole(
    folder: Path, url: str | None, media: Path | None, fill: Callable[[Connection], None], secret: bytes | None = None
) -> None:
    """Make a campaign's folder with a database that `fill` fills; where anything goes wrong, there is neither."""
    if folder.exists():
        raise InputError(f"{folder} is there already. Choose another name, or remove it.")
    make_folder(folder.resolve().parent)
    part = folder.with_name(f".part-{secrets.token_hex(4)}-{folder.name}")
    try:
        with written_to(folder):
            part.mkdir(mode=0o700)  # only for its owner: it holds a secret, and who people are
            write_folder(part, database=url, media=media, secret=secret)
        database = Database(url or sqlite_url((part / SQLITE).resolve()))
        try:
            if url is not None:
                _refuse_filled(database)
            database.write(fill)
        finally:
            database.close()
        with written_to(folder):
            part.rename(folder)
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(part)
        raise


def _refuse_filled(database: Database) -> None:
    """Raise InputError unless a database of PostgreSQL is empty."""
    with database.read() as connection:
        if versions.revision_of(connection) is not None:
            raise InputError("the database must be empty; it holds a campaign already. Make a new database.")
