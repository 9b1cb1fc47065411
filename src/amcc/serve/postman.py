"""The thread beside the server that sends what is in the outbox; each webhook has a thread of its own while it is sent.

So a receiver that is slow keeps nobody waiting, neither workers nor other receivers. What was sent and then could not
be written down, because the process was killed, is sent again: receivers know by its id that they have it.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row

from amcc.serve import events, webhooks
from amcc.serve.addresses import SECONDS, Outcome, Target
from amcc.serve.core import Core

if TYPE_CHECKING:
    from amcc.serve.outgoing import Line

logger: logging.Logger = logging.getLogger("amcc.serve")

# Seconds between two looks: events arrive within a second, and a look is one small query.
TICK = 0.5


class Postman:
    """Started with the server, stopped with it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._stop = threading.Event()
        self._rounds: dict[int, threading.Thread] = {}
        self._thread = threading.Thread(target=self._run, name="amcc-postman", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, after the requests that are on their way."""
        self._stop.set()
        for thread in (self._thread, *self._rounds.values()):
            if thread.is_alive():
                thread.join(2 * SECONDS)

    def _run(self) -> None:
        while not self._stop.wait(TICK):
            try:
                self._look()
            except Exception as error:  # nothing here may harm the server; the kind only, for it may hold data
                logger.warning("beside the server: looking for events failed (%s)", type(error).__name__)

    def _look(self) -> None:
        with self._core.database.read() as connection:
            found = webhooks.due(connection, self._core.clock())
        self._rounds = {number: thread for number, thread in self._rounds.items() if thread.is_alive()}
        for number in found:
            if number not in self._rounds:
                name = f"amcc-webhook-{number}"
                thread = threading.Thread(target=self._round, args=(number,), name=name, daemon=True)
                self._rounds[number] = thread
                thread.start()

    def _round(self, number: int) -> None:
        try:
            while not self._stop.is_set() and deliver(self._core, number, self._stop):
                pass
        except Exception as error:
            logger.warning("beside the server: webhook %s failed (%s)", number, type(error).__name__)


def deliver(core: Core, number: int, stop: threading.Event | None = None) -> bool:
    """Send what is due to one webhook, some events at most; gives whether all of them arrived, and there were any."""
    batch = core.database.write(lambda connection: webhooks.claim(connection, number, core.clock()))
    if batch is None:
        return False
    hook, sent, failed = batch.hook, [], None
    key, end = webhooks.key_of(core.folder.secret, hook.salt), time.monotonic() + webhooks.SENDING_SECONDS
    with _line(hook) as line:
        for event in batch.events:
            if time.monotonic() > end or (stop is not None and stop.is_set()):
                break
            outcome = _post(line, key, event, core.clock())
            if not outcome.taken:
                failed = outcome
                break
            sent.append(event)
    core.database.write(lambda connection: webhooks.settle(connection, batch, sent, failed, core.clock()))
    return bool(sent) and failed is None


def _line(hook: Row[Any]) -> Line:
    """Where a webhook's events go."""
    from amcc.serve.outgoing import Line  # a quarter of a second, which a campaign without webhooks need not wait for

    return Line(Target.of(hook.url, private=hook.private))


def _post(line: Line, key: bytes, event: Row[Any], now: float) -> Outcome:
    body = event.body.encode()
    return line.post(body, webhooks.signed(key, event.event_id, body, now))


def try_out(core: Core, number: int) -> Outcome:
    """Send a test event to a webhook now, past the outbox."""
    with core.database.read() as connection:
        hook = webhooks.row_of(connection, number)
    event_id, text = events.written(events.TEST, core.settings.name, {}, core.clock())
    headers = webhooks.signed(webhooks.key_of(core.folder.secret, hook.salt), event_id, text.encode(), core.clock())
    with _line(hook) as line:
        return line.post(text.encode(), headers)
