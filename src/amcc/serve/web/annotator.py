"""The pages of workers: in by a link or from a platform, page after page, out with a completion code.

Everything works with links and forms alone. With JavaScript, htmx sends the form and puts the next page in place of the
last; the server does the same either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from amcc.errors import InputError, LinkError, NotFoundError, RefusedError
from amcc.serve.service import Service
from amcc.serve.views import Answer, NoWork, WorkerInfo, WorkPage
from amcc.serve.web.items import shown_at
from amcc.serve.web.markdown import as_html
from amcc.serve.web.pages import Pages
from amcc.serve.web.sessions import NOTE_COOKIE, Sessions

ANSWERS: tuple[Answer, ...] = ("yes", "no", "skip")

# Names of fields in the form of a page.
ANSWER_FIELD = "answer-"

FRAME = "visitor.html"

# How a note looks: good news, or something to read twice.
NOTE_KINDS = {"saved": "good", "free": "good", "late": "good", "released": "good"}

# More digits than any number of a lease or a label has.
MOST_DIGITS = 18

Note = tuple[str, int]


class Annotator:
    """What workers see and do."""

    def __init__(self, service: Service, pages: Pages, sessions: Sessions) -> None:
        self.service: Service = service
        self.pages: Pages = pages
        self.sessions: Sessions = sessions

    # -- coming in

    def by_link(self, request: Request, token: str) -> Response:
        """Somebody opens the link that they were given."""
        return self._welcome(request, self.service.worker_by_token(token), token)

    def by_platform(self, request: Request) -> Response:
        """Somebody comes from the platform, which says who they are in the address."""
        try:
            worker = self.service.worker_by_platform(dict(request.query_params))
        except LinkError:
            return self._not_from_platform(request)
        except RefusedError:  # as many as were wanted have come
            return self._screened_out(request)
        return self._welcome(request, worker, None)

    def welcome(self, request: Request) -> Response:
        """The first page again, for whoever has come in."""
        return self._welcome_page(request, self.sessions.worker(request))

    def _welcome(self, request: Request, worker: WorkerInfo, token: str | None) -> Response:
        """What is asked and paid; the way on is a link of this page, for a browser sends SameSite=Strict cookies only
        from one page of ours to another, not through a redirect from elsewhere."""
        response = self._welcome_page(request, worker)
        self.sessions.remember_worker(response, token=token, worker=worker)
        return response

    def _welcome_page(self, request: Request, worker: WorkerInfo) -> Response:
        settings = self.pages.settings(request)
        return self.pages.show(
            request, "welcome.html", frame=FRAME, worker=worker, progress=self.service.progress(worker.id),
            instructions=as_html(settings.instructions), pay_skips=settings.pay_skips,
        )  # fmt: skip

    def _not_from_platform(self, request: Request) -> Response:
        t, settings = self.pages.strings(request), self.pages.settings(request)
        text = t("link.platform", name=settings.worker_param) if settings.worker_param else t("link.forged")
        return self.pages.message(request, t("link.platform_heading"), text, status=400, frame=FRAME)

    def link_problem(self, request: Request, error: LinkError) -> Response:
        """A link that cannot be used, or no link at all."""
        t = self.pages.strings(request)
        heading, text = t(f"link.{error.reason}_heading"), t(f"link.{error.reason}")
        return self.pages.message(request, heading, text, status=401, frame=FRAME)

    # -- working

    def work(self, request: Request) -> Response:
        """The page that is open, or the next one."""
        worker = self.sessions.worker(request)
        return self._next(request, worker, self.sessions.note(request))

    def answer(self, request: Request, form: FormData) -> Response:
        """Answers to a page: kept once, whatever is clicked twice, comes late or was made up."""
        worker = self.sessions.worker(request)
        lease, given = number_in(form.get("lease")), given_answers(form)
        if lease is None:
            return self._on(request, worker, ("unknown", 0))
        try:
            receipt = self.service.answer(worker.id, lease, given)
        except NotFoundError:
            note = ("unknown", 0)
        except RefusedError as error:
            note = ("too_late" if error.reason == "late" else "other_answers", 0)
        except InputError:
            page = self.service.open_page(worker.id)
            if page is not None and page.lease_id == lease:
                return self._show(request, worker, page, given=given, status=422)
            note = ("changed", 0)
        else:
            kind = "already" if receipt.already else "late" if receipt.late else "saved" if receipt.earned else "free"
            note = (kind, receipt.earned)
        return self._on(request, worker, note)

    def release(self, request: Request, form: FormData) -> Response:
        """A page is given back unanswered."""
        worker = self.sessions.worker(request)
        note = ("released", 0)
        try:
            self.service.release(worker.id, number_in(form.get("lease")) or 0)
        except (NotFoundError, RefusedError):
            note = ("unknown", 0)
        return self._on(request, worker, note)

    def pause(self, request: Request) -> Response:
        """A break: nothing changes, the open page waits for as long as it is leased."""
        worker = self.sessions.worker(request)
        t, page = self.pages.strings(request), self.service.open_page(worker.id)
        texts = [t("pause.text")]
        if page is not None:
            minutes = max(int((page.expires_at - self.service.clock()) // 60), 0)
            texts.append(t("pause.waits", minutes=minutes))
        return self.pages.message(
            request, t("pause.heading"), *texts, t("pause.back"), frame=FRAME, again="/work",
            again_text=t("pause.go_on"), progress=self.service.progress(worker.id),
        )  # fmt: skip

    def _on(self, request: Request, worker: WorkerInfo, note: Note) -> Response:
        """After a form: the next page at once for htmx, else by a redirect, so that "reload" sends nothing again."""
        if request.headers.get("hx-request") == "true":
            return self._next(request, worker, note)
        response = RedirectResponse("/work", 303)
        self.sessions.leave_note(response, *note)
        return response

    def _next(self, request: Request, worker: WorkerInfo, note: Note | None) -> Response:
        found = self.service.next_page(worker.id)
        if isinstance(found, NoWork):
            return self._no_work(request, worker, found)
        return self._show(request, worker, found, note=note)

    def _show(
        self, request: Request, worker: WorkerInfo, page: WorkPage, *, note: Note | None = None,
        given: Mapping[int, Answer] | None = None, status: int = 200,
    ) -> Response:  # fmt: skip
        """A page with its questions; those that were `given` no answer are pointed out."""
        t, settings = self.pages.strings(request), self.pages.settings(request)
        missing = {each.label_id for each in page.questions if given is not None and each.label_id not in given}
        notice, kind = "", "bad"
        if missing:
            notice = t("work.unanswered_some")
        elif note is not None:
            kind, amount = NOTE_KINDS.get(note[0], "warn"), t.money(note[1], settings.decimals, settings.currency)
            notice = t(f"saved.{note[0]}", amount=amount)
        response = self.pages.show(
            request, "work.html", status=status, frame=FRAME, page=page, item=page.item,
            shown_at=shown_at(page.item, self.sessions), given=given or {}, missing=missing, notice=notice,
            notice_kind=kind, instructions=as_html(settings.instructions), progress=self.service.progress(worker.id),
        )  # fmt: skip
        if NOTE_COOKIE in request.cookies:
            response.delete_cookie(NOTE_COOKIE, httponly=True, samesite="strict")
        return response

    # -- going

    def _no_work(self, request: Request, worker: WorkerInfo, found: NoWork) -> Response:
        """Why there is nothing to do, kindly; with the code where the work is done."""
        t, progress = self.pages.strings(request), self.service.progress(worker.id)
        if found.reason not in ("paused", "blocked") and not found.done:
            return self._screened_out(request)
        values: dict[str, Any] = {"progress": progress if progress.pages else None, "frame": FRAME}
        if found.reason in ("paused", "blocked") or not found.done:
            heading, text = t(f"nowork.{found.reason}_heading"), t(f"nowork.{found.reason}")
            if found.reason == "paused":
                values |= {"again": "/work", "again_text": t("nowork.try_again")}
            return self.pages.message(request, heading, text, **values)
        code, url = progress.completion_code, progress.completion_url
        paid = () if code else (t("end.paid_later"),)
        if found.reason == "money":
            values |= {"again": "/work", "again_text": t("nowork.try_again")}
        return self.pages.message(
            request, t("end.heading"), t(f"nowork.{found.reason}"), *paid, code=code, back_url=url, **values
        )

    def _screened_out(self, request: Request) -> Response:
        t = self.pages.strings(request)
        return self.pages.message(request, t("nowork.screened_heading"), t("nowork.screened"), frame=FRAME,
                                  again="/work", again_text=t("nowork.try_again"))  # fmt: skip


def given_answers(form: FormData) -> dict[int, Answer]:
    """Answers by label in a form; fields that are none are left out.

    >>> given_answers(FormData({"answer-3": "yes", "answer-4": "perhaps", "answer-x": "no", "lease": "7"}))
    {3: 'yes'}
    """
    given: dict[int, Answer] = {}
    for name, value in form.items():
        label = number_in(name.removeprefix(ANSWER_FIELD)) if name.startswith(ANSWER_FIELD) else None
        if label is not None and value in ANSWERS:
            given[label] = value
    return given


def number_in(text: object) -> int | None:
    """A whole number in a field; None where there is none.

    >>> number_in("12"), number_in("1e3"), number_in(None), number_in("²")
    (12, None, None, None)
    """
    is_number = isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(cast(str, text)) if is_number else None


class Address(Route):
    """An address of workers: a route of Starlette's, which only runs a function. FastAPI's own take twice as long for a
    request, for what only the API needs: they read and check parameters and bodies."""

    def __init__(self, path: str, endpoint: Callable[[Request], Any], method: str = "GET") -> None:
        super().__init__(path, endpoint, methods=[method])
        self.methods = {method}  # no HEAD, which Starlette adds: it would lease a page that nobody sees

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """See Starlette; log and metrics want to know the route, which FastAPI's tell them."""
        found, child = super().matches(scope)
        return found, {**child, "route": self}


def annotator_routes(annotator: Annotator) -> list[Address]:
    """The addresses of workers."""

    def by_link(request: Request) -> Response:
        return annotator.by_link(request, request.path_params["token"])

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(annotator.answer, request, await request.form())

    async def release(request: Request) -> Response:
        return await run_in_threadpool(annotator.release, request, await request.form())

    return [
        Address("/work", annotator.work),
        Address("/work", answer, "POST"),
        Address("/work/release", release, "POST"),
        Address("/work/pause", annotator.pause),
        Address("/w/{token}", by_link),
        Address("/join", annotator.by_platform),
        Address("/welcome", annotator.welcome),
    ]
