"""The requester signs in with the campaign's password, and out again."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from amcc.serve.service import Service
from amcc.serve.web.pages import Pages, is_local
from amcc.serve.web.security import SignInLimit
from amcc.serve.web.sessions import Sessions

HOME = "/dashboard"


class SignIn:
    """The door of the dashboard."""

    def __init__(self, service: Service, pages: Pages, sessions: Sessions, limit: SignInLimit) -> None:
        self.service: Service = service
        self.pages: Pages = pages
        self.sessions: Sessions = sessions
        self.limit: SignInLimit = limit

    def form(self, request: Request) -> Response:
        """The form, or the dashboard for whoever is in already."""
        if self.sessions.is_requester(request):
            return RedirectResponse(local(request.query_params.get("next")), 303)
        is_out = "out" in request.query_params
        notice = self.pages.strings(request)("signin.was_out") if is_out else ""
        return self._page(request, 200, notice, "good", request.query_params.get("next"))

    def enter(self, request: Request, form: FormData) -> Response:
        """A password came."""
        t, address = self.pages.strings(request), request.client.host if request.client else ""
        wanted, password = form.get("next"), form.get("password")
        if seconds := self.limit.wait(address):
            response = self._page(request, 429, t("signin.wait", seconds=seconds), "bad", wanted)
            response.headers["Retry-After"] = str(seconds)
            return response
        self.limit.note_wrong(address)  # before it is known, so that many tries at once count, too
        if not isinstance(password, str) or not self.service.check_password(password):
            return self._page(request, 403, t("signin.wrong"), "bad", wanted)
        self.limit.forgive(address)
        response = RedirectResponse(local(wanted), 303)
        self.sessions.remember_requester(response)
        return response

    def leave(self) -> Response:
        """Out."""
        response = RedirectResponse("/signin?out", 303)
        self.sessions.forget_requester(response)
        return response

    def _page(self, request: Request, status: int, notice: str, kind: str, wanted: object) -> Response:
        return self.pages.show(request, "signin.html", status=status, notice=notice, notice_kind=kind,
                               next=local(wanted))  # fmt: skip


def local(path: object) -> str:
    """Where to go after signing in: a page of the dashboard.

    >>> local("/dashboard/workers"), local("https://evil.example"), local(None)
    ('/dashboard/workers', '/dashboard', '/dashboard')
    """
    return path if isinstance(path, str) and path.startswith(HOME) and is_local(path) else HOME


def signin_routes(signin: SignIn) -> APIRouter:
    """The addresses."""
    router = APIRouter(include_in_schema=False)

    @router.get("/signin")
    def form(request: Request) -> Response:
        return signin.form(request)

    @router.post("/signin")
    async def enter(request: Request) -> Response:
        return await run_in_threadpool(signin.enter, request, await request.form())

    @router.post("/signout")
    def leave() -> Response:
        return signin.leave()

    return router
