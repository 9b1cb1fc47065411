"""The API for programs, `/api/v1`: judges lease, answer, skip; the requester reads status, votes, consensus, payments.

A worker's token is what stands in their link after /w/. The requester's token is on the settings page of the dashboard.
Every request that changes something may carry an `Idempotency-Key`: sent again, it gives the same answer as the first
time and changes nothing. Without a key the same holds for the same answers to the same page.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

from amcc.errors import LinkError
from amcc.serve.service import Service
from amcc.serve.views import Answer, NoWork, WorkerInfo, WorkPage
from amcc.serve.web.items import shown_at
from amcc.serve.web.sessions import Sessions

PREFIX = "/api/v1"

CANNOT_TELL: Answer = "skip"

# Rows of a table in one answer; a program asks for the next ones with `after`.
MOST_ROWS = 10_000

# Numbers of leases and labels are rows of a database, which counts in 64 bits.
LARGEST_NUMBER = 2**63 - 1

Number = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$",
           description="Of this request: sent again, it changes nothing and gives the same answer."),
]  # fmt: skip


class Body(BaseModel, extra="forbid"):
    """What all bodies have in common: a field that does not exist is a mistake."""


class ErrorBody(Body):
    """The one form of every error."""

    error: str = Field(description="One word for programs.")
    message: str = Field(description="A sentence for people.")
    reference: Annotated[str | None, Field(description="Of an error of the server, whose log has it, too.")] = None


class Campaign(Body):
    """What workers are told; prices of this worker in minor units of `currency` with `decimals` digits."""

    title: str
    instructions: str
    state: Literal["running", "paused", "ended"]
    currency: str
    decimals: int
    vote_price: int
    page_price: int


class Item(Body):
    """What is judged. `content` is the text, HTML or address; of a picture or sound, the path on this server."""

    id: int
    name: str
    kind: Literal["text", "image", "audio", "url", "html"]
    content: str


class Question(Body):
    """One question about the item."""

    label_id: int
    label: str
    question: str
    help: str


class Page(Body):
    """A page that is leased until `expires_at` (seconds since 1970); `pays` in minor units, when all is answered."""

    lease_id: int
    item: Item
    questions: list[Question]
    pays: int
    expires_at: float


class LeaseRequest(Body):
    """Nothing needs to be said: the token says who asks."""


class Lease(Body):
    """A page, or why there is none."""

    page: Page | None
    reason: Literal["paused", "ended", "money", "nothing", "cap", "pages", "blocked"] | None = None
    done: Annotated[bool, Field(description="There will be no more pages, and something was earned.")] = False


class Answers(Body):
    """Answers to all questions of a page, by label_id; "skip" is "cannot tell"."""

    lease_id: Number
    answers: dict[Annotated[str, Field(pattern="^[0-9]{1,18}$")], Literal["yes", "no", "skip"]] = Field(
        min_length=1, max_length=1000, examples=[{"0": "yes", "3": "skip"}]
    )


class OfLease(Body):
    """One page."""

    lease_id: Number


class Receipt(Body):
    """What came of it, `earned` in minor units. `already`: it was answered so before; `late`: but still of use."""

    lease_id: int
    earned: int
    n_answers: int
    n_skips: int
    already: bool
    late: bool


class Released(Body):
    """The page is given back."""

    lease_id: int


class StatusBody(Body):
    """How the campaign stands; amounts in minor units of `currency` with `decimals` digits."""

    name: str
    state: Literal["running", "paused", "ended"]
    currency: str
    decimals: int
    budget: int
    paid: int
    due: int
    reserved: int
    left: int
    n_items: int
    n_labels: int
    n_workers: int
    n_votes: int
    n_skips: int
    n_pairs: int
    open_leases: int
    settled: int
    settled_present: float | None
    settled_absent: float | None
    fitted_votes: int
    settling: str
    reference: str
    expected_error: float
    audited_error: float | None
    at: float


class VoteRow(Body):
    """One vote: 1 yes, 0 no."""

    worker: str
    item: str
    label: str
    value: int
    at: float


class Votes(Body):
    """Votes in the order in which they came; `next` is where to go on, None at the end."""

    rows: list[VoteRow]
    next: int | None


class ConsensusRow(Body):
    """What is believed about a pair now; settled is as the last whole fit found, or known."""

    item: str
    label: str
    probability: float
    present: bool
    n_yes: int
    n_votes: int
    settled: bool


class Consensus(Body):
    """Pairs with votes; `next` is where to go on, None at the end."""

    rows: list[ConsensusRow]
    next: int | None


class PaymentRow(Body):
    """What one worker gets, in minor units; by pseudonym."""

    worker: str
    answered: int
    earned: int
    paid: int
    due: int


class Payments(Body):
    """Who gets what."""

    rows: list[PaymentRow]


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": what}
    for status, what in {
        400: "The request makes no sense.", 401: "No token, or one that has ended.", 403: "Not with this token.",
        404: "No such page of this worker.", 409: "Too late, or another answer than before.", 413: "Too large.",
        422: "A field is missing or wrong.", 500: "Our mistake; the log has its reference.", 503: "Busy; try again.",
    }.items()
}  # fmt: skip

# auto_error=False: a missing token gives the one form of every error.
bearer: HTTPBearer = HTTPBearer(
    auto_error=False, description="The worker's token (lease, answer, skip) or the requester's."
)
Token = Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]


class ApiError(Exception):
    """A refusal that the app turns into the one form of every error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status: int = status
        self.code: str = code
        self.message: str = message


