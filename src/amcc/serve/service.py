"""`Service`: a live campaign as one object, which the web pages, the API, the command line and the tests use.

    with Service.open("pets", server=True) as service:
        page = service.next_page(worker_id)                      # a lease: money is reserved
        service.answer(worker_id, page.lease_id, {0: "yes", 1: "skip"})   # answers, ledger and money in one transaction

Each method is one step that happens whole or not at all, whatever is killed when. The work is done by the modules
beside this one (`amcc.serve`); here is only what is asked of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from amcc.active.bookkeeping import Balance
from amcc.active.prices import minor_units
from amcc.errors import NotFoundError, StoreError
from amcc.serve import changing, checking, exporting, keeping, leasing, postman, reports, webhooks
from amcc.serve.addresses import Outcome, Target
from amcc.serve.answering import give_back, labels_asked
from amcc.serve.core import Clock, Core
from amcc.serve.handing import Desk
from amcc.serve.keeping import restore
from amcc.serve.learner import Learner
from amcc.serve.making import new_campaign
from amcc.serve.money import Till
from amcc.serve.passwords import is_right
from amcc.serve.people import (
    block,
    by_id,
    by_platform,
    by_token,
    checked_names,
    external_of,
    find_identity,
    forget,
    info,
    invite,
    invited_before,
    revoke,
    unblock,
)  # fmt: skip
from amcc.serve.reading import read_workers
from amcc.serve.settings import Settings
from amcc.serve.views import (
    Answer,
    History,
    ItemView,
    Link,
    LogEntry,
    NoWork,
    Payment,
    Problem,
    Progress,
    QuestionView,
    Receipt,
    Status,
    WebhookView,
    WorkerInfo,
    WorkPage,
)  # fmt: skip

__all__ = ["LINK_SECONDS", "Service", "new_campaign", "restore"]

Result = TypeVar("Result")

# Seconds after which Python lets another thread go on. A page gives way some forty times, to the database mostly; with
# Python's own 5 ms each of these could wait as long for a thread that counts pairs.
SWITCH = 0.0005

# A month: longer than most studies, and a link that was leaked dies.
LINK_SECONDS = 30 * 86400


class Service:
    """A campaign that is open. Threads may share it; processes open one each (with SQLite: one *server* at a time).

    Attributes
    ----------
    folder : the campaign's folder. secret : random bytes of this campaign, to sign cookies with.
    clock : what time it is, in seconds since 1970.
    """

    def __init__(self, folder: str | Path, *, server: bool, clock: Clock, learn: bool) -> None:
        self._core = Core(folder, server=server, clock=clock)
        self.folder: Path = self._core.folder.path
        self.secret: bytes = self._core.folder.secret
        self.clock: Clock = clock
        self._desk = Desk(self._core)
        self._learner: Learner | None = None
        self._postman: postman.Postman | None = None
        if server:
            sys.setswitchinterval(SWITCH)
            try:
                self._desk.prepare()
            except BaseException:
                self._core.close()
                raise
            self._learner = Learner(self._core, self._desk, fits=learn)
            self._learner.start()
            self._postman = postman.Postman(self._core)
            self._postman.start()

    def _look(self) -> Till:
        """The account now; settings are read again where they changed."""
        return self._read(self._core.look)

    def _read(self, work: Callable[..., Result], *given: Any) -> Result:
        with self._core.database.read() as connection:
            return work(connection, *given)

    def _write(self, work: Callable[..., Result], *given: Any) -> Result:
        """Run a function in a transaction: it is on the disk when this returns."""
        return self._core.database.write(lambda connection: work(connection, *given))

    def _ended(self, worker_id: int, *, returned: bool = False) -> None:
        if self._core.live_now is not None:
            self._core.live_now.note_end(worker_id, returned=returned)

    # -- opening -------------------------------------------------------------------------------------------------

    @classmethod
    def open(cls, folder: str | Path, *, server: bool = False, clock: Clock = time.time, learn: bool = True) -> Service:
        """Open the campaign in a folder.

        server : serve workers: takes the lock of an SQLite file (StoreError where another server has it) and starts
            the learner. Commands beside a running server open without it.
        learn : whether a server fits the model again in a process of its own; tests may switch it off.
        """
        return cls(folder, server=server, clock=clock, learn=learn)

    def close(self) -> None:
        """Stop the learner and the postman, let go of the database and its lock."""
        if self._postman is not None:
            self._postman.stop()
        if self._learner is not None:
            self._learner.stop()
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- settings ------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """What holds now, also where another process changed it."""
        self._look()
        return self._core.settings

    @property
    def media(self) -> Path | None:
        """The folder whose files images and audio are served from; None where items have none."""
        return self._core.folder.media

    @property
    def balance(self) -> Balance:
        """Where the money is: budget = paid + due + reserved + left."""
        return self._look().balance

    def text(self, units: int) -> str:
        """Minor units as a person writes them, without the currency: 1205 → "12.05"."""
        return self._core.text(units)

    def units(self, amount: Any, what: str = "an amount") -> int:
        """An amount as a person writes it, in minor units; InputError where it is none ("0.001" with two decimals)."""
        return minor_units(amount, self._core.settings.decimals, what)

    def change(self, *, actor: str, reason: str = "", **settings: Any) -> Settings:
        """Change settings (see `Settings`; CHANGEABLE names those that can). Open pages keep their old price."""
        self._write(changing.change, settings, actor, reason, self.clock())
        return self.settings

    def pause(self, actor: str, reason: str = "") -> None:
        """Hand out no more pages; open ones can still be answered."""
        self.change(actor=actor, reason=reason, state="paused")

    def resume(self, actor: str, reason: str = "") -> None:
        """Hand out pages again."""
        self.change(actor=actor, reason=reason, state="running")

    def end(self, actor: str, reason: str = "") -> None:
        """Hand out no more pages, for good unless somebody resumes it; workers see the end page with the code."""
        self.change(actor=actor, reason=reason, state="ended")

    def add_budget(self, amount: Any, *, actor: str, key: str | None = None) -> Balance:
        """More money ("50.00"), or less ("-20"); InputError where less would be left than is reserved, due and paid.

        key : of this request: the same key a second time changes nothing.
        """
        return self._write(changing.add_budget, amount, actor, key, self.clock())

    def set_price(
        self, *, worker: str | None = None, vote_price: Any = None, page_price: Any = None, actor: str
    ) -> None:
        """Another price for new pages, of one worker (pseudonym) or of everybody without a price of their own."""
        self._write(changing.set_price, worker, vote_price, page_price, actor, self.clock())

    def add_items(self, path: str | Path, *, actor: str) -> int:
        """Append the items of a file (as for `campaign new`), all or none; gives their number."""
        return self._write(changing.add_items, path, self.media, actor, self.clock())

    def change_labels(self, path: str | Path, *, actor: str) -> int:
        """Other questions and helps for the same labels; InputError where a label was renamed, added or left out."""
        return self._write(changing.change_labels, path, actor, self.clock())

    def labels(self) -> tuple[QuestionView, ...]:
        """All labels with their questions."""
        self._look()
        return tuple(self._core.views)

    def item(self, item_id: int) -> ItemView:
        """One item; NotFoundError where there is none."""
        with self._core.database.read() as connection:
            return leasing.item_view(connection, item_id)

    def media_file(self, item_id: int) -> Path:
        """The file of an item that is an image or audio; NotFoundError for all others: nothing else is to be served."""
        view = self.item(item_id)
        if self.media is None or view.kind not in ("image", "audio"):
            raise NotFoundError("this item has no file.")
        file = (self.media / view.content).resolve()
        if not file.is_relative_to(self.media) or not file.is_file():
            raise NotFoundError("the file of this item is not there.")
        return file

    # -- workers -------------------------------------------------------------------------------------------------

    def invite(
        self, names: Iterable[str] | None = None, *, path: str | Path | None = None, kind: str = "human",
        family: str = "", seconds: float = LINK_SECONDS, actor: str,
    ) -> list[Link]:  # fmt: skip
        """One signed link for each name (or row of a workers file: worker, kind, family, price, page_price).

        Without names and file: for all who were invited before, or stood in the workers file of `campaign new`.

        Who was invited before keeps their pseudonym and gets a new link; older links of theirs end.
        """
        people = [{"worker": name, "kind": kind, "family": family, "vote_price": None, "page_price": None}
                  for name in checked_names(names or ())]  # fmt: skip
        if path is not None:
            people += read_workers(path, self.settings.decimals)
        if not people and names is None:
            people = self._read(invited_before)
        now = self.clock()
        return self._write(invite, people, self.secret, now, now + seconds, actor)

    def revoke(self, worker: str, *, actor: str) -> None:
        """All links of this worker (pseudonym) end now."""
        self._write(revoke, worker, actor, self.clock())

    def worker_by_token(self, token: str) -> WorkerInfo:
        """Who has this link; LinkError with reason expired, revoked or forged."""
        with self._core.database.read() as connection:
            self._core.look(connection)
            return info(by_token(connection, self.secret, token, self.clock()), self._core.settings)

    def worker_by_platform(self, params: Mapping[str, str]) -> WorkerInfo:
        """Who comes from the platform with these parameters of the address; a new worker where they are new.

        LinkError (forged) where the campaign takes nobody from a platform, or the parameter is missing or odd;
        RefusedError (full) where too many have come.
        """
        platform, external = external_of(params, self.settings)
        number = self._read(find_identity, platform, external)
        if number is None:
            number = self._write(by_platform, params, self._core.settings, self.clock())
        return self.worker(number)

    def worker(self, worker_id: int) -> WorkerInfo:
        """A worker by number (as kept in a session); NotFoundError where there is none."""
        with self._core.database.read() as connection:
            self._core.look(connection)
            return by_id(connection, worker_id, self._core.settings)

    def block(self, worker: str, reason: str, actor: str) -> None:
        """No more pages for this worker (pseudonym). Their answers stay, and count for what they are worth."""
        self._ended(self._write(block, worker, reason, actor, self.clock()))

    def unblock(self, worker: str, actor: str, reason: str = "") -> None:
        """Pages for this worker again."""
        self._write(unblock, worker, reason, actor, self.clock())

    def forget(self, worker: str, actor: str) -> None:
        """Delete who this worker is: identity and links. Answers, money and the ledger stay, under the pseudonym."""
        self._ended(self._write(forget, worker, actor, self.clock()))
        if self._core.database.is_sqlite:
            keeping.wipe(self._core.database)

    # -- work ----------------------------------------------------------------------------------------------------

    def next_page(self, worker_id: int, *, key: str | None = None) -> WorkPage | NoWork:
        """The page that is worth most for its money, leased to this worker; an open lease is given again.

        key : of this request: the same key gives the same page, also when it has been answered since. Where there was
        no page, nothing was changed, and the same key may get one later.
        """
        return self._desk.next_page(worker_id, key)

    def open_page(self, worker_id: int) -> WorkPage | None:
        """The page that this worker has open, if any; leases nothing."""
        return self._desk.open_page(worker_id)

    def labels_asked(self, worker_id: int, lease_id: int) -> tuple[int, ...]:
        """Labels on a page of this worker, open or not; NotFoundError for a page of somebody else."""
        with self._core.database.read() as connection:
            return labels_asked(connection, worker_id, lease_id)

    def answer(
        self, worker_id: int, lease_id: int, answers: Mapping[int, Answer], *, key: str | None = None
    ) -> Receipt:
        """Store the answers to a page, with their money.

        Every question of the page must be answered: "yes", "no" or "skip" ("cannot tell"). The same answers again
        give the same receipt with `already`. Others: RefusedError (reason "contradiction"). Late: see RefusedError
        ("late": the lease ended and the money, or the interest, is gone). A lease of somebody else: NotFoundError.
        InputError where answers are missing, or are about other labels.

        key : of this request: the same key gives the same receipt; for other answers or pages, RefusedError ("key").
        """
        return self._desk.answer(worker_id, lease_id, answers, key)

    def release(self, worker_id: int, lease_id: int, *, key: str | None = None) -> None:
        """Give a page back: its money is free, and this worker is not asked about its item again. May be repeated."""
        if self._write(give_back, worker_id, lease_id, self.clock(), key):
            self._ended(worker_id, returned=True)

    def progress(self, worker_id: int) -> Progress:
        """What this worker has done and earned."""
        return self._desk.progress(worker_id)

    def expire(self) -> int:
        """End leases whose time is over, and free their money; gives their number. The server does it by itself."""
        return self._desk.expire()

    # -- what is known -------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """All that the dashboard shows. Cheap enough to ask every two seconds."""
        return reports.status(self._core, fitting=self._learner is not None and self._learner.fitting)

    def history(self) -> tuple[History, ...]:
        """How things stood over time."""
        return self._read(reports.read_history)

    def decide(self, item_id: int, label_id: int, present: bool, actor: str) -> None:
        """The requester's own decision: known truth from now on, by which workers are read; may be changed."""
        self._write(changing.decide, item_id, label_id, present, actor, self.clock())

    def log(self, limit: int = 100) -> list[LogEntry]:
        """The last entries of the audit log, newest first."""
        return self._read(reports.read_log, limit)

    # -- results and money ---------------------------------------------------------------------------------------

    def export_votes(
        self, path: str | Path, *, skips: str | Path | None = None, checks: str | Path | None = None
    ) -> int:
        """Write worker,item,label,value (1 yes, 0 no) of all consensus votes; skips and checks to files of their own.

        Gives the number of votes. The form is that of the path's ending: .csv, .parquet, .jsonl.
        """
        return exporting.export_votes(self._core, path, skips, checks)

    def votes_table(self) -> Any:
        """The same as an Arrow table worker, item, label, value, at (for the API)."""
        return self._read(exporting.answers_table)

    def export_consensus(self, path: str | Path, *, method: str = "amcc") -> int:
        """Write the consensus of all votes, with known truth and roster, by a model of amcc; gives the rows."""
        return exporting.export_consensus(self._core, path, method)

    def consensus_table(self) -> Any:
        """What is believed now, as an Arrow table item, label, probability, present, n_yes, n_votes, settled.

        Live, without a fit: only pairs with votes or known truth; where there is known truth, told is true for it.
        """
        return exporting.live_consensus(self._core)

    def payments(self) -> list[Payment]:
        """Who gets what."""
        return self._read(exporting.payments)

    def export_payments(self, path: str | Path, *, prolific: bool = False) -> int:
        """Write who gets what: a table, or for Prolific the lines id,amount of what is due in whole cents."""
        return exporting.export_payments(self._core, path, prolific=prolific)

    def pay(
        self, amounts: Mapping[str, int] | None = None, *, in_cents: bool = False, actor: str, key: str | None = None
    ) -> dict[str, int]:
        """Record that workers (pseudonyms) were paid: these minor units, or all that is due; gives the amounts.

        in_cents : as Prolific pays: what is less than a cent stays due. key : the same key again changes nothing and
        gives the same amounts.
        """
        return self._write(changing.pay, amounts, in_cents, actor, key, self.clock())

    # -- webhooks ------------------------------------------------------------------------------------------------

    def webhooks(self) -> tuple[WebhookView, ...]:
        """Who is told what happens."""
        return self._read(webhooks.listed)

    def add_webhook(
        self, url: str, *, events: Iterable[str] = (), private: bool = False, actor: str
    ) -> tuple[int, str]:
        """Tell an address what happens: these events, or all; gives its number and the secret that signs them.

        private : whether it may be in one's own network and without TLS; else it must be public (see `addresses`).
        """
        target, wanted = Target.of(url, private=private), webhooks.checked_events(events)
        target.check()
        return self._write(webhooks.add, target, url, wanted, self.secret, actor, self.clock())

    def remove_webhook(self, number: int, *, actor: str) -> None:
        """Tell it nothing more, also not what waits."""
        self._write(webhooks.remove, number, actor, self.clock())

    def test_webhook(self, number: int) -> Outcome:
        """Send it a test event now, and say what came of it; takes ten seconds at most."""
        self._look()
        return postman.try_out(self._core, number)

    # -- keeping -------------------------------------------------------------------------------------------------

    def verify(self) -> list[Problem]:
        """Everything that must hold and does not: ledger, sums, votes; empty where all is well."""
        with self._core.database.read(snapshot=True) as connection:
            return checking.verify(connection, is_sqlite=self._core.database.is_sqlite)

    def backup(self, path: str | Path) -> Path:
        """Write the whole campaign to one file, also while it is served; see `restore`."""
        return keeping.backup(self._core, path)

    # -- sign-in of the requester --------------------------------------------------------------------------------

    def set_password(self, password: str, *, actor: str) -> None:
        """The requester's password from now on (stored as an argon2 hash); at least 8 characters."""
        self._write(changing.set_password, password, actor, self.clock())

    def check_password(self, password: str) -> bool:
        """Whether it is the requester's; takes about as long either way."""
        self._look()
        return is_right(password, self._core.password)

    @property
    def session_version(self) -> int:
        """Put it into the requester's session: it grows when the password changes, which ends older sessions."""
        self._look()
        return self._core.password_version

    def healthy(self) -> bool:
        """Whether the database answers; for /healthz."""
        try:
            self._look()
        except StoreError:
            return False
        return True
