"""The pages of the requester: money, quality, labels, workers, disputed items, settings. All behind the password.

What changes by itself (`live.html`) is fetched again every few seconds; forms are outside of it, so that nobody loses
what they type.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from amcc.errors import AmccError, InputError, StoreError
from amcc.serve.events import EVENTS
from amcc.serve.service import Service
from amcc.serve.views import Disputed, ItemView, LogEntry
from amcc.serve.web.annotator import number_in
from amcc.serve.web.items import shown_at
from amcc.serve.web.overview import overview
from amcc.serve.web.pages import Pages
from amcc.serve.web.sessions import NOTE_COOKIE, Sessions
from amcc.serve.web.signin import HOME
from amcc.serve.web.strings import Strings

# How the log of the campaign calls whoever signed in.
ACTOR = "requester"

# Rows of a page; a campaign may have thousands of workers, of whom the page shows those with something to see.
MOST_WORKERS = 300
MOST_DISPUTED = 12
MOST_LOG = 30

# Entries of the log that are money.
AMOUNTS = ("budget", "vote_price", "page_price", "total")

# Tables of items that can be sent.
ITEM_FILES = (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".tsv.gz", ".jsonl.gz")

DOWNLOADS = ("votes", "consensus", "payments")

TABS = (("overview", HOME), ("workers", f"{HOME}/workers"), ("disputed", f"{HOME}/disputed"),
        ("settings", f"{HOME}/settings"))  # fmt: skip


class Dashboard:
    """What the requester sees and does."""

    def __init__(self, service: Service, pages: Pages, sessions: Sessions) -> None:
        self.service: Service = service
        self.pages: Pages = pages
        self.sessions: Sessions = sessions

    # -- pages

    def overview(self, request: Request) -> Response:
        """Money, quality, labels."""
        return self._page(request, "overview", **overview(self.service.status(), self.pages.strings(request)))

    def live(self, request: Request) -> Response:
        """The part of it that changes by itself."""
        found = overview(self.service.status(), self.pages.strings(request))
        return self.pages.show(request, "live.html", **found)

    def workers(self, request: Request, status: int = 200, **values: Any) -> Response:
        """Everybody with the evidence; those who may be blocked first."""
        everybody = self.service.status().workers
        proposed = [each for each in everybody if each.propose_block and each.state == "active"]
        shown = sorted(everybody, key=lambda each: -each.answers)[:MOST_WORKERS]
        return self._page(request, "workers", status, proposed=proposed, workers=shown, n_workers=len(everybody),
                          **values)  # fmt: skip

    def disputed(self, request: Request, status: int = 200, **values: Any) -> Response:
        """Pairs where the requester's own decision is worth most."""
        pairs = self.service.status().disputed
        shown = [(pair, item_of(pair), shown_at(item_of(pair), self.sessions)) for pair in pairs[:MOST_DISPUTED]]
        return self._page(request, "disputed", status, pairs=shown, n_pairs=len(pairs), **values)

    def settings(self, request: Request, status: int = 200, token: str = "", **values: Any) -> Response:
        """Prices, budget, items, downloads, token, log."""
        settings = self.service.settings
        return self._page(
            request, "settings", status, settings=settings, balance=self.service.balance, token=token,
            vote_price=self.service.text(settings.vote_price), page_price=self.service.text(settings.page_price),
            webhooks=self.service.webhooks(), events=EVENTS, key=secrets.token_urlsafe(12),
            log=self.service.log(MOST_LOG), details=self._details, item_files=ITEM_FILES, **values,
        )  # fmt: skip

    def _details(self, entry: LogEntry) -> str:
        """With what something was done, in a line; amounts as people write them."""
        told = {name: self.service.text(value) if name in AMOUNTS else value for name, value in entry.details.items()}
        texts = {name: ", ".join(value) if isinstance(value, list) else value for name, value in told.items()}
        return "; ".join(f"{name}: {text}" for name, text in texts.items() if text not in ("", None))

    def _page(self, request: Request, name: str, status: int = 200, problem: str = "", **values: Any) -> Response:
        note = self.sessions.note(request)
        t = self.pages.strings(request)
        notice = problem or (t(f"done.{note[0]}") if note and note[0] in DONE else "")
        response = self.pages.show(
            request, f"{name}.html", status=status, tab=name, tabs=TABS, notice=notice,
            notice_kind="bad" if problem else "good", state=self.service.settings.state, **values,
        )  # fmt: skip
        if NOTE_COOKIE in request.cookies:
            response.delete_cookie(NOTE_COOKIE, httponly=True, samesite="strict")
        return response

    # -- actions

    def act(self, request: Request, what: str, form: FormData) -> Response:
        """Do what a form asks; say on the page what was wrong with it."""
        if what in SHOWN:
            return self._show(request, what, form)
        action, page = ACTIONS[what]
        try:
            action(self.service, form)
        except StoreError:  # not the fault of the form: the page says that the server is busy
            raise
        except (AmccError, ValueError) as error:
            return self._again(request, page, str(error))
        response = RedirectResponse(HOME if page == "overview" else f"{HOME}/{page}", 303)
        self.sessions.leave_note(response, what)
        return response

    def _show(self, request: Request, what: str, form: FormData) -> Response:
        """Do what a form asks whose result is shown once, on the page that answers it."""
        try:
            return self.settings(request, **SHOWN[what](self.service, form, self.pages.strings(request)))
        except StoreError:
            raise
        except AmccError as error:
            return self._again(request, "settings", str(error))

    def _again(self, request: Request, page: str, problem: str) -> Response:
        if page == "workers":
            return self.workers(request, 422, problem=problem)
        if page == "disputed":
            return self.disputed(request, 422, problem=problem)
        return self.settings(request, 422, problem=problem)

    def show_token(self, request: Request) -> Response:
        """A token for the requester's programs, shown once."""
        return self.settings(request, token=self.sessions.requester_token())

    def download(self, what: str) -> Response:
        """A table of results as CSV."""
        folder = TemporaryDirectory(prefix="amcc-download-")
        path = Path(folder.name) / f"{what}.csv"
        write: dict[str, Callable[[Path], object]] = {
            "votes": self.service.export_votes, "consensus": self.service.export_consensus,
            "payments": self.service.export_payments,
        }  # fmt: skip
        write[what](path)
        return WrittenFile(folder, path)


