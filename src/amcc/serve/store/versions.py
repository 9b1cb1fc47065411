"""Which version a database has, and the one path from each version to the newest (Alembic, `migrations/`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text

from amcc.errors import StoreError
from amcc.serve.store.database import Database

FOLDER = Path(__file__).parent / "migrations"

# The newest revision; a test compares it with the files in `migrations/versions`.
HEAD = "0002"


def upgrade(connection: Connection, revision: str = HEAD) -> None:
    """Bring the tables to a revision, in the connection's transaction."""
    from alembic import command  # a third of a second, which opening an up-to-date database need not wait for
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def revision_of(connection: Connection) -> str | None:
    """The revision of the tables; None where there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: Any = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def bring_up_to_date(database: Database) -> None:
    """Upgrade an older database; StoreError where it is of a newer amcc, or no campaign's."""
    with database.read() as connection:
        found = revision_of(connection)
    if found == HEAD:
        return
    if found is None:
        raise StoreError("the database must hold a campaign; it has no tables of one. Check the URL or the folder.")
    known = {path.name.split("_")[0] for path in (FOLDER / "versions").glob("[0-9]*.py")}
    if found not in known:
        raise StoreError(
            f"the database must be of a version that this amcc knows, up to {HEAD}; it is of {found}. Install the "
            "newer amcc that made it."
        )
    database.write(upgrade)
