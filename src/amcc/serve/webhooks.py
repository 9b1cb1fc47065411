"""Webhooks: who is told what, with which signature, and what still waits to be sent to them.

The form is that of Standard Webhooks (standardwebhooks.com): three headers, webhook-id, webhook-timestamp and
webhook-signature, for which there are libraries in many languages. A receiver that is away is tried again, in longer
and longer steps; an event that could not be sent for a day is dropped and counted.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, select

from amcc.errors import InputError, NotFoundError
from amcc.serve.addresses import SECONDS, Outcome, Target
from amcc.serve.events import EVENTS
from amcc.serve.money import Till
from amcc.serve.store.schema import outbox, webhooks
from amcc.serve.views import WebhookView

# Webhooks of a campaign, at most: each may have a thread that sends.
MOST_WEBHOOKS = 10

# Events that are sent one after the other before anybody else may go on with them.
BATCH = 20

# Seconds for which whoever sends has a webhook for themselves. If the process is killed, others go on after that.
CLAIM_SECONDS = 60.0

# Seconds for which it goes on with a batch: the last request is over before the claim is.
SENDING_SECONDS = CLAIM_SECONDS - 2 * SECONDS

# Seconds to wait after a failure, four times as long after each further one, up to the second number: a restart is over
# in seconds, and somebody who repairs a receiver does not want to wait long.
FIRST_WAIT, LONGEST_WAIT = 5.0, 600.0

# Seconds after which an event that could not be sent is dropped. A day: a night and a repair in the morning.
KEPT_SECONDS = 86400.0

SALT_BYTES = 16
SECRET_PREFIX = "whsec_"


# -- who is told -----------------------------------------------------------------------------------------------------


def key_of(campaign_secret: bytes, salt: bytes) -> bytes:
    """What a webhook's events are signed with: nobody knows it from the database alone."""
    return hmac.digest(campaign_secret, b"amcc webhook" + salt, hashlib.sha256)


def secret_of(key: bytes) -> str:
    """The key as a receiver is told it."""
    return SECRET_PREFIX + base64.b64encode(key).decode()


def signed(key: bytes, event_id: str, body: bytes, now: float) -> dict[str, str]:
    """The headers of an event: what it is, when it is sent, and that it is from us."""
    at = str(int(now))
    mark = hmac.digest(key, b".".join((event_id.encode(), at.encode(), body)), hashlib.sha256)
    return {
        "Content-Type": "application/json", "User-Agent": "amcc", "webhook-id": event_id, "webhook-timestamp": at,
        "webhook-signature": f"v1,{base64.b64encode(mark).decode()}",
    }  # fmt: skip


def checked_events(events: Iterable[str]) -> tuple[str, ...]:
    """Names of events, each once; none means all."""
    found = tuple(dict.fromkeys(events))
    for name in found:
        if name not in EVENTS:
            raise InputError(f"an event must be one of {', '.join(EVENTS)}; got {name!r:.60}.")
    return found


def add(
    connection: Connection, target: Target, url: str, events: Sequence[str], secret: bytes, actor: str, now: float
) -> tuple[int, str]:
    """A new webhook; gives its number and the secret, which is shown this once."""
    till = Till.open(connection)
    n, last = connection.execute(select(func.count(), func.coalesce(func.max(webhooks.c.id), 0))).one()
    if n >= MOST_WEBHOOKS:
        raise InputError(f"a campaign must have at most {MOST_WEBHOOKS} webhooks; remove one that is not needed.")
    number, salt = last + 1, secrets.token_bytes(SALT_BYTES)
    row = {"id": number, "url": url, "salt": salt, "events": " ".join(events), "private": target.private,
           "made_at": now, "next_at": now}  # fmt: skip
    connection.execute(webhooks.insert(), row)
    # The host only: the rest of an address may be a secret of the receiver's.
    till.log(now, actor, "webhook", number=number, host=target.host, private=target.private)
    till.close()
    return number, secret_of(key_of(secret, salt))