class WrittenFile(FileResponse):
    """A file in a temporary folder, which is removed once it is sent."""

    def __init__(self, folder: TemporaryDirectory[str], path: Path) -> None:
        super().__init__(path, filename=path.name, media_type="text/csv; charset=utf-8")
        self._folder = folder

    async def __call__(self, *message: Any) -> None:
        """See ASGI."""
        try:
            await super().__call__(*message)
        finally:
            self._folder.cleanup()


def item_of(pair: Disputed) -> ItemView:
    """The item of a disputed pair."""
    return ItemView(pair.item_id, pair.item, pair.kind, pair.content)


# -- what forms do; each raises an error of ours where it cannot


def text_in(form: FormData, name: str) -> str:
    """A field as text."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def _pause(service: Service, form: FormData) -> None:
    service.pause(ACTOR, text_in(form, "reason"))


def _resume(service: Service, form: FormData) -> None:
    service.resume(ACTOR, text_in(form, "reason"))


def _end(service: Service, form: FormData) -> None:
    service.end(ACTOR, text_in(form, "reason"))


def _price(service: Service, form: FormData) -> None:
    service.set_price(vote_price=text_in(form, "vote_price"), page_price=text_in(form, "page_price"), actor=ACTOR)


def _budget(service: Service, form: FormData) -> None:
    service.add_budget(text_in(form, "amount"), actor=ACTOR, key=text_in(form, "key") or None)


def _rules(service: Service, form: FormData) -> None:
    given = text_in(form, "pages_per_worker")
    most = number_in(given)
    if most is None:
        raise ValueError(f"pages per worker must be a whole number, 0 for as many as there are; got {given!r:.40}.")
    service.change(actor=ACTOR, pages_per_worker=most)


def _add_webhook(service: Service, form: FormData, _: Strings) -> dict[str, Any]:
    wanted = [name for name in form.getlist("event") if isinstance(name, str)]
    if not wanted:
        raise InputError("a webhook must be told something; choose at least one event.")
    number, secret = service.add_webhook(text_in(form, "url"), events=wanted, actor=ACTOR)
    return {"hook_number": number, "hook_secret": secret}


def _test_webhook(service: Service, form: FormData, t: Strings) -> dict[str, Any]:
    outcome = service.test_webhook(number_in(form.get("webhook")) or 0)
    if outcome.taken:
        return {"hook_tested": t("hook.arrived", said=outcome.said)}
    return {"problem": t("hook.not_arrived", said=outcome.said)}


def _remove_webhook(service: Service, form: FormData) -> None:
    service.remove_webhook(number_in(form.get("webhook")) or 0, actor=ACTOR)


def _block(service: Service, form: FormData) -> None:
    reason = text_in(form, "reason")
    if not reason:
        raise ValueError("a reason must be given: the worker can ask for it, and so can you, later.")
    service.block(text_in(form, "worker"), reason, ACTOR)


def _unblock(service: Service, form: FormData) -> None:
    service.unblock(text_in(form, "worker"), ACTOR, text_in(form, "reason"))


def _decide(service: Service, form: FormData) -> None:
    item, label, present = number_in(form.get("item")), number_in(form.get("label")), text_in(form, "present")
    if item is None or label is None or present not in ("yes", "no"):
        raise ValueError("a decision must name an item and a label, and be yes or no.")
    service.decide(item, label, present == "yes", ACTOR)


def _items(service: Service, form: FormData) -> None:
    sent = form.get("file")
    if not isinstance(sent, UploadFile) or not sent.filename:
        raise ValueError("a file with items must be chosen.")
    name = sent.filename.lower()
    ending = next((each for each in ITEM_FILES if name.endswith(each)), None)
    if ending is None:
        raise ValueError(f"the file must end with one of {', '.join(ITEM_FILES)}; got {sent.filename!r:.80}.")
    with TemporaryDirectory(prefix="amcc-items-") as folder:
        path = Path(folder) / f"items{ending}"
        path.write_bytes(sent.file.read())
        service.add_items(path, actor=ACTOR)


# What is done, and on which page its form stands.
ACTIONS: dict[str, tuple[Callable[[Service, FormData], None], str]] = {
    "pause": (_pause, "overview"), "resume": (_resume, "overview"), "end": (_end, "settings"),
    "price": (_price, "settings"), "budget": (_budget, "settings"), "items": (_items, "settings"),
    "rules": (_rules, "settings"), "webhook_remove": (_remove_webhook, "settings"),
    "block": (_block, "workers"), "unblock": (_unblock, "workers"), "decide": (_decide, "disputed"),
}  # fmt: skip
DONE = set(ACTIONS)

# What gives something to be shown once, on the page of settings.
SHOWN: dict[str, Callable[[Service, FormData, Strings], dict[str, Any]]] = {
    "webhook_add": _add_webhook, "webhook_test": _test_webhook,
}  # fmt: skip


def dashboard_routes(dashboard: Dashboard) -> APIRouter:
    """The addresses of the requester; whoever is not signed in is sent to the door."""
    router = APIRouter(prefix=HOME, include_in_schema=False)

    def guarded(request: Request, show: Callable[..., Response], *args: Any) -> Response:
        if dashboard.sessions.is_requester(request):
            return show(request, *args)
        if request.method != "GET" or request.headers.get("hx-request") == "true":
            return dashboard.pages.refusal(request, 401, "signed_out")
        return RedirectResponse(f"/signin?next={request.url.path}", 303)

    shown: dict[str, Callable[[Request], Response]] = {
        "": dashboard.overview, "/live": dashboard.live, "/workers": dashboard.workers,
        "/disputed": dashboard.disputed, "/settings": dashboard.settings,
    }  # fmt: skip

    def add(path: str, show: Callable[[Request], Response]) -> None:
        def page(request: Request) -> Response:
            return guarded(request, show)

        router.get(path)(page)

    for path, show in shown.items():
        add(path, show)

    @router.get("/download/{what}.csv")
    def download(request: Request, what: str) -> Response:
        if what not in DOWNLOADS:
            raise HTTPException(404)
        return guarded(request, lambda _: dashboard.download(what))

    @router.post("/token")
    def token(request: Request) -> Response:
        return guarded(request, dashboard.show_token)

    @router.get("/{what}")
    def unknown(what: str) -> Response:  # last, or any address would be one that forms are sent to
        raise HTTPException(405 if what in (*ACTIONS, *SHOWN, "token") else 404)

    @router.post("/{what}")
    async def act(request: Request, what: str) -> Response:
        if what not in ACTIONS and what not in SHOWN:
            raise HTTPException(404)
        if not dashboard.sessions.is_requester(request):  # before anything that was sent is read
            return dashboard.pages.refusal(request, 401, "signed_out")
        async with request.form() as form:
            return await run_in_threadpool(guarded, request, dashboard.act, what, form)

    return router
