"""Backup and restore: a whole campaign in one file, also while it is served, between SQLite and PostgreSQL.

The file is a ZIP with an SQLite database of the same tables, the secret, and a line about it. It holds who people are
and what links are signed with, so only its owner can read it.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from amcc.errors import FileFormatError, InputError, StoreError
from amcc.files import check_is_file, whole_file, written_to
from amcc.serve.checking import refuse_problems, verify
from amcc.serve.core import Core
from amcc.serve.folders import FORMAT, SECRET_BYTES, SQLITE
from amcc.serve.making import make_whole
from amcc.serve.money import Till
from amcc.serve.store import versions
from amcc.serve.store.database import Database, sqlite_url
from amcc.serve.store.schema import metadata

# Rows that are copied at once.
BATCH = 5000

# Bytes of a backup's small parts, at most: nobody's secret is a megabyte.
SMALL = 1 << 20


def backup(core: Core, path: str | Path) -> Path:
    """Write the campaign, as it is at one moment, to one file."""
    path = Path(path)
    if path.exists():
        raise InputError(f"{path} is there already. Name a new file: an old backup is not overwritten.")
    with tempfile.TemporaryDirectory(prefix="amcc-backup-") as folder:
        copy = Path(folder) / SQLITE
        if core.database.is_sqlite:
            _online_copy(Path(core.database.url.removeprefix("sqlite:///")), copy)
        else:
            _portable_copy(core.database, copy)
        media = core.folder.media
        about = {"format": FORMAT, "name": core.settings.name, "media": str(media) if media else None}
        with whole_file(path) as temporary, written_to(path):
            temporary.chmod(0o600)
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file:
                file.writestr("about.json", json.dumps(about))
                file.writestr("secret.key", core.folder.secret.hex())
                file.write(copy, SQLITE)
    return path


def _online_copy(source: Path, target: Path) -> None:
    """SQLite's own way to copy a database that others write to."""
    with written_to(target):
        try:
            old, new = sqlite3.connect(source), sqlite3.connect(target)
            try:
                old.backup(new)
            finally:
                old.close()
                new.close()
        except sqlite3.Error as error:
            raise StoreError(f"{source} cannot be copied: {error}.") from None


def _portable_copy(database: Database, target: Path) -> None:
    """All tables of one moment, as an SQLite file."""
    copy = Database(sqlite_url(target))
    try:
        with database.read(snapshot=True) as source:

            def fill(connection: Connection) -> None:
                versions.upgrade(connection)
                copy_tables(source, connection)

            copy.write(fill)
    finally:
        copy.close()


def copy_tables(source: Connection, target: Connection) -> None:
    """Copy all rows, tables in the order in which they refer to each other."""
    for table in metadata.sorted_tables:
        rows = source.execution_options(yield_per=BATCH).execute(select(table)).mappings()
        for some in _batches(rows):
            target.execute(insert(table), some)


def _batches(rows: Any) -> Iterator[list[dict[str, Any]]]:
    for part in rows.partitions(BATCH):
        yield [dict(row) for row in part]


def restore(path: str | Path, folder: str | Path, *, database: str | None = None) -> Path:
    """Make a folder from a backup: the same ledger, votes and settings; links and passwords go on working.

    database : URL of an empty PostgreSQL database to restore into; None for SQLite.
    """
    path, folder = Path(path), Path(folder)
    check_is_file(path, "a backup")
    if folder.exists():
        raise InputError(f"{folder} is there already. Choose another name, or remove it.")
    with tempfile.TemporaryDirectory(prefix="amcc-restore-") as unpacked:
        about, secret = _unpacked(path, Path(unpacked))
        old = Database(sqlite_url(Path(unpacked) / SQLITE))
        try:
            versions.bring_up_to_date(old)
            with old.read(snapshot=True) as source:
                refuse_problems(verify(source, is_sqlite=True))
                head = Till.look(source).head

                def fill(connection: Connection) -> None:
                    versions.upgrade(connection)
                    copy_tables(source, connection)
                    if Till.look(connection).head != head:
                        raise StoreError("the ledger must be the same after restoring; it is not. Nothing was made.")

                media = Path(about["media"]) if about.get("media") else None
                make_whole(folder, database, media, fill, secret)
        finally:
            old.close()
    return folder


def _unpacked(path: Path, folder: Path) -> tuple[dict[str, Any], bytes]:
    """Unpack a backup: what is said about it, and the secret; the database is in the folder."""
    wrong = FileFormatError(f"{path} must be a backup that amcc campaign backup wrote; it is damaged, or is none.")
    try:
        with zipfile.ZipFile(path) as file:
            if any(file.getinfo(name).file_size > SMALL for name in ("about.json", "secret.key")):
                raise wrong
            about = json.loads(file.read("about.json"))
            secret = bytes.fromhex(file.read("secret.key").decode("ascii"))
            with written_to(folder):
                file.extract(SQLITE, folder)
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError):
        raise wrong from None
    if not isinstance(about, dict) or about.get("format") != FORMAT or len(secret) < SECRET_BYTES:
        raise wrong
    return about, secret


def wipe(database: Database) -> None:
    """Write what was deleted out of SQLite's journal, too: what is forgotten must not be found there."""
    connection = database.engine.raw_connection()  # outside of transactions, where alone this works
    try:
        connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
