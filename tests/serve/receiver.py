"""Somebody else's machine that is told what happens in a campaign: a real web server on a free port of the loopback."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """What came; `answers` with a status, by the number of requests that came before."""

    answers: Callable[[int], int] = lambda n: 204
    address: str = ""
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    free: threading.Event = field(default_factory=threading.Event)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.requests]

    @property
    def types(self) -> list[str]:
        return [body["type"] for body in self.bodies]


@contextlib.contextmanager
def receiving(
    answers: Callable[[int], int] = lambda n: 204, *, blocked: bool = False, tls: ssl.SSLContext | None = None,
    headers: dict[str, str] | None = None,
) -> Iterator[Receiver]:  # fmt: skip
    """Listen until the block ends; `blocked`: answer nothing before `free` is set."""
    told = Receiver(answers)
    if not blocked:
        told.free.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
            place = len(told.requests) - 1
            told.free.wait(30)
            with contextlib.suppress(OSError):
                self.send_response(answers(place))
                for name, value in {"Content-Length": "0", **(headers or {})}.items():
                    self.send_header(name, value)
                self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    told.address = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    try:
        yield told
    finally:
        told.free.set()
        server.shutdown()
        server.server_close()
        thread.join(30)