class Api:
    """What programs ask, in terms of the service."""

    def __init__(self, service: Service, sessions: Sessions) -> None:
        self.service: Service = service
        self.sessions: Sessions = sessions

    def worker(self, token: Token) -> WorkerInfo:
        """Whose token it is."""
        if token is None:
            raise ApiError(401, "no_token", "a request must have a header Authorization: Bearer TOKEN; there is none.")
        try:
            return self.service.worker_by_token(token.credentials)
        except LinkError as error:
            if self.sessions.is_requester_token(token.credentials):
                raise ApiError(403, "not_a_worker", "only workers can do this; this is the requester's.") from None
            raise ApiError(401, error.reason, str(error)) from None

    def requester(self, token: Token) -> None:
        """Refuse everybody but the requester."""
        if token is None:
            raise ApiError(401, "no_token", "a request must have a header Authorization: Bearer TOKEN; there is none.")
        if not self.sessions.is_requester_token(token.credentials):
            raise ApiError(403, "not_the_requester", "only the requester's token can read this.")

    def campaign(self, worker: WorkerInfo) -> Campaign:
        """What a worker is told."""
        settings = self.service.settings
        return Campaign(
            title=settings.title or settings.name, instructions=settings.instructions, state=settings.state,
            currency=settings.currency, decimals=settings.decimals, vote_price=worker.vote_price,
            page_price=worker.page_price,
        )  # fmt: skip

    def lease(self, worker: WorkerInfo, key: str | None) -> Lease:
        """The next page of a worker."""
        found = self.service.next_page(worker.id, key=key)
        if isinstance(found, NoWork):
            return Lease(page=None, reason=found.reason, done=found.done)
        return Lease(page=self._page(found))

    def answer(self, worker: WorkerInfo, body: Answers, key: str | None) -> Receipt:
        """Answers to a page."""
        answers = {int(label): value for label, value in body.answers.items()}
        return Receipt(**asdict(self.service.answer(worker.id, body.lease_id, answers, key=key)))

    def skip(self, worker: WorkerInfo, body: OfLease, key: str | None) -> Receipt:
        """Cannot tell, to every question of a page."""
        answers = dict.fromkeys(self.service.labels_asked(worker.id, body.lease_id), CANNOT_TELL)
        return Receipt(**asdict(self.service.answer(worker.id, body.lease_id, answers, key=key)))

    def release(self, worker: WorkerInfo, body: OfLease, key: str | None) -> Released:
        """A page is given back."""
        self.service.release(worker.id, body.lease_id, key=key)
        return Released(lease_id=body.lease_id)

    def status(self) -> StatusBody:
        """How the campaign stands."""
        now = self.service.status()
        same = {name: getattr(now, name) for name in StatusBody.model_fields if hasattr(now, name)}
        money = {name: getattr(now.money, name) for name in ("budget", "paid", "due", "reserved", "left")}
        return StatusBody(**same, **money, audited_error=now.audited.share)

    def _page(self, page: WorkPage) -> Page:
        item = page.item
        content = shown_at(item, self.sessions) or "" if item.kind in ("image", "audio") else item.content
        return Page(
            lease_id=page.lease_id, item=Item(id=item.id, name=item.name, kind=item.kind, content=content),
            questions=[Question(**asdict(each)) for each in page.questions], pays=page.most, expires_at=page.expires_at,
        )  # fmt: skip


