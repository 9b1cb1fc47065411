"""What stands between the network and the pages: hosts, origins, sizes, headers, and errors that tell nothing.

`Guard` is plain ASGI, outside of everything else. It refuses requests

- for another host than ours (a foreign name that points here, "DNS rebinding"),
- that change something and come from another site (the `Origin` of browsers; cookies are SameSite=Strict as well),
- whose body is larger than any form of ours,

puts the headers on every answer, writes one line of log, and turns an error that nobody expected into a page with a
reference. The log has the same reference and where it happened, but no text of the error, no address and no token:
these could be personal data.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger("amcc.serve")

# Names that this machine has for itself: they are always right.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")

# Scripts, styles and pictures are our own files; nothing inline, nothing from elsewhere, in nobody's frame.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

# An HTML item, in a frame of our own page: no scripts, no forms, and its links open elsewhere.
FRAME_SANDBOX = "allow-popups allow-popups-to-escape-sandbox"
FRAME_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; media-src 'self'; base-uri 'none'; form-action 'none'; "
    f"frame-ancestors 'self'; sandbox {FRAME_SANDBOX}"
)

# A picture or a sound opened by itself: should it be taken for a document, it can do nothing.
MEDIA_POLICY = "default-src 'none'; sandbox; frame-ancestors 'self'"

# "same-origin" and not "no-referrer": with the latter browsers hide the Origin of forms, which is checked. Links to
# the platform and to items have rel=noreferrer besides.
HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "Cache-Control": "no-store",
}

# Bytes of a request. A form of ours has one short field for each label of a page, which are at most some hundreds.
LARGEST_BODY = 64 * 1024
# Tables of items: 10⁵ short texts. Pictures and sounds are put into the media folder, not sent.
LARGEST_UPLOAD = 32 * 1024 * 1024
UPLOADS = ("/dashboard/items",)

# Wrong passwords within the window, from one address and from all together. People mistype twice; at this rate a
# password of eight random letters takes longer than anybody lives.
WRONG_PASSWORDS, ALL_WRONG_PASSWORDS = 5, 50
WINDOW_SECONDS = 300.0

# How the rest of the app answers to a refusal: a page for people, a body for programs.
Refuse = Callable[[Request, int, str, str | None], Response]
Observe = Callable[[str, str, int, float], None]


class Guard:
    """The checks of this module around an app; `refuse` makes the answers to what is not let through."""

    def __init__(self, app: ASGIApp, *, refuse: Refuse, observe: Observe, hosts: Sequence[str], https: bool) -> None:
        self.app: ASGIApp = app
        self.refuse: Refuse = refuse
        self.observe: Observe = observe
        self.hosts: set[str] = {name.lower() for name in (*LOOPBACK, *hosts)}
        self.scheme = "https" if https else "http"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, sent = time.perf_counter(), Sent(send, https=self.scheme == "https")
        request = Request(scope, receive)
        reference: str | None = None
        problem = self._problem(request)
        try:
            if problem:
                await self.refuse(request, *problem, None)(scope, receive, sent)
            else:
                await self.app(scope, limited(receive, largest_body(request)), sent)
        except Exception as error:
            reference = new_reference()
            LOG.error(json.dumps({"event": "error", "reference": reference, **where(error)}))
            if sent.status:  # too late for another answer: the connection breaks, as it must
                raise
            await self.refuse(request, 500, "internal", reference)(scope, receive, sent)
        finally:
            self._note(scope, sent.status, time.perf_counter() - begun, reference)

    def _problem(self, request: Request) -> tuple[int, str] | None:
        """What is wrong with a request, before anybody looks at what it wants."""
        host = request.headers.get("host", "")
        if host_name(host) not in self.hosts:
            return 400, "host"
        length = request.headers.get("content-length", "0")
        if not length.isdecimal():
            return 400, "length"
        if int(length) > largest_body(request):
            return 413, "too_large"
        if request.method not in SAFE_METHODS and not self._is_from_here(request, host):
            return 403, "origin"
        return None

    def _is_from_here(self, request: Request, host: str) -> bool:
        """Whether a request that changes something comes from one of our pages, or from a program with a token."""
        origin = request.headers.get("origin")
        if origin is not None:
            parts = urlsplit(origin)
            return parts.scheme == self.scheme and parts.netloc.lower() == host.lower()
        fetched_from = request.headers.get("sec-fetch-site")
        if fetched_from is not None:
            return fetched_from in ("same-origin", "none")
        # Programs send neither; they must show a token with each request, which no foreign page has.
        return is_api(request)

    def _note(self, scope: Scope, status: int, seconds: float, reference: str | None) -> None:
        """One line of log, and the metrics; the route as it is written in the code, for paths hold tokens."""
        route = getattr(scope.get("route"), "path", "(none)")
        self.observe(scope["method"], route, status, seconds)
        line = {"event": "request", "method": scope["method"], "route": route, "status": status,
                "ms": round(seconds * 1000, 1)}  # fmt: skip
        if LOG.isEnabledFor(logging.INFO):
            LOG.info(json.dumps({**line, "reference": reference} if reference else line))


class Sent:
    """Sends messages on, with the headers of every answer; knows the status once there is one."""

    def __init__(self, send: Send, *, https: bool) -> None:
        self._send, self._https = send, https
        self.status: int = 0

    async def __call__(self, message: Message) -> None:
        """See ASGI."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if self._https:
                headers.setdefault("Strict-Transport-Security", "max-age=31536000")
        await self._send(message)


