"""The web application of a live campaign: `create_app(service)`.

| file | what it knows |
|---|---|
| `annotator`, `items` | the pages of workers, and what is judged on them |
| `dashboard`, `charts`, `signin` | the pages of the requester |
| `api` | the same for programs, with an OpenAPI document |
| `pages`, `strings`, `markdown` | templates, languages |
| `sessions`, `security` | who a visitor is; what is refused before anybody looks at it |
| `metrics` | numbers for Prometheus |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from amcc.errors import AmccError, CampaignError, LinkError, NotFoundError, RefusedError, StoreError
from amcc.serve.service import Service
from amcc.serve.settings import LANGUAGES
from amcc.serve.web.annotator import Annotator, annotator_routes
from amcc.serve.web.api import PREFIX, Api, ApiError, api_routes
from amcc.serve.web.dashboard import Dashboard, dashboard_routes
from amcc.serve.web.items import item_routes
from amcc.serve.web.metrics import Metrics
from amcc.serve.web.pages import HERE, LANGUAGE_COOKIE, LANGUAGE_SECONDS, Pages, is_local
from amcc.serve.web.security import Guard, SignInLimit, is_api
from amcc.serve.web.sessions import Sessions
from amcc.serve.web.signin import HOME, SignIn, signin_routes

# What a status means to a program, where nothing better is known.
CODES = {400: "bad_request", 401: "no_token", 403: "forbidden", 404: "not_found", 405: "method", 413: "too_large",
         422: "invalid", 429: "too_many", 503: "busy"}  # fmt: skip

# Versions of our styles and scripts are in their addresses: a day without asking again.
STATIC_CACHE = "public, max-age=86400"


def create_app(service: Service, *, https: bool = False, hosts: Sequence[str] = ()) -> FastAPI:
    """The application for one campaign.

    https : a proxy in front speaks TLS: cookies are sent over it only, and forms must come from there.
    hosts : names by which visitors call this server, beside those of the loopback; a port is not part of them.
    """
    pages, sessions = Pages(service, https=https), Sessions(service, https=https)
    metrics, refusals = Metrics(service), Refusals(pages)
    annotator = Annotator(service, pages, sessions)
    guard = Middleware(Guard, refuse=refusals.of, observe=metrics.observe, hosts=hosts, https=https)
    app = FastAPI(
        title="amcc campaign", version="1", openapi_url=f"{PREFIX}/openapi.json", docs_url=None, redoc_url=None,
        middleware=[guard], description=(Api.__doc__ or ""),
    )  # fmt: skip
    refusals.register(app, annotator)
    app.router.routes.extend(annotator_routes(annotator))
    app.include_router(item_routes(service, pages, sessions))
    app.include_router(signin_routes(SignIn(service, pages, sessions, SignInLimit())))
    app.include_router(dashboard_routes(Dashboard(service, pages, sessions)))
    app.include_router(api_routes(Api(service, sessions)))
    app.include_router(operations_routes(service, sessions, metrics))
    app.mount("/static", Static(directory=HERE / "static"))
    return app


class Static(StaticFiles):
    """Our own styles and scripts."""

    def file_response(self, *args: Any, **values: Any) -> Response:
        """See `StaticFiles`; with a time for which browsers keep it."""
        response = super().file_response(*args, **values)
        response.headers["Cache-Control"] = STATIC_CACHE
        return response


def operations_routes(service: Service, sessions: Sessions, metrics: Metrics) -> APIRouter:
    """Health, metrics, the way in, the language."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def home() -> Response:
        return RedirectResponse(HOME, 303)

    @router.get("/healthz")
    def health() -> Response:
        well = service.healthy()
        return JSONResponse({"status": "ok" if well else "unavailable"}, 200 if well else 503)

    @router.get("/metrics")
    def read_metrics(request: Request) -> Response:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        shown = kind.lower() == "bearer" and sessions.is_requester_token(token)
        if not shown and not sessions.is_requester(request):  # how much money there is, is not for workers
            raise ApiError(401, "no_token", "the metrics must be read with the requester's token.")
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4")

    @router.get("/robots.txt")
    def robots() -> Response:
        return PlainTextResponse("User-agent: *\nDisallow: /\n")

    @router.get("/language/{code}")
    def language(request: Request, code: str) -> Response:
        wanted = request.query_params.get("next", "/")
        response = RedirectResponse(wanted if is_local(wanted) else "/", 303)
        if code in LANGUAGES:
            response.set_cookie(LANGUAGE_COOKIE, code, max_age=LANGUAGE_SECONDS, httponly=True, samesite="lax")
        return response

    return router


class Refusals:
    """Every answer that is not what was asked for: one body for programs, one page for people, never a stack trace."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages

    def of(self, request: Request, status: int, code: str, reference: str | None = None, message: str = "") -> Response:
        """A refusal; `reference` of an error that nobody expected."""
        if not is_api(request):
            return self.pages.refusal(request, status, code, reference)
        text = message or self.pages.strings(request)(f"error.{code}" if code in TEXTS_OF_CODES else "error.method")
        body = {"error": code, "message": text} | ({"reference": reference} if reference else {})
        return JSONResponse(body, status)

    def register(self, app: FastAPI, annotator: Annotator) -> None:
        """Say for each kind of error what becomes of it."""

        @app.exception_handler(HTTPException)
        def http_error(request: Request, error: Exception) -> Response:
            status = error.status_code if isinstance(error, HTTPException) else 500
            return self.of(request, status, CODES.get(status, "bad_request"))

        @app.exception_handler(RequestValidationError)
        def invalid(request: Request, error: Exception) -> Response:
            found = error.errors()[0] if isinstance(error, RequestValidationError) else {}
            place = ".".join(str(each) for each in found.get("loc", ()))
            return self.of(request, 422, "invalid", message=f"{place}: {found.get('msg', 'is not right')}.")

        @app.exception_handler(ApiError)
        def api_error(request: Request, error: Exception) -> Response:
            assert isinstance(error, ApiError)  # what it is registered for
            return self.of(request, error.status, error.code, message=error.message)

        @app.exception_handler(LinkError)
        def link_error(request: Request, error: Exception) -> Response:
            assert isinstance(error, LinkError)
            return annotator.link_problem(request, error)

        @app.exception_handler(AmccError)
        def refused(request: Request, error: Exception) -> Response:
            status, code = refusal_of(error)
            return self.of(request, status, code, message=str(error))


def refusal_of(error: Exception) -> tuple[int, str]:
    """Status and code of an error of ours.

    >>> refusal_of(NotFoundError("…")), refusal_of(RefusedError("…", "late"))
    ((404, 'not_found'), (409, 'late'))
    """
    if isinstance(error, NotFoundError):
        return 404, "not_found"
    if isinstance(error, RefusedError):
        return 409, error.reason
    if isinstance(error, StoreError):
        return 503, "busy"
    if isinstance(error, CampaignError):
        return 409, "refused"
    return 422, "invalid"


TEXTS_OF_CODES = {"not_found", "origin", "host", "too_large", "method", "internal", "busy"}
