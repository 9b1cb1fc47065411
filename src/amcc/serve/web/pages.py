"""Pages for people: templates, languages, and what is said when something is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from amcc.serve.service import Service
from amcc.serve.settings import LANGUAGES, Settings
from amcc.serve.web.security import FRAME_SANDBOX
from amcc.serve.web.strings import Strings, strings_in, wanted_language

HERE = Path(__file__).parent

LANGUAGE_COOKIE = "amcc_language"
# A year: a choice of language is no secret.
LANGUAGE_SECONDS = 365 * 86400

# What a refusal is called and says; all others are "not done".
HEADINGS = {"not_found": "error.not_found_heading", "internal": "error.internal_heading"}
TEXTS = {"not_found", "origin", "host", "too_large", "method", "internal", "busy", "signed_out"}


class Pages:
    """Makes the pages of one campaign."""

    def __init__(self, service: Service, *, https: bool) -> None:
        self.service: Service = service
        self.https: bool = https
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip

    @cached_property
    def assets(self) -> str:
        """Changes when one of our styles or scripts does, so that browsers fetch it again."""
        digest = sha256()
        for path in sorted((HERE / "static").iterdir()):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:10]

    def settings(self, request: Request) -> Settings:
        """The settings, looked up once for each request."""
        if not hasattr(request.state, "settings"):
            request.state.settings = self.service.settings
        found: Settings = request.state.settings
        return found

    def strings(self, request: Request) -> Strings:
        """The texts in the language of a visitor."""
        chosen = request.cookies.get(LANGUAGE_COOKIE)
        accepted = request.headers.get("accept-language", "")
        return strings_in(wanted_language(chosen, accepted, self.settings(request).languages))

    def show(
        self, request: Request, template: str, *, status: int = 200, frame: str = "base.html", **values: Any
    ) -> HTMLResponse:
        """A page; or, where htmx asks, the part of it that goes in place of the old one."""
        fragment = request.headers.get("hx-request") == "true"
        layout = self._templates.get_template("fragment.html" if fragment else frame)
        text = self.render(request, template, layout=layout, fragment=fragment, **values)
        return HTMLResponse(text, status)

    def render(self, request: Request, template: str, **values: Any) -> str:
        """A template with what all of them use."""
        settings, strings = self.settings(request), self.strings(request)
        offered = [(code, LANGUAGES[code]) for code in settings.languages]
        common = {
            "t": strings, "language": strings.language, "languages": offered, "here": here(request),
            "campaign": settings.title or settings.name, "assets": self.assets, "sandbox": FRAME_SANDBOX,
            "money": lambda units: strings.money(units, settings.decimals, settings.currency),
            "share": strings.share, "moment": moment,
        }  # fmt: skip
        return self._templates.get_template(template).render(common | values)

    def message(
        self, request: Request, heading: str, *paragraphs: str, status: int = 200, frame: str = "base.html",
        **values: Any,
    ) -> HTMLResponse:  # fmt: skip
        """A page that only says something; see message.html for what else may be on it."""
        blank = dict.fromkeys(("progress", "code", "back_url", "again", "again_text", "reference"))
        content = {"heading": heading, "paragraphs": paragraphs} | blank | values
        return self.show(request, "message.html", status=status, frame=frame, **content)

    def refusal(self, request: Request, status: int, code: str, reference: str | None = None) -> HTMLResponse:
        """A page that says what was not done, and why."""
        strings = self.strings(request)
        heading = strings(HEADINGS.get(code, "error.refused_heading"))
        text = strings(f"error.{code}" if code in TEXTS else "error.method")
        return self.message(request, heading, text, status=status, reference=reference)


def here(request: Request) -> str:
    """Where a visitor comes back to after choosing a language: pages that were asked for, not results of forms."""
    path = request.url.path
    if path.startswith("/work"):
        return "/work"
    if path.startswith(("/w/", "/join")):  # tokens and ids of people are in no other address than the one they came by
        return "/welcome"
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{path}{query}" if request.method == "GET" else path


def moment(seconds: float) -> str:
    """A time as everybody reads it.

    >>> moment(1_800_000_000)
    '2027-01-15 08:00 UTC'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def is_local(path: str) -> bool:
    """Whether an address to go on to is one of ours: //elsewhere and /\\elsewhere are not.

    >>> [is_local(path) for path in ("/work?a=1", "//evil.example", "https://evil.example", "/\\\\evil")]
    [True, False, False, False]
    """
    return path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