def remove(connection: Connection, number: int, actor: str, now: float) -> None:
    """No more events for a webhook, also none that wait."""
    till = Till.open(connection)
    hook = row_of(connection, number)
    connection.execute(delete(outbox).where(outbox.c.webhook_id == number))
    connection.execute(delete(webhooks).where(webhooks.c.id == number))
    till.log(now, actor, "webhook", number=number, removed=Target.of(hook.url, private=hook.private).host)
    till.close()


def row_of(connection: Connection, number: int) -> Row[Any]:
    """A webhook's row; NotFoundError where there is none."""
    found = connection.execute(select(webhooks).where(webhooks.c.id == number)).first()
    if found is None:
        raise NotFoundError(f"there is no webhook {number} in this campaign.")
    return found


def listed(connection: Connection) -> tuple[WebhookView, ...]:
    """All webhooks."""
    waiting: dict[int, int] = dict(
        connection.execute(select(outbox.c.webhook_id, func.count()).group_by(outbox.c.webhook_id)).all()
    )
    return tuple(
        WebhookView(row.id, row.url, tuple(row.events.split()) or EVENTS, row.private, waiting.get(row.id, 0),
                    row.n_sent, row.n_lost, row.failures, row.tried_at, row.said)
        for row in connection.execute(select(webhooks).order_by(webhooks.c.id))
    )  # fmt: skip


# -- what waits to be sent -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Events of one webhook that whoever has this may send, until the claim ends."""

    hook: Row[Any]
    events: Sequence[Row[Any]]


def due(connection: Connection, now: float) -> list[int]:
    """Webhooks that have something to be sent now."""
    query = (
        select(webhooks.c.id)
        .where(webhooks.c.next_at <= now,
               select(outbox.c.id).where(outbox.c.webhook_id == webhooks.c.id, outbox.c.next_at <= now).exists())
    )  # fmt: skip
    return list(connection.execute(query).scalars())


def claim(connection: Connection, number: int, now: float) -> Batch | None:
    """Take the next events of a webhook; None where somebody else has it. What is too old is dropped and counted."""
    mine = webhooks.update().where(webhooks.c.id == number, webhooks.c.next_at <= now)
    if not connection.execute(mine.values(next_at=now + CLAIM_SECONDS)).rowcount:
        return None
    old = delete(outbox).where(outbox.c.webhook_id == number, outbox.c.made_at < now - KEPT_SECONDS)
    lost = connection.execute(old).rowcount
    if lost:
        more = webhooks.update().where(webhooks.c.id == number).values(n_lost=webhooks.c.n_lost + lost)
        connection.execute(more)
    query = select(outbox).where(outbox.c.webhook_id == number, outbox.c.next_at <= now)
    events = connection.execute(query.order_by(outbox.c.next_at, outbox.c.id).limit(BATCH)).all()
    return Batch(row_of(connection, number), events)


def settle(connection: Connection, batch: Batch, sent: Sequence[Row[Any]], failed: Outcome | None, now: float) -> None:
    """Write down what came of a batch: those that were sent, and, if the next one failed, how; others may go on now."""
    hook = batch.hook
    failures = 0 if sent else hook.failures
    connection.execute(delete(outbox).where(outbox.c.id.in_([each.id for each in sent])))
    if failed is not None:
        event = batch.events[len(sent)]
        failures += 1
        again = outbox.update().where(outbox.c.id == event.id)
        connection.execute(again.values(tries=event.tries + 1, next_at=now + wait(event.tries + 1)))
    said = failed.said if failed is not None else "taken" if sent else hook.said
    connection.execute(webhooks.update().where(webhooks.c.id == hook.id).values(
        n_sent=webhooks.c.n_sent + len(sent), failures=failures, said=said,
        tried_at=now if sent or failed is not None else hook.tried_at,
        next_at=now + (wait(failures) if failures else 0.0),
    ))  # fmt: skip


def wait(failures: int) -> float:
    """Seconds until it is tried again.

    >>> [wait(n) for n in (1, 2, 3, 4, 5, 1000)]
    [5.0, 20.0, 80.0, 320.0, 600.0, 600.0]
    """
    return min(FIRST_WAIT * 4.0 ** min(failures - 1, 20), LONGEST_WAIT)
