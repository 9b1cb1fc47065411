"""What a campaign shows: to workers (pages, receipts), to requesters (status, payments), to operators (problems).

Plain frozen records, so that the web pages, the API, the command line and the tests see the same. Money is in minor
units everywhere; `Service.text(units)` writes it. Times are seconds since 1970, UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from amcc.active.bookkeeping import Balance

__all__ = [
    "AuditedError", "Balance", "Disputed", "History", "ItemView", "LabelStatus", "Link", "NextMoneyView", "NoWork",
    "Payment", "Problem", "Progress", "QuestionView", "Receipt", "Status", "WebhookView", "WorkPage", "WorkerInfo",
    "WorkerStatus",
]  # fmt: skip

ItemKind = Literal["text", "image", "audio", "url", "html"]
PageKind = Literal["work", "audit", "check"]
Answer = Literal["yes", "no", "skip"]
Reason = Literal["paused", "ended", "money", "nothing", "cap", "pages", "blocked"]


# -- to workers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WorkerInfo:
    """A worker as the service knows them: `name` is the pseudonym, never who they are on a platform."""

    id: int
    name: str
    kind: str
    state: Literal["active", "blocked", "forgotten"]
    vote_price: int
    page_price: int


@dataclass(frozen=True)
class ItemView:
    """What is judged. `content` is the text, the HTML (not yet sanitised), the URL, or a path in the media folder."""

    id: int
    name: str
    kind: ItemKind
    content: str


@dataclass(frozen=True)
class QuestionView:
    """One yes-or-no question about the item."""

    label_id: int
    label: str
    question: str
    help: str


@dataclass(frozen=True)
class WorkPage:
    """A page that is leased: an item, questions about it, what it pays, and until when.

    price : for each answer; page_price : for the page, with its first answer. again : whether it was leased before
    this call. Whether a page is work, audit or check is not here: nobody who answers may know.
    """

    lease_id: int
    item: ItemView
    questions: tuple[QuestionView, ...]
    price: int
    page_price: int
    expires_at: float
    again: bool = False

    @property
    def most(self) -> int:
        """What the whole page pays."""
        return self.page_price + self.price * len(self.questions)


@dataclass(frozen=True)
class NoWork:
    """There is no page for this worker now, and why; `done`: they have worked, and may go with the completion code."""

    reason: Reason
    done: bool = False


@dataclass(frozen=True)
class Receipt:
    """What came of the answers to a page: money earned, and whether they had been given already."""

    lease_id: int
    earned: int
    n_answers: int
    n_skips: int
    already: bool = False
    late: bool = False


@dataclass(frozen=True)
class Progress:
    """What a worker has done: pages, answers (skips beside), money; the code once there is nothing left for them.

    most_pages : how many they can answer; 0: as many as there are.
    """

    pages: int
    answers: int
    skips: int
    earned: int
    paid: int
    completion_code: str | None = None
    completion_url: str | None = None
    most_pages: int = 0


@dataclass(frozen=True)
class Link:
    """A worker's own link: `token` goes into the address of the page, /w/TOKEN; `given` is the name on the list."""

    worker: str
    given: str
    token: str
    expires_at: float


# -- to the requester ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelStatus:
    """One label: votes, share of yes, pairs that are settled, expected error."""

    id: int
    label: str
    question: str
    n_votes: int
    n_yes: int
    settled: int
    expected_error: float


@dataclass(frozen=True)
class WorkerStatus:
    """One worker by pseudonym, with the evidence by which they may be blocked; money in minor units.

    skill : share of their agreement with the consensus beyond chance, 0 as good as guessing; None where it is not known
    yet. checks, checks_right : answers to questions whose truth is known. propose_block : words why blocking is
    proposed, empty where it is not; a person decides.
    """

    id: int
    name: str
    kind: str
    family: str
    state: str
    reason: str
    pages: int
    answers: int
    skips: int
    earned: int
    paid: int
    reserved: int
    skill: float | None
    checks: int
    checks_right: int
    median_seconds: float | None = None
    propose_block: str = ""


@dataclass(frozen=True)
class Disputed:
    """A pair that people see differently: the requester's decision would be worth most here."""

    item_id: int
    item: str
    kind: ItemKind
    content: str
    label_id: int
    label: str
    question: str
    n_yes: int
    n_no: int
    probability: float


@dataclass(frozen=True)
class History:
    """How things stood at a time: for the charts."""

    at: float
    spent: int
    reserved: int
    budget: int
    n_votes: int
    settled: int
    expected_error: float


@dataclass(frozen=True)
class AuditedError:
    """What the random slice says: of `n` audit answers, `wrong` contradict the consensus made without them.

    It is how often the next person would disagree with the consensus, not how often the consensus is wrong: where
    people differ, it stays above the expected error. `low`, `high` : 95 % interval.
    """

    n: int
    wrong: int
    low: float | None
    high: float | None

    @property
    def share(self) -> float | None:
        """Share that disagrees; None before the first audit."""
        return self.wrong / self.n if self.n else None


@dataclass(frozen=True)
class NextMoneyView:
    """What the next `money` is expected to buy."""

    money: int
    settled_pairs: float
    decisions_put_right: float
    expected_error_after: float


@dataclass(frozen=True)
class Status:
    """All that the dashboard shows; see the fields' own types.

    settled, expected_error, and those of labels : of the last whole fit, which knew `fitted_votes` votes
    settled_present, settled_absent : settled shares of the asked pairs that it calls present, and absent
    settling, reference : what settled rests on, and who the reference is, in words
    """

    name: str
    title: str
    state: str
    currency: str
    decimals: int
    money: Balance
    head: str
    n_items: int
    n_labels: int
    n_workers: int
    n_votes: int
    n_skips: int
    n_checks: int
    n_pages: int
    open_leases: int
    n_pairs: int
    settled: int
    known: int
    expected_error: float
    audited: AuditedError
    beliefs_version: int
    fitted_votes: int
    fitting: bool
    settling: str
    reference: str
    settled_present: float | None
    settled_absent: float | None
    labels: tuple[LabelStatus, ...]
    workers: tuple[WorkerStatus, ...]
    disputed: tuple[Disputed, ...]
    history: tuple[History, ...]
    next_money: NextMoneyView | None
    at: float
    warnings: tuple[str, ...] = ()

    @property
    def settled_share(self) -> float:
        """Share of all pairs that need no more answers."""
        return (self.settled / self.n_pairs) if self.n_pairs else 0.0


@dataclass(frozen=True)
class Payment:
    """What one worker gets: `due` now, `paid` before. `identity` is who they are, None where nobody knows it."""

    worker: str
    identity: str | None
    platform: str | None
    answered: int
    earned: int
    paid: int
    due: int


@dataclass(frozen=True)
class WebhookView:
    """An address that is told what happens.

    events : what it is told. private : whether it may be in one's own network. waiting, sent, lost : events.
    failures : tries that failed since the last one that did not. said : what came of the last try, at `tried_at`.
    """

    id: int
    url: str
    events: tuple[str, ...]
    private: bool
    waiting: int
    sent: int
    lost: int
    failures: int
    tried_at: float | None
    said: str


@dataclass(frozen=True)
class Problem:
    """Something that `verify` found: `where` names the table and row, `what` says what must hold."""

    where: str
    what: str


@dataclass(frozen=True)
class LogEntry:
    """A line of the audit log: who did what, when, with what."""

    id: int
    at: float
    actor: str
    action: str
    details: dict[str, Any] = field(default_factory=dict)