def rows_after(table: Any, after: int, limit: int) -> tuple[list[dict[str, Any]], int | None]:
    """Some rows of an Arrow table, and where the next ones begin."""
    rows = table.slice(after, limit).to_pylist()
    end = after + len(rows)
    return rows, end if end < table.num_rows else None


def api_routes(api: Api) -> APIRouter:
    """The addresses of programs."""
    router = APIRouter(prefix=PREFIX, responses=ERRORS)
    worker, requester = Depends(api.worker), Depends(api.requester)
    after = Query(0, ge=0, le=LARGEST_NUMBER, description="Rows to leave out: `next` of the last answer.")
    limit = Query(MOST_ROWS, ge=1, le=MOST_ROWS, description="Rows to give, at most.")
    _worker_routes(router, api, worker)

    @router.get("/status", dependencies=[requester], tags=["requester"], summary="How the campaign stands")
    def status() -> StatusBody:
        return api.status()

    @router.get("/votes", dependencies=[requester], tags=["requester"], summary="All votes, by pseudonym")
    def votes(after: int = after, limit: int = limit) -> Votes:
        rows, end = rows_after(api.service.votes_table(), after, limit)
        return Votes(rows=[VoteRow(**row) for row in rows], next=end)

    @router.get("/consensus", dependencies=[requester], tags=["requester"], summary="What is believed now")
    def consensus(after: int = after, limit: int = limit) -> Consensus:
        rows, end = rows_after(api.service.consensus_table(), after, limit)
        return Consensus(rows=[ConsensusRow(**row) for row in rows], next=end)

    @router.get("/payments", dependencies=[requester], tags=["requester"], summary="Who gets what, by pseudonym")
    def payments() -> Payments:
        fields = PaymentRow.model_fields
        rows = [PaymentRow(**{name: getattr(each, name) for name in fields}) for each in api.service.payments()]
        return Payments(rows=rows)

    return router


def _worker_routes(router: APIRouter, api: Api, worker: Any) -> None:
    """What workers do: people's pages do the same."""

    @router.get("/campaign", tags=["worker"], summary="What workers are told")
    def campaign(who: WorkerInfo = worker) -> Campaign:
        return api.campaign(who)

    @router.post("/lease", tags=["worker"], summary="The next page; an open one is given again")
    def lease(who: WorkerInfo = worker, body: LeaseRequest | None = None, key: Key = None) -> Lease:
        return api.lease(who, key)

    @router.post("/answer", tags=["worker"], summary="Answer all questions of a page")
    def answer(body: Answers, who: WorkerInfo = worker, key: Key = None) -> Receipt:
        return api.answer(who, body, key)

    @router.post("/skip", tags=["worker"], summary="Cannot tell, to all questions of a page")
    def skip(body: OfLease, who: WorkerInfo = worker, key: Key = None) -> Receipt:
        return api.skip(who, body, key)

    @router.post("/release", tags=["worker"], summary="Give a page back, unanswered and unpaid")
    def release(body: OfLease, who: WorkerInfo = worker, key: Key = None) -> Released:
        return api.release(who, body, key)