def limited(receive: Receive, largest: int) -> Receive:
    """The same body, but never more than `largest` bytes of it: not all bodies say how long they are."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > largest:
            raise HTTPException(413)
        return message

    return counted


def largest_body(request: Request) -> int:
    """How many bytes a request may have."""
    return LARGEST_UPLOAD if request.scope["path"] in UPLOADS else LARGEST_BODY


def is_api(request: Request) -> bool:
    """Whether programs, and not people, read the answer."""
    return bool(request.scope["path"].startswith("/api/"))


def host_name(host: str) -> str:
    """The name in a Host header, without its port.

    >>> host_name("Example.org:8000"), host_name("[::1]:8000"), host_name("localhost")
    ('example.org', '[::1]', 'localhost')
    """
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()


def new_reference() -> str:
    """What a person can tell, and the log has."""
    return secrets.token_hex(5)


def where(error: BaseException) -> dict[str, object]:
    """The kind of an error and the lines that led to it, without its text, which may hold anything."""
    frames = traceback.extract_tb(error.__traceback__)
    # The last few: those before are of the web server.
    lines = [f"{frame.filename.rsplit('/site-packages/')[-1]}:{frame.lineno}" for frame in frames[-8:]]
    return {"kind": type(error).__name__, "lines": lines}


class JsonLines(logging.Formatter):
    """Every line of log as JSON. Of an error that others tell, too, only its kind and its place."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging."""
        text, error = record.getMessage().strip(), record.exc_info and record.exc_info[1]
        if text.startswith("{"):
            return text
        told = {"event": record.levelname.lower(), "by": record.name, "message": text}
        return json.dumps({**told, **(where(error) if error else {})})


class SignInLimit:
    """How often a wrong password may come: in a while from one address, and from all of them. Threads share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._wrong: deque[tuple[float, str]] = deque()

    def wait(self, address: str) -> int:
        """Seconds until the next try from this address; 0 where it may be tried now."""
        now = self._clock()
        with self._lock:
            while self._wrong and self._wrong[0][0] <= now - WINDOW_SECONDS:
                self._wrong.popleft()
            wrong = list(self._wrong)
        here = [when for when, who in wrong if who == address]
        limits = [(here, WRONG_PASSWORDS), ([when for when, _ in wrong], ALL_WRONG_PASSWORDS)]
        ends = [times[-most] + WINDOW_SECONDS for times, most in limits if len(times) >= most]
        return max((int(end - now) + 1 for end in ends), default=0)

    def note_wrong(self, address: str) -> None:
        """A password was wrong."""
        with self._lock:
            self._wrong.append((self._clock(), address))

    def forgive(self, address: str) -> None:
        """The right one came: what was mistyped before does not count."""
        with self._lock:
            self._wrong = deque(each for each in self._wrong if each[1] != address)
