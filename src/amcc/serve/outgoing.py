"""Requests to other machines, as far as they may go: to addresses that are allowed, for seconds, and no further.

A host is looked up once, every address that it has is checked, and one of these very addresses is connected to: a name
that points elsewhere a moment later gains nothing. Redirects are not followed, proxies of the environment are not used,
and of the answer only its status counts.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import httpcore

from amcc.errors import InputError
from amcc.serve.addresses import SECONDS, Outcome, Resolve, Target, allowed_addresses

# Bytes of an answer that are read, so that its connection can be used again; of a longer one it is closed.
MOST_READ = 1 << 16


class Line:
    """Requests to one target, by one connection as long as it lasts."""

    def __init__(self, target: Target, *, seconds: float = SECONDS, resolve: Resolve | None = None) -> None:
        self._target, self._seconds = target, seconds
        self._network = _Network(target, resolve)
        context = _tls() if target.scheme == "https" else None
        self._pool = httpcore.ConnectionPool(ssl_context=context, network_backend=self._network, max_connections=1)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def post(self, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """Send a body; 2xx means that it was taken."""
        target = self._target
        url = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        given = {"Host": target.host_header, "Content-Length": str(len(body)), **headers}
        self._network.until = time.monotonic() + self._seconds
        try:
            with self._pool.stream("POST", url, headers=list(given.items()), content=body) as response:
                status, read = response.status, 0
                with contextlib.suppress(httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
                    for part in response.iter_stream():
                        read += len(part)
                        if read > MOST_READ:
                            break
        except InputError as error:
            return Outcome(False, str(error))
        except httpcore.TimeoutException:
            return Outcome(False, f"no answer within {self._seconds:g} s")
        except (httpcore.NetworkError, OSError) as error:
            return Outcome(False, f"no connection ({_plain(error)})")
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol):
            return Outcome(False, "the answer was not HTTP")
        if 300 <= status < 400:
            return Outcome(False, f"status {status}: redirects are not followed")
        return Outcome(200 <= status < 300, f"status {status}")


def _plain(error: Exception) -> str:
    """What is wrong with a connection, in the system's words."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, OSError):
        found = found.__cause__ or found.__context__
    if isinstance(found, ssl.SSLCertVerificationError):
        return f"its certificate is not good: {found.verify_message}"
    return (found.strerror if found is not None else None) or type(error).__name__


@cache
def _tls() -> ssl.SSLContext:
    """With the certificates of this system (SSL_CERT_FILE names others); made once, for it takes milliseconds."""
    return ssl.create_default_context()


class _Network(httpcore.NetworkBackend):
    """Connects to addresses that were checked, and to nothing else, until a moment comes."""

    def __init__(self, target: Target, resolve: Resolve | None) -> None:
        self._target, self._resolve, self._inner = target, resolve, httpcore.SyncBackend()
        self.until = 0.0

    def left(self) -> float:
        """Seconds left for this request."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the time for this request is over")
        return left

    def connect_tcp(self, host: str, port: int, timeout: Any = None, local_address: Any = None,
                    socket_options: Any = None) -> httpcore.NetworkStream:  # fmt: skip
        """See httpcore: the first address that answers."""
        addresses = allowed_addresses(host, port, private=self._target.private, resolve=self._resolve)
        for last, address in enumerate(addresses, start=1 - len(addresses)):
            try:
                stream = self._inner.connect_tcp(address, port, self.left(), local_address, socket_options)
                return _Stream(stream, self.left)
            except httpcore.ConnectError:
                if last == 0:
                    raise
        raise httpcore.ConnectError("the host has no address")

    def sleep(self, seconds: float) -> None:
        """See httpcore."""
        time.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    """A connection whose every step ends when the request must."""

    def __init__(self, inner: httpcore.NetworkStream, left: Callable[[], float]) -> None:
        self._inner, self._left = inner, left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """See httpcore."""
        return self._inner.read(max_bytes, self._left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """See httpcore."""
        self._inner.write(buffer, self._left())

    def close(self) -> None:
        """See httpcore."""
        self._inner.close()

    def start_tls(self, ssl_context: ssl.SSLContext, server_hostname: str | None = None,
                  timeout: float | None = None) -> httpcore.NetworkStream:  # fmt: skip
        """See httpcore."""
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, self._left()), self._left)

    def get_extra_info(self, info: str) -> Any:
        """See httpcore."""
        return self._inner.get_extra_info(info)
