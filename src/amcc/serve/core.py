"""What all parts of an open campaign share: database, settings, labels, beliefs; and how they are kept up to date."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import Connection, select

from amcc.active.prices import major_units
from amcc.errors import ParameterError, StoreError
from amcc.serve.folders import Folder
from amcc.serve.learned import load_learned, newest_version
from amcc.serve.leasing import Terms
from amcc.serve.live import Live
from amcc.serve.money import Till
from amcc.serve.settings import Settings
from amcc.serve.store import versions
from amcc.serve.store.database import Database, ServerLock
from amcc.serve.store.schema import campaign, labels
from amcc.serve.views import QuestionView

Clock = Callable[[], float]


class Core:
    """An open campaign. `settings`, `views` and `live` are as of the last look at the database, see `look`."""

    def __init__(self, folder: str | Path, *, server: bool, clock: Clock = time.time) -> None:
        self.folder: Folder = Folder.read(folder)
        self.clock = clock
        self.database: Database = Database(self.folder.database)
        self._lock: ServerLock | None = None
        self._guard = threading.Lock()
        self._live: Live | None = None
        self.terms: Terms = None  # type: ignore[assignment]  # `look` sets it, before anybody can ask
        try:
            if self.database.is_sqlite and not Path(self.folder.path, "campaign.db").exists():
                raise StoreError(f"{self.folder.path} has no database any more. Take it from a backup.")
            if server and self.database.is_sqlite:
                self._lock = ServerLock(self.folder.lock)
            versions.bring_up_to_date(self.database)
            with self.database.read() as connection:
                self.look(connection)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the database and the lock."""
        self.database.close()
        if self._lock is not None:
            self._lock.close()

    def look(self, connection: Connection) -> Till:
        """The account as it is now; settings and labels are read again where somebody has changed them."""
        till = Till.look(connection)
        if self.terms is None or till.revision != self.terms.revision:
            row = connection.execute(select(campaign)).one()
            found = connection.execute(select(labels).order_by(labels.c.id)).all()
            settings = _settings_in(row.settings)
            views = tuple(QuestionView(each.id, each.name, each.question, each.help) for each in found)
            self.password: str = str(row.password)
            self.password_version: int = int(row.password_version)
            self.terms = Terms(settings, views, till.revision)  # all at once: threads must not see half of a change
        return till

    @property
    def settings(self) -> Settings:
        """What the requester set."""
        return self.terms.settings

    @property
    def views(self) -> Sequence[QuestionView]:
        """All labels."""
        return self.terms.views

    def live(self, connection: Connection) -> Live:
        """The beliefs, made when they are first asked for."""
        with self._guard:
            if self._live is None:
                till, learned = Till.look(connection), load_learned(connection, len(self.views))
                live = Live(till.n_items, len(self.views), learned)
                live.begin(connection)
                self._live = live
        return self._live

    @property
    def live_now(self) -> Live | None:
        """The beliefs, if anybody has asked for them yet."""
        return self._live

    def take_new_beliefs(self) -> bool:
        """Take over the newest fit, also of another process; gives whether there was one."""
        with self.database.read() as connection:
            live = self.live(connection)
            if newest_version(connection) <= live.believed.learned.version:
                return False
            learned = load_learned(connection, len(self.views))
        live.learn(learned)
        return True

    def text(self, units: int) -> str:
        """Minor units as a person writes them."""
        return major_units(units, self.settings.decimals)


def _settings_in(stored: str) -> Settings:
    """Settings as they are stored; StoreError where these cannot be ours."""
    try:
        return Settings.from_json(json.loads(stored))
    except (ValueError, TypeError, AttributeError, ParameterError) as error:
        raise StoreError(
            f"the settings of the campaign are damaged ({type(error).__name__}). Take it from a backup: amcc campaign "
            "restore."
        ) from None
