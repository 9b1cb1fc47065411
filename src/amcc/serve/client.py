"""A campaign's API from the other side: what judges and simulated workers use to lease pages and to answer them.

Every request that changes something has a key, and is sent again with the same key where the answer was lost: a page is
answered once and paid once however often the network, or the server, breaks.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urljoin

import httpx

from amcc.errors import AmccError, InputError

# Seconds between tries where the server does not answer: together half a minute, in which any server has restarted.
WAITS = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 15.0)

# Seconds for one request. Pages are made in milliseconds; a server that takes longer than this is not there.
TIMEOUT = 30.0

# What a server says that may be different in a moment: too many requests, a broken gateway, no room on the disk.
PASSING = (429, 500, 502, 503, 504, 507)


class UnreachableError(AmccError):
    """The server of a campaign does not answer, or not as one."""


@dataclass(frozen=True)
class LeasedQuestion:
    """One yes-or-no question of a page."""

    label_id: int
    label: str
    question: str
    help: str


@dataclass(frozen=True)
class LeasedPage:
    """A page as the API gives it: an item and questions about it. `content` is text, HTML or a whole address."""

    lease_id: int
    item: str
    kind: str
    content: str
    questions: Sequence[LeasedQuestion]


@dataclass(frozen=True)
class Nothing:
    """There is no page now; `reason` as in `amcc.serve.views.NoWork`."""

    reason: str


@dataclass(frozen=True)
class Refused:
    """The server does not take these answers, and says why; nothing has changed there."""

    reason: str


@dataclass(frozen=True)
class Paid:
    """The answers are stored; `earned` in minor units."""

    earned: int


class CampaignClient:
    """One worker at the API of a campaign.

    address : of the server, without a path. token : of the worker's link. waits : seconds between tries.
    """

    def __init__(self, address: str, token: str, *, waits: Sequence[float] = WAITS) -> None:
        self.address: str = address
        self._waits = waits
        self._http = httpx.Client(
            base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=TIMEOUT, trust_env=False,
        )  # fmt: skip

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def instructions(self) -> str:
        """What the requester tells all workers."""
        return str(self._send("GET", "/api/v1/campaign").json().get("instructions", ""))

    def lease(self) -> LeasedPage | Nothing:
        """The next page, or the one that is open."""
        told = self._send("POST", "/api/v1/lease", {}).json()
        page = told.get("page")
        if page is None:
            return Nothing(str(told.get("reason", "nothing")))
        item = page["item"]
        content = urljoin(self.address, item["content"]) if item["kind"] in ("image", "audio") else item["content"]
        questions = [LeasedQuestion(each["label_id"], each["label"], each["question"], each["help"])
                     for each in page["questions"]]  # fmt: skip
        return LeasedPage(page["lease_id"], item["name"], item["kind"], content, questions)

    def answer(self, page: LeasedPage, answers: Mapping[int, str]) -> Paid | Refused:
        """Post yes, no or skip for each label of a page."""
        body = {"lease_id": page.lease_id, "answers": {str(label): value for label, value in answers.items()}}
        response = self._send("POST", "/api/v1/answer", body, accept=(409, 410))
        if response.status_code != httpx.codes.OK:
            return Refused(_reason(response))
        return Paid(int(response.json()["earned"]))

    def release(self, page: LeasedPage) -> None:
        """Give a page back that cannot be answered."""
        self._send("POST", "/api/v1/release", {"lease_id": page.lease_id}, accept=(404, 409, 410))

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, accept: Sequence[int] = ()
    ) -> httpx.Response:
        """Send until it is answered; the same key each time, so that nothing happens twice."""
        key = {"Idempotency-Key": secrets.token_hex(16)} if method != "GET" else {}
        problem = ""
        for wait in (*self._waits, None):
            try:
                response = self._http.request(method, path, json=body, headers=key)
            except httpx.TransportError as error:
                problem = f"{type(error).__name__} {error}".strip()
            else:
                if response.is_success or response.status_code in accept:
                    return response
                if response.status_code not in PASSING:
                    raise InputError(f"{self.address}{path} refused: {_reason(response)} ({response.status_code}).")
                problem = f"{_reason(response)} ({response.status_code})"
            if wait is not None:
                time.sleep(wait)
        raise UnreachableError(
            f"the campaign at {self.address} must answer; tried {len(self._waits) + 1} times: {problem}. Does "
            "amcc serve run there?"
        )


def check_answers_at(address: str) -> None:
    """Raise UnreachableError unless a server is there."""
    try:
        well = httpx.get(f"{address}/healthz", timeout=TIMEOUT, trust_env=False).is_success
    except httpx.TransportError:
        well = False
    if not well:
        raise UnreachableError(f"the campaign at {address} must answer; it does not. Does amcc serve run there?")


def _reason(response: httpx.Response) -> str:
    """What a server says about a refusal, in a line."""
    try:
        told = response.json()
    except ValueError:
        return response.reason_phrase or "no reason given"
    for name in ("message", "error", "detail"):
        if isinstance(told, dict) and isinstance(told.get(name), str):
            return str(told[name])
    return response.reason_phrase or "no reason given"
