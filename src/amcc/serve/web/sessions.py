"""Who a visitor is: signed cookies of workers and of the requester, and signed addresses of items.

A worker's cookie holds the link itself where they came by one, so that a link that is taken back or expires ends the
visit, too. All is signed with the campaign's secret, each kind with a salt of its own: none can be used as another.
"""

from __future__ import annotations

from typing import Any

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from amcc.errors import LinkError, NotFoundError
from amcc.serve.people import SIGNED
from amcc.serve.service import LINK_SECONDS, Service
from amcc.serve.views import WorkerInfo

WORKER_COOKIE, REQUESTER_COOKIE, NOTE_COOKIE = "amcc_worker", "amcc_requester", "amcc_note"

# A working day: then the password is asked for again.
REQUESTER_SECONDS = 12 * 3600

# Programs of the requester run for the length of a study; a new password ends their tokens.
TOKEN_SECONDS = 90 * 86400

# As long as a page may stay open and still show its picture: a day, and a night.
ITEM_SECONDS = 2 * 86400

# A note about what was done waits for the next page only.
NOTE_SECONDS = 60


class Sessions:
    """Makes and reads what is signed for one campaign."""

    def __init__(self, service: Service, *, https: bool) -> None:
        self._service, self._https = service, https
        self._serializers: dict[str, URLSafeTimedSerializer] = {}  # one for each salt, kept: every request reads some

    # -- workers

    def remember_worker(self, response: Response, *, token: str | None = None, worker: WorkerInfo) -> None:
        """Who works here from now on: by their link, or as somebody whom the platform sent."""
        content = {"token": token} if token is not None else {"worker": worker.id}
        self._set(response, WORKER_COOKIE, self._signed("worker", content), LINK_SECONDS)

    def worker(self, request: Request) -> WorkerInfo:
        """Who works here; LinkError where the link has ended, or nobody does (reason "nobody")."""
        content = self._read("worker", request.cookies.get(WORKER_COOKIE, ""), LINK_SECONDS)
        if not isinstance(content, dict):
            raise LinkError("a worker must come by their link; there is no session. Open the link again.", "nobody")
        if "token" in content:
            return self._service.worker_by_token(content["token"])
        try:
            worker = self._service.worker(content["worker"])
        except NotFoundError as error:
            raise LinkError(str(error), "revoked") from error
        if worker.state == "forgotten":
            raise LinkError("who this worker is was forgotten; nobody can work in their place.", "revoked")
        return worker

    # -- the requester

    def remember_requester(self, response: Response) -> None:
        """The requester has given the password."""
        self._set(response, REQUESTER_COOKIE, self._signed("requester", self._version()), REQUESTER_SECONDS)

    def forget_requester(self, response: Response) -> None:
        """The requester has signed out."""
        response.delete_cookie(REQUESTER_COOKIE, httponly=True, samesite="strict", secure=self._https)

    def is_requester(self, request: Request) -> bool:
        """Whether the requester has signed in here, and the password is still the same."""
        content = self._read("requester", request.cookies.get(REQUESTER_COOKIE, ""), REQUESTER_SECONDS)
        return content is not None and content == self._version()

    def requester_token(self) -> str:
        """A token for programs of the requester, until the password changes."""
        return self._signed("requester-token", self._version())

    def is_requester_token(self, token: str) -> bool:
        """Whether a program shows the requester's token."""
        content = self._read("requester-token", token, TOKEN_SECONDS)
        return content is not None and content == self._version()

    def _version(self) -> dict[str, int]:
        return {"version": self._service.session_version}

    # -- items and notes

    def item_grant(self, item_id: int) -> str:
        """What lets a browser fetch the picture, sound or document of one item.

        In the address and not in a cookie, for a sandboxed frame sends none.
        """
        return self._signed("item", item_id)

    def granted_item(self, grant: str) -> int | None:
        """The item of a grant; None where it is none of ours, or too old."""
        content = self._read("item", grant, ITEM_SECONDS)
        return content if isinstance(content, int) else None

    def leave_note(self, response: Response, kind: str, amount: int = 0) -> None:
        """Something to say on the next page."""
        self._set(response, NOTE_COOKIE, self._signed("note", [kind, amount]), NOTE_SECONDS)

    def note(self, request: Request) -> tuple[str, int] | None:
        """What is to be said on this page."""
        content = self._read("note", request.cookies.get(NOTE_COOKIE, ""), NOTE_SECONDS)
        return (content[0], content[1]) if isinstance(content, list) and len(content) == 2 else None

    # -- signing

    def _set(self, response: Response, name: str, value: str, seconds: int) -> None:
        response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="strict", secure=self._https)

    def _signed(self, salt: str, content: Any) -> str:
        return str(self._serializer(salt).dumps(content))

    def _read(self, salt: str, text: str, seconds: int) -> Any:
        if not text:
            return None
        try:
            return self._serializer(salt).loads(text, max_age=seconds)
        except BadData:
            return None

    def _serializer(self, salt: str) -> URLSafeTimedSerializer:
        found = self._serializers.get(salt)
        if found is None:
            found = URLSafeTimedSerializer(self._service.secret, salt=f"amcc-web-{salt}", signer_kwargs=SIGNED)
            self._serializers[salt] = found
        return found
