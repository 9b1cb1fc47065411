"""Requests to a Label Studio server. The token is sent as a header, and stands in no error, log or address."""

from __future__ import annotations

import time
from typing import Any, Self

import httpx

from amcc.errors import AmccError, InputError

# Seconds for one request: an export of 10⁵ tasks is made while one waits.
TIMEOUT = 300.0

# Seconds between tries where the server does not answer, or says that it is busy.
WAITS = (0.5, 2.0, 8.0)
PASSING = (429, 502, 503, 504)

# Personal access tokens live for minutes as the token that is sent; a new one is asked for in time.
ACCESS_SECONDS = 200.0


class LabelStudioError(AmccError):
    """The server does not answer, or refuses what it was asked for."""


class LabelStudio:
    """A server. `token` is a legacy token, or a personal access token, for which short-lived ones are fetched."""

    def __init__(self, url: str, token: str, *, transport: httpx.BaseTransport | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise InputError(f"the address must begin with https:// or http://; got {url!r}.")
        if not token.strip() or not token.isascii():
            raise InputError("a token is needed: Label Studio shows it under Account & Settings.")
        self.url: str = url.rstrip("/")
        self._token = token.strip()
        self._access, self._until = "", 0.0
        # Redirects are not followed: they would carry the token elsewhere.
        self._client = httpx.Client(base_url=self.url, timeout=TIMEOUT, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str, **params: str | int) -> Any:
        """What the server holds."""
        return self._send("GET", path, params=params)

    def post(self, path: str, content: Any) -> Any:
        """Something new."""
        return self._send("POST", path, json=content)

    def patch(self, path: str, content: Any) -> Any:
        """Something changed."""
        return self._send("PATCH", path, json=content)

    def delete(self, path: str) -> None:
        """Something removed."""
        self._send("DELETE", path)

    def _send(self, method: str, path: str, **content: Any) -> Any:
        answer = self._answer(method, path, {"Authorization": self._authorization()}, content)
        if answer.status_code in (401, 403):
            raise LabelStudioError(
                f"Label Studio at {self.url} refuses the token ({answer.status_code}). Is it of this server, and may "
                "this account see the project? Legacy tokens can be switched off: then make a personal access token."
            )
        if answer.status_code == 404:
            raise LabelStudioError(f"Label Studio at {self.url} has no {path}. Is it the right project?")
        if answer.is_error or answer.is_redirect:
            said = answer.text[:300].replace(self._token, "…")
            raise LabelStudioError(f"Label Studio refused {method} {path} ({answer.status_code}): {said}")
        if not answer.content:
            return None
        try:
            return answer.json()
        except ValueError:
            raise LabelStudioError(f"{self.url} does not answer as Label Studio does ({method} {path}).") from None

    def _answer(self, method: str, path: str, headers: dict[str, str], content: dict[str, Any]) -> httpx.Response:
        """An answer that is not a passing trouble. What is written twice by a repeated try is written the same."""
        problem = ""
        for wait in (0.0, *WAITS):
            time.sleep(wait)
            try:
                answer = self._client.request(method, path, headers=headers, **content)
            except httpx.TransportError as error:
                problem = type(error).__name__
                continue
            if answer.status_code not in PASSING:
                return answer
            problem = str(answer.status_code)
        raise LabelStudioError(f"Label Studio at {self.url} does not answer ({problem}). Is it running?")

    def _authorization(self) -> str:
        if self._token.count(".") != 2:  # not three parts of base64: a legacy token
            return f"Token {self._token}"
        if time.monotonic() > self._until:
            told = self._answer("POST", "/api/token/refresh", {}, {"json": {"refresh": self._token}})
            if told.is_error:
                raise LabelStudioError(f"Label Studio at {self.url} refuses the personal access token.")
            self._access, self._until = str(told.json()["access"]), time.monotonic() + ACCESS_SECONDS
        return f"Bearer {self._access}"
