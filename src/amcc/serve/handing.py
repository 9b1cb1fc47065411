"""Handing out pages: choose without a lock, lease in a transaction, and choose again where somebody was faster."""

from __future__ import annotations

import time
from collections.abc import Mapping

from sqlalchemy import Connection

from amcc.errors import NotFoundError
from amcc.serve import answering, leasing
from amcc.serve.core import Core
from amcc.serve.leasing import Proposal, StaleError, Taken
from amcc.serve.money import Till
from amcc.serve.views import NoWork, Progress, Receipt, WorkPage

# Times that a page is chosen again because another server was faster, or the settings changed meanwhile. One server
# never chooses the same for two; of two servers each knows what the other has handed out a quarter of a second ago.
TRIES = 20

# Seconds for which a server on PostgreSQL believes what it knows about the pages that other servers have handed out.
FRESH = 0.25


class Desk:
    """Where workers of one server get their pages."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._leases_read = time.monotonic()

    def next_page(self, worker_id: int, key: str | None = None) -> WorkPage | NoWork:
        """See `Service.next_page`."""
        avoid: list[tuple[int, int]] = []
        expired = False
        for _ in range(TRIES):
            chosen = self._choose(worker_id, avoid, key)
            found = self._lease(chosen, worker_id, avoid, key) if isinstance(chosen, Proposal) else chosen
            if isinstance(found, WorkPage):
                return found
            if isinstance(found, NoWork):
                if found.reason in ("money", "nothing") and not expired and self.expire():
                    expired = True  # money came back, or questions did
                    continue
                return self._with_done(found, worker_id)
        return self._with_done(NoWork("nothing"), worker_id)

    def _choose(self, worker_id: int, avoid: list[tuple[int, int]], key: str | None) -> Proposal | WorkPage | NoWork:
        """The open page again, the page that is worth most, or why there is none."""
        core, now = self._core, self._core.clock()
        with core.database.read() as connection:
            till = core.look(connection)
            worker = leasing.worker_row(connection, worker_id)
            if worker is None:
                raise NotFoundError("there is no such worker.")
            if worker["state"] != "active":
                return NoWork("blocked")
            before = leasing.page_of_key(till, worker_id, key, core.views)
            if before is not None:
                return before
            current = leasing.open_lease(connection, worker_id)
            if current is not None and current["expires_at"] > now:
                if key is None:
                    return leasing.page_of(connection, current, core.views, again=True)
                core.live(connection)
                return Proposal(current["item_id"], (), current["kind"])  # given again with the key, in a transaction
            if leasing.has_all_pages(worker, core.settings):  # before the state: whoever is done gets their code
                return NoWork("pages")
            if core.settings.state != "running":
                return NoWork(core.settings.state)
            price, fee = leasing.prices_of(worker, core.settings)
            if till.left < price + fee:
                return NoWork("money")
            found = self._propose(connection, till, worker_id, (price, fee), avoid)
        return found if found is not None else NoWork("nothing")

    def _propose(
        self, connection: Connection, till: Till, worker_id: int, prices: tuple[int, int],
        avoid: list[tuple[int, int]],
    ) -> Proposal | None:  # fmt: skip
        core, settings = self._core, self._core.settings
        live = core.live(connection)
        live.catch_up(connection, till)
        alone = core.database.is_sqlite  # one server: it knows its own pages
        if avoid or (not alone and time.monotonic() - self._leases_read > FRESH):
            self._leases_read = time.monotonic()
            live.read_leases(connection)
        return live.propose(
            connection, worker_id, vote_price=prices[0], page_price=prices[1], most_labels=settings.most_labels,
            audit=settings.audit_share, check=settings.check_share, most_open=settings.open_leases_per_pair,
            avoid=avoid,
        )  # fmt: skip

    def _lease(
        self, proposal: Proposal, worker_id: int, avoid: list[tuple[int, int]], key: str | None
    ) -> WorkPage | NoWork | None:
        """Lease the page; None where it has to be chosen again."""
        core, now = self._core, self._core.clock()
        terms, live = core.terms, core.live_now
        assert live is not None  # it has just made the proposal
        try:
            found = core.database.write(
                lambda connection: leasing.lease(connection, proposal, worker_id, terms, now, key)
            )
        except StaleError:
            live.note_refused(worker_id)
            return None
        except BaseException:
            live.note_refused(worker_id)
            raise
        if isinstance(found, WorkPage):
            live.note_lease(worker_id, found.item.id, [each.label_id for each in found.questions])
            return found
        live.note_refused(worker_id)
        if isinstance(found, Taken):
            avoid += [(found.item, label) for label in found.labels]
            return None
        return found

    def _with_done(self, found: NoWork, worker_id: int) -> NoWork:
        """Say whether they have worked before: then it is the end, and not a closed door."""
        with self._core.database.read() as connection:
            worker = leasing.worker_row(connection, worker_id)
        return NoWork(found.reason, done=worker is not None and worker["n_pages"] > 0)

    def prepare(self) -> None:
        """Read all that is needed to choose, so that the first worker need not wait for it."""
        with self._core.database.read() as connection:
            self._core.live(connection)

    def answer(self, worker_id: int, lease_id: int, given: Mapping[int, str], key: str | None = None) -> Receipt:
        """See `Service.answer`."""
        core, now = self._core, self._core.clock()

        def work(connection: Connection) -> tuple[Receipt, bool]:
            core.look(connection)
            return answering.answer(connection, worker_id, lease_id, given, core.settings, now, key)

        receipt, ended = core.database.write(work)
        if core.live_now is not None and ended:
            core.live_now.note_end(worker_id)
        return receipt

    def progress(self, worker_id: int) -> Progress:
        """See `Service.progress`. The code is shown to who has worked, when nothing is left or the campaign ended."""
        core = self._core
        with core.database.read() as connection:
            core.look(connection)
            worker = leasing.worker_row(connection, worker_id)
            if worker is None:
                raise NotFoundError("there is no such worker.")
            done = worker["n_pages"] > 0 and leasing.open_lease(connection, worker_id) is None
        shown = (core.settings.completion_code or None, core.settings.completion_url or None) if done else (None, None)
        return Progress(worker["n_pages"], worker["n_answers"], worker["n_skips"], worker["earned"], worker["paid"],
                        *shown, most_pages=core.settings.pages_per_worker)  # fmt: skip

    def open_page(self, worker_id: int) -> WorkPage | None:
        """See `Service.open_page`."""
        with self._core.database.read() as connection:
            self._core.look(connection)
            lease = leasing.open_lease(connection, worker_id)
            if lease is None or lease["expires_at"] <= self._core.clock():
                return None
            return leasing.page_of(connection, lease, self._core.views, again=True)

    def expire(self) -> int:
        """See `Service.expire`."""
        core, total = self._core, 0
        while True:
            with core.database.read() as connection:
                if not leasing.is_overdue(connection, core.clock()):
                    break
            total += core.database.write(lambda connection: leasing.expire_overdue(connection, core.clock()))
        if total and core.live_now is not None:
            with core.database.read() as connection:
                core.live_now.read_leases(connection)
        return total
