"""What is judged, as browsers get it: pictures and sounds of the media folder, and HTML items in a frame.

Each item has an address of its own with a signed grant (`Sessions.item_grant`), below which only its own files are. So
nobody can look through the folder, and relative addresses in an HTML item work as they are.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import nh3
from fastapi import APIRouter
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from amcc.errors import NotFoundError
from amcc.serve.service import Service
from amcc.serve.views import ItemView
from amcc.serve.web.pages import Pages
from amcc.serve.web.security import FRAME_POLICY, MEDIA_POLICY
from amcc.serve.web.sessions import Sessions

# What files are called, and as what they are sent; others are not sent. None of these can run anything: SVG may hold
# scripts, but not in an <img>, and with MEDIA_POLICY not by itself either.
MEDIA_TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".avif": "image/avif", ".bmp": "image/bmp", ".svg": "image/svg+xml",
    ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg",
    ".m4a": "audio/mp4", ".aac": "audio/aac", ".flac": "audio/flac", ".weba": "audio/webm",
}  # fmt: skip

# A picture of an open page is not fetched twice; after that, nobody else on a shared machine finds it.
MEDIA_CACHE = "private, max-age=3600"

# In the frame of an HTML item links open in a new tab, and say nothing of where they were.
LINK_REL = "noopener noreferrer"


def shown_at(item: ItemView, sessions: Sessions) -> str | None:
    """The address at which a browser finds what is judged; None where the text itself is, or it cannot be shown."""
    if item.kind == "url":
        return item.content if is_web_address(item.content) else None
    if item.kind == "text":
        return None
    file = "" if item.kind == "html" else quote(item.content)
    return f"/item/{sessions.item_grant(item.id)}/{file}"


def is_web_address(text: str) -> bool:
    """Whether it is safe to link to: javascript: and the like are not.

    >>> [is_web_address(text) for text in ("https://example.org/a", "javascript:alert(1)", "/w/token", "https://")]
    [True, False, False, False]
    """
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def sanitised(html: str) -> Markup:
    """HTML without anything that runs, sends or fetches from elsewhere."""
    return Markup(
        nh3.clean(
            html, tags=nh3.ALLOWED_TAGS | {"audio", "section", "figure", "figcaption"},
            attributes={**nh3.ALLOWED_ATTRIBUTES, "audio": {"src", "controls"}},
            set_tag_attribute_values={"a": {"target": "_blank"}}, link_rel=LINK_REL,
            url_schemes={"http", "https"},
        )
    )  # fmt: skip


def media_file(media: Path | None, name: str) -> Path:
    """A file of the media folder; 404 where it is outside of it, absent, or of a kind that is not sent."""
    if media is None or "\0" in name:
        raise HTTPException(404)
    folder = media.resolve()
    path = (folder / name).resolve()  # follows links: what counts is where a file is
    if not path.is_relative_to(folder) or not path.is_file() or path.suffix.lower() not in MEDIA_TYPES:
        raise HTTPException(404)
    return path


def belongs(item: ItemView, name: str) -> bool:
    """Whether a file is part of an item."""
    if item.kind == "html":
        return bool(name) and (name in item.content or quote(name) in item.content)
    return item.kind in ("image", "audio") and name == item.content


def item_routes(service: Service, pages: Pages, sessions: Sessions) -> APIRouter:
    """Addresses below /item."""
    router = APIRouter(prefix="/item", include_in_schema=False)

    def granted(grant: str) -> ItemView:
        number = sessions.granted_item(grant)
        if number is None:
            raise HTTPException(404)
        try:
            return service.item(number)
        except NotFoundError:
            raise HTTPException(404) from None

    @router.get("/{grant}/")
    def frame(request: Request, grant: str) -> Response:
        item = granted(grant)
        if item.kind != "html":
            raise HTTPException(404)
        text = pages.render(request, "frame.html", title=item.name, content=sanitised(item.content))
        return HTMLResponse(text, headers={"Content-Security-Policy": FRAME_POLICY})

    @router.get("/{grant}/{name:path}")
    def file(grant: str, name: str) -> Response:
        item = granted(grant)
        if not belongs(item, name):
            raise HTTPException(404)
        path = media_file(service.media, unquote(name) if item.kind == "html" else name)
        headers = {"Content-Security-Policy": MEDIA_POLICY, "Cache-Control": MEDIA_CACHE}
        return FileResponse(path, media_type=MEDIA_TYPES[path.suffix.lower()], headers=headers)

    return router
