"""Many visitors of a web server at once, from one process: a lean HTTP client on asyncio, and times that it took.

Leaner than any library for it: what is measured should be the server, with which the visitors share the machine.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Seconds for one request, after which the server counts as gone.
PATIENCE = 60.0


class Gone(Exception):  # noqa: N818, it is a finding
    """The server did not answer: it is not there, or it went away in the middle."""


@dataclass
class Answer:
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


@dataclass
class Visitor:
    """One connection to a server, opened again where it was closed; keeps cookies."""

    host: str
    port: int
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> Answer:
        """Read a page."""
        return await self.send("GET", path)

    async def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
        """Send JSON."""
        return await self.send("POST", path, json.dumps(body).encode(), {"content-type": "application/json",
                                                                        **(headers or {})})  # fmt: skip

    async def send(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        """One request; Gone where no whole answer came."""
        try:
            return await asyncio.wait_for(self._exchange(method, path, body, headers or {}), PATIENCE)
        except (OSError, EOFError, TimeoutError, ValueError, IndexError) as error:
            self.close()
            raise Gone(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _exchange(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self.host, self.port)
        reader, writer = self._streams
        lines = [f"{method} {path} HTTP/1.1", f"host: {self.host}:{self.port}", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in {**self.headers, **headers}.items()]
        if self.cookies:
            lines.append("cookie: " + "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        told: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "set-cookie":
                cookie, _, kept = value.strip().partition(";")[0].partition("=")
                self.cookies[cookie] = kept
            told[name.lower()] = value.strip()
        answer = Answer(int(head[0].split(" ")[1]), told, await self._body(reader, told))
        if told.get("connection", "").lower() == "close" or head[0].startswith("HTTP/1.0"):
            self.close()
        return answer

    async def _body(self, reader: asyncio.StreamReader, told: Mapping[str, str]) -> bytes:
        if "content-length" in told:
            return await reader.readexactly(int(told["content-length"]))
        if told.get("transfer-encoding") == "chunked":
            parts = []
            while size := int(await reader.readline(), 16):
                parts.append(await reader.readexactly(size))
                await reader.readline()
            await reader.readline()
            return b"".join(parts)
        return await reader.read()


@dataclass
class Times:
    """How long something took, each time, in seconds."""

    taken: list[float] = field(default_factory=list)

    def note(self, begun: float) -> None:
        """It began then, by time.perf_counter, and is done."""
        self.taken.append(time.perf_counter() - begun)

    def percentile(self, share: float) -> float:
        """In milliseconds; NaN where nothing was measured.

        >>> Times([0.001, 0.002, 0.003, 0.004]).percentile(0.5)
        2.0
        """
        ordered = sorted(self.taken)
        return 1000 * ordered[max(0, int(share * len(ordered) + 0.5) - 1)] if ordered else float("nan")

    def text(self) -> str:
        """For a table."""
        shown = (f"p{100 * share:.0f} {self.percentile(share):.0f} ms" for share in (0.5, 0.95, 0.99))
        return ", ".join(shown) + f" ({len(self.taken):,} times)"


def both(tables: Sequence[Times]) -> Times:
    """Several as one."""
    return Times([each for table in tables for each in table.taken])
