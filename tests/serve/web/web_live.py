"""Campaigns to look at through the web: the real service on SQLite, with items of every kind."""

from __future__ import annotations

import struct
import warnings
import wave
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amcc.serve.service import Service
from amcc.serve.views import Link
from amcc.serve.web.app import create_app

with warnings.catch_warnings():  # it would rather have httpx2, but works with httpx, which we use ourselves
    warnings.simplefilter("ignore", DeprecationWarning)
    warnings.filterwarnings("ignore", message="Using `httpx`")
    from starlette.testclient import TestClient

PASSWORD = "correct horse battery"
HERE = "http://127.0.0.1"

INSTRUCTIONS = """# What counts
- A **dog** is any dog, also a puppy.
- A picture of a wolf is *not* a dog.

For example: "Rex barks at the postman" has a dog and no cat."""

LABELS = """label,question,help
dog,Is there a dog?,"Any dog, also a puppy."
cat,Is there a cat?,
<script>alert(1)</script>,"Is <script>window.hacked=1</script> there?","<img src=x onerror=window.hacked=1>"
"""


@dataclass
class Clock:
    """Time that tests move."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Live:
    """A campaign that is open, with a clock to move."""

    service: Service
    clock: Clock
    folder: Path

    def client(self, *, origin: bool = True, **options: Any) -> TestClient:
        """A visitor without cookies; a browser that sends the origin of its forms."""
        headers = {"Origin": HERE} if origin else {}
        app = create_app(self.service, **options)
        # What no page expects must come back as a page, too, not as an exception in the test.
        return TestClient(app, base_url=HERE, headers=headers, follow_redirects=False, raise_server_exceptions=False)

    def invite(self, name: str = "ann") -> Link:
        (link,) = self.service.invite([name], actor="test")
        return link

    def worker(self, name: str = "ann", **options: Any) -> TestClient:
        """A worker who has opened their link."""
        client = self.client(**options)
        assert client.get(f"/w/{self.invite(name).token}").status_code == 200
        return client

    def requester(self, **options: Any) -> TestClient:
        """The requester, signed in."""
        client = self.client(**options)
        assert client.post("/signin", data={"password": PASSWORD}).status_code == 303
        return client


def png(path: Path, width: int = 320, height: int = 200) -> None:
    """A picture in one colour."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + bytes((90, 140, 200)) * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


def wav(path: Path) -> None:
    """A tenth of a second of silence."""
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\0\0" * 800)


def items_of(folder: Path, rows: dict[str, tuple[str, str]]) -> Path:
    """A table of items: name → (kind, content)."""
    kinds = ("text", "image", "audio", "url", "html")
    quoted = lambda text: '"' + text.replace('"', '""') + '"'  # noqa: E731
    lines = [",".join(("item", *kinds))]
    for name, (kind, content) in rows.items():
        lines.append(",".join([quoted(name), *(quoted(content) if kind == each else "" for each in kinds)]))
    path = folder / "items.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


TEXTS = {f"text{place}": ("text", f"Rex, dog number {place}, barks at the postman.") for place in range(12)}
EVERY_KIND = {
    "text": ("text", "<script>window.hacked=1</script> Rex barks at the postman."),
    "picture": ("image", "blue.png"),
    "sound": ("audio", "sounds/silence.wav"),
    "address": ("url", "https://example.org/page?a=1&b=2"),
    "document": (
        "html",
        '<h1>Rex</h1><script>parent.hacked=1</script><img src="blue.png" onerror="parent.hacked=1">'
        '<p onclick="x()">A dog.</p>'
        '<a href="javascript:alert(1)">no</a> <a href="https://example.org">yes</a><style>body{display:none}</style>',
    ),
}
